"""Model requests: the span claude_code.llm_request, and the api_request and api_error events."""

from collections.abc import Iterator

from tracekit.model import NO_ATTRIBUTES, Boundary, Source, Span, Status, Value, semconv
from tracekit.model.redact import error_text
from tracekit.sources.otlp.claude_code import names
from tracekit.sources.otlp.claude_code.joins import Joins, RequestFacts, request_key
from tracekit.sources.otlp.content import content_of, kept_events, span_content
from tracekit.sources.otlp.records import STATUS_ERROR, LogRecord, SpanRecord
from tracekit.sources.otlp.values import Attributes, flag, integer, milliseconds, number, present, text

_ATTEMPT = "gen_ai.request.attempt"


def from_span(record: SpanRecord, joins: Joins, *, content: bool) -> Iterator[Span]:
    """The request that a span measured, with what its events add (the cost, the client's own request id)."""
    facts = _facts_of(record, joins)
    attributes = _attributes(record.attributes, facts) | _arrivals(record)
    if content:
        attributes |= content_of(span_content(record), facts.response.attributes if facts.response else NO_ATTRIBUTES)
    yield Span(
        Source.OTEL,
        joins.session_of(record),
        Boundary.MODEL_REQUEST,
        request_key(record),
        record.start_ns,
        record.stop_ns,
        name=str(attributes.get(semconv.REQUEST_MODEL, "")),
        agent_id=joins.agent_of(record),
        parent_key=joins.container(record),
        # Not even the first content bounds message_stop from below: a client that is busy reads both late.
        end_slack_ns=0 if record.stop_ns is None else min(names.STOP_LATE_NS, record.stop_ns - record.start_ns),
        status=_status(record),
        attributes=attributes,
        events=kept_events(record.events),
        position=record.place.position,
    )


def from_event(event: LogRecord, joins: Joins, *, content: bool) -> Iterator[Span]:
    """The request that an event tells of, where its span was not read."""
    facts = _facts_of(event, joins)
    if facts.span is not None or facts.event is not event:
        return
    attributes = _attributes(event.attributes, facts)
    if content and facts.response:
        attributes |= content_of(facts.response.attributes)
    earliest, latest = start_bounds(event, facts, joins)
    ttft_ns = milliseconds(event.attributes, "ttft_ms")
    if ttft_ns is not None:
        attributes[semconv.FIRST_BYTE_NS] = min(latest + ttft_ns, event.time_ns)
    yield Span(
        Source.OTEL,
        joins.session_of(event),
        Boundary.MODEL_REQUEST,
        text(event.attributes, "request_id") or f"{names.event_name(event)}@{event.time_ns}",
        earliest,
        event.time_ns,
        name=str(attributes.get(semconv.REQUEST_MODEL, "")),
        agent_id=joins.agent_of(event),
        parent_key=joins.container(event),
        start_slack_ns=latest - earliest,
        end_slack_ns=min(names.STOP_LATE_NS, event.time_ns - latest),
        status=Status.ERROR if names.event_name(event) == names.API_ERROR else Status.OK,
        attributes=attributes,
        position=event.place.position,
    )


def _facts_of(record: SpanRecord | LogRecord, joins: Joins) -> RequestFacts:
    request = text(record.attributes, "request_id")
    if request:
        return joins.requests[request]
    return next((facts for facts in joins.unnamed if record is facts.span or record is facts.event), RequestFacts())


def _status(record: SpanRecord) -> Status:
    success = flag(record.attributes, "success")
    if record.status == STATUS_ERROR or success is False:
        return Status.ERROR
    return Status.OK if success else Status.UNSET


def _attributes(own: Attributes, facts: RequestFacts) -> dict[str, Value]:
    event = facts.event.attributes if facts.event else NO_ATTRIBUTES
    exhausted = facts.exhausted.attributes if facts.exhausted else NO_ATTRIBUTES
    error = text(own, "error") or text(event, "error") or text(exhausted, "error")
    return present(
        (
            (semconv.OPERATION, "chat"),
            (semconv.PROVIDER, text(own, "gen_ai.provider.name", "gen_ai.system") or "anthropic"),
            (semconv.REQUEST_MODEL, text(own, "gen_ai.request.model", "model")),
            (semconv.RESPONSE_MODEL, text(own, "gen_ai.response.model")),
            (semconv.REQUEST_ID, text(own, "request_id")),
            (semconv.CLIENT_REQUEST_ID, text(own, "client_request_id") or text(event, "client_request_id")),
            (semconv.QUERY_SOURCE, text(own, "query_source") or text(event, "query_source") or text(own, "query_source_safe")),
            (semconv.STOP_REASON, text(own, "stop_reason", "gen_ai.response.finish_reasons")),
            (semconv.INPUT_TOKENS, integer(own, "input_tokens")),
            (semconv.OUTPUT_TOKENS, integer(own, "output_tokens", "gen_ai.usage.output_tokens")),
            (semconv.CACHE_READ_TOKENS, integer(own, "cache_read_tokens", "gen_ai.usage.cache_read.input_tokens")),
            (semconv.CACHE_WRITE_TOKENS, integer(own, "cache_creation_tokens", "gen_ai.usage.cache_write.input_tokens")),
            (semconv.CACHE_WRITE_5M_TOKENS, integer(event, "cache_creation_5m_tokens") or None),
            (semconv.CACHE_WRITE_1H_TOKENS, integer(event, "cache_creation_1h_tokens") or None),
            (semconv.COST_USD, number(event, "cost_usd")),
            (semconv.ATTEMPTS, integer(own, "attempt") or integer(exhausted, "total_attempts") or integer(event, "attempt")),
            (semconv.HTTP_STATUS, integer(own, "status_code") or integer(event, "status_code") or integer(exhausted, "status_code")),
            (semconv.ERROR_TYPE, text(own, "error_class", "error.type")),
            (semconv.ERROR_TEXT, error_text(error) if error else None),
        ),
    )


def _arrivals(record: SpanRecord) -> dict[str, Value]:
    """When the first byte and the first content came: both are counted from the last attempt, not from the span's start."""
    attempts = [event.time_ns for event in record.events if event.name == _ATTEMPT]
    if not attempts and integer(record.attributes, "attempt") not in (None, 1):
        return {}
    began_ns = max(attempts, default=record.start_ns)
    pairs = ((semconv.FIRST_BYTE_NS, "ttft_ms"), (semconv.FIRST_CONTENT_NS, "first_content_ms"))
    found = ((name, milliseconds(record.attributes, source)) for name, source in pairs)
    return {name: min(began_ns + after_ns, record.end_ns or began_ns + after_ns) for name, after_ns in found if after_ns is not None}


def start_bounds(event: LogRecord, facts: RequestFacts, joins: Joins) -> tuple[int, int]:
    """Earliest and latest start of a request that only an event tells of.

    Its duration is the last attempt's alone. Where earlier attempts are possible (an api_request names no count, and there
    was time for one) the request may have begun as early as the thing that it answers.
    """
    retried_ns = milliseconds(facts.exhausted.attributes, "total_retry_duration_ms") if facts.exhausted else None
    duration_ns = retried_ns if retried_ns is not None else milliseconds(event.attributes, "duration_ms") or 0
    latest = min(event.time_ns - duration_ns + names.ROUNDING_NS, event.time_ns)
    earliest = latest - names.ROUNDING_NS - names.EVENT_LATE_NS
    if retried_ns is None and integer(event.attributes, "attempt") != 1:
        before_ns = joins.answered_ns(event, latest)
        if before_ns is not None and latest - before_ns >= names.RETRY_FLOOR_NS:
            earliest = min(earliest, before_ns)
    return earliest, latest
