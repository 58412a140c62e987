"""Two sets of sessions, measure by measure: how far apart their means are, how sure that is, and whether it is better or worse.

A measure that is a range stays one: its difference is bounded by the two cases that are furthest apart, and a verdict is given only
where both say the same. A verdict needs two things: a permutation test that rejects "the sets are alike" at 5 % over all measures
together (Holm 1979), and a bootstrap interval of the difference that does not contain zero. The test keeps the rate of false alarms,
which a bootstrap of few sessions does not; the interval says how large the difference is.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from math import comb
from statistics import NormalDist, fmean
from typing import Annotated, ClassVar, Final, NamedTuple

from tracekit.analysis.measures import MEASURES, Bounds, Measured
from tracekit.model import Column, Finding

ALPHA: Final = 0.05
"""Probability of any false alarm among all measures of one comparison."""
LEVEL: Final = 0.95
"""Of the intervals, each by itself."""
RESAMPLES: Final = 2_000
PERMUTATIONS: Final = 4_999
"""Where all ways to share out the sessions are no more than this, all of them are tried, and the test is exact."""
ENOUGH: Final = 100
"""Permutations that go so far: after these chance is plain, and no more are drawn."""
FEWEST: Final = 4
"""Sessions that each set must have for a verdict: of fewer, no way to share them out is rare enough."""
_SEED: Final = 20_260_101
_NORMAL: Final = NormalDist()

Values = Sequence[tuple[float, float]]
"""Of one set: the bounds of a measure in each session that has it."""


class Verdict(StrEnum):
    """What came of a comparison."""

    BETTER = "better"
    WORSE = "worse"
    DIFFERS = "differs"
    """Of a measure for which neither direction is better."""
    NO_EVIDENCE = "no evidence"


@dataclass(frozen=True, slots=True)
class Comparison(Finding):
    """A measure in two sets. Numbers are in its unit; a bound that is a mean is one over the sessions of its set."""

    question: ClassVar[str] = "compare"

    measure: Annotated[str, Column("Measure")]
    unit: Annotated[str, Column("Unit", show=False)]
    base_sessions: Annotated[int, Column("Base", "count")]
    """Sessions of the set in which the measure is known."""
    head_sessions: Annotated[int, Column("Head", "count")]
    base_lower: Annotated[float | None, Column("Base mean, at least", show=False)]
    base_upper: Annotated[float | None, Column("Base mean, at most", show=False)]
    head_lower: Annotated[float | None, Column("Head mean, at least", show=False)]
    head_upper: Annotated[float | None, Column("Head mean, at most", show=False)]
    difference_lower: Annotated[float | None, Column("Difference, at least", show=False)]
    """Head minus base, of the means."""
    difference_upper: Annotated[float | None, Column("Difference, at most", show=False)]
    interval_lower: Annotated[float | None, Column("Interval from", show=False)]
    """95 % bootstrap interval of the difference (BCa), from the lower bound's lower end to the upper bound's upper end."""
    interval_upper: Annotated[float | None, Column("Interval to", show=False)]
    p: Annotated[float | None, Column("p", show=False)]
    """Of the permutation test, two-sided, adjusted for the number of measures; None where there was nothing to test."""
    verdict: Annotated[str, Column("Verdict")]
    because: Annotated[str, Column("Because", show=False)]
    """Why there is no evidence; empty where there is."""


class _Sample(NamedTuple):
    """A set's measure: bounds apart."""

    lower: Sequence[float]
    upper: Sequence[float]


def compare(base: Sequence[Measured], head: Sequence[Measured], names: Sequence[str] | None = None) -> list[Comparison]:
    """Compare two sets of sessions. The same sets give the same answer: the random numbers have a fixed seed.

    Args:
        base: The measures of each session of the first set.
        head: Of the second.
        names: What to compare; None for every measure but the single kinds of failures. Fewer measures are a sharper test.

    Returns:
        One row a measure, in the order of `MEASURES`; measures that nobody knows anything of are left out.
    """
    chosen = [name for name in MEASURES if (name in names if names is not None else "/" not in name)]
    found = [_compared(name, _values(base, name), _values(head, name)) for name in chosen]
    return _adjusted([one for one in found if one.base_sessions or one.head_sessions])


def _values(sessions: Sequence[Measured], name: str) -> Values:
    found = (session.get(name, Bounds(None, None)) for session in sessions)
    return [(float(one.lower), float(one.upper)) for one in found if one.lower is not None and one.upper is not None]


def _compared(name: str, base: Values, head: Values) -> Comparison:
    """One measure, its p not yet adjusted."""
    sizes = {"base_sessions": len(base), "head_sessions": len(head)}
    unknown = dict.fromkeys(Comparison.columns()) | {"measure": name, "unit": MEASURES[name].unit, "verdict": Verdict.NO_EVIDENCE}
    if not base or not head:
        return Comparison.from_row(unknown | sizes | {"because": "not known in both sets"})
    one, other = _sample(base), _sample(head)
    means = {
        "base_lower": fmean(one.lower),
        "base_upper": fmean(one.upper),
        "head_lower": fmean(other.lower),
        "head_upper": fmean(other.upper),
    }
    apart = (means["head_lower"] - means["base_upper"], means["head_upper"] - means["base_lower"])
    found = Comparison.from_row(unknown | sizes | means | {"difference_lower": apart[0], "difference_upper": apart[1], "because": ""})
    if min(len(base), len(head)) < FEWEST:
        return replace(found, because=f"fewer than {FEWEST} sessions in a set")
    interval = _interval(one, other)
    found = replace(found, interval_lower=interval[0], interval_upper=interval[1])
    if apart[0] <= 0 <= apart[1]:
        return replace(found, because="the means are equal" if apart == (0, 0) else "the ranges allow both directions")
    return replace(found, p=_p(one, other))


def _sample(values: Values) -> _Sample:
    return _Sample([lower for lower, _ in values], [upper for _, upper in values])


def _adjusted(found: Sequence[Comparison]) -> list[Comparison]:
    """Adjust the ps for their number (Holm, "A simple sequentially rejective multiple test procedure", 1979), and judge."""
    tested = sorted((one for one in found if one.p is not None), key=lambda one: one.p or 0.0)
    adjusted: dict[str, float] = {}
    least = 0.0
    for rank, one in enumerate(tested):
        least = max(least, min(1.0, (one.p or 0.0) * (len(tested) - rank)))
        adjusted[one.measure] = least
    return [_judged(replace(one, p=adjusted.get(one.measure))) for one in found]


def _judged(one: Comparison) -> Comparison:
    if one.p is None or one.interval_lower is None or one.interval_upper is None:
        return one
    if one.p > ALPHA:
        return replace(one, because="chance would do as much")
    if one.interval_lower <= 0 <= one.interval_upper:
        return replace(one, because="the interval contains zero")
    direction = MEASURES[one.measure].better * (1 if one.interval_lower > 0 else -1)
    return replace(one, verdict={1: Verdict.BETTER, -1: Verdict.WORSE, 0: Verdict.DIFFERS}[direction])


# ---------------------------------------------------------------------------------------------------------- the interval


def _interval(base: _Sample, head: _Sample) -> tuple[float, float]:
    """The lower end of the least difference's interval, and the upper end of the greatest's."""
    least = bca(base.upper, head.lower)
    greatest = least if base.lower == base.upper and head.lower == head.upper else bca(base.lower, head.upper)
    return least[0], greatest[1]


def bca(base: Sequence[float], head: Sequence[float]) -> tuple[float, float]:
    """Give the bias-corrected and accelerated bootstrap interval of mean(head) - mean(base), at `LEVEL`.

    Source: B. Efron, "Better Bootstrap Confidence Intervals", JASA 82 (1987); for two samples, with the acceleration from the empirical
    influences of both: DiCiccio and Efron, "Bootstrap Confidence Intervals", Statistical Science 11 (1996), section 2.
    """
    observed = fmean(head) - fmean(base)
    if len(set(base)) == len(set(head)) == 1:
        return observed, observed
    rng = random.Random(_SEED)  # noqa: S311  (a resample is no secret)
    drawn = sorted(
        sum(rng.choices(head, k=len(head))) / len(head) - sum(rng.choices(base, k=len(base))) / len(base) for _ in range(RESAMPLES)
    )
    below = sum(value < observed for value in drawn) + sum(value == observed for value in drawn) / 2
    if not 0 < below < RESAMPLES:
        return drawn[0], drawn[-1]
    bias = _NORMAL.inv_cdf(below / RESAMPLES)
    pull = _acceleration(base, head)
    ends: list[float] = []
    for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2):
        shifted = bias + _NORMAL.inv_cdf(tail)
        share = _NORMAL.cdf(bias + shifted / (1 - pull * shifted))
        ends.append(drawn[min(RESAMPLES - 1, max(0, round(share * RESAMPLES - 0.5)))])
    return ends[0], ends[1]


def _acceleration(base: Sequence[float], head: Sequence[float]) -> float:
    """A sixth of the skewness of the influences that single sessions have on the difference."""
    of_head, of_base = fmean(head), fmean(base)
    influences = [(value - of_head) / len(head) for value in head] + [(of_base - value) / len(base) for value in base]
    squares = sum(influence**2 for influence in influences)
    return sum(influence**3 for influence in influences) / (6 * squares**1.5) if squares else 0.0


# -------------------------------------------------------------------------------------------------------------- the test


def _p(base: _Sample, head: _Sample) -> float:
    """How often sets that are alike would differ so much in this direction, twice: the difference had two directions to be found in."""
    if fmean(head.lower) > fmean(base.upper):
        return permutation_p(base.lower, base.upper, head.lower, head.upper)
    return permutation_p(head.lower, head.upper, base.lower, base.upper)


def permutation_p(
    low_lower: Sequence[float], low_upper: Sequence[float], high_lower: Sequence[float], high_upper: Sequence[float]
) -> float:
    """Test whether one set is certainly higher than another: its lower bounds than the other's upper ones.

    The sessions, each with both of its bounds, are shared out anew; what is then taken for the higher set counts with its lower bounds, the
    rest with its upper ones. So the test holds for ranges as it does for points. Source: R. A. Fisher, "The Design of Experiments" (1935);
    of a sample of permutations the p is (b + 1) / (m + 1): Phipson and Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010); it ends early, with
    b / m, where b is enough: Besag and Clifford, "Sequential Monte Carlo p-values", Biometrika 78 (1991).
    """
    lower, upper = [*high_lower, *low_lower], [*high_upper, *low_upper]
    size, rest = len(high_lower), len(low_lower)
    # mean(lower of the one) - mean(upper of the other) is a sum over the one of these, less a constant.
    weights = [low / size + high / rest for low, high in zip(lower, upper, strict=True)]
    observed = sum(weights[:size])
    tolerance = 1e-9 * (abs(observed) + 1)
    ways = comb(size + rest, size)
    if ways <= PERMUTATIONS:
        reached = sum(sum(chosen) >= observed - tolerance for chosen in combinations(weights, size))
        return min(1.0, 2 * reached / ways)
    rng = random.Random(_SEED)  # noqa: S311  (a permutation is no secret)
    reached = 0
    for drawn in range(1, PERMUTATIONS + 1):
        reached += sum(rng.sample(weights, size)) >= observed - tolerance
        if reached == ENOUGH:
            return min(1.0, 2 * reached / drawn)
    return min(1.0, 2 * (reached + 1) / (PERMUTATIONS + 1))
