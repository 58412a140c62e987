"""Steps 3 to 6: a tool call that has no result waits for a person, a hook, the tool itself, or a server."""

from typing import Final

from tracekit.analysis.stuck.here import HARNESS, TOOL, Running
from tracekit.analysis.stuck.judged import Judged, state_of
from tracekit.analysis.stuck.limits import SECOND, Limits
from tracekit.analysis.stuck.of_call import hooks_of, server_of
from tracekit.analysis.stuck.scene import is_interactive
from tracekit.analysis.stuck.verdict import State, Verdict
from tracekit.analysis.stuck.wait import Wait
from tracekit.model import semconv

_READS: Final = {"terminal": "reads a terminal", "input": "reads input that nobody will write"}
_TOOLS_END: Final = "the client then takes the call for failed and goes on"


def permission(wait: Wait, limits: Limits) -> Judged:
    """Somebody has to allow the call, or to answer the question that it is."""
    asks = wait.call is not None and is_interactive(wait.call)
    return Judged(
        Verdict.PERMISSION,
        state_of(wait.age_ns, limits.of(Verdict.PERMISSION)),
        _name(wait),
        would_tell="" if wait.suspicion.is_proven else "the process table of its machine, or telemetry (tool_decision)",
        todo="answer the question in the session" if asks else "answer the prompt in the session, or allow the tool in its settings",
    )


def hook(wait: Wait, limits: Limits) -> Judged:
    """A hook holds the agent up."""
    runs = hooks_of(wait.call, wait.scene) if wait.call is not None else []
    running = _running(wait, HARNESS)
    todo = f"kill -TERM {running.pid} ends the hook ({running.name})" if running else "end the hook's process"
    return Judged(
        Verdict.HOOK,
        state_of(wait.age_ns, limits.of(Verdict.HOOK)),
        runs[0].name if runs else _name(wait),
        would_tell="" if wait.suspicion.is_proven else "stream-json with --include-hook-events, or telemetry (hook_execution_start)",
        todo=f"{todo}; a hook that ends without an answer decides nothing. Give it a `timeout` in the settings",
    )


def tool(wait: Wait, limits: Limits) -> Judged:
    """The tool is at work: within its time, past it, or waiting for input that nobody will give."""
    if wait.suspicion.only == Verdict.SUBAGENT:
        todo = "look at the rows of its agent: `tracekit stuck SESSION`"
        return Judged(Verdict.SUBAGENT, state_of(wait.age_ns, limits.of(Verdict.SUBAGENT)), _name(wait), todo=todo)
    running = _running(wait, TOOL)
    kill = f"kill -TERM {running.pid} ends {running.name}; {_TOOLS_END}" if running else f"end the command's process; {_TOOLS_END}"
    by: tuple[str, ...] = ("process",) if running else ()
    would_tell = "" if wait.suspicion.is_proven else "the process table of its machine, or telemetry (tool_decision)"
    reader = _reader(wait)
    if reader is not None and wait.age_ns > limits.tool_grace * SECOND:
        return _waits_for_input(wait, reader)
    until_ns, declared = _until(wait, limits)
    if until_ns is not None and wait.scene.now_ns > until_ns + int(limits.tool_grace * SECOND):
        more = (f"its {declared} has passed", *_doing(running))
        return Judged(Verdict.TOOL_TIMEOUT, State.STUCK, _name(wait), more, would_tell, kill, until_ns, decided_by=by)
    state = State.WAITING if until_ns is not None else state_of(wait.age_ns, limits.of(Verdict.TOOL))
    todo = kill if state == State.STUCK else "nothing yet: it has time left" if until_ns is not None else ""
    return Judged(Verdict.TOOL, state, _name(wait), _doing(running), would_tell, todo, until_ns, decided_by=by)


def _waits_for_input(wait: Wait, reader: Running) -> Judged:
    more = (f"process {reader.pid} ({reader.name}) {_READS[reader.reads]}",)
    todo = f"kill -TERM {reader.pid} ends {reader.name}; give the command its input, or a flag with which it asks nothing"
    return Judged(Verdict.TERMINAL, State.STUCK, _name(wait), more, todo=todo, decided_by=("process",))


def mcp(wait: Wait, limits: Limits) -> Judged:
    """A server owes the next step: its connection, a stage of it, or the answer to a call."""
    verdict = wait.suspicion.only or Verdict.MCP
    server = server_of(wait.call) if wait.call is not None else wait.thing.name if wait.thing is not None else None
    name = _name(wait) if wait.call is not None else server or ""
    is_lost = verdict == Verdict.MCP_SESSION_LOST
    return Judged(
        verdict,
        State.STUCK if is_lost else state_of(wait.age_ns, limits.of(verdict)),
        name,
        would_tell="" if verdict != Verdict.MCP else f"a tap of the server ({server}): whether the call has reached it",
        todo=f"reconnect {server} (`/mcp` in the session): {'it knows no session' if is_lost else 'its calls fail, and the agent goes on'}",
    )


def _name(wait: Wait) -> str:
    return wait.call.tool if wait.call is not None else wait.thing.name if wait.thing is not None else ""


def _until(wait: Wait, limits: Limits) -> tuple[int | None, str]:
    """When the tool should have been ended, and by what."""
    if wait.call is None or wait.call.value(semconv.TOOL_BACKGROUND) == "true":
        return None, ""
    asked = wait.call.value(semconv.TOOL_TIMEOUT_NS)
    if asked is not None:
        return wait.since_ns + int(asked), f"own timeout of {int(asked) / SECOND:g} s"
    if wait.call.tool == "Bash" and wait.call.value(semconv.TOOL_INPUT_DIGEST) is not None and _tells_arguments(wait):
        return wait.since_ns + int(limits.bash_timeout * SECOND), f"default timeout of {limits.bash_timeout:g} s"
    return None, ""


def _tells_arguments(wait: Wait) -> bool:
    """Whether somebody read the call's arguments, so that a timeout would be known if it had one."""
    return wait.call is not None and not wait.call.witnesses.isdisjoint({"transcript", "stream_json", "hooks"})


def _running(wait: Wait, kind: str) -> Running | None:
    """The process at the bottom that was started for this."""
    since_ns = (wait.call.start_ns if wait.call is not None else wait.since_ns) - SECOND
    found = [one for one in wait.scene.here.processes if one.bottom and one.start_ns >= since_ns and one.kind in (kind, "")]
    return found[0] if found else None


def _reader(wait: Wait) -> Running | None:
    since_ns = (wait.call.start_ns if wait.call is not None else wait.since_ns) - SECOND
    processes = (one for one in wait.scene.here.processes if one.reads and one.start_ns >= since_ns and one.kind in (TOOL, ""))
    return next(processes, None)


def _doing(running: Running | None) -> tuple[str, ...]:
    if running is None or running.busy is None:
        return ()
    return (f"process {running.pid} ({running.name}) {'is at work' if running.busy else 'uses no processor time'}",)
