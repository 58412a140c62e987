"""Spans that say themselves which boundary they are: what tracekit exported, or recorded inside an agent, comes in as it went out."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from tracekit.model import Boundary, Source, Span, Status, Value, semconv
from tracekit.model.redact import error_text, mask_secrets
from tracekit.sources.otlp.content import kept_events
from tracekit.sources.otlp.records import STATUS_ERROR, STATUS_OK, Place, SpanRecord
from tracekit.sources.otlp.values import Attributes, flag, integer, spelled, text

_BOUNDARIES: Final = frozenset(Boundary)
_STATUSES: Final = frozenset(Status)
_STATUS: Final = {STATUS_OK: Status.OK, STATUS_ERROR: Status.ERROR}
_FIELDS: Final = frozenset(
    {
        semconv.SESSION_ID,
        semconv.CONVERSATION_ID,
        semconv.ALL_INPUT_TOKENS,
        semconv.FIRST_CHUNK_S,
        semconv.AGENT_ID,
        semconv.BOUNDARY,
        semconv.KEY,
        semconv.PARENT_KEY,
        semconv.STATUS,
        semconv.NAME,
        semconv.START_SLACK_NS,
        semconv.END_SLACK_NS,
        semconv.OPEN,
        semconv.DERIVED,
    }
)
"""What is a field of an observation, or told by another attribute, and no attribute of its own."""
_KNOWN: Final = frozenset(str(value) for name, value in vars(semconv).items() if name.isupper()) - _FIELDS
"""Everything else is a sender's own, and may be content: arguments of tools, messages."""
_NAMED_BY: Final = {
    Boundary.MODEL_REQUEST: semconv.REQUEST_MODEL,
    Boundary.SUBAGENT: semconv.AGENT_TYPE,
    Boundary.HOOK_REPLY: semconv.HOOK_NAME,
}


def is_own(record: SpanRecord) -> bool:
    """Tell whether a span says which boundary it is, and by which key."""
    return record.attributes.get(semconv.BOUNDARY) in _BOUNDARIES and semconv.KEY in record.attributes


def observe(records: Iterable[SpanRecord], *, content: bool) -> Iterator[tuple[Place, Span]]:
    """Give the observation that each span holds."""
    for record in records:
        yield record.place, _observed(record, content=content)


def _observed(record: SpanRecord, *, content: bool) -> Span:
    own = record.attributes
    boundary = Boundary(str(own[semconv.BOUNDARY]))
    end_ns = None if flag(own, semconv.OPEN) else record.stop_ns
    return Span(
        Source.OTEL,
        text(own, semconv.SESSION_ID, semconv.CONVERSATION_ID) or record.trace_id,
        boundary,
        spelled(own[semconv.KEY]),
        record.start_ns,
        end_ns,
        name=_name(own, boundary),
        agent_id=text(own, semconv.AGENT_ID),
        parent_key=text(own, semconv.PARENT_KEY),
        start_slack_ns=max(0, integer(own, semconv.START_SLACK_NS) or 0),
        end_slack_ns=0 if end_ns is None else max(0, integer(own, semconv.END_SLACK_NS) or 0),
        status=_status(record),
        attributes=_attributes(own, content=content),
        events=kept_events(record.events) if record.events else (),
        position=record.place.position,
    )


def _name(own: Attributes, boundary: Boundary) -> str:
    return text(own, semconv.NAME, _NAMED_BY.get(boundary, semconv.TOOL_NAME)) or ""


def _status(record: SpanRecord) -> Status:
    said = record.attributes.get(semconv.STATUS)
    return Status(str(said)) if said in _STATUSES else _STATUS.get(record.status, Status.UNSET)


def _attributes(own: Attributes, *, content: bool) -> Mapping[str, Value]:
    wanted = _KNOWN - set((text(own, semconv.DERIVED) or "").split(",")) - (set() if content else {semconv.CONTENT})
    kept = {name: value for name, value in own.items() if name in wanted}
    # Whoever sent this may not have been as careful as we are.
    for name, cleaned in ((semconv.ERROR_TEXT, error_text), (semconv.CONTENT, mask_secrets)):
        if name in kept:
            kept[name] = cleaned(spelled(kept[name]))
    return kept
