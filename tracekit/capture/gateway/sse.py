"""Server-sent events out of a stream that is cut anywhere: an event is what ends in an empty line."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tracekit.capture.gateway.decoding import Unreadable

_END: Final = re.compile(rb"(?>\r\n|\r|\n)(?>\r\n|\r|\n)")
_LARGEST: Final = 64 * 1024 * 1024
"""Bytes of the largest event that is waited for."""


class Frame(NamedTuple):
    """One event of a stream."""

    name: str
    """What the stream calls it; empty where it gives it no name; `:` for a comment, by which some servers show that they are alive."""
    data: bytes
    has_id: bool = False
    """The stream can be resumed behind it."""


class SseFraming:
    """Cuts a stream into its events."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, piece: bytes) -> Iterator[Frame]:
        """The events that this piece completes.

        Raises:
            Unreadable: Where what is in the stream is no event, for all that is known of it.
        """
        text, searched = self._with_rest(piece)
        begin = 0
        # Nearly all servers end lines with one newline, which is found fastest.
        find = _with_returns if b"\r" in text else _with_newlines
        while (end := find(text, searched)) is not None:
            frame = _frame(bytes(text[begin : end[0]]))
            begin = searched = end[1]
            if frame is not None:
                yield frame
        if text is self._rest:
            del self._rest[:begin]
        else:
            self._rest += text[begin:]
        if len(self._rest) > _LARGEST:
            raise Unreadable("an event without an end")

    def _with_rest(self, piece: bytes) -> tuple[bytes | bytearray, int]:
        """The piece behind what was left over, and where an end may be that has not been looked for yet."""
        if not self._rest:
            return piece, 0
        searched = max(0, len(self._rest) - 3)
        self._rest += piece
        return self._rest, searched


def _with_newlines(text: bytes | bytearray, start: int) -> tuple[int, int] | None:
    # One byte is looked for ten times as fast as two.
    found = text.find(b"\n", start)
    while found >= 0:
        if text.startswith(b"\n", found + 1):
            return found, found + 2
        found = text.find(b"\n", found + 1)
    return None


def _with_returns(text: bytes | bytearray, start: int) -> tuple[int, int] | None:
    found = _END.search(text, start)
    return None if found is None else found.span()


def _frame(text: bytes) -> Frame | None:
    # What nearly all events of the Messages API look like.
    if text.startswith(b"event: "):
        end = text.find(b"\n")
        if text.startswith(b"data: ", end + 1) and text.find(b"\n", end + 1) < 0 and text.find(b"\r") < 0:
            return Frame(text[7:end].decode("utf-8", "replace"), text[end + 7 :])
    return _any_frame(text)


def _any_frame(text: bytes) -> Frame | None:
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
        return Frame(name, b"\n".join(data), has_id)
    return Frame(":", b"") if is_comment else None
