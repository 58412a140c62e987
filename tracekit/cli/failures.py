"""`tracekit failures`: what failed, and whose fault it was."""

from collections import Counter
from typing import Annotated

import typer

from tracekit.cli import output
from tracekit.cli.asking import question
from tracekit.cli.options import AsJson, OneSession, Project, SessionOption, Since, Store, Until


def command(
    session: OneSession = None,
    *,
    terminal: Annotated[bool, typer.Option("--terminal", help="Only failures that the session did not get over.")] = False,
    only: SessionOption = None,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """List what failed: network, prompt too long, tool and their kin, each with its evidence and whether a retry helps.

    Attempts of one request are one failure. Where witnesses contradict each other, that stands below. Exit code 1 if something
    failed that the session did not get over. `tracekit explain KIND` says what a kind means and what to do.
    """
    from tracekit.analysis.disagreements import disagreements
    from tracekit.analysis.failed import failures

    with question(store, session=session or only, since=since, until=until, project=project) as (opened, scope):
        found = failures(opened, scope)
        contradictions = disagreements(opened, scope)
    unrecovered = [failure for failure in found if not failure.recovered]
    shown = unrecovered if terminal else found
    if as_json:
        output.emit(shown, as_json=True, disagreements=[one.as_row() for one in contradictions])
    else:
        output.emit(shown, as_json=False, empty="Nothing failed in this scope.")
        if shown:
            families = Counter(str(failure.family) for failure in shown)
            counts = ", ".join(f"{family} {count}" for family, count in families.most_common())
            output.write(f"\n{len(shown)} failures ({counts}); {len(unrecovered)} not recovered")
        if contradictions:
            output.write("\nWitnesses that disagree:")
            output.emit(contradictions, as_json=False)
    if unrecovered:
        raise typer.Exit(1)
