"""What Claude Code tells of in single events, written when the thing had ended: MCP connections, compactions, sub-agents."""

from collections.abc import Iterator

from tracekit.model import Boundary, Source, Span, Status, Value, semconv
from tracekit.model.redact import error_text
from tracekit.sources.otlp.claude_code import names
from tracekit.sources.otlp.claude_code.joins import Joins
from tracekit.sources.otlp.records import LogRecord
from tracekit.sources.otlp.values import flag, integer, milliseconds, present, text

_CONNECTION_STATUS = {"connected": Status.OK, "failed": Status.ERROR}
_TRANSPORTS = {"stdio": "pipe", "http": "tcp", "sse": "tcp"}


def mcp_connection(event: LogRecord, joins: Joins) -> Iterator[Span]:
    """A server was connected, or was not. What `disconnected` calls its duration is the connection's life: here it is a moment."""
    status = text(event.attributes, "status") or ""
    server = text(event.attributes, "server_name") or "unknown"
    span = _ended(event, joins, Boundary.MCP_CONNECTION, f"{server}@{event.time_ns}")
    if status == "disconnected":
        span = span._replace(start_ns=event.time_ns - names.EVENT_LATE_NS)
    yield span._replace(
        name=server,
        parent_key=span.session_id,
        status=_CONNECTION_STATUS.get(status, Status.UNSET),
        attributes=present(
            (
                (semconv.MCP_SERVER, server),
                (semconv.MCP_STATUS, status),
                (semconv.MCP_TRANSPORT, _TRANSPORTS.get(text(event.attributes, "transport_type") or "")),
                (semconv.ERROR_CODE, text(event.attributes, "error_code")),
            ),
        )
        | _error(event),
    )


def compaction(event: LogRecord, joins: Joins) -> Iterator[Span]:
    """The conversation was replaced by a summary."""
    span = _ended(event, joins, Boundary.COMPACTION, f"compaction@{event.time_ns}")
    success = flag(event.attributes, "success")
    trigger = text(event.attributes, "trigger")
    yield span._replace(
        name=trigger or "",
        agent_id=joins.agent_of(event),
        parent_key=joins.container(event),
        status=Status.UNSET if success is None else Status.OK if success else Status.ERROR,
        attributes=present(
            (
                (semconv.COMPACTION_TRIGGER, trigger),
                (semconv.COMPACTION_KIND, "full"),
                (semconv.PRE_TOKENS, integer(event.attributes, "pre_tokens")),
                (semconv.POST_TOKENS, integer(event.attributes, "post_tokens")),
            ),
        )
        | _error(event),
    )


def subagent(event: LogRecord, joins: Joins) -> Iterator[Span]:
    """A sub-agent came to its end."""
    agent = text(event.attributes, "agent_id")
    if agent is None:
        return
    kind = text(event.attributes, "agent_type")
    tool = joins.calling_tool(event)
    yield _ended(event, joins, Boundary.SUBAGENT, agent)._replace(
        name=kind or "",
        agent_id=agent,
        parent_key=tool,
        attributes=present(
            (
                (semconv.AGENT_TYPE, kind),
                (semconv.PARENT_TOOL, tool),
                (semconv.REQUEST_MODEL, text(event.attributes, "final_model", "model")),
            ),
        ),
    )


def _ended(event: LogRecord, joins: Joins, boundary: Boundary, key: str) -> Span:
    """A span that ended when its event was written or a little before, and lasted as long as the event says."""
    duration_ns = milliseconds(event.attributes, "duration_ms") or 0
    return Span(
        Source.OTEL,
        joins.session_of(event),
        boundary,
        key,
        event.time_ns - duration_ns - names.EVENT_LATE_NS,
        event.time_ns,
        start_slack_ns=names.EVENT_LATE_NS,
        end_slack_ns=min(names.EVENT_LATE_NS, duration_ns),
        position=event.place.position,
    )


def _error(event: LogRecord) -> dict[str, Value]:
    error = text(event.attributes, "error")
    return {semconv.ERROR_TEXT: error_text(error)} if error else {}
