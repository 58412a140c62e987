"""`tracekit outcome`: how sessions came out."""

import time
from typing import Annotated

import typer

from tracekit.cli import output
from tracekit.cli.asking import question
from tracekit.cli.options import AsJson, OneSession, Project, SessionOption, Since, Store, Until


def command(
    session: OneSession = None,
    *,
    limit: Annotated[int, typer.Option("--limit", min=0, help="Show at most this many, the latest; 0 for all.")] = 20,
    only: SessionOption = None,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Say how each session ended and how it came out in five layers: transport, protocol, tool, response, business.

    The end is finished, truncated, lost, interrupted or exited mid-task; running or unknown where it is not known yet. The layers are
    never folded into one flag: a session can end with a complete answer and a failed tool. Business is unknown until somebody says
    that the work was verified. Exit code 1 if a session was truncated, lost or exited mid-task. `tracekit explain outcome` says more.
    """
    from tracekit.analysis.outcome import End, outcomes

    as_of_ns = time.time_ns()
    with question(store, session=session or only, since=since, until=until, project=project) as (opened, scope):
        found = outcomes(opened, scope, as_of_ns=as_of_ns)
    shown = found if as_json or not limit else found[:limit]
    output.emit(shown, as_json=as_json, as_of_ns=as_of_ns, empty="No sessions in this scope.")
    if len(shown) < len(found):
        output.note(f"{len(found) - len(shown)} older sessions are not shown; --limit 0 shows all")
    if any(one.end in {End.TRUNCATED, End.LOST, End.EXITED} for one in found):
        raise typer.Exit(1)
