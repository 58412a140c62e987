"""`tracekit context`: how full the model's window was, and what kept filling it."""

from typing import Annotated

import typer

from tracekit.cli import output
from tracekit.cli.asking import question
from tracekit.cli.options import AsJson, Project, Session, Since, Store, Until


def command(
    session: Session = "latest",
    *,
    by: Annotated[str, typer.Option("--by", metavar="turn|request", help="The fullest request of each turn, or each request.")] = "turn",
    everything: Annotated[bool, typer.Option("--all", help="All sessions instead of one.")] = False,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Tell what a conversation held of its model's window, what compactions did to it, and which failures filled it again and again.

    A model's window is what the client said, else what is known of the model; where it can have two sizes and nothing in the session
    shows which, it is unknown (`tracekit explain context`).
    """
    from tracekit.analysis import context as asked
    from tracekit.analysis.context_compactions import compactions

    output.one_of("--by", by, asked.GROUPS)
    with question(store, session=None if everything else session, since=since, until=until, project=project) as (opened, scope):
        held = asked.context(opened, scope, by=by)
        compacted = compactions(opened, scope)
        repeated = asked.repeated_failures(opened, scope)
    if as_json:
        failed = [row.as_row() for row in repeated]
        output.emit(held, as_json=True, compactions=[row.as_row() for row in compacted], repeated_failures=failed)
        return
    groups = output.grouped(held, key=lambda row: row.session_id)
    if not groups:
        output.write("No request with tokens in this scope.")
    for number, group in enumerate(groups):
        output.write(("\n" if number else "") + f"session {group[0].session_id[:8]}, {group[0].model}")
        output.emit(group, as_json=False)
    if compacted:
        output.write("\nCompactions:")
        output.emit(compacted, as_json=False)
    if repeated:
        output.write("\nThe same failure again and again:")
        output.emit(repeated, as_json=False)
