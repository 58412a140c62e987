"""Reading foreign objects without trusting them: a field of the wrong kind is a field that is not there."""

from typing import Any

Object = dict[str, Any]
"""A JSON object as somebody else wrote it."""


def text(value: Object, *names: str) -> str | None:
    """The first of these fields that is a text and not empty."""
    for name in names:
        found = value.get(name)
        if isinstance(found, str) and found:
            return found
    return None


def number(value: Object, name: str) -> float | None:
    """A field that is a number."""
    found = value.get(name)
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None


def whole(value: Object, name: str) -> int | None:
    """A field that is a whole number."""
    found = value.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def mapping(value: Object, name: str) -> Object:
    """A field that is an object; empty where it is none."""
    return value[name] if isinstance(value.get(name), dict) else {}


def objects_in(value: Object, name: str) -> list[Object]:
    """The objects of a field that is a list."""
    return [item for item in list_in(value, name) if isinstance(item, dict)]


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
