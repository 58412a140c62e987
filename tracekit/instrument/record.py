"""OpenTelemetry spans as observations: our own, those that an adapter made ours, and GenAI and MCP spans of other libraries."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.trace import SpanKind, StatusCode

from tracekit.instrument.place import Place, span_key
from tracekit.instrument.runtime import RUNTIME, Moment
from tracekit.model import Boundary, Source, Span, Status, Value, semconv
from tracekit.model.redact import error_text
from tracekit.spool import as_text, span_row

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

_FIELDS: Final = frozenset(
    {
        semconv.BOUNDARY,
        semconv.KEY,
        semconv.PARENT_KEY,
        semconv.SESSION_ID,
        semconv.AGENT_ID,
        semconv.STATUS,
        semconv.ALL_INPUT_TOKENS,
        semconv.FIRST_CHUNK_S,
        semconv.CONVERSATION_ID,
        semconv.EVENT_BYTES,
        semconv.EVENT_COUNT,
        semconv.NAME,
        semconv.START_SLACK_NS,
        semconv.END_SLACK_NS,
        semconv.OPEN,
        semconv.DERIVED,
    }
)
"""Attributes that are a span's fields, or that the store keeps in another form."""
_KEPT: Final = frozenset(value for name, value in vars(semconv).items() if name.isupper()) - _FIELDS
"""What the store keeps of a span: names of ours, and nothing that another library may have put there."""
# By themselves, since Python 3.11 looks a member of an enum up for longer than all the rest takes.
_SOURCE: Final = Source.INSTRUMENT.value
_UNSET: Final = Status.UNSET.value
_OK: Final = Status.OK.value
_SUBAGENT: Final = Boundary.SUBAGENT.value
_TASK: Final = {"boundary": Boundary.TURN.value, "attributes": {semconv.TURN_KIND: "agent"}}
"""A sub-agent is the turn of its task too."""
_NAMED_BY: Final = {
    Boundary.TURN: semconv.AGENT_TYPE,
    Boundary.SUBAGENT: semconv.AGENT_TYPE,
    Boundary.MODEL_REQUEST: semconv.REQUEST_MODEL,
    Boundary.REQUEST_ATTEMPT: semconv.REQUEST_MODEL,
    Boundary.STREAM_EVENT: semconv.BLOCK_TYPE,
    Boundary.TOOL_SCHEDULE: semconv.TOOL_NAME,
    Boundary.TOOL_EXECUTION: semconv.TOOL_NAME,
    Boundary.PERMISSION_WAIT: semconv.TOOL_NAME,
    Boundary.MCP_CALL: semconv.TOOL_NAME,
    Boundary.MCP_CONNECTION: semconv.MCP_SERVER,
    Boundary.HOOK_REPLY: semconv.HOOK_NAME,
    Boundary.COMPACTION: semconv.COMPACTION_TRIGGER,
}
_FOREIGN: Final = {
    "chat": Boundary.MODEL_REQUEST,
    "generate_content": Boundary.MODEL_REQUEST,
    "text_completion": Boundary.MODEL_REQUEST,
    "execute_tool": Boundary.TOOL_EXECUTION,
    "invoke_agent": Boundary.TURN,
}
_TOOLS_CALL: Final = "tools/call"
_SECOND: Final = 1_000_000_000
_STATUS: Final = {StatusCode.UNSET: Status.UNSET, StatusCode.OK: Status.OK, StatusCode.ERROR: Status.ERROR}
_CANCELLED: Final = frozenset({"CancelledError", "asyncio.exceptions.CancelledError", "KeyboardInterrupt", "GeneratorExit"})


def said_by_span(span: "ReadableSpan") -> dict[str, Any]:
    """All attributes of a span. The SDK's own mapping locks and checks at each step through it."""
    said = span.attributes
    return {} if said is None else said.copy()  # type: ignore[attr-defined]


def is_ours(said: Mapping[str, Any]) -> bool:
    """Whether a span with these attributes says which boundary it is."""
    return semconv.BOUNDARY in said


def rows(span: "ReadableSpan", said: Mapping[str, Any], place: Place | None) -> list[dict[str, Any]]:
    """Say what a span, open or ended, tells of boundaries, as the spool keeps it; nothing, where it is none.

    Args:
        span: The span.
        said: Its attributes.
        place: Where it stands, if it does not say so itself; None: outside of all.
    """
    if semconv.BOUNDARY in said:
        own = own_row(said, span.start_time, span.end_time)
        return [own] if said[semconv.BOUNDARY] != _SUBAGENT else [own, own | _TASK | {"parent_key": own["key"]}]
    foreign = _foreign(span, said, place or RUNTIME.place())
    return [] if foreign is None else [span_row(foreign)]


def own_row(said: Mapping[str, Any], start_ns: int | None, end_ns: int | None) -> dict[str, Any]:
    """An observation of ours with these attributes as `span_row` has it, without a `Span` in between: it is in the agent's way."""
    boundary = said[semconv.BOUNDARY]
    return {
        "source": _SOURCE,
        "session_id": said[semconv.SESSION_ID],
        "agent_id": said.get(semconv.AGENT_ID),
        "boundary": boundary,
        "key": said[semconv.KEY],
        "parent_key": said.get(semconv.PARENT_KEY),
        "name": said.get(_NAMED_BY.get(boundary, ""), ""),
        "start_ns": start_ns,
        "start_slack_ns": 0,
        "end_ns": end_ns,
        "end_slack_ns": 0,
        "status": _UNSET if end_ns is None else said.get(semconv.STATUS, _OK),
        "attributes": {name: value if type(value) is str else _as_text(value) for name, value in said.items() if name in _KEPT},
    }


def marks(span: "ReadableSpan") -> list[Moment]:
    """The marks inside a span of ours. An exception's event is none: it holds a stack, whose lines are content."""
    return [(event.timestamp, event.name, {}) for event in span.events if event.name != "exception"]


def _foreign(span: "ReadableSpan", said: Mapping[str, Any], place: Place) -> Span | None:
    """A GenAI or MCP span of another library. Inside a boundary of ours that is the same thing it is not told twice."""
    boundary = _foreign_boundary(span, said)
    if boundary is None or (boundary is Boundary.MODEL_REQUEST and place.request is not None):
        return None
    if boundary is Boundary.TOOL_EXECUTION and place.tool is not None:
        return None
    in_call = boundary in {Boundary.TOOL_EXECUTION, Boundary.MCP_CALL}
    known = _text(said.get(semconv.TOOL_CALL_ID)) or place.tool if in_call else _text(said.get(semconv.RESPONSE_ID))
    opened_as = _key_of(span)
    attributes = _translated(span, said)
    if known is not None and span.end_time is not None:
        attributes[semconv.OPENED_AS] = opened_as
    return Span(
        _SOURCE,
        _text(said.get(semconv.SESSION_ID)) or place.session_id,
        boundary,
        opened_as if known is None or span.end_time is None else known,
        span.start_time or 0,
        span.end_time,
        name=str(attributes.get(_NAMED_BY[boundary], "")),
        agent_id=place.agent_id,
        parent_key=(place.tool or place.around) if boundary is Boundary.MCP_CALL else place.request if in_call else place.around,
        status=_status(span, said),
        attributes=attributes,
    )


def _foreign_boundary(span: "ReadableSpan", said: Mapping[str, Any]) -> Boundary | None:
    if said.get(semconv.MCP_METHOD) == _TOOLS_CALL:
        # What a server says of a call is not the caller's word.
        return Boundary.MCP_CALL if span.kind is not SpanKind.SERVER else None
    return _FOREIGN.get(str(said.get(semconv.OPERATION, "")))


def _translated(span: "ReadableSpan", said: Mapping[str, Any]) -> dict[str, Value]:
    found = {name: _value(value) for name, value in said.items() if name in _KEPT}
    total = said.get(semconv.ALL_INPUT_TOKENS)
    if isinstance(total, int):
        cached = int(found.get(semconv.CACHE_READ_TOKENS, 0)) + int(found.get(semconv.CACHE_WRITE_TOKENS, 0))
        found.setdefault(semconv.INPUT_TOKENS, max(total - cached, 0))
    seconds = said.get(semconv.FIRST_CHUNK_S)
    if isinstance(seconds, int | float) and span.start_time is not None:
        found.setdefault(semconv.FIRST_BYTE_NS, span.start_time + int(seconds * _SECOND))
    if span.status.description:
        found.setdefault(semconv.ERROR_TEXT, error_text(span.status.description))
    if found.get(semconv.OPERATION) == "invoke_agent":
        found[semconv.TURN_KIND] = "prompt"
    return found


def _key_of(span: "ReadableSpan") -> str:
    context = span.context
    return span_key(context.span_id if context is not None else 0)


def _status(span: "ReadableSpan", said: Mapping[str, Any]) -> Status:
    if said.get(semconv.ERROR_TYPE) in _CANCELLED:
        return Status.CANCELLED
    return _STATUS[span.status.status_code]


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _value(value: Any) -> Value:
    """A list, as of the finish reasons, as one text."""
    return value if isinstance(value, str | int | float) else ",".join(str(item) for item in value)


def _as_text(value: Any) -> str:
    return str(value) if type(value) is int else as_text(_value(value))
