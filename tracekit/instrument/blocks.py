"""The content blocks of a response: a boundary each, with the arrival of every event in it."""

from typing import Final

from tracekit.instrument.endings import Ending
from tracekit.instrument.handle import Handle, Told
from tracekit.instrument.kept import kept_content
from tracekit.instrument.runtime import RUNTIME, Moment
from tracekit.model import Boundary, Status, semconv

_BYTES: Final = semconv.EVENT_BYTES
_NO_BYTES: Final[dict[str, int]] = {}
_EACH: Final = 4_000
"""Events of one block that are kept one by one; later ones are only counted."""


def arrival(at_ns: int, event: str, size: int) -> Moment:
    """The arrival of an event of a stream, with how much content it brought."""
    return (at_ns, event, {_BYTES: size} if size else _NO_BYTES)


class Block(Handle):
    """One content block, from its start to its completion.

    Attributes:
        size: Characters of content that came so far.
    """

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
        self.size = 0
        # Side by side, since an object for each event would have the garbage collector look through the agent's heap.
        self._times: list[int] = []
        self._names: list[str] = []
        self._sizes: list[int] = []
        self._uncounted = 0
        self._pieces: list[str] = []

    def said(self, piece: str) -> None:
        """Keep a piece of its content, where that is wanted."""
        if RUNTIME.content:
            self._pieces.append(piece)

    def arrived(self, at_ns: int, event: str, size: int) -> None:
        """Note an event of the stream, and how much content it brought. This is the hot path."""
        self.size += size
        if len(self._times) < _EACH:
            self._times.append(at_ns)
            self._names.append(event)
            self._sizes.append(size)
        else:
            self._uncounted += 1

    def cut(self, cause: str, status: Status, at_ns: int) -> None:
        """End it unfinished."""
        self.say({semconv.STREAM_CUT: cause})
        self.end(status=status, at_ns=at_ns)

    def _close(self, ending: Ending) -> None:
        ending.said[semconv.BLOCK_SIZE] = self.size
        if self._pieces:
            ending.said |= kept_content("".join(self._pieces))

    def _part_of(self) -> str | None:
        return self._outer.request or self._outer.around

    def _moments(self) -> list[Moment]:
        moments = [
            (at_ns, name, {_BYTES: size} if size else _NO_BYTES)
            for at_ns, name, size in zip(self._times, self._names, self._sizes, strict=True)
        ]
        if self._uncounted:
            moments.append((self._times[-1], self._names[-1], {semconv.EVENT_COUNT: self._uncounted}))
        return moments
