"""The chain that the end of a window waited for: found by walking back from the end, piece by piece."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from tracekit.analysis.critical_path_pieces import Interval, Piece, Trigger, triggers
from tracekit.model import Boundary

_CATEGORIES: Final = {
    Boundary.TOOL_EXECUTION: "tool",
    Boundary.PERMISSION_WAIT: "permission",
    Boundary.HOOK_REPLY: "hook",
}
"""The account's name of a boundary, where it is another."""


@dataclass(frozen=True, slots=True)
class Link:
    """One link of the chain.

    Attributes:
        category: As in the account.
        boundary: None where nothing was open.
        start, end: Unix time in ns; the next link begins where this one ends.
        lower: How much of it the witnesses are certain of, in ns.
        upper: How long it can have lasted at most, in ns.
    """

    category: str
    boundary: str | None
    name: str
    key: str | None
    agent_id: str | None
    start: int
    end: int
    lower: int
    upper: int


def chain(pieces: Sequence[Piece], start: int, end: int, *, agent_id: str | None = None, is_open: bool = False) -> list[Link]:
    """Find what the end of a window waited for, from its start to its end, without gaps and overlaps.

    Walks back from the end: what ended last before it, then what had ended last before that began, and so on. What was asked for
    by a block of a response waited for that block, so the chain goes on inside the response; what it hid of the response is on no
    critical path. Where nothing had ended, the client itself had the next step.

    Args:
        pieces: Of one agent, in order, all within the window.
        start: Unix time in ns.
        end: Unix time in ns.
        agent_id: Whose window it is.
        is_open: The window's end is only the last thing that was seen.
    """
    return list(reversed([link for links in _walk(pieces, start, end, agent_id, is_open=is_open) for link in reversed(links)]))


def _walk(pieces: Sequence[Piece], start: int, end: int, agent_id: str | None, *, is_open: bool) -> Iterator[list[Link]]:
    """Links from the last to the first; those within one step stand in order of time."""
    causes, open_at = triggers(pieces), _united(piece.possible for piece in pieces)
    by_end = sorted((piece.end, -piece.start, number) for number, piece in enumerate(pieces) if piece.end > piece.start)
    ends = [piece_end for piece_end, _, _ in by_end]
    numbers = {id(piece): number for number, piece in enumerate(pieces)}
    moment = end
    after: int | None = None
    while moment > start:
        cause: Trigger | None = None if after is None else causes.get(after)
        floor = start if cause is None else cause.moment
        at = bisect_right(ends, moment) - 1
        waits_on: Piece | None = None if after is None else pieces[after]
        if at >= 0 and ends[at] > floor:
            number = by_end[at][2]
            piece = pieces[number]
            yield _gap(open_at, piece, waits_on, (piece.end, moment), agent_id, seen=moment < end or not is_open)
            yield _links(piece, piece.start, piece.end)
            moment, after = piece.start, number
        elif cause is not None:
            yield _gap(open_at, None, waits_on, (cause.moment, moment), agent_id, seen=True)
            yield _links(cause.request, cause.request.start, cause.moment)
            moment, after = cause.request.start, numbers[id(cause.request)]
        else:
            yield _gap(open_at, None, waits_on, (start, moment), agent_id, seen=bool(pieces) and (moment < end or not is_open))
            moment = start


def _gap(
    open_at: Sequence[Interval], before: Piece | None, after: Piece | None, window: Interval, agent_id: str | None, *, seen: bool
) -> list[Link]:
    """A window in which the chain knows of no boundary. Certain of it is the time in which none can have been open."""
    start, end = window
    if end <= start:
        return []
    earliest = start if before is None else min(start, before.sure[1])
    latest = end if after is None else max(end, min(after.sure[0], after.end))
    certain = end - start - _covered(open_at, start, end)
    return [Link("client" if seen else "unobserved", None, "", None, agent_id, start, end, certain, latest - earliest)]


def _united(intervals: Iterable[Interval]) -> list[Interval]:
    """Join intervals that touch."""
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _covered(intervals: Sequence[Interval], start: int, end: int) -> int:
    first = max(0, bisect_right(intervals, (start, end)) - 1)
    return sum(max(0, min(end, ends) - max(start, begins)) for begins, ends in takewhile(lambda one: one[0] < end, intervals[first:]))


def _links(piece: Piece, start: int, end: int) -> list[Link]:
    """One piece, or a part of it, as links."""
    if end <= start:
        return []
    if piece.boundary == Boundary.MODEL_REQUEST:
        return [_part(piece, category, begins, ends, is_sure=sure) for category, begins, ends, sure in _phases(piece, start, end)]
    if piece.inner:
        return chain(piece.inner, start, end, agent_id=piece.inner[0].agent_id)
    return [_part(piece, _CATEGORIES.get(Boundary(piece.boundary), piece.boundary), start, end, is_sure=True)]


def _part(piece: Piece, category: str, start: int, end: int, *, is_sure: bool) -> Link:
    certain = max(0, min(end, piece.sure[1]) - max(start, piece.sure[0])) if is_sure else 0
    more = piece.possible[1] - piece.end if end == piece.end else 0
    return Link(category, piece.boundary, piece.name, piece.key, piece.agent_id, start, end, certain, end - start + more)


def _phases(request: Piece, start: int, end: int) -> Iterator[tuple[str, int, int, bool]]:
    """Split a request into waits between attempts, waiting for the first byte, and streaming."""
    begins = start
    for retry_start, retry_end in [*request.retries, (end, end)]:
        yield from _answering(request, (begins, min(retry_start, end)))
        if retry_start < min(retry_end, end):
            yield "retry_wait", max(begins, retry_start), min(retry_end, end), True
        begins = max(begins, min(retry_end, end))


def _answering(request: Piece, window: Interval) -> Iterator[tuple[str, int, int, bool]]:
    start, end = window
    if end <= start:
        return
    streams = end if request.streaming_from is None else min(max(request.streaming_from, start), end)
    if streams > start:
        yield "model_wait", start, streams, request.first_byte_known
    if end > streams:
        yield "streaming", streams, end, True
