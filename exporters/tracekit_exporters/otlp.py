"""OpenTelemetry traces as JSON lines, under the names of the GenAI and MCP conventions: a trace a session, a span a boundary.

Any collector reads them. What OpenTelemetry has no word for stands under `tracekit.*`, and is enough to make the same boundary of the span
again, with its slack: what tracekit exports it also imports, and no answer changes by it.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tracekit.model import Boundary, Status, Value, semconv
from tracekit_exporters.trace import BoundaryRow, SessionTrace, Trace

SPANS_PER_LINE: Final = 500

_INTERNAL: Final = 1
_CLIENT: Final = 3
_KINDS: Final[Mapping[Boundary, int]] = dict.fromkeys((Boundary.MODEL_REQUEST, Boundary.REQUEST_ATTEMPT, Boundary.MCP_CALL), _CLIENT)
_CODES: Final[Mapping[Status, int]] = {Status.OK: 1, Status.ERROR: 2}

_ABOVE: Final = {
    Boundary.TURN: (Boundary.SUBAGENT, Boundary.SESSION),
    Boundary.SUBAGENT: (Boundary.TOOL_EXECUTION, Boundary.TOOL_SCHEDULE),
    Boundary.MODEL_REQUEST: (Boundary.TURN,),
    Boundary.REQUEST_ATTEMPT: (Boundary.MODEL_REQUEST,),
    Boundary.RETRY_WAIT: (Boundary.MODEL_REQUEST,),
    Boundary.STREAM_EVENT: (Boundary.MODEL_REQUEST,),
    Boundary.TOOL_SCHEDULE: (Boundary.MODEL_REQUEST,),
    Boundary.PERMISSION_WAIT: (Boundary.TOOL_SCHEDULE,),
    Boundary.TOOL_EXECUTION: (Boundary.TOOL_SCHEDULE, Boundary.MODEL_REQUEST),
    Boundary.MCP_CALL: (Boundary.TOOL_EXECUTION, Boundary.TOOL_SCHEDULE),
    Boundary.HOOK_REPLY: (Boundary.TOOL_SCHEDULE, Boundary.TURN),
    Boundary.MCP_CONNECTION: (Boundary.SESSION,),
    Boundary.COMPACTION: (Boundary.TURN,),
}
"""What a boundary's `parent_key` may name, the nearest first."""

_NUMBERS: Final = frozenset(
    {
        semconv.OUTPUT_TOKENS,
        semconv.INPUT_TOKENS,
        semconv.CACHE_READ_TOKENS,
        semconv.CACHE_WRITE_TOKENS,
        semconv.MAX_TOKENS,
        semconv.HTTP_STATUS,
        semconv.RESEND_COUNT,
        semconv.COST_USD,
    }
)
"""What are numbers to readers; the store keeps every value as text."""
_TRUTHS: Final = frozenset({semconv.STREAM})
_LISTS: Final = frozenset({semconv.STOP_REASON})
_SECOND: Final = 1_000_000_000

Json = dict[str, Any]


def export(trace: Trace) -> Iterator[str]:
    """Give JSON lines, each a body as OTLP/HTTP takes it with up to `SPANS_PER_LINE` spans of one session."""
    for session in trace.sessions:
        known = {(row.boundary, row.key) for row in session.boundaries}
        spans = (_span(row, session, known, trace.as_of_ns) for row in session.boundaries)
        for group in _groups(spans):
            yield json.dumps(_body(group), separators=(",", ":")) + "\n"


def _groups(spans: Iterable[Json]) -> Iterator[list[Json]]:
    group: list[Json] = []
    for span in spans:
        group.append(span)
        if len(group) == SPANS_PER_LINE:
            yield group
            group = []
    if group:
        yield group


def _body(spans: list[Json]) -> Json:
    resource = {"attributes": _pairs({"service.name": "tracekit"})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "tracekit"}, "spans": spans}]}]}


def _span(row: BoundaryRow, session: SessionTrace, known: set[tuple[str, str]], as_of_ns: int) -> Json:
    boundary = Boundary(row.boundary)
    span: Json = {
        "traceId": _digest(session.session_id, length=32),
        "spanId": _digest(session.session_id, row.boundary, row.key, length=16),
        "name": _name(row, boundary),
        "kind": _KINDS.get(boundary, _INTERNAL),
        "startTimeUnixNano": str(row.start_ns),
        "endTimeUnixNano": str(max(row.start_ns, as_of_ns if row.end_ns is None else row.end_ns)),
        "attributes": _pairs(_attributes(row, boundary)),
    }
    if above := _parent(row, boundary, known):
        span["parentSpanId"] = _digest(session.session_id, above, row.parent_key or "", length=16)
    if code := _CODES.get(Status(row.status)):
        text = row.attributes.get(semconv.ERROR_TEXT) if row.status == Status.ERROR else None
        span["status"] = {"code": code} | ({} if text is None else {"message": str(text)})
    return span


def _digest(*parts: str, length: int) -> str:
    """An id that is the same whenever and wherever the same thing is exported."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:length]


def _parent(row: BoundaryRow, boundary: Boundary, known: set[tuple[str, str]]) -> str | None:
    """The boundary that its parent key names, where that is exported too."""
    if row.parent_key is None:
        return None
    return next((str(above) for above in _ABOVE.get(boundary, ()) if (above, row.parent_key) in known), None)


def _name(row: BoundaryRow, boundary: Boundary) -> str:
    match boundary:
        case Boundary.MODEL_REQUEST:
            name = f"chat {row.name}"
        case Boundary.TOOL_EXECUTION:
            name = f"execute_tool {row.name}"
        case Boundary.MCP_CALL:
            name = f"tools/call {row.name}"
        case Boundary.SUBAGENT:
            name = f"invoke_agent {row.name}"
        case Boundary.TURN if row.agent_id is None:
            name = "invoke_agent"
        case _:
            name = f"{row.boundary} {row.name}"
    return name.strip()


def _attributes(row: BoundaryRow, boundary: Boundary) -> dict[str, Value]:
    """What the store has, what the conventions want besides, and what makes the same boundary of it again."""
    derived = {name: value for name, value in _derived(row, boundary).items() if name not in row.attributes}
    own: dict[str, Value | None] = {
        semconv.BOUNDARY: row.boundary,
        semconv.KEY: row.key,
        semconv.PARENT_KEY: row.parent_key,
        semconv.NAME: row.name or None,
        semconv.AGENT_ID: row.agent_id,
        semconv.STATUS: None if row.status == Status.UNSET else row.status,
        semconv.START_SLACK_NS: row.start_slack_ns or None,
        semconv.END_SLACK_NS: row.end_slack_ns or None,
        semconv.OPEN: True if row.end_ns is None else None,
        semconv.DERIVED: ",".join(derived) or None,
    }
    return {**row.attributes, **derived, **{name: value for name, value in own.items() if value is not None}}


def _derived(row: BoundaryRow, boundary: Boundary) -> dict[str, Value]:
    found: dict[str, Value] = {semconv.SESSION_ID: row.session_id, semconv.CONVERSATION_ID: row.session_id}
    if boundary is Boundary.MODEL_REQUEST:
        found |= {semconv.OPERATION: "chat", **_usage(row.attributes), **_first_chunk(row)}
    elif boundary is Boundary.TOOL_EXECUTION:
        found |= {semconv.OPERATION: "execute_tool", semconv.TOOL_NAME: row.name, semconv.TOOL_CALL_ID: row.key}
    elif boundary is Boundary.SUBAGENT or (boundary is Boundary.TURN and row.agent_id is None):
        found |= {semconv.OPERATION: "invoke_agent"}
    elif boundary is Boundary.MCP_CALL:
        found |= {semconv.MCP_METHOD: "tools/call", semconv.TOOL_NAME: row.name}
    if row.status == Status.ERROR:
        found[semconv.ERROR_TYPE] = "_OTHER"  # what the conventions have for an error of no known type
    return found


def _usage(own: Mapping[str, Value]) -> dict[str, Value]:
    """The input tokens as the conventions count them: with the cached ones."""
    parts = [own[name] for name in (semconv.INPUT_TOKENS, semconv.CACHE_READ_TOKENS, semconv.CACHE_WRITE_TOKENS) if name in own]
    return {semconv.ALL_INPUT_TOKENS: sum(int(part) for part in parts)} if semconv.INPUT_TOKENS in own else {}


def _first_chunk(row: BoundaryRow) -> dict[str, Value]:
    """The time to the first byte, where the start is measured."""
    first_byte_ns = row.attributes.get(semconv.FIRST_BYTE_NS)
    if first_byte_ns is None or row.start_slack_ns:
        return {}
    return {semconv.FIRST_CHUNK_S: (int(first_byte_ns) - row.start_ns) / _SECOND}


def _pairs(attributes: Mapping[str, Value]) -> list[Json]:
    return [{"key": name, "value": _any_value(name, value)} for name, value in attributes.items()]


def _any_value(name: str, value: Value) -> Json:
    if isinstance(value, bool) or (name in _TRUTHS and value in ("true", "false")):
        return {"boolValue": value in (True, "true")}
    if name in _LISTS:
        return {"arrayValue": {"values": [{"stringValue": str(value)}]}}
    if isinstance(value, str) and name in _NUMBERS:
        value = _number(value)
    if isinstance(value, int):
        return {"intValue": str(value)}  # 64 bits are text in OTLP's JSON
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


def _number(text: str) -> Value:
    """The number that a text spells; the text, where that would be read back otherwise."""
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if str(number) == text and math.isfinite(number):
            return number
    return text
