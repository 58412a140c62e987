"""`tracekit timeline`: what ran when, to scale."""

from typing import Annotated

import typer

from tracekit.cli import output
from tracekit.cli.asking import question
from tracekit.cli.options import AsJson, Session, Since, Store, Until
from tracekit.cli.picture import pictures


def command(
    session: Session = "latest",
    *,
    turn: Annotated[int | None, typer.Option("--turn", help="Only this turn, from 1; negative counts from the last.")] = None,
    table: Annotated[bool, typer.Option("--table", help="A row a boundary instead of a picture.")] = False,
    since: Since = None,
    until: Until = None,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Draw a session turn by turn: the model's requests, tools, permission, hooks, MCP and sub-agents, to scale.

    Tool time that hid under the stream is drawn apart from tool time that was exposed; what is only possible is dotted; what is
    open ends in an arrow.
    """
    from tracekit.analysis.timeline import timeline

    with question(store, session=session, since=since, until=until) as (opened, scope):
        moments = timeline(opened, scope)
    if as_json or table:
        output.emit(moments, as_json=as_json, empty="Nothing in this scope.")
        return
    place = output.screen()
    output.write(pictures(moments, turn=turn, width=place.width, colour=place.colour))
