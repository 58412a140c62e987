"""`tracekit failures`: what failed, and whose fault it was."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.cli import output
from tracekit.cli.asking import question
from tracekit.cli.options import AsJson, OneSession, Project, SessionOption, Since, Store, Until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracekit.analysis.disagreements import Disagreement
    from tracekit.analysis.failed import Failure
    from tracekit.analysis.side_effects import SideEffect


def command(
    session: OneSession = None,
    *,
    terminal: Annotated[bool, typer.Option("--terminal", help="Only failures that the session did not get over.")] = False,
    by: Annotated[
        str | None, typer.Option("--by", metavar="WHAT", help="Count them by `kind`, `tool`, `server`, `model` or `day`.")
    ] = None,
    only: SessionOption = None,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """List what failed: network, prompt too long, tool and their kin, each with its evidence and whether a retry helps.

    Attempts of one request are one failure, named by the cause that dominated, with the time that waits took and the retries that
    could not help. Below it stand the calls that may have run although nothing says so, and what contradicts itself or another
    witness. A person's interrupt or no, a call cancelled with a sibling and a hook that blocked are listed and are nobody's failure.
    Exit code 1 if something failed that the session did not get over. `tracekit explain KIND` says what a kind means and what to do.
    """
    from tracekit.analysis.disagreements import disagreements
    from tracekit.analysis.failed import failures
    from tracekit.analysis.side_effects import side_effects
    from tracekit.analysis.tallies import GROUPS, tallies

    if by is not None:
        output.one_of("--by", by, list(GROUPS))
    with question(store, session=session or only, since=since, until=until, project=project) as (opened, scope):
        found = failures(opened, scope)
        shown = [failure for failure in found if not failure.recovered] if terminal else found
        if by is not None:
            output.emit(tallies(opened, shown, by, scope), as_json=as_json, empty="Nothing failed in this scope.")
        else:
            _print(shown, side_effects(opened, scope), disagreements(opened, scope), as_json=as_json)
    if any(failure.counted and not failure.recovered for failure in found):
        raise typer.Exit(1)


def _print(shown: "Sequence[Failure]", effects: "Sequence[SideEffect]", contradictions: "Sequence[Disagreement]", *, as_json: bool) -> None:
    if as_json:
        output.emit(
            shown,
            as_json=True,
            side_effects=[one.as_row() for one in effects],
            disagreements=[one.as_row() for one in contradictions],
        )
        return
    output.emit(shown, as_json=False, empty="Nothing failed in this scope.")
    if shown:
        output.write(f"\n{_summary(shown)}")
    if effects:
        output.write("\nWhat may have run although nothing says so (`tracekit explain side_effect_uncertain`):")
        output.emit(effects, as_json=False)
    if contradictions:
        output.write("\nWhat contradicts itself or another witness (`tracekit explain witnesses-disagree`):")
        output.emit(contradictions, as_json=False)


def _summary(shown: "Sequence[Failure]") -> str:
    from tracekit.report.units import duration

    own = [failure for failure in shown if failure.counted]
    families = Counter(str(failure.family) for failure in own)
    counts = ", ".join(f"{family} {count}" for family, count in families.most_common())
    line = f"{len(own)} failures{f' ({counts})' if counts else ''}; {sum(not failure.recovered for failure in own)} not recovered"
    others = len(shown) - len(own)
    if others:
        line += f"; {others} more by a person, a sibling or a hook, which are nobody's failure"
    if waited_ns := sum(failure.waited_ns for failure in own):
        line += f"\nWaits between attempts took {duration(waited_ns)}"
    if futile := sum(failure.futile_retries for failure in own):
        line += (
            f"\n{futile} {'retry' if futile == 1 else 'retries'} could not help: no retry cures a certificate, a login or a prompt too long"
        )
    return line
