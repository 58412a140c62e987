"""Calls that repeat: the same tool, arguments and result again and again, alone or in a cycle. Time limits never see these."""

from collections.abc import Sequence
from typing import NamedTuple

from tracekit.analysis.stuck.limits import Limits
from tracekit.analysis.stuck.scene import Repeat


class Loop(NamedTuple):
    """What repeats at the end of a turn.

    Attributes:
        period: Calls in one cycle.
        times: How often the cycle was run.
        calls: One cycle, the last.
        since_ns: When the first of them began.
    """

    period: int
    times: int
    calls: Sequence[Repeat]
    since_ns: int


def find_loop(calls: Sequence[Repeat], limits: Limits) -> Loop | None:
    """Find the shortest cycle that the last calls are, run at least `limits.loop_repeats` times.

    A call of which no witness has both digests is like no other: what it did is not known.
    """
    for period in range(1, limits.loop_cycle + 1):
        times = _runs(calls, period)
        if times >= limits.loop_repeats:
            return Loop(period, times, calls[-period:], calls[-period * times].start_ns)
    return None


def _runs(calls: Sequence[Repeat], period: int) -> int:
    """How often the last `period` calls were made, one after the other."""
    same = 0
    for later, earlier in zip(reversed(calls), reversed(calls[:-period]), strict=False):
        if not _is_same(later, earlier):
            break
        same += 1
    return same // period + 1 if calls and period <= len(calls) else 0


def _is_same(one: Repeat, other: Repeat) -> bool:
    known = one.input is not None and one.result is not None
    return known and (one.name, one.input, one.result) == (other.name, other.input, other.result)
