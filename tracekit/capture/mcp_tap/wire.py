"""What passes on a stdio server's pipes, read beside the traffic: lines with their times, and JSON-RPC messages in them."""

from collections.abc import Iterator
from enum import Enum
from typing import Any, Final, NamedTuple, TypeGuard, cast

import orjson

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""A longer line passes like any other, and is not read."""

Object = dict[str, Any]


class Side(Enum):
    """Who wrote it."""

    CLIENT = "client"
    SERVER = "server"

    @property
    def other(self) -> "Side":
        """Who reads it."""
        return Side.SERVER if self is Side.CLIENT else Side.CLIENT


class Line(NamedTuple):
    """One line without its end, and when its first and its last byte passed."""

    first_ns: int
    last_ns: int
    data: bytes


class Lines:
    """Cuts what passes in one direction into lines, however it comes.

    Attributes:
        unread: Lines that were too long, or had a hole.
    """

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self.unread = 0
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._first_ns = 0
        self._skips = False

    def feed(self, data: bytes, at_ns: int) -> Iterator[Line]:
        """Take what passed at once, and give the lines that it ended."""
        while (end := data.find(b"\n")) >= 0:
            part, data = data[:end], data[end + 1 :]
            self._keep(part, at_ns)
            if self._skips:
                self.unread += 1
            elif self._size:
                yield Line(self._first_ns, at_ns, b"".join(self._parts))
            self._parts, self._size, self._skips = [], 0, False
        self._keep(data, at_ns)

    def hole(self) -> None:
        """Something passed that is not known: the line that it belongs to cannot be read."""
        self._parts, self._skips = [], True

    def _keep(self, data: bytes, at_ns: int) -> None:
        if not self._size:
            self._first_ns = at_ns
        self._size += len(data)
        if self._size > self._max_bytes:
            self.hole()
        elif data and not self._skips:
            self._parts.append(data)


class Message(NamedTuple):
    """One JSON-RPC message: a request (method and id), a notification (method only) or a response (id only)."""

    method: str | None
    id: str | None
    """As JSON writes it: 1 and "1" are two."""
    shown_id: str
    params: Object
    result: Object
    error: Object | None


def messages(data: bytes) -> list[Message] | None:
    """The messages of a line, which may be a batch; None where it is no JSON-RPC."""
    try:
        value: Any = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    values = cast("list[Any]", value) if isinstance(value, list) else [value]  # type: ignore[redundant-cast]
    return [_message(one) for one in values] if values and all(_is_message(one) for one in values) else None


def _is_message(value: object) -> TypeGuard[Object]:
    return _is_object(value) and (isinstance(value.get("method"), str) or "id" in value)


def _message(value: Object) -> Message:
    method, number = value.get("method"), value.get("id")
    error = value.get("error")
    return Message(
        method if isinstance(method, str) else None,
        None if number is None else orjson.dumps(number).decode(),
        str(number),
        object_in(value, "params"),
        object_in(value, "result"),
        error if _is_object(error) else None,
    )


def object_in(value: Object, name: str) -> Object:
    """A field that is an object; empty where it is none."""
    found = value.get(name)
    return found if _is_object(found) else {}


def text_in(value: Object, name: str) -> str | None:
    """A field that is a text and not empty."""
    found = value.get(name)
    return found if isinstance(found, str) and found else None


def objects_in(value: Object, name: str) -> list[Object]:
    """The objects of a field that is a list."""
    items: list[Any] = value[name] if isinstance(value.get(name), list) else []
    return [item for item in items if _is_object(item)]


def _is_object(value: object) -> TypeGuard[Object]:
    return isinstance(value, dict)
