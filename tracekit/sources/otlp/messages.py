"""The OTLP messages with every attribute left as its bytes.

An exporter sends the same attributes over and over, so each is decoded once and told again by its bytes: that halves the time
of a body. The messages are the standard's own, but for the type of the fields that hold attributes.
"""

import base64
import sys
from collections.abc import Iterable
from typing import Any, Final

from google.protobuf.descriptor_pb2 import (  # type: ignore[import-untyped, unused-ignore]
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool  # type: ignore[import-untyped, unused-ignore]
from google.protobuf.message_factory import GetMessageClass  # type: ignore[import-untyped, unused-ignore]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import DESCRIPTOR as LOGS_SERVICE
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import DESCRIPTOR as TRACE_SERVICE
from opentelemetry.proto.common.v1.common_pb2 import DESCRIPTOR as COMMON
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import DESCRIPTOR as LOGS
from opentelemetry.proto.resource.v1.resource_pb2 import DESCRIPTOR as RESOURCE
from opentelemetry.proto.trace.v1.trace_pb2 import DESCRIPTOR as TRACE

from tracekit.model import Value
from tracekit.sources.otlp.values import joined, nested

_ATTRIBUTE: Final = ".opentelemetry.proto.common.v1.KeyValue"
_KNOWN_MOST: Final = 20_000
"""Attributes that are remembered at a time."""
_KNOWN_LONGEST: Final = 200
"""Bytes of an attribute that is remembered: longer ones seldom come twice."""

_NAMES_MOST: Final = 10_000
_NAME: Final = 0x0A
"""Before the name of an attribute: field 1, text."""
_VALUE: Final = 0x12
"""Before the value of an attribute: field 2, a message."""
_TEXT: Final = 0x0A
"""Before text: field 1."""
_INTEGER: Final = 0x18
"""Before a whole number: field 3."""
_MORE: Final = 0x80

_known: dict[bytes, tuple[str, Value | None]] = {}
_names: dict[bytes, str] = {}
"""Names of attributes by their bytes."""


def _with_raw_attributes() -> DescriptorPool:
    pool = DescriptorPool()
    # In the order in which they import each other.
    for file in (COMMON, RESOURCE, TRACE, LOGS, TRACE_SERVICE, LOGS_SERVICE):
        described = FileDescriptorProto()
        file.CopyToProto(described)
        if file is not COMMON:
            for message in described.message_type:
                _leave_raw(message)
        pool.AddSerializedFile(described.SerializeToString())
    return pool


def _leave_raw(message: DescriptorProto) -> None:
    for field in message.field:
        if field.type_name == _ATTRIBUTE:
            field.type = FieldDescriptorProto.TYPE_BYTES
            field.ClearField("type_name")
    for inner in message.nested_type:
        _leave_raw(inner)


_POOL: Final = _with_raw_attributes()
_COLLECTOR: Final = "opentelemetry.proto.collector."
TracesRequest: Final[Any] = GetMessageClass(_POOL.FindMessageTypeByName(f"{_COLLECTOR}trace.v1.ExportTraceServiceRequest"))
LogsRequest: Final[Any] = GetMessageClass(_POOL.FindMessageTypeByName(f"{_COLLECTOR}logs.v1.ExportLogsServiceRequest"))


def attributes_of(pairs: Iterable[bytes]) -> dict[str, Value]:
    """The attributes that have a value.

    Raises:
        DecodeError: One of them is no attribute.
    """
    found: dict[str, Value] = {}
    for raw in pairs:
        name, value = _known.get(raw) or _attribute(raw)
        if value is not None:
            found[name] = value
    return found


def _attribute(raw: bytes) -> tuple[str, Value | None]:
    attribute = _plain(raw) or _any(raw)
    if len(raw) <= _KNOWN_LONGEST:
        if len(_known) >= _KNOWN_MOST:
            _known.clear()
        _known[raw] = attribute
    return attribute


def _any(raw: bytes) -> tuple[str, Value | None]:
    pair = KeyValue.FromString(raw)
    name = sys.intern(pair.key)
    spelled = name.encode()
    if len(spelled) < _MORE and len(_names) < _NAMES_MOST:
        # Found again only where an attribute begins with its name, as every encoder writes it.
        _names[bytes((_NAME, len(spelled))) + spelled] = name
    return name, value_of(pair.value)


def _plain(raw: bytes) -> tuple[str, Value | None] | None:
    """A short text or a number below two million under a name that came before; None for all else, which the library decodes."""
    at = raw[1] + 2 if len(raw) > 1 else 0
    name = _names.get(raw[:at])
    size = len(raw) - at - 2
    if name is None or not 1 < size < _MORE or raw[at] != _VALUE or raw[at + 1] != size:
        return None
    kind, value = raw[at + 2], raw[at + 3 :]
    if kind == _TEXT and value[0] == size - 2:
        try:
            return name, value[1:].decode()
        except UnicodeDecodeError:
            return None
    if kind == _INTEGER and size <= 4 and value[-1] < _MORE and min(value[:-1], default=_MORE) >= _MORE:  # noqa: PLR2004  (three bytes and the tag)
        return name, sum((byte & ~_MORE) << 7 * place for place, byte in enumerate(value))
    return None


def value_of(value: AnyValue) -> Value | None:
    """A value as one of a type that attributes have; None where it is empty or of a kind that is not known."""
    match value.WhichOneof("value"):
        case "string_value":
            return value.string_value
        case "int_value":
            return value.int_value
        case "bool_value":
            return value.bool_value
        case "double_value":
            return value.double_value
        case "array_value":
            return joined(value_of(item) for item in value.array_value.values)
        case "kvlist_value":
            return nested({pair.key: value_of(pair.value) for pair in value.kvlist_value.values})
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        case _:
            return None
