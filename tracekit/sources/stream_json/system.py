"""Lines of type `system`: what the client says of itself, its requests, hooks, compactions and background tasks."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tracekit.model import Boundary, Source, Span, Status, semconv
from tracekit.sources.fields import Object, mapping, number, objects_in, text
from tracekit.sources.stream_json.clock import EARLY_NS, Moment, Timed
from tracekit.sources.stream_json.compaction import Compaction
from tracekit.sources.stream_json.edges import edges
from tracekit.sources.stream_json.hook import BEFORE, HookRun, call_for
from tracekit.sources.stream_json.request import ANNOUNCED_NS
from tracekit.sources.stream_json.session import CONNECTING_NS, Session
from tracekit.sources.timestamps import MILLISECOND, SECOND
from tracekit.sources.transcript.timing import version_of, waits_for_message

_BROKEN: Final = frozenset({"failed", "needs-auth"})
_RUNNING: Final = frozenset({"running", "pending"})


def init(session: Session, line: Timed) -> Iterator[Span]:
    """A turn begins, and the client says what it is."""
    version = text(line.value, "claude_code_version")
    named = ((semconv.PROJECT, text(line.value, "cwd")), (semconv.CLIENT_VERSION, version))
    session.about |= {name: value for name, value in named if value is not None}
    session.model = text(line.value, "model") or session.model
    session.serial = waits_for_message(version_of(version))
    session.begin_turn(line)
    for server in objects_in(line.value, "mcp_servers"):
        name, status = text(server, "name") or "unknown", text(server, "status") or "unknown"
        if session.servers.get(name) != status and status in _BROKEN:
            yield _broken_server(session, line, name, status)
        session.servers[name] = status


def _broken_server(session: Session, line: Timed, name: str, status: str) -> Span:
    began = Moment(line.moment.earliest - CONNECTING_NS, line.moment.latest)
    return Span(
        Source.STREAM_JSON,
        session.id,
        Boundary.MCP_CONNECTION,
        f"{name}@{line.moment.latest}",
        **edges(began, began)._asdict(),
        name=name,
        parent_key=session.id,
        status=Status.ERROR,
        attributes={semconv.MCP_SERVER: name, semconv.MCP_STATUS: "failed", semconv.ERROR_TYPE: status},
        position=line.position,
    )


def status(session: Session, line: Timed) -> Iterator[Span]:
    """The client says what it is doing: sending a request, compacting, or neither any more."""
    doing = text(line.value, "status")
    if doing == "requesting":
        session.begin_turn(line)
        session.announced = True
        yield from session.open_request(line, None, Moment(line.moment.earliest, line.moment.latest + ANNOUNCED_NS))
    elif doing == "compacting":
        session.begin_turn(line)
        session.compaction = Compaction(text(line.value, "uuid") or f"compaction@{line.moment.latest}", line.position, line.moment)
    elif session.compaction is not None and text(line.value, "compact_result") is not None:
        session.compaction.closed(line)
        if session.compaction.error is not None:
            yield from _end_compaction(session)


def compact_boundary(session: Session, line: Timed) -> Iterator[Span]:
    """A summary has replaced the conversation, or old tool results were cleared."""
    session.begin_turn(line)
    uuid = text(line.value, "uuid") or f"compaction@{line.moment.latest}"
    session.compaction = session.compaction or Compaction(uuid, line.position, line.moment)
    session.compaction.described(line, micro=line.value.get("subtype") == "microcompact_boundary")
    yield from _end_compaction(session)


def _end_compaction(session: Session) -> Iterator[Span]:
    if session.compaction is not None:
        yield session.compaction.span(session.id, session.turn_key(None))
    session.compaction = None


def api_retry(session: Session, line: Timed) -> Iterator[Span]:
    """An attempt failed, and the client will try again. The line does not say whose attempt it was."""
    session.begin_turn(line, inside=True)
    agent_id = session.agent_of(line) or _who_asks(session)
    request = session.requests.get(agent_id)
    if request is None or request.answered:
        yield from session.open_request(line, agent_id)
    session.requests[agent_id].retry(line)


def _who_asks(session: Session) -> str | None:
    """The main agent while it has a request under way, else the only sub-agent that runs."""
    own = session.requests.get(None)
    running = [agent.id for agent in session.agents.values() if agent.end is None]
    return None if (own is not None and not own.answered) or len(running) != 1 else running[0]


def hook_started(session: Session, line: Timed) -> Iterator[Span]:
    """A hook begins."""
    hook_id = text(line.value, "hook_id", "uuid")
    event, name = text(line.value, "hook_event") or "unknown", text(line.value, "hook_name", "hook_event") or "unknown"
    if hook_id is None:
        return
    call = call_for(event, name, session.calls.values(), session.hooks.values())
    key = hook_id if call is None else f"{call.id}:{name}"
    if key not in session.hooks:
        tool = call.id if call is not None else None
        session.hooks[key] = HookRun(key, event, name, line.position, line.moment, tool)
    session.hooks[key].began(hook_id)
    session.run_of_hook[hook_id] = key
    yield from ()


def hook_response(session: Session, line: Timed) -> Iterator[Span]:
    """A hook has answered."""
    hook_id = text(line.value, "hook_id") or ""
    run = session.hooks.get(session.run_of_hook.pop(hook_id, ""))
    if run is None:
        return
    run.answered(hook_id, line)
    call = session.calls.get(run.tool_use_id or "")
    if run.event == BEFORE and run.done and call is not None:
        call.hooked = line.moment
    yield from ()


def permission_denied(session: Session, line: Timed) -> Iterator[Span]:
    """A rule refused a tool call: in `-p` nobody can be asked."""
    call = session.calls.get(text(line.value, "tool_use_id") or "")
    if call is not None:
        call.denied, call.denied_at = True, line.moment
    yield from ()


def task_started(session: Session, line: Timed) -> Iterator[Span]:
    """A tool's work has become a task of its own: a sub-agent, or a command that goes on for seconds."""
    tool, task = text(line.value, "tool_use_id"), text(line.value, "task_id")
    call = session.calls.get(tool or "")
    if call is not None:
        call.ran(line.moment)
        call.background = call.background or line.value.get("is_backgrounded") is True
    if task is not None and (text(line.value, "task_type") == "local_agent" or text(line.value, "subagent_type") is not None):
        session.agent(task, tool, line, text(line.value, "subagent_type"))
    yield from ()


def task_ended(session: Session, line: Timed) -> Iterator[Span]:
    """A task is over. Two lines say so; the first has the client's own time of it."""
    agent = session.agents.get(text(line.value, "task_id") or "")
    patch: Object = mapping(line.value, "patch") or line.value
    word = text(patch, "status")
    if agent is None or word is None or word in _RUNNING or agent.end is not None:
        return
    yield from session.end_agent(agent, _end_of(patch, line), word)


def _end_of(patch: Object, line: Timed) -> Moment:
    stamp = number(patch, "end_time")
    end_ns = int(stamp * MILLISECOND) if stamp is not None else line.moment.latest
    near = line.moment.earliest - SECOND <= end_ns <= line.moment.latest + EARLY_NS
    return Moment(end_ns, end_ns + MILLISECOND) if stamp is not None and near else line.moment


HANDLERS: Final[Mapping[str, Callable[[Session, Timed], Iterator[Span]]]] = {
    "api_retry": api_retry,
    "compact_boundary": compact_boundary,
    "hook_response": hook_response,
    "hook_started": hook_started,
    "init": init,
    "microcompact_boundary": compact_boundary,
    "permission_denied": permission_denied,
    "status": status,
    "task_notification": task_ended,
    "task_started": task_started,
    "task_updated": task_ended,
}
"""What each subtype means. A subtype that is not here tells nothing of a boundary."""
