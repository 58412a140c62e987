"""The content blocks of a response: a boundary each, with the arrival of every event in it."""

from typing import Final

import orjson

from tracekit.instrument.endings import Ending
from tracekit.instrument.handle import Handle, Told
from tracekit.instrument.kept import kept_content
from tracekit.instrument.runtime import RUNTIME, Moment
from tracekit.model import Boundary, Status, semconv

DELTA: Final = "content_block_delta"
_BYTES: Final = semconv.EVENT_BYTES
_NO_BYTES: Final[dict[str, int]] = {}
_SIZE_0: Final = f'{{"{_BYTES}":0}}'
_DELTAS: Final = f'[%d,"{DELTA}",{{"{_BYTES}":%d}}],'
_EACH: Final = 4_000
"""Events of one block that are kept one by one; later ones are only counted."""


def arrival(at_ns: int, event: str, size: int) -> Moment:
    """The arrival of an event of a stream, with how much content it brought."""
    return (at_ns, event, {_BYTES: size} if size else _NO_BYTES)


class Block(Handle):
    """One content block, from its start to its completion."""

    boundary = Boundary.STREAM_EVENT

    def __init__(
        self, key: str | None, index: int, block_type: str, *, tool_use_id: str = "", tool_name: str = "", parent: Handle | None = None
    ) -> None:
        said: dict[str, Told] = {semconv.BLOCK_INDEX: index}
        if block_type:
            said[semconv.BLOCK_TYPE] = block_type
        if tool_use_id:
            said |= {semconv.TOOL_CALL_ID: tool_use_id, semconv.TOOL_NAME: tool_name}
        super().__init__(f"stream_event {block_type or index}", key=key, parent=parent, attributes=said)
        self.index = index
        # Side by side, since an object for each event would have the garbage collector look through the agent's heap.
        self._times: list[int] = []
        self._sizes: list[int] = []
        self._names: dict[int, str] = {}
        """Of those that are no deltas, by their place."""
        self._uncounted = 0
        self._uncounted_size = 0
        self._pieces: list[str] = []

    def said(self, piece: str) -> None:
        """Keep a piece of its content, where that is wanted."""
        if RUNTIME.content:
            self._pieces.append(str(piece))

    def arrived(self, at_ns: int, event: str, size: int) -> None:
        """Note an event of the stream, and how much content it brought."""
        if event != DELTA and len(self._times) < _EACH:
            self._names[len(self._times)] = event
        self.delta(at_ns, size)

    def delta(self, at_ns: int, size: int) -> None:
        """Note a delta. This is the hot path."""
        if len(self._times) < _EACH:
            self._times.append(at_ns)
            self._sizes.append(size)
        else:
            self._uncounted += 1
            self._uncounted_size += size

    def cut(self, cause: str, status: Status, at_ns: int) -> None:
        """End it unfinished."""
        self.say({semconv.STREAM_CUT: cause})
        self.end(status=status, at_ns=at_ns)

    def _close(self, ending: Ending) -> None:
        ending.said[semconv.BLOCK_SIZE] = sum(self._sizes) + self._uncounted_size
        if self._pieces:
            ending.said |= kept_content("".join(self._pieces))

    def _part_of(self) -> str | None:
        return self._outer.request or self._outer.around

    def _moments(self) -> str:
        # As text from the start, for the collector's sake again.
        told: list[str] = []
        begin = 0
        for place, name in self._names.items():
            told += self._deltas(begin, place)
            told.append(orjson.dumps(arrival(self._times[place], name, self._sizes[place])).decode())
            begin = place + 1
        told += self._deltas(begin, len(self._times))
        if self._uncounted:
            told.append(f'[{self._times[-1]},"{DELTA}",{{"{semconv.EVENT_COUNT}":{self._uncounted}}}]')
        return f"[{','.join(told)}]" if told else ""

    def _deltas(self, begin: int, end: int) -> list[str]:
        """Those from one place up to another, as one text: one format for all takes half the time of one for each."""
        count = end - begin
        if not count:
            return []
        numbers = [0] * (2 * count)
        numbers[::2], numbers[1::2] = self._times[begin:end], self._sizes[begin:end]
        return [(_DELTAS * count % tuple(numbers))[:-1].replace(_SIZE_0, "{}")]
