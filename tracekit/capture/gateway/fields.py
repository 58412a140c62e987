"""Reading JSON that others wrote: whatever is not there, or is not what it should be, is empty."""

import json
from collections.abc import Mapping
from typing import Any, TypeGuard

import orjson

Object = Mapping[str, Any]


def parsed(data: bytes) -> Any:
    """The value that JSON holds; None for what is none."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return _parsed_leniently(data)


def as_object(value: object) -> Object:
    """The value, where it is an object."""
    return value if _is_object(value) else {}


def as_list(value: object) -> list[Any]:
    """The value, where it is a list."""
    return value if _is_list(value) else []


def inner(value: Object, name: str) -> Object:
    """The object that a field holds."""
    return as_object(value.get(name))


def text(value: Object, *names: str) -> str:
    """The first of these fields that holds a text."""
    for name in names:
        found = value.get(name)
        if isinstance(found, str):
            return found
    return ""


def _parsed_leniently(data: bytes) -> Any:
    """Half a character, which a model may send at the end of a piece, is JSON to most readers though not to the fast one."""
    try:
        return json.loads(data) if b"\\u" in data else None
    except (ValueError, RecursionError):
        return None


def _is_object(value: object) -> TypeGuard[Object]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)
