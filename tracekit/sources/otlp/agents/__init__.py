"""Agents of any make, by the conventions that their instrumentation follows."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from tracekit.model import Boundary, Source, Span, Status, Value, semconv
from tracekit.sources.otlp.agents import anthropic_sdk, genai, openinference
from tracekit.sources.otlp.agents.forest import Forest, Node
from tracekit.sources.otlp.agents.sighting import AGENT, MCP_CLIENT, MCP_SERVER, REQUEST, TOOL, Sighting
from tracekit.sources.otlp.content import kept_events, span_content
from tracekit.sources.otlp.records import STATUS_ERROR, STATUS_OK, Place, SpanRecord, SpanRef

__all__ = ["observe"]

_DIALECTS: Final = (anthropic_sdk.sight, openinference.sight, genai.sight)
"""In order: the first that knows a span reads it."""

_CANCELLED: Final = frozenset(
    {"CancelledError", "asyncio.exceptions.CancelledError", "asyncio.CancelledError", "KeyboardInterrupt", "AbortError"}
)
# As in `sighting`: these are looked up for every span.
_OTEL: Final = Source.OTEL
_MODEL_REQUEST: Final = Boundary.MODEL_REQUEST
_TOOL_EXECUTION: Final = Boundary.TOOL_EXECUTION
_UNSET: Final = Status.UNSET
_STATUS: Final = {STATUS_OK: Status.OK, STATUS_ERROR: Status.ERROR}


def observe(records: Iterable[SpanRecord], hosts: Mapping[SpanRef, str], *, content: bool) -> Iterator[tuple[Place, Span]]:
    """Say what these spans, which were read together, tell of boundaries. Spans that are none are passed over.

    `hosts` are the spans in which Claude Code told of turns itself, with the session of each.
    """
    traces: dict[str, list[SpanRecord]] = {}
    for record in records:
        traces.setdefault(record.trace_id, []).append(record)
    hosts_of: dict[str, dict[str, str]] = {}
    for (trace, span), session in hosts.items():
        hosts_of.setdefault(trace, {})[span] = session
    for trace, members in traces.items():
        forest = Forest.of(members, _sight, hosts_of.get(trace, {}))
        for node in forest.nodes:
            if not node.doubled:
                place = node.record.place
                yield from [(place, span) for span in _spans(node, forest, span_content(node.record) if content else {})]


def _sight(record: SpanRecord) -> Sighting | None:
    for sight in _DIALECTS:
        found = sight(record)
        if found is not None:
            return found
    return None


def _spans(node: Node, forest: Forest, content: Mapping[str, Value]) -> Iterator[Span]:
    if node.role is REQUEST:
        agent = node.agent
        yield _span(node, forest, _MODEL_REQUEST, agent.key if agent else None, content)
    elif node.role is AGENT:
        yield from _agent(node, forest, content)
    elif node.role is MCP_SERVER:
        yield _span(node, forest, Boundary.MCP_CALL, None, content)
    else:
        yield from _tool(node, forest, content)


def _agent(node: Node, forest: Forest, content: Mapping[str, Value]) -> Iterator[Span]:
    """A turn; a sub-agent's is one of its own, whose key is the sub-agent's."""
    if node.subagent is not node:
        kind = "prompt" if node.sighting.attributes else "implicit"
        yield _span(node, forest, Boundary.TURN, forest.session_of(node.record), {**content, semconv.TURN_KIND: kind})
        return
    above = next((above for above in node.upward() if above.role in {TOOL, MCP_CLIENT, AGENT}), None)
    yield _span(node, forest, Boundary.SUBAGENT, above.key if above else None, content)
    yield _span(node, forest, Boundary.TURN, node.key, {semconv.TURN_KIND: "agent"})


def _tool(node: Node, forest: Forest, content: Mapping[str, Value]) -> Iterator[Span]:
    """A tool's execution, its call to an MCP server, or both: a call outside of any tool's span is the execution too."""
    is_call = node.role is MCP_CLIENT
    tool = next((above for above in node.upward() if above.role is TOOL), None) if is_call else None
    if tool is not None:
        yield _span(node, forest, Boundary.MCP_CALL, tool.key, content)._replace(key=tool.key)
        return
    request = forest.request_of(node)
    yield _span(node, forest, _TOOL_EXECUTION, request.key if request else None, content)
    if is_call or node.sighting.is_mcp:
        yield _span(node, forest, Boundary.MCP_CALL, node.key, {})


def _span(node: Node, forest: Forest, boundary: Boundary, parent: str | None, more: Mapping[str, Value]) -> Span:
    record = node.record
    return Span(
        _OTEL,
        forest.session_of(record),
        boundary,
        node.key,
        record.start_ns,
        record.stop_ns,
        name=node.sighting.name,
        agent_id=node.subagent.key if node.subagent is not None else None,
        parent_key=parent,
        status=_status(node),
        attributes={**node.sighting.attributes, **more} if more else node.sighting.attributes,
        events=kept_events(record.events) if record.events else (),
        position=record.place.position,
    )


def _status(node: Node) -> Status:
    if node.sighting.attributes.get(semconv.ERROR_TYPE) in _CANCELLED:
        return Status.CANCELLED
    return _STATUS.get(node.record.status, _UNSET)
