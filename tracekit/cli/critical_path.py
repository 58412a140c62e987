"""`tracekit critical-path`: what the end waited for, and what the wall would be without it."""

from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.cli import output
from tracekit.cli.asking import question
from tracekit.cli.options import AsJson, Project, Session, Since, Store, Until
from tracekit.report.units import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracekit.analysis.critical_path import CriticalPath, WhatIf


def command(
    session: Session = "latest",
    *,
    by: Annotated[str, typer.Option("--by", metavar="session|turn|segment", help="Summed, or the chain itself.")] = "session",
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            "--what-if", metavar="NAME=FACTOR", help="A tool, or a boundary such as `permission_wait`, that took so much of its time."
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All sessions instead of one.")] = False,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Find the chain of boundaries that the end of each turn waited for, and what the wall would be if some had been shorter.

    What a tool hid of the stream, or a stream of a tool, is on no such chain: shortening it gains nothing. Below stands what the wall
    would be if every tool had begun when its block was complete; `--what-if Bash=0.5`, as often as you like, asks for another world.
    """
    from tracekit.analysis import critical_path as asked

    output.one_of("--by", by, asked.GROUPS)
    factors = dict(map(_factor, what_if or []))
    walls = "session" if by == "session" else "turn"
    with question(store, session=None if everything else session, since=since, until=until, project=project) as (opened, scope):
        path = asked.critical_path(opened, scope, by=by)
        otherwise = [*asked.what_if(opened, scope, by=walls)]
        otherwise += asked.what_if(opened, scope, factors=factors, by=walls) if factors else []
    if as_json:
        output.emit(path, as_json=True, what_if=[row.as_row() for row in otherwise])
        return
    _tell(path, otherwise)


def _tell(path: "Sequence[CriticalPath]", otherwise: "Sequence[WhatIf]") -> None:
    groups = output.grouped(path, key=lambda row: (row.session_id, row.turn_key))
    if not groups:
        output.write("No turns in this scope.")
    for number, group in enumerate(groups):
        head = group[0]
        what = f"turn {head.turn_key[:8]}" if head.turn_key else f"session {head.session_id[:8]}"
        output.write(("\n" if number else "") + f"{what}: wall {duration(head.wall_ns)}")
        output.emit(group, as_json=False)
        output.write("")
        output.emit([row for row in otherwise if (row.session_id, row.turn_key) == (head.session_id, head.turn_key)], as_json=False)


def _factor(text: str) -> tuple[str, float]:
    name, found, factor = text.rpartition("=")
    try:
        if found and name:
            return name, float(factor)
    except ValueError:
        pass
    raise typer.BadParameter(f"{text!r} is not NAME=FACTOR, such as Bash=0.5", param_hint="--what-if")
