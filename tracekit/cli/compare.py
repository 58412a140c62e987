"""`tracekit compare`: whether one set of sessions is better or worse than another."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tracekit.cli import output
from tracekit.cli.options import AsJson, Store
from tracekit.model import Column, Finding

if TYPE_CHECKING:
    from tracekit.analysis.compare import Comparison

_HELP = "`version=2.1.*`, `model=NAME`, `project=TEXT`, ids with commas, a store, or a file or folder of transcripts."


_WHOLE: Final = 100
_SMALLEST: Final = 0.05


@dataclass(frozen=True, slots=True)
class Line(Finding):
    """A comparison for eyes."""

    measure: Annotated[str, Column("Measure")]
    base: Annotated[str, Column("Base")]
    head: Annotated[str, Column("Head")]
    difference: Annotated[str, Column("Difference (95 %)")]
    verdict: Annotated[str, Column("Verdict")]


def command(
    base: Annotated[str, typer.Argument(metavar="BASE", help=f"The first set: {_HELP}")],
    head: Annotated[str, typer.Argument(metavar="HEAD", help="The second set, in the same forms.")],
    *,
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", metavar="NAME", help="Only this one; may be given again. Fewer are a sharper test.", show_default=False),
    ] = None,
    fail_on_worse: Annotated[bool, typer.Option("--fail-on-worse", help="Exit with 1 if anything got worse.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show measures that are equal, or unknown in one set, too.")] = False,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Compare two sets of sessions: each measure's means, their difference with its 95 % interval, and a verdict.

    Better or worse is said only where chance is ruled out at 5 % over all measures together, and, for a measure that is a range, where
    every value in it agrees. `tracekit explain compare` says how.
    """
    from tracekit.analysis.compare import compare
    from tracekit.analysis.gates import known_measure
    from tracekit.cli.selecting import Sets, apart
    from tracekit.cli.thresholds import thresholds

    names = [known_measure(name) for name in measure] if measure else None
    now_ns = time.time_ns()
    chosen = Sets(store, as_of_ns=now_ns, limits=thresholds(), names=names)
    sets = apart(chosen.select(base), chosen.select(head))
    found = compare(*sets, names)
    if as_json:
        output.emit(found, as_json=True, as_of_ns=now_ns, base=base, head=head, base_sessions=len(sets[0]), head_sessions=len(sets[1]))
    else:
        _show(found, [len(one) for one in sets], everything=everything or names is not None)
    if fail_on_worse and any(one.verdict == "worse" for one in found):
        raise typer.Exit(1)


def _show(found: Sequence["Comparison"], sizes: Sequence[int], *, everything: bool) -> None:
    shown = [one for one in found if everything or (one.difference_lower, one.difference_upper) not in {(None, None), (0, 0)}]
    if shown:
        output.emit([_line(one) for one in shown], as_json=False)
        output.write("")
    reasons = Counter(one.because for one in found if one.verdict == "no evidence")
    output.write(f"{sizes[0]} sessions against {sizes[1]}; {_counted(found)}")
    for reason, count in reasons.most_common():
        output.write(f"  no evidence in {count}: {reason}")


def _counted(found: Sequence["Comparison"]) -> str:
    counts = Counter(one.verdict for one in found)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("worse", "better", "differs", "no evidence") if counts[verdict])


def _line(one: "Comparison") -> Line:
    difference = written(one.difference_lower, one.difference_upper, one.unit)
    if one.interval_lower is not None:
        difference += f" ({written(one.interval_lower, one.interval_upper, one.unit)})"
    base, head = written(one.base_lower, one.base_upper, one.unit), written(one.head_lower, one.head_upper, one.unit)
    return Line(one.measure, base, head, difference, one.verdict)


def written(lower: float | None, upper: float | None, unit: str) -> str:
    """A mean, or what it lies between. Each end by itself: a difference may be below zero."""
    ends = [_mean(lower, unit), _mean(upper, unit)]
    return ends[0] if lower == upper else " – ".join(ends)


def _mean(value: float | None, unit: str) -> str:
    """A mean of counts is seldom whole, and below a hundred its fraction matters."""
    from tracekit.report.units import quantity

    if value is None or unit not in {"count", "tokens"} or abs(value) >= _WHOLE:
        return quantity(value, unit)
    return f"{value:.1f}".removeprefix("-" if abs(value) < _SMALLEST else "").removesuffix(".0")
