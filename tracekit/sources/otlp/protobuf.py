"""OTLP/HTTP bodies in protobuf, as an exporter sends them."""

from collections.abc import Iterator
from itertools import repeat

from tracekit.model import Event
from tracekit.sources.otlp.records import LogRecord, Place, Record, SpanRecord
from tracekit.sources.otlp.values import spelled
from tracekit.sources.otlp.wire import Signal, signal_of_head, survey


def looks_like_otlp_protobuf(head: bytes, name: str) -> bool:
    """Tell whether a file is an OTLP body in protobuf by its first bytes; its name is asked where they leave doubt."""
    signal = signal_of_head(head) if head.startswith(b"\n") else None
    return signal in {Signal.TRACES, Signal.LOGS} or (signal is not None and _hint(name) is not None)


def decode_protobuf(body: bytes, *, name: str = "", index: int = 0) -> list[Record] | None:
    """Give the records of a body; None where it is no OTLP body.

    Metrics have none. `name`, the file's, decides only where the bytes do not tell what the body carries; `index` is
    what the records' places name as their body.
    """
    found = survey(body)
    if found is None:
        return None
    signal, positions = found
    if signal is Signal.METRICS:
        signal = _hint(name) or signal
    return _records(signal, body, (Place(index, 0, position) for position in positions))


def decode_request(signal: str, body: bytes, place: Place) -> list[Record] | None:
    """Give the records of a body that is known to carry this signal; all stand at `place`. None where it does not."""
    return _records(signal, body, repeat(place))


def _hint(name: str) -> Signal | None:
    return next((signal for signal in (Signal.TRACES, Signal.LOGS, Signal.METRICS) if signal in name), None)


def _records(signal: str, body: bytes, places: Iterator[Place]) -> list[Record] | None:
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415  (bodies are rare, starts are not)

    try:
        match signal:
            case Signal.TRACES:
                return list(_spans(body, places))
            case Signal.LOGS:
                return list(_logs(body, places))
            case _:
                return []
    except DecodeError:
        return None


def _spans(body: bytes, places: Iterator[Place]) -> Iterator[Record]:
    from tracekit.sources.otlp.messages import TracesRequest, attributes_of  # noqa: PLC0415  (as above)

    for group in TracesRequest.FromString(body).resource_spans:
        resource = attributes_of(group.resource.attributes)
        for scoped in group.scope_spans:
            scope = scoped.scope.name
            for span in scoped.spans:
                status = span.status
                yield SpanRecord(
                    scope,
                    span.name,
                    span.kind,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    status.code,
                    status.message,
                    attributes_of(span.attributes),
                    resource,
                    tuple([Event(event.time_unix_nano, event.name, attributes_of(event.attributes)) for event in span.events]),
                    next(places),
                )


def _logs(body: bytes, places: Iterator[Place]) -> Iterator[Record]:
    from tracekit.sources.otlp.messages import LogsRequest, attributes_of, value_of  # noqa: PLC0415  (as above)

    for group in LogsRequest.FromString(body).resource_logs:
        resource = attributes_of(group.resource.attributes)
        for scoped in group.scope_logs:
            scope = scoped.scope.name
            for log in scoped.log_records:
                said = value_of(log.body)
                yield LogRecord(
                    scope,
                    log.event_name or ("" if said is None else spelled(said)),
                    log.trace_id.hex(),
                    log.span_id.hex(),
                    log.time_unix_nano or log.observed_time_unix_nano,
                    attributes_of(log.attributes),
                    resource,
                    next(places),
                )
