"""Turns: the span claude_code.interaction and the user_prompt event that names its prompt."""

from collections.abc import Iterator

from tracekit.model import Boundary, Source, Span, Value, semconv
from tracekit.sources.otlp.claude_code import names
from tracekit.sources.otlp.claude_code.joins import Joins, span_key
from tracekit.sources.otlp.content import content_of, kept_events
from tracekit.sources.otlp.records import LogRecord, Record, SpanRecord
from tracekit.sources.otlp.values import present, text


def from_span(record: SpanRecord, joins: Joins, *, content: bool) -> Iterator[Span]:
    """A turn that ended."""
    prompt = joins.prompt_of(record)
    event = joins.prompts.get(prompt or "")
    attributes = _attributes(record, prompt, event)
    if content:
        attributes |= content_of(record.attributes, event.attributes if event else {})
    session = joins.session_of(record)
    yield Span(
        Source.OTEL,
        session,
        Boundary.TURN,
        prompt or span_key(record.span_id),
        record.start_ns,
        record.stop_ns,
        name=str(attributes[semconv.TURN_KIND]),
        parent_key=session,
        attributes=attributes,
        events=kept_events(record.events),
        position=record.place.position,
    )


def from_event(event: LogRecord, joins: Joins, *, content: bool) -> Iterator[Span]:
    """A turn whose span was not read: it is still running, its client was killed, or no traces are exported."""
    prompt = text(event.attributes, "prompt.id")
    if prompt is None or joins.prompts.get(prompt) is not event or joins.interaction_of(event) is not None:
        return
    session = joins.session_of(event)
    # The turn had ended before the next prompt came, and no earlier than its last event.
    next_ns = joins.next_prompt_ns(event)
    last_ns = min(joins.last_of_prompt[prompt], next_ns or joins.last_of_prompt[prompt])
    attributes = _attributes(event, prompt, event)
    if next_ns is None:
        attributes[semconv.LAST_SEEN_NS] = last_ns
    if content:
        attributes |= content_of(event.attributes)
    yield Span(
        Source.OTEL,
        session,
        Boundary.TURN,
        prompt,
        event.time_ns - names.PROMPT_LATE_NS,
        next_ns,
        name=str(attributes[semconv.TURN_KIND]),
        parent_key=session,
        start_slack_ns=names.PROMPT_LATE_NS,
        end_slack_ns=0 if next_ns is None else next_ns - last_ns,
        attributes=attributes,
        position=event.place.position,
    )


def _attributes(record: Record, prompt: str | None, event: LogRecord | None) -> dict[str, Value]:
    command = text(event.attributes, "command_name") if event is not None else None
    return present(
        (
            (semconv.TURN_KIND, "command" if command else "prompt"),
            (semconv.PROMPT_ID, prompt),
            (semconv.CLIENT_VERSION, text(record.attributes, "app.version") or text(record.resource, "service.version")),
            (semconv.ENTRYPOINT, text(record.attributes, "app.entrypoint")),
        ),
    )
