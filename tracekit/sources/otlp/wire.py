"""What a protobuf body is and where its records stand, from its bytes alone.

The three OTLP requests have one shape (groups of scopes of records), and protobuf carries no type: a body is told from
the wire types of its first record. The library gives no byte offsets, so they are counted here.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final, NamedTuple


class Signal(StrEnum):
    """What a body carries."""

    TRACES = "traces"
    LOGS = "logs"
    METRICS = "metrics"
    EMPTY = "empty"
    """Well formed, without a record."""


class Field(NamedTuple):
    """One field of a message."""

    number: int
    wire: int
    start: int
    """Offset of its value."""
    end: int


_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2
_FIXED32: Final = 5
_WIDTHS: Final = {_FIXED64: 8, _FIXED32: 4}
_VARINT_BITS: Final = 70
_MORE: Final = 0x80
"""The bit of a varint's byte that says: more follows."""

_GROUPS: Final = 1
"""`resource_spans`, `resource_logs`, `resource_metrics`."""
_SCOPES: Final = 2
_RECORDS: Final = 2
_SCHEMA_URL: Final = 3
"""The last field of a group."""
_SPAN_START: Final = (7, _FIXED64)
_LOG_TIMES: Final = frozenset({(1, _FIXED64), (11, _FIXED64)})


class NotProtobufError(ValueError):
    """The bytes are no protobuf message of this shape."""


def survey(body: bytes) -> tuple[Signal, list[int]] | None:
    """Tell what an OTLP body carries and where its records begin, in the library's order; None where it is no OTLP body."""
    try:
        records = list(record_spans(body))
        return _signal_of(body, records) if records else Signal.EMPTY, [start for start, _ in records]
    except NotProtobufError:
        return None


def signal_of_head(head: bytes) -> Signal | None:
    """Tell what a body carries by its first bytes, which may end anywhere after its first record."""
    try:
        return _signal_of(head, record_spans(head, cut=True), cut=True)
    except NotProtobufError:
        return None


def _signal_of(body: bytes, records: Iterable[tuple[int, int]], *, cut: bool = False) -> Signal:
    for start, end in records:
        for field in fields(body, start, end, cut=cut):
            if (field.number, field.wire) == _SPAN_START:
                return Signal.TRACES
            if (field.number, field.wire) in _LOG_TIMES:
                return Signal.LOGS
    return Signal.METRICS


def record_spans(body: bytes, *, cut: bool = False) -> Iterator[tuple[int, int]]:
    """Where each record of a body begins and ends, in the order in which the library gives them.

    Raises:
        NotProtobufError: The bytes do not have the shape of an OTLP request.
    """
    for group in fields(body, 0, len(body), cut=cut):
        if (group.number, group.wire) != (_GROUPS, _BYTES):
            raise NotProtobufError
        for scope in fields(body, group.start, group.end, cut=cut):
            if scope.wire != _BYTES or scope.number > _SCHEMA_URL:
                raise NotProtobufError
            if scope.number == _SCOPES:
                inner = fields(body, scope.start, scope.end, cut=cut)
                yield from ((field.start, field.end) for field in inner if field.number == _RECORDS)


def fields(body: bytes, start: int, end: int, *, cut: bool = False) -> Iterator[Field]:
    """The fields of the message that stands between two offsets. `cut`: its last ones may be missing.

    Raises:
        NotProtobufError: They do not fill it exactly.
    """
    at = start
    while at < end:
        tag, at = (body[at], at + 1) if body[at] < _MORE else _varint(body, at, end)
        wire = tag & 7
        value = at
        if wire == _BYTES:
            length, value = _varint(body, at, end)
            at = value + length
        elif wire == _VARINT:
            at = _varint(body, at, end)[1]
        elif wire in _WIDTHS:
            at += _WIDTHS[wire]
        else:
            raise NotProtobufError
        if not tag >> 3 or (at > end and not cut):
            raise NotProtobufError
        at = min(at, end)
        yield Field(tag >> 3, wire, value, at)


def _varint(body: bytes, at: int, end: int) -> tuple[int, int]:
    found = 0
    for shift in range(0, _VARINT_BITS, 7):
        if at >= end:
            break
        byte = body[at]
        at += 1
        found |= (byte & 0x7F) << shift
        if byte < _MORE:
            return found, at
    raise NotProtobufError
