"""`tracekit tokens`: tokens, each message once."""

from typing import Annotated

import typer

from tracekit.cli import output
from tracekit.cli.asking import question
from tracekit.cli.options import AsJson, OneSession, Project, SessionOption, Since, Store, Until


def command(
    session: OneSession = None,
    *,
    by: Annotated[str, typer.Option("--by", metavar="agent|model|session|message", help="What a row stands for.")] = "agent",
    only: SessionOption = None,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Count tokens: the largest value of each message, each message once, sub-agents apart.

    Rows marked partial are sub-agents known only from their parent's progress lines: a lower bound. The cost is what the client
    itself reported. Where it reported none, an estimate by list prices stands beside it (`tracekit explain cost`).
    """
    from tracekit.analysis.tokens import GROUPS, tokens

    output.one_of("--by", by, GROUPS)
    with question(store, session=session or only, since=since, until=until, project=project) as (opened, scope):
        found = tokens(opened, scope, by=by)
    output.emit(found, as_json=as_json, empty="No message in this scope.")
    if lists := sorted({line.prices for line in found if line.prices is not None}):
        output.note(f"Estimates by {', '.join(lists)}: list prices, at the ordinary speed.")
    elif any(line.cost_usd is None for line in found) and not _has_prices():
        output.note("The client reported no cost. The extra `prices` estimates it: pip install 'agent-tracekit[prices]'")


def _has_prices() -> bool:
    from tracekit.analysis.cost import price_list

    return price_list() is not None
