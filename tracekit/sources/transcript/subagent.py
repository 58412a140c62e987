"""One sub-agent as its parent's transcript shows it: from the call of the Agent tool to its result."""

from collections.abc import Iterator

from tracekit.model import Boundary, Span, Status, Value, semconv
from tracekit.sources.fields import text
from tracekit.sources.transcript.call import Call


def subagent_span(source: str, call: Call) -> Iterator[Span]:
    """The agent that a result names: the only link from a call to a sub-agent's file. An asynchronous one goes on after it."""
    agent_id = text(call.result.details, "agentId") if call.result else None
    if call.result is None or agent_id is None:
        return
    end_ns = max(call.result.stamp_ns, call.stamp_ns)
    asynchronous = call.result.details.get("isAsync") is True
    attributes: dict[str, Value] = {semconv.PARENT_TOOL: call.id}
    if call.agent_type:
        attributes[semconv.AGENT_TYPE] = call.agent_type
    if asynchronous:
        attributes[semconv.TOOL_BACKGROUND] = True
    yield Span(
        source,
        call.response.session_id,
        Boundary.SUBAGENT,
        agent_id,
        call.stamp_ns,
        None if asynchronous else end_ns,
        name=call.agent_type or "agent",
        agent_id=agent_id,
        parent_key=call.id,
        start_slack_ns=0 if asynchronous else end_ns - call.stamp_ns,
        status=Status.ERROR if call.result.is_error else Status.UNSET,
        attributes=attributes,
        position=call.position,
    )
