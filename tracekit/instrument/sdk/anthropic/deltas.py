"""How much content a delta brings: nearly all of a stream's events are deltas, and each is like the one before but for its content."""

import re
from typing import Final

import orjson

from tracekit.model.deltas import CONTENT_OF_DELTA

AFTER_CONTENT: Final = "}}"
"""What stands behind the content of a delta that is like others."""
_UNTIL_CONTENT: Final = re.compile(rf'.*?"delta"\s*:\s*\{{.*?"(?:{"|".join(CONTENT_OF_DELTA.values())})"\s*:\s*(?=")', re.DOTALL)
_NEVER: Final = "\N{NULL}"
"""What no JSON begins with."""


class Likeness:
    """What the last delta of a stream that was read whole has in common with those that come after it.

    One that begins and ends alike is of the same block and the same kind. What stands between is its content if it is a JSON text
    and nothing more, since no two texts in a row are JSON.

    Attributes:
        index: Number of its block.
        beginning: What it says before its content, up to and with the quote that opens it.
        at: Where its content begins, with that quote.
    """

    def __init__(self) -> None:
        self.index = 0
        self.beginning = _NEVER
        self.at = 0

    def read(self, data: str) -> int:
        """Read a delta whole, and note what others may be like; gives the characters of content that it brings.

        Raises:
            ValueError: It is not JSON.
            LookupError: It is none that brings text, JSON or thinking.
            TypeError: As `LookupError`.
            AttributeError: As `LookupError`.
        """
        said = orjson.loads(data)
        delta = said["delta"]
        content: str = delta[CONTENT_OF_DELTA[delta["type"]]]
        size, self.index, self.beginning = len(content), said["index"], _NEVER
        found = _UNTIL_CONTENT.match(data)
        if found is not None and data.endswith(AFTER_CONTENT) and _text(data[found.end() : -len(AFTER_CONTENT)]) == content:
            self.beginning, self.at = f'{found[0]}"', found.end()
        return size


def _text(data: str) -> object:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
