"""`tracekit check`: gates for CI."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from tracekit.cli import output
from tracekit.cli.asking import question
from tracekit.cli.configuration import Configuration, find_configuration
from tracekit.cli.options import AsJson, OneSession, Project, SessionOption, Since, Store, Until
from tracekit.errors import TracekitError
from tracekit.model import Column, Finding

if TYPE_CHECKING:
    from tracekit.analysis.gates import Gate, Judged

SECTION: Final = "check"
_SETTINGS: Final = ("fail_on", "strict")


@dataclass(frozen=True, slots=True)
class Line(Finding):
    """A gate that was not held, for eyes."""

    session_id: Annotated[str, Column("Session", "id")]
    gate: Annotated[str, Column("Fails on")]
    verdict: Annotated[str, Column("Verdict")]
    value: Annotated[str, Column("It is")]
    over: Annotated[str, Column("Beyond by")]


@dataclass(frozen=True, slots=True)
class Described(Finding):
    """A measure that a gate can name."""

    measure: Annotated[str, Column("Measure")]
    unit: Annotated[str, Column("Unit")]
    better: Annotated[str, Column("Better")]
    meaning: Annotated[str, Column("Meaning")]


def command(
    session: OneSession = None,
    *,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="GATE",
            help="`network > 0`, `hidden_share < 20%`, `wall > 2m`, `stuck`; may be given again. Without any, those of the configuration.",
            show_default=False,
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail too on what is possibly crossed, and on what nobody can say.")] = False,
    junit: Annotated[str | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML, a test case a gate and a session.")] = None,
    measures: Annotated[bool, typer.Option("--measures", help="List what a gate can name, and end.")] = False,
    only: SessionOption = None,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Judge sessions by gates, say what was crossed and by how much, and exit with 1 if anything was.

    Gates stand under `[tool.tracekit.check]` in pyproject.toml or under `[check]` in tracekit.toml, or are given with `--fail-on`, which
    then count alone. A measure that is a range crosses a gate only with all of it. `tracekit explain check` says more.
    """
    if measures:
        _list_measures(as_json=as_json)
        return
    from tracekit.analysis.gates import judge
    from tracekit.analysis.measures import measures as measured
    from tracekit.cli.thresholds import thresholds

    found = find_configuration()
    gates, strict = _gates(found, fail_on or (), strict=strict)
    now_ns = time.time_ns()
    with question(store, session=session or only, since=since, until=until, project=project) as (opened, scope):
        judged = judge(gates, measured(opened, scope, as_of_ns=now_ns, limits=thresholds(), names={gate.measure for gate in gates}))
    if not judged:
        message = "no session in the store is meant by that, so there is nothing to check; `tracekit sessions` lists them"
        raise TracekitError(message, slug="nothing-to-check")
    failed = [one for one in judged if _fails(one, strict=strict)]
    if junit is not None:
        _write_junit(Path(junit), judged, strict=strict)
    if as_json:
        output.emit(judged, as_json=True, as_of_ns=now_ns, failed=len(failed), strict=strict)
    else:
        _show(judged, failed=len(failed))
    if failed:
        raise typer.Exit(1)


# ---------------------------------------------------------------------------------------------------------------- gates


def _gates(found: Configuration, given: Sequence[str], *, strict: bool) -> tuple[list["Gate"], bool]:
    """The gates that hold, and whether possible crossings fail."""
    from tracekit.analysis.gates import parse

    if given:
        return [parse(text) for text in given], strict
    section = found.section(SECTION)
    for name in section:
        if name not in _SETTINGS:
            raise found.complaint(f"{name!r} is no setting of [{found.heading(SECTION)}]; there are {', '.join(_SETTINGS)}", name)
    texts, said = _texts(section.get("fail_on", [])), section.get("strict", False)
    if texts is None:
        raise found.complaint("fail_on is to be a list of texts, as fail_on = ['network > 0']", "fail_on")
    if not isinstance(said, bool):
        raise found.complaint("strict is to be true or false", "strict")
    if not texts:
        where = f"{found.path} has none either" if found.path else "no tracekit.toml or pyproject.toml has any either"
        raise TracekitError(f"there is no gate: give --fail-on 'network > 0'; {where}", slug="no-gates")
    return [_told(found, text) for text in texts], strict or said


def _texts(value: object) -> list[str] | None:
    """A list of texts; None where it is something else."""
    if not isinstance(value, list):
        return None
    items = cast("list[object]", value)
    texts = [item for item in items if isinstance(item, str)]
    return texts if len(texts) == len(items) else None


def _told(found: Configuration, text: str) -> "Gate":
    """A gate of the configuration; what is wrong with it is told with its place."""
    from tracekit.analysis.gates import parse

    try:
        return parse(text)
    except TracekitError as error:
        raise TracekitError(f"{found.path}: {error}", slug=error.slug) from error


def _fails(one: "Judged", *, strict: bool) -> bool:
    return one.verdict == "crossed" or (strict and one.verdict != "held")


# ---------------------------------------------------------------------------------------------------------------- telling


def _show(judged: Sequence["Judged"], *, failed: int) -> None:
    lines = [_line(one) for one in judged if one.verdict != "held"]
    if lines:
        output.emit(lines, as_json=False)
        output.write("")
    counts = Counter(one.verdict for one in judged)
    sessions = len({one.session_id for one in judged})
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("crossed", "possibly crossed", "unknown", "held") if counts[verdict])
    subject = f"{len(judged)} gates in {sessions} session{'' if sessions == 1 else 's'}: {told}"
    output.write(f"{subject}; {failed} fail the check" if failed else f"{subject}; the check is passed")


def _line(one: "Judged") -> Line:
    return Line(one.session_id, one.gate, one.verdict, _value(one), _over(one))


def _value(one: "Judged") -> str:
    from tracekit.report.units import UNKNOWN, quantity_range

    return UNKNOWN if one.lower is None else quantity_range(one.lower, None, one.upper, one.unit)


def _over(one: "Judged") -> str:
    from tracekit.report.units import quantity

    if one.over is None:
        return ""
    return quantity(one.over, one.unit) if one.verdict == "crossed" else f"up to {quantity(one.over, one.unit)}"


def _write_junit(path: Path, judged: Sequence["Judged"], *, strict: bool) -> None:
    from tracekit.cli.writing import write_file
    from tracekit_exporters.junit import Case, Outcome, write

    def case(one: "Judged") -> Case:
        if one.verdict == "held":
            return Case(one.session_id, "tracekit.check", one.gate, Outcome.PASSED, text=f"{one.measure} is {_value(one)}")
        by = f", beyond the gate by {_over(one)}" if one.over is not None else ""
        outcome = Outcome.FAILED if _fails(one, strict=strict) else Outcome.SKIPPED
        return Case(one.session_id, "tracekit.check", one.gate, outcome, f"{one.verdict}: {one.measure} is {_value(one)}{by}")

    write_file(path, write(map(case, judged)))


def _list_measures(*, as_json: bool) -> None:
    from tracekit.analysis.measures import MEASURES

    better = {1: "more", -1: "less", 0: ""}
    output.emit([Described(name, one.unit, better[one.better], one.meaning) for name, one in MEASURES.items()], as_json=as_json)
