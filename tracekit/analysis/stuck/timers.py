"""Gaps of one length again and again are somebody's timer: a histogram finds them across sessions."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from tracekit.analysis.scope import EVERYTHING, Scope, ask
from tracekit.analysis.stuck.limits import DEFAULTS, SECOND, Limits
from tracekit.model import Column, Finding
from tracekit.store import SpanStore

_KNOWN: Final = (
    (60, "an HTTP or load balancer's idle timeout, or an old default of hooks and MCP"),
    (100, "Cloudflare's limit for a response (524)"),
    (120, "the default timeout of Bash, or a bridge's idle timer"),
    (180, "the client's watchdog for a silent stream"),
    (300, "undici's headers and body timeout, or an orchestrator's stuck timer"),
    (600, "the request timeout of the SDK (API_TIMEOUT_MS), Bash's longest, or the timeout of hooks"),
    (900, "API_TIMEOUT_MS=900000, as the desktop application sets it"),
)
_NEAR: Final = 0.02
_WIDTH_NS: Final = SECOND // 2
"""Timers fire within half a second of each other."""
_NEIGHBOURHOOD: Final = 0.2
_SHARE: Final = 0.5
"""At least so much of what lies near must be in the peak: lengths that vary have no timer."""
_SLACK: Final = 0.01
"""A length that is not known this well is no evidence."""


@dataclass(frozen=True, slots=True)
class Timer(Finding):
    """One length that things of a kind have too often for chance."""

    question: ClassVar[str] = "timers"

    kind: Annotated[str, Column("What lasts")]
    name: Annotated[str, Column("Of")]
    """Of which model, tool or hook; `several` where it is the same for more than one."""
    duration_ns: Annotated[int, Column("How long", "ns")]
    """Median of the gaps."""
    spread_ns: Annotated[int, Column("Within", "ns")]
    """Longest minus shortest."""
    count: Annotated[int, Column("Times", "count")]
    sessions: Annotated[int, Column("Sessions", "count")]
    nearby: Annotated[int, Column("Others near", "count")]
    """Gaps of the kind within a fifth of this length that are not of it."""
    meaning: Annotated[str, Column("Perhaps")]
    """Whose timer is known to have this length; empty where none is."""
    latest_session_id: Annotated[str, Column("Last in", "id")]


def timers(store: SpanStore, scope: Scope = EVERYTHING, *, limits: Limits = DEFAULTS) -> Sequence[Timer]:
    """Find the lengths that waits have again and again, the most frequent first.

    Args:
        store: An open store.
        scope: Bounds; a gap counts by its beginning.
        limits: `timer_count` and `timer_seconds` say what is a gap, and how many make a timer.
    """
    kinds: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in ask(store, "stuck/gaps", scope, shortest_ns=int(limits.timer_seconds * SECOND)):
        if row["slack_ns"] <= row["duration_ns"] * _SLACK:
            kinds[row["kind"]].append(row)
    found = [timer for kind, gaps in kinds.items() for timer in _peaks(kind, gaps, limits.timer_count)]
    return sorted(found, key=lambda timer: (-timer.count, timer.kind, timer.duration_ns))


def _peaks(kind: str, gaps: list[dict[str, Any]], at_least: int) -> Iterator[Timer]:
    """Take the fullest bin of the histogram, again and again, until none is full enough."""
    left = sorted(gaps, key=lambda gap: gap["duration_ns"])
    while peak := _fullest(left):
        if len(peak) < at_least:
            return
        middle = peak[len(peak) // 2]["duration_ns"]
        near = [gap for gap in left if abs(gap["duration_ns"] - middle) <= middle * _NEIGHBOURHOOD]
        left = [gap for gap in left if gap not in peak]
        if len(peak) >= len(near) * _SHARE:
            yield _timer(kind, peak, len(near) - len(peak))


def _fullest(gaps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The largest group of gaps that lie within the width of one bin, wherever that begins."""
    best: tuple[int, int] = (0, 0)
    first = 0
    for last, gap in enumerate(gaps):
        while gap["duration_ns"] - gaps[first]["duration_ns"] > _WIDTH_NS:
            first += 1
        if last + 1 - first > best[1] - best[0]:
            best = (first, last + 1)
    return gaps[best[0] : best[1]]


def _timer(kind: str, peak: list[dict[str, Any]], nearby: int) -> Timer:
    durations = [gap["duration_ns"] for gap in peak]
    names = {gap["name"] for gap in peak}
    middle = durations[len(durations) // 2]
    latest = max(peak, key=lambda gap: gap["start_ns"])
    return Timer(
        kind,
        names.pop() if len(names) == 1 else "several",
        middle,
        durations[-1] - durations[0],
        len(peak),
        len({gap["session_id"] for gap in peak}),
        nearby,
        next((meaning for seconds, meaning in _KNOWN if abs(middle / SECOND - seconds) <= seconds * _NEAR), ""),
        latest["session_id"],
    )
