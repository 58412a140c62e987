"""How long a window would have lasted if some of its pieces had been shorter, or tools had begun as soon as they could.

Each piece begins as long after what it waited for as it truly did; only lengths change, so what takes as long as it took leaves
everything as it was. Waiting is a maximum and lengths add up: whoever shortens a piece never makes the whole longer.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tracekit.analysis.critical_path_pieces import Piece, triggers
from tracekit.model import Boundary

Factors = Mapping[str, float]
"""By name of a tool, or of a boundary (`model_request`, `permission_wait`, …): by how much its length is multiplied."""


def lasted(pieces: Sequence[Piece], start: int, end: int, factors: Factors, *, eager: bool = False) -> int:
    """Give the length of a window in ns with some of its pieces longer or shorter.

    Args:
        pieces: Of one agent, in order, all within the window.
        start: Unix time in ns.
        end: Unix time in ns.
        factors: What is longer or shorter.
        eager: Every tool begins when its block is complete.
    """
    causes = triggers(pieces)
    run = _Run(start, factors, eager)
    moved: dict[str, int] = {}
    for number, piece in enumerate(pieces):
        cause = causes.get(number)
        run.reach(piece.start)
        if cause is None:
            begins = run.free + (piece.start - run.last)
        else:
            asked = moved[cause.request.key] + run.position(cause.request, cause.moment)
            begins = run.after(piece, asked, cause.moment)
        if piece.boundary == Boundary.MODEL_REQUEST:
            moved[piece.key] = begins
        heapq.heappush(run.pending, (piece.end, begins + run.length(piece)))
    run.reach(end)
    return run.free + (end - run.last) - start


@dataclass(slots=True)
class _Run:
    """What has ended so far: as it was, and as it would have been.

    Attributes:
        start: Of the window.
        last: When the last of what has ended had ended.
        free: When all of what has ended would have.
        pending: Of pieces that still run: both ends.
        done: Of pieces that have ended: both ends, in the order in which they had ended.
    """

    start: int
    factors: Factors
    eager: bool
    last: int = field(init=False)
    free: int = field(init=False)
    pending: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    done: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def __post_init__(self) -> None:
        self.last = self.free = self.start

    def reach(self, moment: int) -> None:
        """Let end what had ended by then."""
        while self.pending and self.pending[0][0] <= moment:
            ended, would_end = heapq.heappop(self.pending)
            self.done.append((ended, would_end))
            self.last, self.free = max(self.last, ended), max(self.free, would_end)

    def after(self, piece: Piece, asked: int, moment: int) -> int:
        """When a piece begins that was asked for at a moment, and then may have waited for what ended until it began."""
        if self.eager and piece.boundary == Boundary.TOOL_EXECUTION:
            return asked
        last, free = moment, asked
        for ended, would_end in reversed(self.done):
            if ended <= moment:
                break
            last, free = max(last, ended), max(free, would_end)
        return free + (piece.start - last)

    def length(self, piece: Piece) -> int:
        """How long a piece lasts."""
        if piece.boundary == Boundary.MODEL_REQUEST:
            return self.position(piece, piece.end)
        factor = self.factors.get(piece.boundary, 1.0)
        if piece.boundary == Boundary.TOOL_EXECUTION:
            factor = self.factors.get(piece.name, factor)
        if factor == 1 and piece.inner:
            return lasted(piece.inner, piece.start, piece.end, self.factors, eager=self.eager)
        return round((piece.end - piece.start) * factor)

    def position(self, request: Piece, moment: int) -> int:
        """How long after its start a request reaches what it had reached at a moment."""
        waited = sum(max(0, min(end, moment) - start) for start, end in request.retries)
        answered = moment - request.start - waited
        return round(waited * self.factors.get(Boundary.RETRY_WAIT, 1.0)) + round(answered * self.factors.get(Boundary.MODEL_REQUEST, 1.0))
