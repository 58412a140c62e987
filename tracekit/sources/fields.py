"""Reading foreign objects without trusting them: a field of the wrong kind is a field that is not there."""

import math
from typing import Any, Final, TypeGuard

from tracekit.sources.timestamps import MILLISECOND, SECOND

Object = dict[str, Any]
"""A JSON object as somebody else wrote it."""

_WHOLE_LIMIT: Final = 1 << 63

LONGEST_NS: Final = 10 * 366 * 24 * 60 * 60 * SECOND
"""No duration is longer: what says so was written in another unit, or is broken."""


def is_object(value: object) -> TypeGuard[Object]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def text(value: Object, *names: str) -> str | None:
    """The first of these fields that is a text and not empty."""
    for name in names:
        found = value.get(name)
        if isinstance(found, str) and found:
            return found
    return None


def number(value: Object, name: str) -> float | None:
    """A field that is a finite number."""
    found = value.get(name)
    if isinstance(found, int):
        return None if isinstance(found, bool) else found
    return found if isinstance(found, float) and math.isfinite(found) else None


def whole(value: Object, name: str) -> int | None:
    """A field that is a whole number of at most 64 bits."""
    found = value.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) and -_WHOLE_LIMIT <= found < _WHOLE_LIMIT else None


def milliseconds(value: Object, name: str) -> int | None:
    """A duration, in nanoseconds, that is written in milliseconds. A negative one is none."""
    return _duration(number(value, name), MILLISECOND)


def seconds(value: Object, name: str) -> int | None:
    """A duration, in nanoseconds, that is written in seconds. A negative one is none."""
    return _duration(number(value, name), SECOND)


def _duration(found: float | None, unit_ns: int) -> int | None:
    return int(found * unit_ns) if found is not None and 0 <= found <= LONGEST_NS / unit_ns else None


def mapping(value: Object, name: str) -> Object:
    """A field that is an object; empty where it is none."""
    return value[name] if isinstance(value.get(name), dict) else {}


def objects_in(value: Object, name: str) -> list[Object]:
    """The objects of a field that is a list."""
    return [item for item in list_in(value, name) if is_object(item)]


def list_in(value: Object, name: str) -> list[Any]:
    """A field that is a list; empty where it is none."""
    return value[name] if isinstance(value.get(name), list) else []


def parts_of(value: Object) -> list[Object]:
    """The content blocks of an assistant or user line; a bare text is one block."""
    message = mapping(value, "message")
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects_in(message, "content")


def words_of(parts: list[Object]) -> str:
    """The text of the parts that are text."""
    return "\n".join(found for part in parts if part.get("type") == "text" and (found := text(part, "text")) is not None)
