"""`tracekit tokens`: tokens, each message once."""

from typing import Annotated

import typer

from tracekit.cli import output
from tracekit.cli.asking import question
from tracekit.cli.options import AsJson, OneSession, Project, SessionOption, Since, Store, Until


def command(
    session: OneSession = None,
    *,
    by: Annotated[str, typer.Option("--by", metavar="agent|model|session", help="What a row stands for.")] = "agent",
    only: SessionOption = None,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Count tokens: the largest value of each message, each message once, sub-agents apart.

    Rows marked partial are sub-agents known only from their parent's progress lines: a lower bound. The cost is what the client
    itself reported, and empty where it reported none.
    """
    from tracekit.analysis.tokens import GROUPS, tokens

    output.one_of("--by", by, GROUPS)
    with question(store, session=session or only, since=since, until=until, project=project) as (opened, scope):
        found = tokens(opened, scope, by=by)
    output.emit(found, as_json=as_json, empty="No message in this scope.")
