"""How long a window would have lasted if some of its pieces had been shorter, or tools had begun as soon as they could.

Each piece begins as long after the last thing that it waited for as it truly did; only lengths change. So what moves is how much earlier
each edge comes: the end of a piece comes as much earlier as its start and what its length loses; its start as much earlier as the least
of what it waited for, where what had ended before the last of them had time to spare. Where edges are only bounded, so is what each of
them gains, and the answer is a range that holds the truth.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tracekit.analysis.critical_path_pieces import Interval, Piece
from tracekit.model import Boundary

Factors = Mapping[str, float]
"""By name of a tool, or of a boundary (`model_request`, `permission_wait`, …): by how much its length is multiplied."""

_PASSES: Final = 8
"""Bounds that rest on pieces which may have come before, and are settled later, are narrowed by further looks: seldom more than three."""


def lasted(pieces: Sequence[Piece], start: int, end: int, factors: Factors, *, eager: bool = False) -> Interval:
    """Give the least and the greatest length in ns that a window can have with some of its pieces longer or shorter.

    Args:
        pieces: Of one agent, in order, all within the window.
        start: Unix time in ns.
        end: Unix time in ns.
        factors: What is longer or shorter.
        eager: Every tool begins when its block is complete.
    """
    least, most = _World(factors, eager).gained(pieces, (start, start), (end, end))
    return max(0, end - start - most), end - start - least


class _Before(NamedTuple):
    """What a piece waited for, or may have.

    Attributes:
        ended: When it ended, at the earliest and the latest.
        gain: How much earlier it would have.
        is_sure: Whether it certainly was waited for.
    """

    ended: Interval
    gain: Interval
    is_sure: bool


@dataclass(slots=True)
class _Past:
    """All that had certainly ended: what is needed of it, without looking at each piece again.

    Attributes:
        ended: When the last of it had, at the earliest and the latest.
        least, lowest: Of the least gains, the smallest against the latest end, and the smallest.
        most, highest: Of the greatest gains, the smallest against the earliest end, and the greatest.
    """

    ended: Interval
    least: int
    lowest: int
    most: int
    highest: int

    @classmethod
    def of(cls, ended: Interval, gain: Interval) -> "_Past":
        """Begin with one thing."""
        return cls(ended, gain[0] - ended[1], gain[0], gain[1] - ended[0], gain[1])

    def add(self, ended: Interval, gain: Interval) -> None:
        """One more had ended."""
        self.ended = max(self.ended[0], ended[0]), max(self.ended[1], ended[1])
        self.least, self.lowest = min(self.least, gain[0] - ended[1]), min(self.lowest, gain[0])
        self.most, self.highest = min(self.most, gain[1] - ended[0]), max(self.highest, gain[1])

    def start_of(self, start: Interval, more: Sequence[_Before]) -> Interval:
        """How much earlier something begins that waited for the last of all this, and of a few things more."""
        last_least = max([self.ended[0], *(one.ended[0] for one in more if one.is_sure)])
        last_most = min(start[1], max([self.ended[1], *(one.ended[1] for one in more)]))
        least = min([max(self.lowest, last_least + self.least), *(max(0, last_least - one.ended[1]) + one.gain[0] for one in more)])
        most = min([last_most + self.most, *(last_most - one.ended[0] + one.gain[1] for one in more if one.is_sure)])
        return least, max(least, min(most, max([self.highest, *(one.gain[1] for one in more)])))


@dataclass(slots=True)
class _World:
    """What is otherwise."""

    factors: Factors
    eager: bool

    def gained(self, pieces: Sequence[Piece], start: Interval, end: Interval) -> Interval:
        """How much shorter a window would be, at least and at most."""
        run = _Run(self, pieces, start)
        for _ in range(_PASSES):
            if not run.sweep():
                break
        return run.whole(end)

    def scale(self, piece: Piece) -> float:
        """By how much the length of a piece is multiplied."""
        factor = self.factors.get(piece.boundary, 1.0)
        return self.factors.get(piece.name, factor) if piece.boundary == Boundary.TOOL_EXECUTION else factor

    def loses(self, piece: Piece) -> Interval:
        """How much of its length a piece loses."""
        shortest, longest = max(0, piece.sure[1] - piece.sure[0]), piece.possible[1] - piece.possible[0]
        if piece.boundary == Boundary.MODEL_REQUEST:
            return _sorted(self.part(piece, shortest), self.part(piece, longest))
        factor = self.scale(piece)
        if factor == 1 and piece.inner:
            return self.gained(piece.inner, _starts(piece), _ends(piece))
        return _sorted(round(shortest * (1 - factor)), round(longest * (1 - factor)))

    def part(self, request: Piece, length: int) -> int:
        """How much a request loses of the first part of its length."""
        moment = request.start + length
        waited = min(length, sum(max(0, min(end, moment) - start) for start, end in request.retries))
        retry, answer = self.factors.get(Boundary.RETRY_WAIT, 1.0), self.factors.get(Boundary.MODEL_REQUEST, 1.0)
        return round(waited * (1 - retry)) + round((length - waited) * (1 - answer))


@dataclass(slots=True)
class _Run:
    """One window: how much earlier the edges of its pieces come, as far as is known.

    Attributes:
        starts, ends: Of each piece, how much earlier its edges come.
        past: What had certainly ended where the sweep is.
        done: Its pieces, in the order in which they had ended.
        running: Pieces that had begun and may still run, by their latest end.
    """

    world: _World
    pieces: Sequence[Piece]
    start: Interval
    starts: list[Interval] = field(init=False)
    ends: list[Interval] = field(init=False)
    loses: list[Interval] = field(init=False)
    requests: dict[str, int] = field(init=False)
    in_order: list[int] = field(init=False)
    past: _Past = field(init=False)
    done: list[int] = field(init=False)
    running: list[tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        self.requests = {piece.key: number for number, piece in enumerate(self.pieces) if piece.boundary == Boundary.MODEL_REQUEST}
        self.in_order = sorted(range(len(self.pieces)), key=lambda number: (*self.pieces[number].possible, number))
        self.loses = [self.world.loses(piece) for piece in self.pieces]
        waits = sum(max(0, piece.sure[0] - piece.ready) for piece in self.pieces if piece.ready is not None) if self.world.eager else 0
        bounds = sum(min(0, least) for least, _ in self.loses), sum(max(0, most) for _, most in self.loses) + waits
        self.starts, self.ends = [bounds] * len(self.pieces), [bounds] * len(self.pieces)
        self._rewind()

    def sweep(self) -> bool:
        """Bound the edges of each piece by those of the others; give whether that narrowed any."""
        self._rewind()
        narrowed = False
        for place, number in enumerate(self.in_order):
            start = _starts(self.pieces[number])
            self._reach(start[0])
            narrowed = self._settle(number, [*(other for _, other in self.running), *self._later(place, start[1])]) or narrowed
            heapq.heappush(self.running, (self.pieces[number].possible[1], number))
        return narrowed

    def whole(self, end: Interval) -> Interval:
        """How much earlier the window ends, after a sweep."""
        self._reach(end[0])
        return self.past.start_of(end, [self._before(other, end) for _, other in self.running if _ends(self.pieces[other])[0] <= end[1]])

    def _rewind(self) -> None:
        self.past, self.done, self.running = _Past.of(self.start, (0, 0)), [], []

    def _reach(self, moment: int) -> None:
        """Let end what had certainly ended by then."""
        while self.running and self.running[0][0] <= moment:
            _, number = heapq.heappop(self.running)
            self.past.add(_ends(self.pieces[number]), self.ends[number])
            self.done.append(number)

    def _later(self, place: int, moment: int) -> Iterator[int]:
        """Pieces behind one in order that may have begun before a moment."""
        for number in self.in_order[place + 1 :]:
            if self.pieces[number].possible[0] > moment:
                return
            yield number

    def _settle(self, number: int, nearby: Sequence[int]) -> bool:
        piece, loses, known = self.pieces[number], self.loses[number], (self.starts[number], self.ends[number])
        asked = self._asked(piece)
        start = self._begins(piece, asked, nearby)
        end = start[0] + loses[0], start[1] + loses[1]
        if asked is not None and not piece.inner:
            # A late start leaves a short length: both at once are not to be had.
            latest = piece.sure[0]
            most = latest - asked.ended[0] + asked.gain[1] + round(max(0, piece.possible[1] - latest) * (1 - self.world.scale(piece)))
            end = end[0], max(end[0], min(end[1], most))
        self.starts[number], self.ends[number] = start, end
        return known != (start, end)

    def _begins(self, piece: Piece, asked: _Before | None, nearby: Sequence[int]) -> Interval:
        start = _starts(piece)
        before = [self._before(other, start) for other in nearby if _ends(self.pieces[other])[0] <= start[1]]
        if asked is None:
            by_itself = self.past.start_of(start, before)
            return by_itself if piece.ready is not None else self._caused(start, nearby, by_itself)
        if self.world.eager and piece.boundary == Boundary.TOOL_EXECUTION:
            return start[0] - asked.ended[0] + asked.gain[0], start[1] - asked.ended[0] + asked.gain[1]
        return _Past.of(asked.ended, asked.gain).start_of(start, [*self._since(asked.ended[0], start), *_after(before, asked.ended[0])])

    def _before(self, number: int, start: Interval) -> _Before:
        ended = _ends(self.pieces[number])
        return _Before(ended, self.ends[number], ended[1] <= start[0])

    def _since(self, moment: int, start: Interval) -> Iterator[_Before]:
        """Of what had certainly ended, that which had, or may have, ended after a moment."""
        for number in reversed(self.done):
            if self.pieces[number].possible[1] <= moment:
                return
            yield from _after([self._before(number, start)], moment)

    def _asked(self, piece: Piece) -> _Before | None:
        """The block that asked for a piece."""
        number = self.requests.get(piece.request or "")
        if piece.ready is None or number is None or self.pieces[number].start > piece.ready:
            return None
        moment = min(piece.ready, self.pieces[number].end)
        return _Before((moment, moment), self._reached(number, (moment, moment)), is_sure=True)

    def _caused(self, start: Interval, nearby: Sequence[int], by_itself: Interval) -> Interval:
        """What a piece that no block asked for gains, where a stream that was still running may have made it begin."""
        ways: list[Interval] = []
        for request in nearby:
            piece = self.pieces[request]
            begins, ends = _starts(piece), _ends(piece)
            is_it = piece.boundary == Boundary.MODEL_REQUEST and begins[0] < start[1] and ends[1] > start[0]
            if not is_it or self.past.ended[0] > begins[1]:
                continue
            ways.append(self._reached(request, start))
            others = (_ends(self.pieces[other]) for other in nearby if other != request)
            is_alone = self.past.ended[1] <= begins[0] and not any(least <= start[1] and most > begins[0] for least, most in others)
            if is_alone and begins[1] < start[0] and start[1] < ends[0]:
                return ways[-1]
        ways.append(by_itself)
        return min(least for least, _ in ways), max(most for _, most in ways)

    def _reached(self, request: int, moment: Interval) -> Interval:
        """How much earlier a request reaches what it had reached at a moment."""
        piece, gain = self.pieces[request], self.starts[request]
        begins = _starts(piece)
        shortest, longest = max(0, moment[0] - begins[1]), max(0, moment[1] - begins[0])
        least, most = _sorted(self.world.part(piece, shortest), self.world.part(piece, longest))
        return gain[0] + least, gain[1] + most


def _after(found: Iterable[_Before], moment: int) -> Iterator[_Before]:
    """Those that had, or may have, ended after a moment."""
    for one in found:
        if one.ended[1] > moment:
            yield one._replace(is_sure=one.is_sure and one.ended[0] > moment)


def _starts(piece: Piece) -> Interval:
    return piece.possible[0], max(piece.possible[0], piece.sure[0])


def _ends(piece: Piece) -> Interval:
    return min(piece.sure[1], piece.possible[1]), piece.possible[1]


def _sorted(one: int, other: int) -> Interval:
    return (one, other) if one <= other else (other, one)
