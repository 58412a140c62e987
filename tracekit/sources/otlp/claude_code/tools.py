"""Tool calls: the spans claude_code.tool and its two parts, and the events tool_decision and tool_result."""

from collections.abc import Iterator
from typing import NamedTuple

from tracekit.model import Boundary, Source, Span, Status, Value, semconv
from tracekit.model.redact import error_text
from tracekit.sources.otlp.claude_code import names
from tracekit.sources.otlp.claude_code.joins import Joins, ToolFacts, request_key, span_key
from tracekit.sources.otlp.claude_code.requests import start_bounds
from tracekit.sources.otlp.content import content_of, span_content
from tracekit.sources.otlp.records import STATUS_ERROR, LogRecord, Record, SpanRecord
from tracekit.sources.otlp.values import decoded, flag, integer, milliseconds, present, text

_MCP_PREFIX = "mcp__"
_REJECT = "reject"


class Interval(NamedTuple):
    """Both edges of a span with their slack."""

    start_ns: int
    end_ns: int | None
    start_slack_ns: int = 0
    end_slack_ns: int = 0


# ------------------------------------------------------------------------------------------------------------ from spans


def schedule_from_span(record: SpanRecord, joins: Joins, *, content: bool) -> Iterator[Span]:
    """claude_code.tool, from the permission check to the tool's end.

    The block was complete by its start, and no earlier than its request began; the result was given back soon after its end.
    """
    tool, facts = _call_of(record, joins)
    earliest = _issued_ns(record, facts, joins)
    if earliest is None:
        # Nothing says when the block can have been complete at the earliest, and the span's own start is the latest.
        return
    start_ns = min(earliest, record.start_ns)
    end_ns = None if record.stop_ns is None else record.stop_ns + names.GIVEN_BACK_NS
    edges = Interval(start_ns, end_ns, record.start_ns - start_ns, names.GIVEN_BACK_NS if end_ns else 0)
    found = span_content(record) if content else {}
    yield _schedule(record, tool, facts, joins, edges, found | _event_content(facts, content=content))


def wait_from_span(record: SpanRecord, joins: Joins) -> Iterator[Span]:
    """claude_code.tool.blocked_on_user, which is there also where nobody was asked."""
    tool, facts = _call_of(record, joins)
    yield _wait(record, tool, facts, joins, Interval(record.start_ns, record.stop_ns))


def execution_from_span(record: SpanRecord, joins: Joins) -> Iterator[Span]:
    """claude_code.tool.execution, and the MCP call inside it."""
    tool, facts = _call_of(record, joins)
    status = Status.ERROR if record.status == STATUS_ERROR or flag(record.attributes, "success") is False else Status.UNSET
    if status is Status.UNSET and flag(record.attributes, "success"):
        status = Status.OK
    yield from _execution(record, tool, facts, joins, Interval(record.start_ns, record.stop_ns), status)


# ----------------------------------------------------------------------------------------------------------- from events


def from_decision(event: LogRecord, joins: Joins) -> Iterator[Span]:
    """A decision without its span: the permission, and a call that is still running or was refused."""
    tool, facts = _call_of(event, joins)
    earliest = _issued_ns(event, facts, joins)
    start_ns = event.time_ns if earliest is None else min(earliest, event.time_ns)
    slack_ns = event.time_ns - start_ns
    if facts.wait is None:
        yield _wait(event, tool, facts, joins, Interval(start_ns, event.time_ns, slack_ns, min(names.EVENT_LATE_NS, slack_ns)))
    if tool is None or facts.span is not None or facts.execution is not None or facts.result is not None:
        return
    rejected = facts.text("decision") == _REJECT
    if not rejected and joins.is_over(event):
        return
    if earliest is not None:
        refused = Interval(start_ns, event.time_ns + names.GIVEN_BACK_NS, slack_ns, names.GIVEN_BACK_NS)
        yield _schedule(event, tool, facts, joins, refused if rejected else Interval(start_ns, None, slack_ns), {})
    if not rejected:
        # Allowed, and nothing heard of it since: spans and results are exported only when a tool has ended.
        yield from _execution(event, tool, facts, joins, Interval(event.time_ns, None, names.EVENT_LATE_NS), Status.UNSET)


def from_result(event: LogRecord, joins: Joins, *, content: bool) -> Iterator[Span]:
    """A result whose spans were not read."""
    tool, facts = _call_of(event, joins)
    edges = _result_edges(event)
    earliest = _issued_ns(event, facts, joins)
    if tool is not None and facts.span is None and earliest is not None:
        latest = facts.decision.time_ns if facts.decision else edges.start_ns + edges.start_slack_ns
        start_ns = min(earliest, latest)
        end_slack_ns = min(names.EVENT_LATE_NS, max(0, event.time_ns - latest)) + names.GIVEN_BACK_NS
        whole = Interval(start_ns, event.time_ns + names.GIVEN_BACK_NS, latest - start_ns, end_slack_ns)
        yield _schedule(event, tool, facts, joins, whole, _event_content(facts, content=content))
    if facts.execution is None:
        success = flag(event.attributes, "success")
        status = Status.UNSET if success is None else Status.OK if success else Status.ERROR
        yield from _execution(event, tool, facts, joins, edges, status)


def _result_edges(event: LogRecord) -> Interval:
    duration_ns = milliseconds(event.attributes, "duration_ms") or 0
    latest = min(event.time_ns - duration_ns + names.ROUNDING_NS, event.time_ns)
    return Interval(
        event.time_ns - duration_ns - names.EVENT_LATE_NS,
        event.time_ns,
        latest - (event.time_ns - duration_ns - names.EVENT_LATE_NS),
        min(names.EVENT_LATE_NS, duration_ns),
    )


# ------------------------------------------------------------------------------------------------------------ the pieces


def _call_of(record: Record, joins: Joins) -> tuple[str | None, ToolFacts]:
    tool = joins.tool_use_id(record) if isinstance(record, SpanRecord) else text(record.attributes, "tool_use_id")
    if tool:
        return tool, joins.tools[tool]
    if isinstance(record, SpanRecord):
        return None, ToolFacts(span=record if record.name == names.TOOL else joins.spans.get(record.parent))
    # Old clients name no call.
    return None, ToolFacts(decision=record) if names.event_name(record) == names.TOOL_DECISION else ToolFacts(result=record)


def _issued_ns(record: Record, facts: ToolFacts, joins: Joins) -> int | None:
    """The earliest that the call's block can have been complete: when its request began, or at least its turn."""
    request = joins.issuing_span(facts)
    if request is not None:
        return request.start_ns
    named = facts.text("request_id")
    heard = joins.requests[named] if named and named in joins.requests else None
    if heard is not None and heard.event is not None:
        return start_bounds(heard.event, heard, joins)[0]
    interaction = joins.interaction_of(record)
    if interaction is not None:
        return interaction.start_ns
    prompt = joins.prompts.get(joins.prompt_of(record) or "")
    return None if prompt is None else prompt.time_ns - names.PROMPT_LATE_NS


def _schedule(record: Record, tool: str | None, facts: ToolFacts, joins: Joins, edges: Interval, content: dict[str, Value]) -> Span:
    request = joins.issuing_span(facts)
    rejected = facts.text("decision") == _REJECT
    return Span(
        Source.OTEL,
        joins.session_of(record),
        Boundary.TOOL_SCHEDULE,
        tool or _own_key(record),
        edges.start_ns,
        edges.end_ns,
        name=_tool_name(facts) or "",
        agent_id=_agent(record, facts, joins),
        parent_key=facts.text("request_id") or (request_key(request) if request else None),
        start_slack_ns=edges.start_slack_ns,
        end_slack_ns=edges.end_slack_ns,
        status=Status.CANCELLED if rejected else Status.UNSET,
        attributes=_identity(tool, facts) | _decision(facts) | _sizes(facts) | content,
        position=record.place.position,
    )


def _wait(record: Record, tool: str | None, facts: ToolFacts, joins: Joins, edges: Interval) -> Span:
    decision = _decision(facts) or _decision_of(record)
    aborted = decision.get(semconv.PERMISSION_SOURCE) == "user_abort"
    return Span(
        Source.OTEL,
        joins.session_of(record),
        Boundary.PERMISSION_WAIT,
        tool or _own_key(record),
        edges.start_ns,
        edges.end_ns,
        name=_tool_name(facts) or "",
        agent_id=_agent(record, facts, joins),
        parent_key=tool,
        start_slack_ns=edges.start_slack_ns,
        end_slack_ns=edges.end_slack_ns,
        status=Status.CANCELLED if aborted else Status.OK if decision else Status.UNSET,
        attributes=_identity(tool, facts) | decision,
        position=record.place.position,
    )


def _execution(record: Record, tool: str | None, facts: ToolFacts, joins: Joins, edges: Interval, status: Status) -> Iterator[Span]:
    error = text(record.attributes, "error")
    span = Span(
        Source.OTEL,
        joins.session_of(record),
        Boundary.TOOL_EXECUTION,
        tool or _own_key(record),
        edges.start_ns,
        edges.end_ns,
        name=_tool_name(facts) or "",
        agent_id=_agent(record, facts, joins),
        parent_key=tool,
        start_slack_ns=edges.start_slack_ns,
        end_slack_ns=edges.end_slack_ns,
        status=status,
        attributes=_identity(tool, facts)
        | _sizes(facts)
        | present(
            (
                (semconv.ERROR_TYPE, text(record.attributes, "error_class", "error_type", "error.type")),
                (semconv.ERROR_TEXT, error_text(error) if error else None),
            ),
        ),
        position=record.place.position,
    )
    yield span
    if semconv.MCP_SERVER in span.attributes:
        yield _mcp_call(span)


def _mcp_call(execution: Span) -> Span:
    """The call to the server, which the execution holds with some work of the client around it."""
    within = names.CALL_WITHIN_NS if execution.end_ns is None else min(names.CALL_WITHIN_NS, execution.end_ns - execution.start_ns)
    return execution._replace(
        boundary=Boundary.MCP_CALL,
        name=execution.name.removeprefix(_MCP_PREFIX).partition("__")[2] or execution.name,
        start_slack_ns=max(execution.start_slack_ns, within),
        end_slack_ns=0 if execution.end_ns is None else max(execution.end_slack_ns, within),
        attributes={**execution.attributes, semconv.MCP_METHOD: "tools/call"},
    )


def _own_key(record: Record) -> str:
    return span_key(record.span_id) if isinstance(record, SpanRecord) else f"{names.event_name(record)}@{record.time_ns}"


def _agent(record: Record, facts: ToolFacts, joins: Joins) -> str | None:
    return joins.agent_of(record) or facts.text("agent_id")


def _tool_name(facts: ToolFacts) -> str | None:
    """The tool's name; an MCP tool's is `mcp__SERVER__TOOL`, which events write as `mcp_tool` with the names in its parameters."""
    if facts.span is not None and (name := text(facts.span.attributes, "tool_name", "gen_ai.tool.name")):
        return name
    parameters = decoded(facts.text("tool_parameters") or "")
    server, tool = parameters.get("mcp_server_name"), parameters.get("mcp_tool_name")
    return f"{_MCP_PREFIX}{server}__{tool}" if server and tool else facts.text("tool_name")


def _identity(tool: str | None, facts: ToolFacts) -> dict[str, Value]:
    name = _tool_name(facts) or ""
    server = text(facts.span.attributes, "anthropic.mcp.server.name") if facts.span is not None else None
    if name.startswith(_MCP_PREFIX):
        server = server or name.removeprefix(_MCP_PREFIX).partition("__")[0]
    elif name == "mcp_tool":
        server = server or "unknown"
    return present(((semconv.TOOL_NAME, name), (semconv.TOOL_CALL_ID, tool), (semconv.MCP_SERVER, server)))


def _decision(facts: ToolFacts) -> dict[str, Value]:
    found = [_decision_of(record) for record in (facts.wait, facts.decision) if record is not None]
    return next(filter(None, found), dict[str, Value]())


def _decision_of(record: Record) -> dict[str, Value]:
    return present(
        (
            (semconv.PERMISSION_DECISION, text(record.attributes, "decision")),
            (semconv.PERMISSION_SOURCE, text(record.attributes, "source")),
        ),
    )


def _sizes(facts: ToolFacts) -> dict[str, Value]:
    if facts.result is None:
        return {}
    pairs = ((semconv.TOOL_INPUT_SIZE, "tool_input_size_bytes"), (semconv.TOOL_RESULT_SIZE, "tool_result_size_bytes"))
    return present((name, integer(facts.result.attributes, source)) for name, source in pairs)


def _event_content(facts: ToolFacts, *, content: bool) -> dict[str, Value]:
    return content_of(facts.result.attributes) if content and facts.result is not None else {}
