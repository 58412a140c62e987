"""The boundaries of a session as pieces that a turn can have waited for, each with what it had to wait for itself."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tracekit.model import Boundary

Row = Mapping[str, Any]
Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Piece:
    """One boundary within a window of time.

    Attributes:
        start, end: Best estimates, within the window.
        sure: From the latest start to the earliest end, where the witnesses are certain of it.
        possible: From the earliest start to the latest end.
        ready: When the content block that asked for it was complete; None where no block did.
        request: Key of the request whose block that was.
        streaming_from: Of a request: its first byte, or, unseen, its first whole block.
        first_byte_known: Of a request: whether the first byte was seen.
        retries: Of a request: its waits between attempts.
        inner: What ran inside: the pieces of a sub-agent, within this one.
    """

    boundary: str
    key: str
    name: str
    agent_id: str | None
    start: int
    end: int
    sure: Interval
    possible: Interval
    ready: int | None = None
    request: str | None = None
    streaming_from: int | None = None
    first_byte_known: bool = False
    retries: tuple[Interval, ...] = ()
    inner: tuple["Piece", ...] = ()

    @property
    def order(self) -> tuple[int, bool, int, str]:
        """By start; a request before what it asks for."""
        return self.start, self.boundary != Boundary.MODEL_REQUEST, self.end, self.key


@dataclass(slots=True)
class Session:
    """All pieces of one session, by agent."""

    pieces: dict[str | None, list[Row]] = field(default_factory=lambda: defaultdict[str | None, list[Row]](list))
    agents: dict[str, str] = field(default_factory=dict[str, str])
    """Tool use id of the call that started a sub-agent: the sub-agent."""
    retries: dict[str, list[Row]] = field(default_factory=lambda: defaultdict[str, list[Row]](list))

    def within(self, agent_id: str | None, start: int, end: int, *, above: frozenset[str] = frozenset()) -> tuple[Piece, ...]:
        """The pieces of one agent between two moments, in order. What is open lasts to the end.

        Args:
            agent_id: Whose.
            start: Unix time in ns.
            end: Unix time in ns.
            above: The sub-agents that this one runs in, so that a ring in the data ends.
        """
        found = [self._piece(row, start, end, above) for row in self.pieces.get(agent_id, ()) if _overlaps(row, start, end)]
        return tuple(sorted(found, key=lambda piece: piece.order))

    def _piece(self, row: Row, start: int, end: int, above: frozenset[str]) -> Piece:
        latest = end if row["end_ns"] is None else row["end_ns"]
        best = end if row["best_end_ns"] is None else row["best_end_ns"]
        earliest = end if row["sure_end_ns"] is None else row["sure_end_ns"]
        begins, ends = _clipped(row["start_ns"], start, end), _clipped(best, start, end)
        child = self.agents.get(row["key"]) if row["boundary"] == Boundary.TOOL_EXECUTION else None
        inner = () if child is None or child in above else self.within(child, begins, ends, above=above | {child})
        ready = row["ready_ns"]
        return Piece(
            boundary=row["boundary"],
            key=row["key"],
            name=row["name"],
            agent_id=row["agent_id"],
            start=begins,
            end=ends,
            sure=(_clipped(row["sure_start_ns"], start, end), _clipped(earliest, start, end)),
            possible=(begins, _clipped(latest, start, end)),
            ready=None if ready is None else min(max(ready, start), begins),
            request=row["issued_by"],
            streaming_from=row["streaming_from_ns"],
            first_byte_known=bool(row["first_byte_known"]),
            retries=tuple(_retries(self.retries.get(row["key"], ()), begins, ends)),
            inner=inner,
        )


def sessions_of(rows: Iterable[Row]) -> dict[str, Session]:
    """Sort the rows of `critical_path.sql` by session and agent."""
    found: dict[str, Session] = defaultdict(Session)
    for row in rows:
        session = found[row["session_id"]]
        if row["boundary"] == Boundary.SUBAGENT:
            if row["parent_key"] is not None:
                session.agents[row["parent_key"]] = row["key"]
        elif row["boundary"] == Boundary.RETRY_WAIT:
            session.retries[row["parent_key"]].append(row)
        else:
            session.pieces[row["agent_id"]].append(row)
    for session in found.values():
        _adopt(session)
    return found


def _adopt(session: Session) -> None:
    """A wait between attempts of a request that no witness saw stands for itself."""
    requests = {row["key"] for rows in session.pieces.values() for row in rows if row["boundary"] == Boundary.MODEL_REQUEST}
    for key in [key for key in session.retries if key not in requests]:
        for row in session.retries.pop(key):
            session.pieces[row["agent_id"]].append(row)


class Trigger(NamedTuple):
    """The request whose stream made a piece begin, and the moment in it."""

    request: Piece
    moment: int


def triggers(pieces: Sequence[Piece]) -> dict[int, Trigger]:
    """Find the pieces, by number, that began because of something in a stream that was still running, or had asked for them.

    A tool, the permission for it and the hooks before it began because of the block that is their call. Anything else that begins
    while a response streams, and after which nothing else had ended since that response began, is taken to have begun because of
    what had come of it so far.
    """
    found: dict[int, Trigger] = {}
    requests: dict[str, Piece] = {}
    running: Piece | None = None
    pending: list[int] = []
    ended = None
    for number, piece in enumerate(pieces):
        while pending and pending[0] <= piece.start:
            ended = heapq.heappop(pending)
        asked = requests.get(piece.request or "")
        if piece.ready is not None and asked is not None and asked.start <= piece.ready:
            found[number] = Trigger(asked, min(piece.ready, asked.end))
        elif piece.ready is None and running is not None and _goes_on(running, piece.start) and (ended is None or ended <= running.start):
            found[number] = Trigger(running, piece.start)
        if piece.boundary == Boundary.MODEL_REQUEST:
            requests[piece.key] = running = piece
        heapq.heappush(pending, piece.end)
    return found


def _goes_on(request: Piece, moment: int) -> bool:
    return request.start < moment < request.end


def _overlaps(row: Row, start: int, end: int) -> bool:
    return bool(row["start_ns"] < end and (row["end_ns"] is None or row["end_ns"] > start))


def _clipped(moment: int, start: int, end: int) -> int:
    return min(max(moment, start), end)


def _retries(rows: Iterable[Row], start: int, end: int) -> Iterable[Interval]:
    for row in sorted(rows, key=lambda row: row["start_ns"]):
        begins, ends = _clipped(row["start_ns"], start, end), _clipped(end if row["end_ns"] is None else row["end_ns"], start, end)
        if ends > begins:
            yield begins, ends
            start = ends
