"""What Claude Code tells a hook, read without trusting it: a field of the wrong kind is a field that is not there."""

import json
import math
from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from tracekit.model.digest import compact_json, digest

_MILLISECOND: Final = 1_000_000
_LONGEST_MS: Final = 10 * 366 * 24 * 60 * 60 * 1_000
"""No duration is longer: what says so was written in another unit, or is broken."""


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


class Payload:
    """One JSON object of a hook's input."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._value = value

    @classmethod
    def read(cls, body: bytes) -> "Payload | None":
        """The input of a hook; None where it is no JSON object."""
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return None
        return cls(value) if _is_object(value) else None

    def text(self, *names: str) -> str | None:
        """The first of these fields that is a text and not empty."""
        for name in names:
            found = self._value.get(name)
            if isinstance(found, str) and found:
                return found
        return None

    def is_blank(self, name: str) -> bool:
        """Whether a field is there, and an empty text."""
        return self._value.get(name) == ""

    def flag(self, name: str) -> bool:
        """Whether a field is true."""
        return self._value.get(name) is True

    def duration_ns(self, name: str) -> int | None:
        """A duration that is written in milliseconds."""
        found = self._value.get(name)
        if not isinstance(found, int | float) or isinstance(found, bool) or not math.isfinite(found):
            return None
        return int(found * _MILLISECOND) if 0 <= found <= _LONGEST_MS else None

    def part(self, name: str) -> "Payload":
        """A field that is an object; an empty one where it is none."""
        found = self._value.get(name)
        return Payload(found if _is_object(found) else {})

    def parts(self, name: str) -> "list[Payload]":
        """The objects of a field that is a list."""
        items: list[Any] = self._value[name] if isinstance(self._value.get(name), list) else []
        return [Payload(item) for item in items if _is_object(item)]

    def content(self, name: str) -> bytes | None:
        """A field as the bytes that its size and digest are taken of: a text as it is, everything else as JSON. None: not there."""
        found = self._value.get(name)
        if found is None:
            return None
        return found.encode(errors="surrogatepass") if isinstance(found, str) else compact_json(found)


class Arguments:
    """The arguments of a tool call: a size and a digest, unless the content itself is asked for."""

    def __init__(self, call: Payload) -> None:
        data = call.content("tool_input") or b"{}"
        self.size = len(data)
        self.digest = digest(data)
        self.data = data
