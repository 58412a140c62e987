"""`tracekit account`: where every second went."""

from typing import Annotated

import typer

from tracekit.cli import output
from tracekit.cli.asking import question
from tracekit.cli.options import AsJson, Project, Session, Since, Store, Until
from tracekit.report.units import duration


def command(
    session: Session = "latest",
    *,
    by: Annotated[str, typer.Option("--by", metavar="session|turn", help="Sum the session, or account for each turn.")] = "session",
    everything: Annotated[bool, typer.Option("--all", help="All sessions instead of one.")] = False,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Account for every second of a session's turns, in categories that exclude each other and sum to the wall.

    `Certain` is what the witnesses are sure of; the rest of a category's time may have been it. Time between turns is the user's
    and stands outside the wall.
    """
    from tracekit.analysis.account import account

    output.one_of("--by", by, ("session", "turn"))
    with question(store, session=None if everything else session, since=since, until=until, project=project) as (opened, scope):
        lines = account(opened, scope, by=by)
    if as_json:
        output.emit(lines, as_json=True)
        return
    groups = output.grouped(lines, key=lambda line: (line.session_id, line.agent_id, line.turn_key))
    if not groups:
        output.write("No turns in this scope.")
    for number, group in enumerate(groups):
        head = group[0]
        who = f", agent {head.agent_id}" if head.agent_id else ""
        what = f"turn {head.turn_key[:8]}" if head.turn_key else f"session {head.session_id[:8]}"
        output.write(("\n" if number else "") + f"{what}{who}: wall {duration(head.wall_ns)}")
        output.emit(group, as_json=False)
