"""JUnit XML, as CI systems show it: a suite a session, a test case for each thing that it is judged by."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Any, Final, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from tracekit_exporters.plain import plain
from tracekit_exporters.trace import Trace

FAMILIES: Final = ("network", "prompt_too_long", "tool", "mcp", "request", "account", "hook", "model", "user", "client", "unknown")
"""Families of failures: each is a test case of every session."""
_TEXT: Final = 20_000
_SHOWN: Final = 50
"""Failures of one family that are written out; the message has their number."""

Row = Mapping[str, Any]


class Outcome(StrEnum):
    """How a test case ended. What nobody could decide is skipped, with the reason: CI shows it apart from both."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class Case(NamedTuple):
    """One test case."""

    suite: str
    """The session; cases of one suite stand together."""
    group: str
    """The class name, which CI systems group by."""
    name: str
    outcome: Outcome
    message: str = ""
    """A line on why it failed or was skipped."""
    text: str = ""
    """The evidence."""
    seconds: float = 0.0


def export(trace: Trace) -> Iterator[str]:
    """Give a suite a session: a case for each family of failures, failed where the session did not get over one, and `stuck`."""
    failures, waits = _answers(trace, "failures"), _answers(trace, "stuck")
    return write(
        case
        for session_id in (session.session_id for session in trace.sessions)
        for case in _cases(session_id, failures.get(session_id, []), waits.get(session_id, []))
    )


def write(cases: Iterable[Case]) -> Iterator[str]:
    """Give the document, a suite at a time.

    Args:
        cases: The test cases; those of one suite one after another.
    """
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="tracekit">\n'
    for suite, members in groupby(cases, key=lambda case: case.suite):
        yield from _suite(suite, list(members))
    yield "</testsuites>\n"


def _suite(name: str, cases: Sequence[Case]) -> Iterator[str]:
    failed, skipped = (sum(case.outcome is outcome for case in cases) for outcome in (Outcome.FAILED, Outcome.SKIPPED))
    time = f'time="{sum(case.seconds for case in cases):.3f}"'
    yield f'  <testsuite name={_quoted(name)} tests="{len(cases)}" failures="{failed}" errors="0" skipped="{skipped}" {time}>\n'
    for case in cases:
        yield from _case(case)
    yield "  </testsuite>\n"


def _case(case: Case) -> Iterator[str]:
    head = f'    <testcase classname={_quoted(case.group)} name={_quoted(case.name)} time="{case.seconds:.3f}"'
    if case.outcome is Outcome.PASSED and not case.text:
        yield f"{head}/>\n"
        return
    yield f"{head}>\n"
    if case.outcome is Outcome.FAILED:
        yield f'      <failure message={_quoted(case.message)} type="{case.outcome}">{_text(case.text)}</failure>\n'
    elif case.outcome is Outcome.SKIPPED:
        yield f"      <skipped message={_quoted(case.message)}/>\n"
    if case.outcome is not Outcome.FAILED and case.text:
        yield f"      <system-out>{_text(case.text)}</system-out>\n"
    yield "    </testcase>\n"


def _quoted(text: str) -> str:
    return quoteattr(plain(text))


def _text(text: str) -> str:
    """Text of an element: its lines stay lines."""
    return escape("\n".join(plain(line, _TEXT) for line in text[:_TEXT].split("\n")))


# --------------------------------------------------------------------------------------------------------- of a session


def _answers(trace: Trace, question: str) -> dict[str, list[Row]]:
    """An answer by session. Asked once: that is much less work than once a session."""
    found: dict[str, list[Row]] = defaultdict(list)
    for finding in trace.ask(question, None):
        row = finding.as_row()
        found[row["session_id"]].append(row)
    return found


def _cases(session_id: str, failures: Sequence[Row], waits: Sequence[Row]) -> Iterator[Case]:
    for family in FAMILIES:
        found = [row for row in failures if row["family"] == family]
        lasting = [row for row in found if not row["recovered"]]
        kinds = ", ".join(dict.fromkeys(str(row["kind"]) for row in lasting))
        message = f"{len(lasting)} not recovered: {kinds}" if lasting else ""
        outcome = Outcome.FAILED if lasting else Outcome.PASSED
        yield Case(session_id, "tracekit.failures", family, outcome, message, _evidence(found))
    stuck = sum(row["state"] == "stuck" for row in waits)
    outcome, message = (Outcome.FAILED, f"stuck: {stuck}") if stuck else (Outcome.PASSED, "")
    yield Case(session_id, "tracekit.stuck", "stuck", outcome, message, "\n".join(map(_wait, waits)))


def _evidence(rows: Sequence[Row]) -> str:
    lines = [
        f"{row['kind']} at {row['name']} ({'recovered' if row['recovered'] else 'not recovered'}): {_line(row['evidence'])}"
        for row in rows[:_SHOWN]
    ]
    return "\n".join(lines + ([f"… and {len(rows) - _SHOWN} more"] if len(rows) > _SHOWN else []))


def _wait(row: Row) -> str:
    return f"{row['state']}: {row['verdict']}, {_line(row['name'])} ({row['certainty']}): {_line(row['because'])}"


def _line(value: object) -> str:
    return " ".join(str(value).split())
