"""`tracekit stuck`: what a session still waits for."""

import time

import typer

from tracekit.cli import output
from tracekit.cli.asking import question
from tracekit.cli.options import AsJson, OneSession, Project, SessionOption, Since, Store, Until


def command(
    session: OneSession = None,
    *,
    only: SessionOption = None,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Name what sessions still wait for: the open boundary, since when, how sure that is, and which witness would tell more.

    Exit code 1 if something is open.
    """
    from tracekit.analysis.stuck import stuck

    now_ns = time.time_ns()
    with question(store, session=session or only, since=since, until=until, project=project) as (opened, scope):
        found = stuck(opened, scope, as_of_ns=now_ns)
    output.emit(found, as_json=as_json, as_of_ns=now_ns, empty="Nothing is open: every turn in this scope was answered to its end.")
    if found:
        raise typer.Exit(1)
