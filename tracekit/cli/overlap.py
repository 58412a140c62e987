"""`tracekit overlap`: how much tool latency hid behind streaming."""

from typing import Annotated

import typer

from tracekit.cli import output
from tracekit.cli.asking import question
from tracekit.cli.options import AsJson, OneSession, Project, SessionOption, Since, Store, Until


def command(
    session: OneSession = None,
    *,
    by: Annotated[str, typer.Option("--by", metavar="session|request|tool|model", help="What a row stands for.")] = "session",
    only: SessionOption = None,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Measure how much tool latency hid behind streaming, how much was exposed, how much more could have hidden and what stood in the way.

    A range holds the truth. A single number is given only where the starts of the tools are measured, or where the session
    itself proves that its client starts tools during the stream. `tracekit explain hidden` has the formulas.
    """
    from tracekit.analysis.overlap import GROUPS, overlap

    output.one_of("--by", by, GROUPS)
    with question(store, session=session or only, since=since, until=until, project=project) as (opened, scope):
        found = overlap(opened, scope, by=by)
    output.emit(found, as_json=as_json, empty="No response in this scope issued a tool that ran.")
