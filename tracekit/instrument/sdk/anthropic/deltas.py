"""How much content a delta brings: nearly all of a stream's events are deltas, and each is like the one before but for its content."""

import re
from typing import Final

import orjson

_loads: Final = orjson.loads
_CONTENT: Final = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}
_UNTIL_CONTENT: Final = re.compile(r'.*?"delta"\s*:\s*\{.*?"(?:text|partial_json|thinking)"\s*:\s*(?=")', re.DOTALL)
_AFTER_CONTENT: Final = "}}"
_NEVER: Final = "\N{NULL}"
"""What no JSON begins with."""


class Deltas:
    """The deltas of one stream, read one after the other.

    Attributes:
        index: Number of the block of the last one.
    """

    def __init__(self) -> None:
        self.index = 0
        self._until_content = _NEVER
        """What the last one says before its content. One that begins alike is of the same block and the same kind."""
        self._from = 0

    def size(self, data: str) -> int:
        """Characters of content that a delta brings.

        Raises:
            ValueError: It is not JSON.
            LookupError: It is none that brings text, JSON or thinking.
            TypeError: As `LookupError`.
            AttributeError: As `LookupError`.
        """
        if data.startswith(self._until_content) and data.endswith(_AFTER_CONTENT):
            try:
                # More than one text in there is not JSON, and no text begins in any other way.
                return len(_loads(data[self._from : -2]))
            except orjson.JSONDecodeError:
                pass
        return self._whole(data)

    def _whole(self, data: str) -> int:
        said = _loads(data)
        delta = said["delta"]
        content: str = delta[_CONTENT[delta["type"]]]
        size, self.index = len(content), said["index"]
        self._until_content = _NEVER
        found = _UNTIL_CONTENT.match(data)
        if found is not None and data.endswith(_AFTER_CONTENT):
            try:
                is_alone = _loads(data[found.end() : -2]) == content
            except orjson.JSONDecodeError:
                is_alone = False
            if is_alone:
                self._until_content, self._from = f'{found[0]}"', found.end()
        return size
