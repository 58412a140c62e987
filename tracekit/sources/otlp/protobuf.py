"""OTLP/HTTP bodies in protobuf, as an exporter sends them."""

import base64
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tracekit.model import Event, Value
from tracekit.sources.otlp.records import LogRecord, Place, Record, SpanRecord
from tracekit.sources.otlp.values import Attributes, joined, nested, spelled
from tracekit.sources.otlp.wire import Signal, signal_of_head, survey

if TYPE_CHECKING:
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as LogMessage
    from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage


def looks_like_otlp_protobuf(head: bytes, name: str) -> bool:
    """Tell whether a file is an OTLP body in protobuf by its first bytes; its name is asked where they leave doubt."""
    signal = signal_of_head(head) if head.startswith(b"\n") else None
    return signal in {Signal.TRACES, Signal.LOGS} or (signal is not None and _hint(name) is not None)


def decode_protobuf(body: bytes, *, name: str = "", index: int = 0) -> Iterator[Record] | None:
    """Give the records of a body; None where it is no OTLP body.

    Metrics have none. `name`, the file's, decides only where the bytes do not tell what the body carries; `index` is
    what the records' places name as their body.
    """
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415  (bodies are rare, starts are not)

    found = survey(body)
    if found is None:
        return None
    signal, positions = found
    if signal is Signal.METRICS:
        signal = _hint(name) or signal
    try:
        if signal is Signal.TRACES:
            return _spans(body, positions, index)
        return _logs(body, positions, index) if signal is Signal.LOGS else iter(())
    except DecodeError:
        return None


def _hint(name: str) -> Signal | None:
    return next((signal for signal in (Signal.TRACES, Signal.LOGS, Signal.METRICS) if signal in name), None)


def _spans(body: bytes, positions: list[int], index: int) -> Iterator[Record]:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest  # noqa: PLC0415  (as above)

    request = ExportTraceServiceRequest.FromString(body)

    def records() -> Iterator[Record]:
        places = (Place(index, 0, position) for position in positions)
        for group in request.resource_spans:
            resource = _attributes(group.resource.attributes)
            for scoped in group.scope_spans:
                for span in scoped.spans:
                    yield _span(span, scoped.scope.name, resource, next(places))

    return records()


def _span(span: "SpanMessage", scope: str, resource: Attributes, place: Place) -> SpanRecord:
    return SpanRecord(
        scope,
        span.name,
        span.kind,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        span.status.code,
        span.status.message,
        _attributes(span.attributes),
        resource,
        tuple(Event(event.time_unix_nano, event.name, _attributes(event.attributes)) for event in span.events),
        place,
    )


def _logs(body: bytes, positions: list[int], index: int) -> Iterator[Record]:
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest  # noqa: PLC0415  (as above)

    request = ExportLogsServiceRequest.FromString(body)

    def records() -> Iterator[Record]:
        places = (Place(index, 0, position) for position in positions)
        for group in request.resource_logs:
            resource = _attributes(group.resource.attributes)
            for scoped in group.scope_logs:
                for log in scoped.log_records:
                    yield _log(log, scoped.scope.name, resource, next(places))

    return records()


def _log(log: "LogMessage", scope: str, resource: Attributes, place: Place) -> LogRecord:
    body = _value(log.body)
    return LogRecord(
        scope,
        log.event_name or ("" if body is None else spelled(body)),
        log.trace_id.hex(),
        log.span_id.hex(),
        log.time_unix_nano or log.observed_time_unix_nano,
        _attributes(log.attributes),
        resource,
        place,
    )


def _attributes(pairs: "Iterable[KeyValue]") -> dict[str, Value]:
    found: dict[str, Value] = {}
    for pair in pairs:
        value = _value(pair.value)
        if value is not None:
            found[pair.key] = value
    return found


def _value(value: "AnyValue") -> Value | None:
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
            return joined(_value(item) for item in value.array_value.values)
        case "kvlist_value":
            return nested({pair.key: _value(pair.value) for pair in value.kvlist_value.values})
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        case _:
            return None
