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

_known: dict[bytes, tuple[str, Value | None]] = {}


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
    pair = KeyValue.FromString(raw)
    attribute = sys.intern(pair.key), value_of(pair.value)
    if len(raw) <= _KNOWN_LONGEST:
        if len(_known) >= _KNOWN_MOST:
            _known.clear()
        _known[raw] = attribute
    return attribute


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
