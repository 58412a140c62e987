"""Large deltas at a glance: nearly all are of one shape, and how long they are can be seen without parsing all that they say."""

import re
from typing import Final, NamedTuple

from tracekit.capture.gateway.sse import Frame

_BEGIN: Final = re.compile(
    rb'\{"type": ?"content_block_delta", ?"index": ?(\d{1,6}), ?"delta": ?'
    rb'\{"type": ?"(?:text|thinking|input_json)_delta", ?"(?:text|thinking|partial_json)": ?"'
)


_LARGE: Final = 2_048
"""Bytes from which a glance is cheaper than the parser."""


class Delta(NamedTuple):
    """A piece of a block's content."""

    block: int
    """Index of the block."""
    text: bytes
    """Holds the piece, from `begin` to `end`."""
    begin: int
    end: int

    @property
    def content(self) -> str:
        """The piece itself."""
        return self.text[self.begin : self.end].decode("utf-8", "replace")


def glance(frame: Frame) -> Delta | None:
    """The delta in an event; None where it is better parsed: a small one, one with an escape in its text, one of another shape."""
    text = frame.text
    found = _BEGIN.match(text, frame.begin, frame.end) if frame.size >= _LARGE else None
    if found is None:
        return None
    begin = found.end()
    end = text.rfind(b'"', begin, frame.end)
    # Servers pad events with spaces. What has no escape in it has no quotation mark in it either.
    if end < 0 or text[end + 1 : frame.end].translate(None, b" ") != b"}}" or text.find(b"\\", begin, end) >= 0:
        return None
    return Delta(int(found[1]), text, begin, end)
