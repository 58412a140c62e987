"""Whether a body is what it says that it is, and what a collector answered: no more is read of either."""

import json
from collections.abc import Mapping
from typing import Any, Final, cast

import orjson
from google.protobuf.message import DecodeError  # type: ignore[import-untyped, unused-ignore]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest, ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse

from tracekit.capture.receiver.signals import JSON, Signal

_GROUPS: Final[Mapping[Signal, str]] = {
    Signal.TRACES: "resourceSpans",
    Signal.LOGS: "resourceLogs",
    Signal.METRICS: "resourceMetrics",
}
"""The one field that a request has, in JSON."""
_REJECTED: Final = ("rejectedSpans", "rejectedLogRecords", "rejectedDataPoints")


class NotThisSignalError(ValueError):
    """The body is not a request of its signal."""


def holds_records(signal: Signal, content_type: str, data: bytes) -> bool:
    """Whether a body holds anything; an empty one is legal.

    Raises:
        NotThisSignalError: It cannot be read as what it says that it is.
    """
    if not data:
        return False
    return _json_holds(signal, data) if content_type == JSON else _protobuf_holds(signal, data)


def rejected_records(signal: Signal, content_type: str, answer: bytes) -> tuple[int, str]:
    """How many records a collector says that it rejected, and why. An answer that cannot be read rejects none."""
    try:
        return _json_rejected(answer) if content_type == JSON else _protobuf_rejected(signal, answer)
    except (ValueError, TypeError, DecodeError):
        return 0, ""


def _protobuf_holds(signal: Signal, data: bytes) -> bool:
    try:
        match signal:
            case Signal.TRACES:
                return len(ExportTraceServiceRequest.FromString(data).resource_spans) > 0
            case Signal.LOGS:
                return len(ExportLogsServiceRequest.FromString(data).resource_logs) > 0
            case Signal.METRICS:
                return len(ExportMetricsServiceRequest.FromString(data).resource_metrics) > 0
    except DecodeError as error:
        raise NotThisSignalError(f"not an OTLP {signal} request in protobuf: {error}") from error


def _json_holds(signal: Signal, data: bytes) -> bool:
    request = _object(_parsed(data))
    if request is None:
        raise NotThisSignalError(f"not an OTLP {signal} request in JSON: not an object")
    for other, name in _GROUPS.items():
        if other is not signal and request.get(name):
            raise NotThisSignalError(f"these are {other}: send them to /v1/{other}")
    groups = request.get(_GROUPS[signal])
    if groups is not None and not isinstance(groups, list):
        raise NotThisSignalError(f"not an OTLP {signal} request in JSON: {_GROUPS[signal]} is no array")
    return bool(cast("object", groups))


def _object(value: object) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _parsed(data: bytes) -> object:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    # Senders in JavaScript cut text between the halves of a surrogate pair, which the strict parser refuses.
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NotThisSignalError(f"not JSON: {error}") from error


def _protobuf_rejected(signal: Signal, answer: bytes) -> tuple[int, str]:
    match signal:
        case Signal.TRACES:
            traces = ExportTraceServiceResponse.FromString(answer).partial_success
            return traces.rejected_spans, traces.error_message
        case Signal.LOGS:
            logs = ExportLogsServiceResponse.FromString(answer).partial_success
            return logs.rejected_log_records, logs.error_message
        case Signal.METRICS:
            metrics = ExportMetricsServiceResponse.FromString(answer).partial_success
            return metrics.rejected_data_points, metrics.error_message


def _json_rejected(answer: bytes) -> tuple[int, str]:
    told = _object((_object(orjson.loads(answer)) or {}).get("partialSuccess")) or {}
    return sum(int(told.get(name) or 0) for name in _REJECTED), str(told.get("errorMessage") or "")
