"""When each line happened: a measured moment, or the bounds that its neighbours give it.

The constants were measured on client 2.1.332 against a server that logged its own times, 45 runs, quiet and busy.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tracekit.model import Problem
from tracekit.sources.fields import Object, mapping, number, parts_of, text
from tracekit.sources.stream_json.entries import Entry
from tracekit.sources.timestamps import MILLISECOND, SECOND, timestamp_ns

QUIET_LATE_NS: Final = 100 * MILLISECOND
"""A line is stamped, and arrives, up to 71 ms after what it tells of (4 ms at the median)."""

BUSY_LATE_NS: Final = 500 * MILLISECOND
"""The same while tools are pending: starting four of them at once kept the client from its stream for 460 ms."""

EARLY_NS: Final = 10 * MILLISECOND
"""A line's own stamp is cut to milliseconds, and a server logs an event up to 6 ms after the client has it."""

SKEW_NS: Final = 2 * SECOND
"""A line arrives at most 10 ms after its own stamp. Far more means two machines with two clocks."""

FIRST_BYTE_NS: Final = 600 * SECOND
"""The client's own timeout for a request. A stream that was killed bounds its first lines by nothing closer."""

TAIL_NS: Final = 500 * MILLISECOND
"""Lines after the last time in a stream that was killed are taken to follow at once, where nobody says when it was written."""


class Moment(NamedTuple):
    """Bounds of when something happened, in Unix nanoseconds."""

    earliest: int
    latest: int


class Timed(NamedTuple):
    """An object of the stream and when it happened."""

    number: int
    position: int
    value: Object
    moment: Moment
    measured: bool
    """The line was stamped when it arrived."""


def place(found: Iterable[Entry | Problem], *, written_ns: int | None = None) -> Iterator[Timed | Problem]:
    """Give every object its moment. Lines with an arrival pass at once, others wait for their turn's result."""
    clock = _Clock()
    for entry in found:
        if isinstance(entry, Problem):
            yield entry
        else:
            yield from clock.feed(entry)
    yield from clock.finish(written_ns)


@dataclass(slots=True)
class _Clock:
    floor: int | None = None
    """What comes next happened no earlier."""
    waiting: list[Entry] = field(default_factory=list[Entry])
    pending_tools: set[str] = field(default_factory=set[str])
    skewed: bool = False

    def feed(self, entry: Entry) -> Iterator[Timed]:
        if entry.arrival_ns is None and _is_delta(entry.value):
            return  # without a time it tells nothing, and there are many
        own = self._own(entry) if entry.arrival_ns is not None and not self.waiting else None
        if own is not None:  # most lines of a live stream: nothing waits for their time
            yield self._passed(Timed(entry.number, entry.position, entry.value, own, measured=True))
            return
        self.waiting.append(entry)
        if entry.arrival_ns is not None or entry.value.get("type") == "result":
            yield from self._settle(None, last=False)

    def finish(self, written_ns: int | None) -> Iterator[Timed | Problem]:
        if not self.waiting:
            return
        first = self.waiting[0]
        yield from self._settle(written_ns, last=True)
        if self.waiting:
            yield Problem(0, first.position, "no times in the stream", "pipe it through `tracekit import -` to have its lines stamped")

    def _settle(self, written_ns: int | None, *, last: bool) -> Iterator[Timed]:
        """Place everything that waits, if there is a time to hold it against."""
        batch = _Batch(self.waiting, [self._own(entry) for entry in self.waiting])
        bound = batch.end_bound()
        if bound is None and last and (self.floor is not None or batch.has_times):
            known = max(self.floor or 0, *(moment.latest for moment in batch.own if moment is not None), 0)
            bound = max(written_ns, known) if written_ns is not None else known + TAIL_NS
        if bound is None:
            return
        self.waiting = []
        for timed in batch.place(self.floor, bound):
            yield self._passed(timed)

    def _passed(self, timed: Timed) -> Timed:
        self.floor = max(self.floor or timed.moment.earliest, timed.moment.earliest)
        return timed

    def _own(self, entry: Entry) -> Moment | None:
        """What a line says of its own time."""
        late = BUSY_LATE_NS if self.pending_tools else QUIET_LATE_NS
        self._note_tools(entry.value)
        kind = text(entry.value, "type")
        stamp = timestamp_ns(entry.value.get("timestamp")) if kind in {"assistant", "user"} else None
        if entry.arrival_ns is None:
            return None if stamp is None else Moment(stamp - late, stamp + EARLY_NS)
        lag = 0 if stamp is None else entry.arrival_ns - stamp
        # A tool's result may wait long for its turn to be told, a block never does.
        self.skewed = self.skewed or lag < -EARLY_NS or (kind == "assistant" and lag - entry.waited_ns > SKEW_NS)
        if stamp is None or self.skewed:
            return Moment(entry.arrival_ns - late - entry.waited_ns, entry.arrival_ns)
        return Moment(min(stamp, entry.arrival_ns) - late, min(stamp + EARLY_NS, entry.arrival_ns))

    def _note_tools(self, value: Object) -> None:
        if value.get("type") == "assistant":
            self.pending_tools.update(key for part in parts_of(value) if part.get("type") == "tool_use" and (key := text(part, "id")))
        elif value.get("type") == "user":
            self.pending_tools.difference_update(key for part in parts_of(value) if (key := text(part, "tool_use_id")))
        elif value.get("type") == "result":
            self.pending_tools.clear()


@dataclass(slots=True)
class _Batch:
    """Lines up to a result, an arrival or the end of the stream."""

    entries: list[Entry]
    own: list[Moment | None]

    @property
    def has_times(self) -> bool:
        return any(moment is not None for moment in self.own)

    def place(self, floor: int | None, bound: int) -> Iterator[Timed]:
        uppers = self._uppers(bound)
        lower = floor
        turn_floor = self._turn_floor()
        for index, (entry, own, upper) in enumerate(zip(self.entries, self.own, uppers, strict=True)):
            if turn_floor is not None and index == self._turn_index():
                lower = max(lower, turn_floor) if lower is not None else turn_floor
            least = upper - FIRST_BYTE_NS if lower is None else lower
            moment = own or Moment(min(least, upper), upper)
            lower = max(least, moment.earliest) if own or lower is not None else None
            yield Timed(entry.number, entry.position, entry.value, moment, entry.arrival_ns is not None)

    def end_bound(self) -> int | None:
        """The latest time of the last line."""
        *_, last = self.own
        if self.entries[-1].arrival_ns is not None and last is not None:
            return last.latest
        duration = self._duration_ns()
        first = next((index for index in range(self._turn_index(), len(self.own)) if self.own[index] is not None), None)
        moment = None if first is None else self.own[first]
        if duration is None or first is None or moment is None:
            return None
        return max(moment.latest - self._lead_ns(first) + duration + QUIET_LATE_NS, *(own.latest for own in self.own if own))

    def _uppers(self, bound: int) -> list[int]:
        """The latest time of each line: that of the next line which is told at once. Results of tools may be told late."""
        uppers: list[int] = []
        for entry, own in zip(reversed(self.entries), reversed(self.own), strict=True):
            if entry.arrival_ns is not None:
                bound = min(bound, entry.arrival_ns)
            elif own is not None and entry.value.get("type") == "assistant":
                bound = min(bound, own.latest)
            uppers.append(bound)
        return uppers[::-1]

    def _turn_floor(self) -> int | None:
        """The earliest time of the turn's first line: as long before its last time as the result says that the turn took."""
        duration = self._duration_ns()
        times = [own.earliest for own in self.own[self._turn_index() :] if own is not None]
        return None if duration is None or not times else max(times) - duration - QUIET_LATE_NS

    def _duration_ns(self) -> int | None:
        value = self.entries[-1].value
        duration = number(value, "duration_ms")
        return int(duration * MILLISECOND) if value.get("type") == "result" and duration else None

    def _lead_ns(self, first: int) -> int:
        """How long the turn had been running at least when its first block was complete."""
        lead = number(self.entries[-1].value, "ttft_stream_ms") if self.entries[first].value.get("type") == "assistant" else None
        return int((lead or 0) * MILLISECOND)

    def _turn_index(self) -> int:
        """Where the turn begins: lines before that are of the time between two turns."""
        return next((index for index, entry in enumerate(self.entries) if _begins_turn(entry.value)), 0)


def _begins_turn(value: Object) -> bool:
    return value.get("subtype") == "init" or value.get("status") == "compacting"


def _is_delta(value: Object) -> bool:
    return mapping(value, "event").get("type") == "content_block_delta"
