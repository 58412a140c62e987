"""Large deltas at a glance: nearly all are of one shape, and how long they are can be seen without parsing all that they say."""

import re
from typing import Final, NamedTuple

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
    data: bytes
    begin: int
    end: int

    @property
    def text(self) -> str:
        """The piece itself."""
        return self.data[self.begin : self.end].decode("utf-8", "replace")


def glance(data: bytes) -> Delta | None:
    """The delta in an event's data; None where it is better parsed: a small one, one with an escape in its text, one of another shape."""
    found = _BEGIN.match(data) if len(data) >= _LARGE else None
    if found is None:
        return None
    begin = found.end()
    end = data.find(b'"', begin)
    # Servers pad events with spaces.
    if end < 0 or data.find(b"\\", begin, end) >= 0 or data[end + 1 :].translate(None, b" ") != b"}}":
        return None
    return Delta(int(found[1]), data, begin, end)
