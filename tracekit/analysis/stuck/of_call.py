"""What a tool call that is not over can be waiting for: a person, a hook, the tool, its server, its agent, or nobody."""

from collections.abc import Sequence
from typing import Final

from tracekit.analysis.stuck.here import HARNESS, TOOL, Running
from tracekit.analysis.stuck.limits import SECOND
from tracekit.analysis.stuck.scene import Call, Scene, Thing, is_interactive
from tracekit.analysis.stuck.suspicion import Suspicion
from tracekit.analysis.stuck.verdict import Verdict
from tracekit.model import Boundary, semconv

AT_ONCE_NS: Final = 2 * SECOND
"""Hooks tell of a question at once, and a process is there as soon."""
TELEMETRY_LATE_NS: Final = 10 * SECOND
"""Clients export their logs every 5 s: what they have not told of by then has not happened."""
HOOKS_LONGEST_NS: Final = 3_600 * SECOND
"""The client itself ends a hook after 600 s, where its settings say nothing else."""

_AGENT_TOOLS: Final = frozenset({"Agent", "Task"})
_PROCESS_TOOLS: Final = frozenset({"Bash", "PowerShell"})
"""Tools that run a process of their own as long as they run."""
_QUICK_TOOLS: Final = frozenset({"Edit", "Glob", "LS", "MultiEdit", "NotebookEdit", "Read", "TodoWrite", "Write"})
"""Tools that are done at once when they are allowed to begin."""
_RUN_BY: Final = ("stamps", "instrument", "otel")
"""Who tells of an execution when it begins. Transcripts and stream-json only know that there is no result."""
_AT_THE_SERVER: Final = ("mcp_tap", "gateway", "instrument")
_SESSION_LOST: Final = "404"


def suspect(call: Call, scene: Scene) -> Suspicion:
    """Judge one call by everything that the witnesses say of it."""
    found = Suspicion([Verdict.PERMISSION, Verdict.HOOK, _own(call), Verdict.CLIENT], why=[f"the call of {call.tool} has no result"])
    found.decided_by |= call.schedule.witnesses
    for look in (_hooks, _server, _agent, _execution, _permission):
        if look(found, call, scene) or found.is_proven:
            return found
    _processes(found, call, scene)
    if not found.is_proven:
        _who_would_have_told(found, call, scene)
    return found


def hooks_of(call: Call, scene: Scene) -> list[Thing]:
    """Open hook runs that can only belong to this call."""
    mine: list[Thing] = []
    for run in scene.hooks:
        named = run.attributes.get(semconv.HOOK_TOOL)
        could = [call.key] if call.key in {named, run.parent_key} else [other.key for other in scene.calls if _may_run_for(run, other)]
        if could == [call.key]:
            mine.append(run)
    return mine


def _may_run_for(run: Thing, call: Call) -> bool:
    event, _, tool = run.name.partition(":")
    return (
        run.attributes.get(semconv.HOOK_TOOL) is None
        and event in {"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"}
        and tool in {"", call.tool}
    )


def _own(call: Call) -> Verdict:
    if call.tool in _AGENT_TOOLS:
        return Verdict.SUBAGENT
    is_mcp = call.tool.startswith("mcp__") or call.part(Boundary.MCP_CALL) is not None or call.value(semconv.MCP_SERVER) is not None
    return Verdict.MCP if is_mcp else Verdict.TOOL


def server_of(call: Call) -> str | None:
    """The MCP server that a call is for."""
    named = call.value(semconv.MCP_SERVER)
    return named or (call.tool.split("__")[1] if call.tool.startswith("mcp__") and call.tool.count("__") > 1 else None)


# Who saw it --------------------------------------------------------------------------------------------------------------


# Each gives True where nothing else can tell more.


def _hooks(found: Suspicion, call: Call, scene: Scene) -> bool:
    execution = call.part(Boundary.TOOL_EXECUTION)
    ran_ns = execution.start_ns if execution is not None and execution.seen_by(*_RUN_BY) else None
    for run in hooks_of(call, scene):
        if ran_ns is None or run.since_ns >= ran_ns:
            found.prove(Verdict.HOOK, f"{run.name} began and has not answered", run.witnesses)
    return found.is_proven


def _server(found: Suspicion, call: Call, scene: Scene) -> bool:
    part, server = call.part(Boundary.MCP_CALL), server_of(call)
    if part is not None and part.seen_by(*_AT_THE_SERVER):
        if part.is_open(scene.now_ns):
            found.prove(Verdict.MCP_CALL, "tools/call has reached the server, and no response came back", part.witnesses)
            found.since_ns = part.since_ns
        elif part.attributes.get(semconv.HTTP_STATUS) == _SESSION_LOST:
            found.prove(Verdict.MCP_SESSION_LOST, "the server does not know the session any more (HTTP 404)", part.witnesses)
        elif part.end_source in _AT_THE_SERVER:
            found.prove(Verdict.CLIENT, "the server has answered, and the client has not taken the answer", part.witnesses)
            found.since_ns = part.end_ns
        return found.is_proven
    for connection in scene.of(Boundary.MCP_CONNECTION):
        if server is not None and connection.name == server:
            found.prove(stage_of(connection), f"the server {server} is not connected yet", connection.witnesses)
            found.since_ns = connection.since_ns
    return found.is_proven


def stage_of(connection: Thing) -> Verdict:
    """How far the connecting of a server has come."""
    stage = connection.attributes.get(semconv.MCP_METHOD) or connection.attributes.get(semconv.MCP_STAGE, "")
    stages = {"initialize": Verdict.MCP_INITIALIZE, "tools/list": Verdict.MCP_DISCOVERY, "server/discover": Verdict.MCP_DISCOVERY}
    return stages.get(stage, Verdict.MCP_CONNECTION)


def _agent(found: Suspicion, call: Call, scene: Scene) -> bool:
    if call.key not in scene.agents:
        return False
    over_ns = scene.agents[call.key].over_ns
    if over_ns is None:
        found.prove(Verdict.SUBAGENT, "its agent is at work, and is judged by itself", ["the agent's own records"])
    else:
        found.left = [Verdict.HOOK, Verdict.CLIENT]
        found.why.append("its agent is done")
        found.since_ns = over_ns
    return found.is_proven


def _execution(found: Suspicion, call: Call, scene: Scene) -> bool:
    execution = call.part(Boundary.TOOL_EXECUTION)
    if execution is None or not execution.is_open(scene.now_ns):
        return False
    if scene.now_ns - execution.since_ns < TELEMETRY_LATE_NS and call.witnesses == frozenset({"otel"}):
        found.left = [_own(call), Verdict.HOOK, Verdict.FIRST_BYTE, Verdict.MID_STREAM, Verdict.CLIENT]
        found.why.append("it was set to work, and telemetry alone is late to tell of its end")
        return True
    if execution.seen_by(*_RUN_BY):
        found.prove(_own(call), "it was set to work and is not done", execution.witnesses.intersection(_RUN_BY))
        found.since_ns = execution.since_ns
    elif execution.is_true(semconv.TOOL_SEEN_RUNNING):
        found.prove(_own(call), "it was seen at work, and is not done", execution.witnesses)
        found.since_ns = execution.since_ns
    return found.is_proven


def _permission(found: Suspicion, call: Call, scene: Scene) -> bool:
    wait = call.part(Boundary.PERMISSION_WAIT)
    if wait is None:
        return False
    if not wait.is_open(scene.now_ns):
        if wait.attributes.get(semconv.PERMISSION_DECISION) == "reject":
            found.prove(Verdict.CLIENT, "it was refused, and the client has not gone on", wait.witnesses)
            found.since_ns = wait.end_ns
        else:
            found.narrow([_own(call), Verdict.CLIENT], "it was allowed", wait.witnesses)
    elif wait.seen_by("instrument"):
        found.prove(Verdict.PERMISSION, "somebody was asked to allow it, and has not answered", wait.witnesses)
        found.since_ns = wait.since_ns
    elif is_interactive(call):
        found.narrow([Verdict.PERMISSION, Verdict.HOOK], "the tool is itself a question to a person", wait.witnesses)
    else:
        found.narrow([Verdict.PERMISSION, _own(call)], "somebody was asked to allow it, and an answer leaves no sign", wait.witnesses)
        found.since_ns = wait.since_ns
    return found.is_proven


# Who would have seen it --------------------------------------------------------------------------------------------------


def _processes(found: Suspicion, call: Call, scene: Scene) -> None:
    here = scene.here
    if here.client is None or scene.now_ns - call.since_ns < AT_ONCE_NS:
        return
    # A tool of its own process, run on this machine, is there to be seen.
    started = call.start_ns - SECOND
    tools, harness = here.begun(started, TOOL), here.begun(started, HARNESS)
    if call.tool in _PROCESS_TOOLS:
        if not tools:
            found.exclude(Verdict.TOOL, "no process of it runs", "process")
        elif len([one for one in tools if one.kind]) >= len([other for other in scene.calls if other.tool in _PROCESS_TOOLS]):
            found.prove(Verdict.TOOL, f"{_named(tools)} runs for it", ["process"])
            return
    if not harness:
        found.exclude(Verdict.HOOK, "no process of a hook runs", "process")


def _named(processes: Sequence[Running]) -> str:
    return f"process {processes[0].pid} ({processes[0].name})"


def _who_would_have_told(found: Suspicion, call: Call, scene: Scene) -> None:
    age_ns, wait = scene.now_ns - call.since_ns, call.part(Boundary.PERMISSION_WAIT)
    own = _own(call)
    if "hooks" in call.schedule.witnesses and age_ns >= AT_ONCE_NS:
        if wait is None:
            found.exclude(Verdict.PERMISSION, "no PermissionRequest hook was run", "hooks")
        elif own == Verdict.SUBAGENT and Verdict.PERMISSION in found.left:
            found.exclude(own, "no SubagentStart hook was run", "hooks")
    is_open = wait is None or wait.is_open(scene.now_ns)
    held_ns = age_ns if wait is None else scene.now_ns - wait.since_ns
    if tells_live(scene) and is_open and held_ns >= TELEMETRY_LATE_NS:
        found.exclude(own, "telemetry tells when a tool is set to work, and has not", "otel")
    _hooks_would_have_been_told(found, call, scene, age_ns)
    if wait is not None and is_open and call.tool in _QUICK_TOOLS and held_ns >= AT_ONCE_NS:
        found.exclude(own, f"{call.tool} takes no time once it is allowed", *wait.witnesses)
    if own == Verdict.MCP and server_of(call) in scene.tapped and age_ns >= AT_ONCE_NS:
        found.exclude(own, "the tap of its server has seen no call", "mcp_tap")


def _hooks_would_have_been_told(found: Suspicion, call: Call, scene: Scene, age_ns: int) -> None:
    if scene.about["hooks_told_by_stream"] and "stream_json" in call.schedule.witnesses:
        found.exclude(Verdict.HOOK, "the stream tells when a hook begins, and has not", "stream_json")
    if scene.about["hooks_told_by_otel"] and tells_live(scene) and age_ns >= TELEMETRY_LATE_NS:
        found.exclude(Verdict.HOOK, "telemetry tells when a hook begins, and has not", "otel")
    if age_ns > HOOKS_LONGEST_NS:
        found.exclude(Verdict.HOOK, "no hook lasts for an hour")


def tells_live(scene: Scene) -> bool:
    """Whether telemetry of the turn comes in while it lasts, and not at its end alone."""
    return scene.has_open_turn and "otel" in (scene.about["turn_witnesses"] or "").split(",")
