"""Server-sent events out of a stream that is cut anywhere: an event is what ends in an empty line."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, Self

from tracekit.capture.gateway.decoding import Unreadable

_END: Final = re.compile(rb"(?>\r\n|\r|\n)(?>\r\n|\r|\n)")
_LARGEST: Final = 64 * 1024 * 1024
"""Bytes of the largest event that is waited for."""


class Frame(NamedTuple):
    """One event of a stream."""

    name: str
    """What the stream calls it; empty where it gives it no name; `:` for a comment, by which some servers show that they are alive."""
    text: bytes
    """Holds its data, from `begin` to `end`: large pieces are not copied only to be looked at."""
    begin: int
    end: int
    has_id: bool = False
    """The stream can be resumed behind it."""

    @classmethod
    def of(cls, name: str, data: bytes, *, has_id: bool = False) -> Self:
        """An event whose data stands alone."""
        return cls(name, data, 0, len(data), has_id)

    @property
    def data(self) -> bytes:
        """Its data."""
        return self.text[self.begin : self.end]

    @property
    def size(self) -> int:
        """Bytes of its data."""
        return self.end - self.begin


class SseFraming:
    """Cuts a stream into its events."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._returns = False
        """Some line ended with a carriage return."""

    def feed(self, piece: bytes) -> Iterator[Frame]:
        """The events that this piece completes.

        Raises:
            Unreadable: Where what is in the stream is no event, for all that is known of it.
        """
        yield from self._with_returns(piece) if self._returns else self._with_newlines(piece)
        if len(self._rest) > _LARGEST:
            raise Unreadable("an event without an end")

    def _with_newlines(self, piece: bytes) -> Iterator[Frame]:
        """Nearly all servers end lines with one newline, and then each byte needs to be touched once."""
        begin = 0
        if self._rest:
            begin = _end_behind(self._rest, piece)
            text = b"".join((self._rest, memoryview(piece)[:begin])) if begin >= 0 else b""
            usual = _usual(text, 0)
            if usual is None and (begin < 0 or b"\r" in text):
                yield from self._unless_returns(piece)
                return
            self._rest.clear()
            if usual is None:
                yield from _frame(text)
            else:
                yield usual[0]
        while (found := _usual(piece, begin)) is not None:
            frame, begin = found
            yield frame
        yield from self._unless_returns(piece[begin:])

    def _unless_returns(self, piece: bytes) -> Iterator[Frame]:
        """What does not look as usual, or is not complete."""
        if b"\r" in piece:
            self._returns = True
            yield from self._with_returns(piece)
            return
        begin = 0
        while not self._rest and (end := _end(piece, begin)) >= 0:
            yield from _frame(piece[begin:end])
            begin = end
        self._rest += piece[begin:]

    def _with_returns(self, piece: bytes) -> Iterator[Frame]:
        searched = max(0, len(self._rest) - 3)
        self._rest += piece
        begin = 0
        while (found := _END.search(self._rest, searched)) is not None:
            text = bytes(self._rest[begin : found.start()])
            begin = searched = found.end()
            yield from _frame(text)
        del self._rest[:begin]


def _usual(text: bytes, begin: int) -> tuple[Frame, int] | None:
    """The event that begins here, and where the next one does, if it looks as nearly all do: a line with its name and one of data."""
    if not text.startswith(b"event: ", begin):
        return None
    first = text.find(b"\n", begin)
    second = text.find(b"\n", first + 1)
    if first < 0 or not text.startswith(b"data: ", first + 1) or not text.startswith(b"\n", second + 1):
        return None
    if second < 0 or text.startswith(b"\r", first - 1) or text.startswith(b"\r", second - 1):
        return None
    return Frame(text[begin + 7 : first].decode("utf-8", "replace"), text, first + 7, second), second + 2


def _end_behind(rest: bytearray, piece: bytes) -> int:
    """Where in a piece the event ends that began before it; -1 where it does not end there."""
    return 1 if rest.endswith(b"\n") and piece.startswith(b"\n") else _end(piece, 0)


def _end(text: bytes, start: int) -> int:
    """Behind the first empty line; -1 without one."""
    # One byte is looked for ten times as fast as two.
    found = text.find(b"\n", start)
    while found >= 0:
        if text.startswith(b"\n", found + 1):
            return found + 2
        found = text.find(b"\n", found + 1)
    return -1


def _frame(text: bytes) -> Iterator[Frame]:
    """The event in a text, if there is one."""
    name, data, is_comment, has_id = "", list[bytes](), False, False
    for line in text.splitlines():
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")
        elif field == b"id":
            has_id = True
        elif not field and line:
            is_comment = True
    if data or name or has_id:
        yield Frame.of(name, b"\n".join(data), has_id=has_id)
    elif is_comment:
        yield Frame.of(":", b"")
