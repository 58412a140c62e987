"""Makes OTLP bodies of both forms from one description, so that tests can hold one against the other."""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeAlias, TypeVar

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

EPOCH_NS = 1_800_000_000_000_000_000
MS = 1_000_000

SESSION = "5e551011-0000-4000-8000-000000000001"
PROMPT = "9c0312e7-0000-4000-8000-000000000001"
TRACE = "a1" * 16
TRACING = "com.anthropic.claude_code.tracing"
EVENTS = "com.anthropic.claude_code.events"

Attributes = Mapping[str, Any]
Sendable: TypeAlias = "str | bool | int | float | bytes | list[Sendable] | dict[str, Sendable] | None"


def at(milliseconds: float) -> int:
    """The moment this long after the epoch of all tests."""
    return EPOCH_NS + round(milliseconds * MS)


def span_id(number: int) -> str:
    return f"{number:016x}"


@dataclass(frozen=True)
class SentSpan:
    name: str
    id: int
    start: float
    end: float | None
    attributes: Attributes = field(default_factory=dict[str, Any])
    parent: int = 0
    trace: str = TRACE
    scope: str = TRACING
    status: int = 0
    status_text: str = ""
    kind: int = 1
    events: Sequence[tuple[float, str, Attributes]] = ()
    resource: Attributes = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class SentEvent:
    name: str
    time: float
    attributes: Attributes = field(default_factory=dict[str, Any])
    under: int = 0
    trace: str = TRACE
    scope: str = EVENTS
    resource: Attributes = field(default_factory=dict[str, Any])


Sent = TypeVar("Sent", SentSpan, SentEvent)


def own(name: str, number: int, start: float, end: float | None, attributes: Attributes | None = None, **more: Any) -> SentSpan:
    """A span of Claude Code's."""
    return SentSpan(f"claude_code.{name}", number, start, end, {"session.id": SESSION, **(attributes or {})}, **more)


def event(name: str, time: float, attributes: Attributes | None = None, **more: Any) -> SentEvent:
    """An event of Claude Code's."""
    return SentEvent(name, time, {"session.id": SESSION, "event.name": name, "prompt.id": PROMPT, **(attributes or {})}, **more)


# ----------------------------------------------------------------------------------------------------------- protobuf


def traces(*spans: SentSpan) -> bytes:
    groups = [
        ResourceSpans(
            resource=Resource(attributes=pairs_of(resource)),
            scope_spans=[ScopeSpans(scope=InstrumentationScope(name=scope), spans=[_span(span) for span in members])],
        )
        for (scope, resource), members in _groups(spans)
    ]
    return bytes(ExportTraceServiceRequest(resource_spans=groups).SerializeToString())


def logs(*events: SentEvent) -> bytes:
    groups = [
        ResourceLogs(
            resource=Resource(attributes=pairs_of(resource)),
            scope_logs=[ScopeLogs(scope=InstrumentationScope(name=scope), log_records=[_log(sent) for sent in members])],
        )
        for (scope, resource), members in _groups(events)
    ]
    return bytes(ExportLogsServiceRequest(resource_logs=groups).SerializeToString())


def metrics() -> bytes:
    body = ExportMetricsServiceRequest()
    metric = body.resource_metrics.add().scope_metrics.add().metrics.add(name="claude_code.token.usage", unit="tokens")
    metric.sum.data_points.add(as_int=7, time_unix_nano=at(1))
    return bytes(body.SerializeToString())


def _span(span: SentSpan) -> Span:
    return Span(
        trace_id=bytes.fromhex(span.trace),
        span_id=bytes.fromhex(span_id(span.id)),
        parent_span_id=bytes.fromhex(span_id(span.parent)) if span.parent else b"",
        name=span.name,
        kind=span.kind,  # type: ignore[arg-type, unused-ignore]
        start_time_unix_nano=at(span.start),
        end_time_unix_nano=0 if span.end is None else at(span.end),
        attributes=pairs_of(span.attributes),
        events=[Span.Event(time_unix_nano=at(time), name=name, attributes=pairs_of(held)) for time, name, held in span.events],
        status=Status(code=span.status, message=span.status_text),  # type: ignore[arg-type, unused-ignore]
    )


def _log(sent: SentEvent) -> LogRecord:
    return LogRecord(
        time_unix_nano=at(sent.time),
        body=AnyValue(string_value=f"claude_code.{sent.name}"),
        attributes=pairs_of(sent.attributes),
        trace_id=bytes.fromhex(sent.trace) if sent.under else b"",
        span_id=bytes.fromhex(span_id(sent.under)) if sent.under else b"",
    )


def pairs_of(attributes: Attributes) -> list[KeyValue]:
    return [KeyValue(key=name, value=_any(value)) for name, value in attributes.items()]


def _any(value: Sendable) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case str():
            return AnyValue(string_value=value)
        case bytes():
            return AnyValue(bytes_value=value)
        case list():
            return AnyValue(array_value=ArrayValue(values=[_any(item) for item in value]))
        case dict():
            return AnyValue(kvlist_value=KeyValueList(values=pairs_of(value)))
        case None:
            return AnyValue()


# ---------------------------------------------------------------------------------------------------------------- JSON


def traces_json(*spans: SentSpan, exact: bool = True) -> dict[str, Any]:
    """The JSON form; `exact`: integers as text, as the standard wants, else as numbers, as Claude Code writes them."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _jsonpairs_of(resource, exact=exact)},
                "scopeSpans": [{"scope": {"name": scope}, "spans": [_json_span(span, exact=exact) for span in members]}],
            }
            for (scope, resource), members in _groups(spans)
        ],
    }


def logs_json(*events: SentEvent, exact: bool = True) -> dict[str, Any]:
    return {
        "resourceLogs": [
            {
                "resource": {"attributes": _jsonpairs_of(resource, exact=exact)},
                "scopeLogs": [{"scope": {"name": scope}, "logRecords": [_json_log(sent, exact=exact) for sent in members]}],
            }
            for (scope, resource), members in _groups(events)
        ],
    }


def line(body: dict[str, Any]) -> bytes:
    return json.dumps(body).encode() + b"\n"


def _json_span(span: SentSpan, *, exact: bool) -> dict[str, Any]:
    return {
        "traceId": span.trace.upper(),
        "spanId": span_id(span.id),
        **({"parentSpanId": span_id(span.parent)} if span.parent else {"parentSpanId": ""} if exact else {}),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": _integer(at(span.start), exact=exact),
        "endTimeUnixNano": _integer(0 if span.end is None else at(span.end), exact=exact),
        "attributes": _jsonpairs_of(span.attributes, exact=exact),
        "events": [
            {"timeUnixNano": _integer(at(time), exact=exact), "name": name, "attributes": _jsonpairs_of(held, exact=exact)}
            for time, name, held in span.events
        ],
        "status": {"code": span.status, "message": span.status_text},
    }


def _json_log(sent: SentEvent, *, exact: bool) -> dict[str, Any]:
    return {
        "timeUnixNano": _integer(at(sent.time), exact=exact),
        "body": {"stringValue": f"claude_code.{sent.name}"},
        "attributes": _jsonpairs_of(sent.attributes, exact=exact),
        "traceId": sent.trace if sent.under else "",
        "spanId": span_id(sent.under) if sent.under else "",
    }


def _jsonpairs_of(attributes: Attributes, *, exact: bool) -> list[dict[str, Any]]:
    return [{"key": name, "value": _json_any(value, exact=exact)} for name, value in attributes.items()]


def _json_any(value: Sendable, *, exact: bool) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": _integer(value, exact=exact)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case bytes():
            return {"bytesValue": base64.b64encode(value).decode()}
        case list():
            return {"arrayValue": {"values": [_json_any(item, exact=exact) for item in value]}}
        case dict():
            return {"kvlistValue": {"values": _jsonpairs_of(value, exact=exact)}}
        case None:
            return {}


def _integer(value: int, *, exact: bool) -> int | str:
    return str(value) if exact else value


def _groups(records: Iterable[Sent]) -> list[tuple[tuple[str, Attributes], list[Sent]]]:
    """Neighbours of one scope and resource."""
    return [(group, list(members)) for group, members in groupby(records, key=lambda sent: (sent.scope, sent.resource))]
