"""`tracekit sessions`: which sessions there are."""

from typing import Annotated

import typer

from tracekit.cli import output
from tracekit.cli.asking import question
from tracekit.cli.options import AsJson, Project, SessionOption, Since, Store, Until


def command(
    *,
    limit: Annotated[int, typer.Option("--limit", min=0, help="Show at most this many, the latest; 0 for all.")] = 20,
    since: Since = None,
    until: Until = None,
    session: SessionOption = None,
    project: Project = None,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """List the sessions, the latest first: how long they were active, what is in them, how much went wrong.

    `--json` has every count, and which witnesses saw the session.
    """
    from tracekit.analysis.sessions import sessions

    with question(store, session=session, since=since, until=until, project=project) as (opened, scope):
        found = sessions(opened, scope)
    shown = found if as_json or not limit else found[:limit]
    output.emit(shown, as_json=as_json, empty="No sessions. `tracekit import` brings yours in.")
    if len(shown) < len(found):
        output.note(f"{len(found) - len(shown)} older sessions are not shown; --limit 0 shows all")
