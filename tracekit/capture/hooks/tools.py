"""Tool calls: scheduled by PreToolUse, waiting for permission by PermissionRequest, run and over by what comes after."""

from collections.abc import Iterator
from typing import Final

from tracekit.capture.hooks.heard import MILLISECOND, SECOND, Heard
from tracekit.capture.hooks.known import Edge, Open
from tracekit.capture.hooks.payload import Arguments, Payload
from tracekit.model import Boundary, Span, Status, Value, semconv

QUEUE_NS: Final = 600 * SECOND
"""A call whose block is complete may wait for one that runs alone, as Bash does for 600 s at most."""
ANSWERED_NS: Final = 1 * SECOND
"""A call that waited for permission runs within a second of the answer."""
NOTIFIED_NS: Final = 10 * SECOND
"""The client tells of a question some 6 s after it asked it."""

_INTERACTIVE: Final = frozenset({"AskUserQuestion", "ExitPlanMode"})
_EXIT_CODE: Final = "Exit code "


def before(heard: Heard) -> Iterator[Span]:
    """PreToolUse: a call is about to be made. Its block was complete before: by how much, its turn and the queue bound."""
    key = heard.said.text("tool_use_id")
    if key is not None:
        schedule = heard.span(Boundary.TOOL_SCHEDULE, key, _complete(heard, heard.at), attributes=_schedule(heard, heard.said))
        yield schedule._replace(name=_tool(heard.said))


def asked(heard: Heard) -> Iterator[Span]:
    """PermissionRequest: somebody is asked. It does not say for which call: the last one like it that is open."""
    name, arguments = _tool(heard.said), Arguments(heard.said)
    calls = [call for call in heard.open(Boundary.TOOL_SCHEDULE) if call.name == name]
    call = next((call for call in calls if call.arguments == arguments.digest), calls[0] if calls else None)
    key = f"permission@{heard.at.latest}" if call is None else call.key
    attributes: dict[str, Value | None] = {semconv.TOOL_NAME: name, **heard.arguments(heard.said), semconv.MCP_SERVER: _server(heard.said)}
    wait = heard.span(Boundary.PERMISSION_WAIT, key, heard.at, attributes=attributes)
    yield wait._replace(name=name, parent_key=None if call is None else call.key)


def told_of_question(heard: Heard) -> Iterator[Span]:
    """Notification of a question, which is news where no hook was there when it was asked."""
    if heard.known.open(heard.session_id, Boundary.PERMISSION_WAIT):
        return
    calls = heard.open(Boundary.TOOL_SCHEDULE)
    key = calls[0].key if len(calls) == 1 else f"permission@{heard.at.latest}"
    start = heard.at.since(heard.at.earliest - NOTIFIED_NS)
    yield heard.span(Boundary.PERMISSION_WAIT, key, start)._replace(name=calls[0].name if len(calls) == 1 else "")


def denied(heard: Heard) -> Iterator[Span]:
    """PermissionDenied: the classifier of the auto mode refused a call."""
    key = heard.said.text("tool_use_id")
    if key is None:
        return
    call, wait = heard.find(Boundary.TOOL_SCHEDULE, key), _wait_of(heard, key)
    start = wait.start if wait else heard.at.since(heard.hooked(call)) if call else heard.unseen
    attributes: dict[str, Value | None] = {
        semconv.DENIAL_KIND: "automode-blocked",
        semconv.ERROR_TEXT: heard.error(heard.said.text("reason")),
    }
    yield _answered(heard, key, start, heard.at, wait, "reject", attributes)


def after(heard: Heard) -> Iterator[Span]:
    """PostToolUse, PostToolUseFailure: a tool ran. The duration that it is given excludes permission and hooks."""
    key = heard.said.text("tool_use_id")
    if key is None:
        return
    call, wait, duration_ns = heard.find(Boundary.TOOL_SCHEDULE, key), _wait_of(heard, key), heard.said.duration_ns("duration_ms")
    began = _began(heard, call, duration_ns)
    status, result = _result(heard)
    if began is not None:
        execution: dict[str, Value | None] = {semconv.TOOL_NAME: _tool(heard.said), **_limits(heard.said), **result}
        ran = heard.span(Boundary.TOOL_EXECUTION, key, began, heard.at, status=status, attributes=execution)
        yield ran._replace(name=_tool(heard.said), parent_key=key)
    if wait is not None:
        latest = (began or heard.at).latest
        answer = Edge(max(wait.start.earliest, (began or wait.start).earliest - ANSWERED_NS), latest)
        yield _answered(heard, key, wait.start, answer, wait, "accept", {})
    yield heard.span(
        Boundary.TOOL_SCHEDULE,
        key,
        _complete(heard, began or heard.at) if call is None else call.start,
        heard.at,
        status=status,
        attributes={**_schedule(heard, heard.said), **result},
    )._replace(name=_tool(heard.said))


def batch(heard: Heard) -> Iterator[Span]:
    """PostToolBatch: all calls of a response have their results, also those that were never run: refused, or blocked."""
    for said in heard.said.parts("tool_calls"):
        key = said.text("tool_use_id")
        call = heard.find(Boundary.TOOL_SCHEDULE, key)
        if key is None or call is None:
            continue
        over = heard.at.since(heard.hooked(call))
        wait = heard.find(Boundary.PERMISSION_WAIT, key)
        if wait is not None:
            # Who saw every hook knows that the tool never ran.
            decision = "reject" if heard.known.is_whole else None
            yield _answered(heard, key, wait.start, heard.at.since(wait.start.earliest), wait, decision, {})
        attributes = {**_schedule(heard, said), **_size_of_result(said)}
        yield heard.span(Boundary.TOOL_SCHEDULE, key, call.start, over, attributes=attributes)._replace(name=_tool(said))
    heard.known.note_batch(heard.session_id, heard.agent_id, heard.at.earliest)


def _complete(heard: Heard, got_on: Edge) -> Edge:
    """When the block of a call was complete that got on at this moment.

    In its turn, after the calls of the response before it, and in no longer queue than there is.
    """
    turn = heard.find(Boundary.SUBAGENT, heard.agent_id) or heard.find(Boundary.TURN, heard.prompt_id)
    bounds = [
        got_on.earliest - QUEUE_NS,
        turn.start.earliest if turn is not None else 0,
        heard.known.last_batch_ns(heard.session_id, heard.agent_id) or 0,
    ]
    return got_on.since(min(max(bounds), got_on.earliest))


def _began(heard: Heard, call: Open | None, duration_ns: int | None) -> Edge | None:
    """When the tool itself began. Its duration is cut to milliseconds."""
    if duration_ns is not None:
        began = heard.at.back(duration_ns)
        return began.since(began.earliest - MILLISECOND)
    return None if call is None else heard.at.since(heard.hooked(call))


def _wait_of(heard: Heard, key: str) -> Open | None:
    """The wait for permission that a call was in: under its own key, or under that of a question whose call was not known."""
    own = heard.find(Boundary.PERMISSION_WAIT, key)
    if own is not None:
        return own
    name, arguments = _tool(heard.said), Arguments(heard.said).digest
    nameless = [wait for wait in heard.open(Boundary.PERMISSION_WAIT) if wait.key.startswith("permission@")]
    return next((wait for wait in reversed(nameless) if wait.name in {name, ""} and wait.arguments in {arguments, None}), None)


def _answered(
    heard: Heard, key: str, start: Edge, end: Edge, wait: Open | None, decision: str | None, attributes: dict[str, Value | None]
) -> Span:
    name = _tool(heard.said) if wait is None or not wait.name else wait.name
    told: dict[str, Value | None] = {semconv.TOOL_NAME: name, semconv.PERMISSION_DECISION: decision, **attributes}
    if wait is not None and wait.key != key:
        told[semconv.OPENED_AS] = wait.key
    return heard.span(Boundary.PERMISSION_WAIT, key, start, end, attributes=told)._replace(name=name, parent_key=key)


def _result(heard: Heard) -> tuple[Status, dict[str, Value | None]]:
    """How a tool ended, and what it says of it."""
    if heard.event == "PostToolUse":
        return Status.OK, {}
    text = heard.said.text("error") or ""
    code, _, _ = text.removeprefix(_EXIT_CODE).partition("\n")
    exited = int(code) if text.startswith(_EXIT_CODE) and code.isdecimal() else None
    status = Status.CANCELLED if heard.said.flag("is_interrupt") else Status.ERROR
    return status, {semconv.ERROR_TEXT: heard.error(text or None), semconv.EXIT_CODE: exited}


def _schedule(heard: Heard, call: Payload) -> dict[str, Value | None]:
    return {
        semconv.TOOL_NAME: _tool(call),
        **heard.arguments(call),
        **_limits(call),
        semconv.TOOL_INTERACTIVE: True if _tool(call) in _INTERACTIVE else None,
    }


def _limits(call: Payload) -> dict[str, Value | None]:
    """What a call asked for itself: a timeout, the background, a server."""
    arguments, response = call.part("tool_input"), call.part("tool_response")
    background = arguments.flag("run_in_background") or response.flag("isAsync")
    return {
        semconv.TOOL_TIMEOUT_NS: arguments.duration_ns("timeout") if _tool(call) == "Bash" else None,
        semconv.TOOL_BACKGROUND: True if background else None,
        semconv.MCP_SERVER: _server(call),
    }


def _size_of_result(call: Payload) -> dict[str, Value | None]:
    """Of the result as the model is given it, which only this event tells."""
    from tracekit.model.digest import digest  # noqa: PLC0415

    data = call.content("tool_response")
    return {} if data is None else {semconv.TOOL_RESULT_SIZE: len(data), semconv.TOOL_RESULT_DIGEST: digest(data)}


def _tool(call: Payload) -> str:
    return call.text("tool_name") or ""


def _server(call: Payload) -> str | None:
    return call.part("mcp_server").text("name")
