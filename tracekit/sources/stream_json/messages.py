"""Lines that carry the conversation: assistant, user, the stream's own events, and the result."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tracekit.model import Span, Status, semconv
from tracekit.model.redact import mask_secrets
from tracekit.sources.fields import Object, mapping, number, objects_in, parts_of, text, whole
from tracekit.sources.stream_json.call import Call, Result, call_of, orphan, result_of
from tracekit.sources.stream_json.clock import Timed
from tracekit.sources.stream_json.edges import shifted
from tracekit.sources.stream_json.session import Session, is_synthetic
from tracekit.sources.stream_json.turn import Turn, result_attributes
from tracekit.sources.timestamps import SECOND

_ECHOES: Final = ("<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>", "<bash-stdout>", "<bash-stderr>")


def assistant(session: Session, line: Timed) -> Iterator[Span]:
    """A block of a response is complete, or the client says in its place that the request failed."""
    agent_id = session.agent_of(line)
    if agent_id is None:
        session.begin_turn(line, inside=True)
    message = mapping(line.value, "message")
    if is_synthetic(line.value, message):
        yield from _failed(session, line, agent_id)
    else:
        yield from _answered(session, line, agent_id, message)
    session.note(agent_id, line.moment)


def _failed(session: Session, line: Timed, agent_id: str | None) -> Iterator[Span]:
    if text(line.value, "error") is None and line.value.get("is_api_error_message") is not True:
        return  # "No response requested."
    request = session.requests.get(agent_id)
    # A client that does not announce requests has sent another since the tools of this one.
    if request is None or request.error or (request.has_tools and not session.announced):
        yield from session.open_request(line, agent_id)
    session.requests[agent_id].fail(line)


def _answered(session: Session, line: Timed, agent_id: str | None, message: Object) -> Iterator[Span]:
    request = session.requests.get(agent_id)
    key = text(message, "id")
    if request is None or request.error or (request.message_id is not None and key is not None and request.message_id != key):
        yield from session.open_request(line, agent_id)
    request = session.requests[agent_id]
    request.answer(line, content=session.content)
    for part in parts_of(line.value):
        call = call_of(part, line, request, content=session.content)
        if call is not None:
            session.calls[call.id] = call
    if not request.streamed and request.results_seen:
        request.eager = session.eager = True


def stream_event(session: Session, line: Timed) -> Iterator[Span]:
    """An event of the Messages API's stream."""
    agent_id = session.agent_of(line)
    if agent_id is None:
        session.begin_turn(line, inside=True)
    event = mapping(line.value, "event")
    request = session.requests.get(agent_id)
    again = event.get("type") == "message_start" and request is not None and request.begun
    if request is None or again:
        yield from session.open_request(line, agent_id)
    session.requests[agent_id].event(line, event)
    session.note(agent_id, line.moment)


def user(session: Session, line: Timed) -> Iterator[Span]:
    """Results of tools, prompts that are told again, and the client's own words in the user's name."""
    agent_id = session.agent_of(line)
    parts = parts_of(line.value)
    results = [part for part in parts if part.get("type") == "tool_result"]
    for part in results:
        yield from _result(session, line, agent_id, part)
    words = [found for part in parts if part.get("type") == "text" and (found := text(part, "text")) is not None]
    turn = session.agents[agent_id].turn if agent_id is not None else session.turn
    others = [word for word in words if turn is None or not turn.interrupt(word)]
    if not results and others and line.value.get("isSynthetic") is not True and not others[0].startswith(_ECHOES):
        _prompt(session, line, turn or session.begin_turn(line), others)
    session.note(agent_id, line.moment)


def _prompt(session: Session, line: Timed, turn: Turn, words: list[str]) -> None:
    content = mask_secrets("\n".join(words)) if session.content else None
    turn.prompted(line.value, words[0], content)


def _result(session: Session, line: Timed, agent_id: str | None, part: Object) -> Iterator[Span]:
    key = text(part, "tool_use_id")
    if key is None:
        return
    call, result = session.calls.pop(key, None), result_of(part, line)
    if call is None:
        yield orphan(session.id, agent_id, key, result, session.first, line.position)
        return
    call.result = result
    call.background = call.background or result.details.get("isAsync") is True or "backgroundTaskId" in result.details
    request = call.request
    request.results_seen = True
    if request.streamed and request.stopped is None:
        request.eager = session.eager = True
    yield from _agent_result(session, line, call, result)
    yield from call.spans(session.last)


def _agent_result(session: Session, line: Timed, call: Call, result: Result) -> Iterator[Span]:
    """The result of a call that started a sub-agent: it names it, and unless the agent runs on, ends it."""
    agent_id = session.agent_of_tool.get(call.id) or text(result.details, "agentId")
    if call.agent_type is None or agent_id is None:
        return
    agent = session.agent(agent_id, call.id, line, call.agent_type)
    if result.details.get("isAsync") is not True:
        yield from session.end_agent(agent, result.at, "failed" if result.is_error else "completed")


def result(session: Session, line: Timed) -> Iterator[Span]:
    """The turn is over."""
    turn = session.begin_turn(line)
    turn.closed(line)
    session.outcome |= result_attributes(line.value)
    if (cost := number(line.value, "total_cost_usd")) is not None:
        session.outcome[semconv.COST_USD] = cost
    if windows := _windows(line.value):
        session.outcome[semconv.CONTEXT_WINDOWS] = windows
    session.status = turn.status
    if turn.start.earliest < session.first.earliest:
        session.first = turn.start
    for denial in objects_in(line.value, "permission_denials"):
        call = session.calls.get(text(denial, "tool_use_id") or "")
        if call is not None:
            call.denied = True
    yield from session.end_turn(line, Status.CANCELLED if turn.interrupts else None)
    session.note(None, line.moment)


def _windows(value: Object) -> str:
    models = mapping(value, "modelUsage")
    found = ((model, whole(mapping(models, model), "contextWindow")) for model in models)
    return ",".join(f"{model}={tokens}" for model, tokens in found if tokens)


def tool_progress(session: Session, line: Timed) -> Iterator[Span]:
    """A tool is still running."""
    call = session.calls.get(text(line.value, "tool_use_id") or "")
    elapsed = number(line.value, "elapsed_time_seconds") or 0
    if call is not None:
        # Whole seconds, rounded somehow.
        call.ran(shifted(line.moment, -int(max(0.0, elapsed - 1) * SECOND)))
    yield from ()


def control_request(session: Session, line: Timed) -> Iterator[Span]:
    """The client asks whoever drives it whether a tool may run."""
    request = mapping(line.value, "request")
    call = session.calls.get(text(request, "tool_use_id") or "")
    if request.get("subtype") == "can_use_tool" and call is not None:
        call.asked = call.asked or line.moment
    yield from ()


HANDLERS: Final[Mapping[str, Callable[[Session, Timed], Iterator[Span]]]] = {
    "assistant": assistant,
    "control_request": control_request,
    "result": result,
    "stream_event": stream_event,
    "tool_progress": tool_progress,
    "user": user,
}
"""What each type of line means, `system` left out. A type that is not here tells nothing of a boundary."""
