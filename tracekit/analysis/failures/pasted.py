"""Errors that somebody pasted: one line of JSON in, what it is out. No store, no session, only what the line says."""

from collections.abc import Mapping
from typing import Any, Final

from tracekit.analysis.failures import Evidence, classify
from tracekit.analysis.failures.harmless import notice
from tracekit.analysis.failures.talk import talks_of_errors

NO_FAILURE: Final = "none"
"""Stands for the family of what is no failure: a notice, a text that only talks of errors."""

_TEXT_LIMIT: Final = 8_000
_TAIL: Final = 2_000
"""Characters of the end that are kept of a longer text: a traceback says what it is in its last line."""
_NUMBERS: Final = frozenset({"http_status"})
_FIELDS: Final = ("error_text", "layer", "http_status", "error_type")


class UnfitError(ValueError):
    """A line that is no report of an error; says what is wrong with it."""


def judge(report: object) -> dict[str, Any]:
    """Judge one report.

    Args:
        report: An object with `error_text`, and where known `layer`, `http_status` and `error_type`. Other keys are passed over.

    Returns:
        `family`, `kind`, `retry` and `evidence`. What is no failure has the family `none`, neither kind nor retry, and says why.

    Raises:
        UnfitError: It is no object, a field has another type, or nothing is said of an error.
    """
    evidence = _evidence(report)
    if (why := _no_failure(evidence)) is not None:
        return {"family": NO_FAILURE, "kind": None, "retry": None, "evidence": why}
    verdict = classify(evidence)
    return {"family": str(verdict.family), "kind": str(verdict.kind), "retry": str(verdict.retry), "evidence": verdict.evidence_text}


def _no_failure(evidence: Evidence) -> str | None:
    # Where a witness says in which layer it failed, or with which type, something did fail: only a bare text can be mere talk.
    bare = not (evidence.layer or evidence.error_type or evidence.http_status)
    return notice(evidence) or (talks_of_errors(evidence.error_text) if bare else None)


def _evidence(report: object) -> Evidence:
    if not isinstance(report, Mapping):
        raise UnfitError("no JSON object")
    given: dict[str, Any] = {name: report[name] for name in _FIELDS if report.get(name) not in (None, "")}  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if not given.keys() & {"error_text", "http_status", "error_type"}:
        raise UnfitError("says nothing of an error: give error_text, or http_status or error_type")
    for name, value in given.items():
        given[name] = _status(value) if name in _NUMBERS else _text(name, value)
    return Evidence(**given)


def _text(name: str, value: object) -> str:
    # A JSON-RPC code is a type of its own, and a number.
    if isinstance(value, int) and not isinstance(value, bool) and name == "error_type":
        return str(value)
    if not isinstance(value, str):
        raise UnfitError(f"{name} is no text")
    return value if len(value) <= _TEXT_LIMIT else f"{value[: _TEXT_LIMIT - _TAIL]} … {value[-_TAIL:]}"


def _status(value: object) -> int | None:
    """Give the status; 0, which recorders write where no answer came, is none."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise UnfitError("http_status is no number")
    try:
        return int(value) or None
    except ValueError:
        raise UnfitError("http_status is no number") from None
