"""What an agent can be waiting for of whom nothing is open in sight."""

from typing import Final

from tracekit.analysis.stuck.here import HARNESS, TOOL
from tracekit.analysis.stuck.limits import SECOND
from tracekit.analysis.stuck.of_call import AT_ONCE_NS, HOOKS_LONGEST_NS, TELEMETRY_LATE_NS, tells_live
from tracekit.analysis.stuck.of_request import is_watched
from tracekit.analysis.stuck.scene import Scene
from tracekit.analysis.stuck.suspicion import Suspicion
from tracekit.analysis.stuck.verdict import Verdict
from tracekit.model import semconv

_SAW_THE_END: Final = frozenset({"instrument", "otel", "stream_json"})
"""Who tells of a turn's end after its Stop hooks. A hook and a transcript tell of it before."""
_OWES_A_CALL: Final = (Verdict.TOOL, Verdict.PERMISSION, Verdict.HOOK, Verdict.MCP, Verdict.SUBAGENT, Verdict.CLIENT)
_OWES_AN_ANSWER: Final = (
    Verdict.FIRST_BYTE,
    Verdict.MID_STREAM,
    Verdict.RETRY_WAIT,
    Verdict.COMPACTION,
    Verdict.HOOK,
    Verdict.MCP,
    Verdict.CLIENT,
)
_ANNOUNCING_CLIENT: Final = (2, 1, 332)
"""The first client of which it is known that its stream announces every request."""
_RESPONDING_NS: Final = 600 * SECOND
"""No client waits longer than this for a response that has begun."""


def suspect(scene: Scene) -> Suspicion:
    """Judge an agent by what it did last."""
    found = _closed(scene) if _is_closed(scene) else _owing(scene)
    found.since_ns = scene.seen_ns
    if Verdict.HOOK in found.left:
        _hook_would_have_been_told(found, scene)
    return found


def _is_closed(scene: Scene) -> bool:
    about = scene.about
    return about["agent_end_ns"] is not None or (about["turn_key"] is not None and about["turn_end_ns"] is not None)


# Nothing is owed ---------------------------------------------------------------------------------------------------------


def _closed(scene: Scene) -> Suspicion:
    found = Suspicion([Verdict.IDLE], why=["its last turn is over"], decided_by=set(scene.closed_by))
    if scene.about["session_end_ns"] is not None:
        found.prove(Verdict.FINISHED, "the session has ended", ["hooks"])
        return found
    if scene.about["agent_id"] is None and _waits_for_agents(found, scene):
        return found
    is_sure = scene.closed_by & _SAW_THE_END or semconv.INTERRUPTED in scene.turn_attributes
    if scene.about["turn_witnesses"] == "otel":
        _may_go_on_unheard(found, scene)
    elif is_sure:
        found.is_proven = True
    elif scene.about["agent_end_ns"] is None:
        found.left.append(Verdict.HOOK)
        if not _is_whole(scene) and scene.now_ns - scene.seen_ns < _RESPONDING_NS:
            found.left.append(Verdict.MID_STREAM)
        if not found.is_proven and Verdict.MID_STREAM in found.left and is_watched(scene):
            found.exclude(Verdict.MID_STREAM, "no request is open at the gateway", "gateway")
    return found


def _may_go_on_unheard(found: Suspicion, scene: Scene) -> None:
    """Telemetry alone is some seconds late: the next turn may have begun."""
    if scene.now_ns - scene.seen_ns < TELEMETRY_LATE_NS:
        found.left += _OWES_AN_ANSWER


def _is_whole(scene: Scene) -> bool:
    """Whether the last response is known to have ended, as far as who tells of the end can know."""
    told = scene.request_attributes
    return "hooks" in scene.closed_by or semconv.STOP_REASON in told or semconv.GAVE_UP in told


def _waits_for_agents(found: Suspicion, scene: Scene) -> bool:
    """Sub-agents and commands in the background outlive the turn, and wake the agent when they are done."""
    apart = [agent.over_ns for agent in scene.agents.values() if agent.is_apart]
    if None in apart:
        found.prove(Verdict.BACKGROUND, "agents of it are at work in the background", ["the agents' own records"])
        return True
    ended_ns = max((over_ns for over_ns in apart if over_ns is not None), default=0)
    if ended_ns > max(scene.seen_ns, scene.about["turn_end_ns"] or 0):
        found.prove(Verdict.CLIENT, "an agent in the background is done, and nobody woke up for it", ["the agents' own records"])
        found.since_ns = ended_ns
        return True
    if running := [one for one in scene.here.processes if one.top and one.kind == TOOL]:
        found.prove(Verdict.BACKGROUND, f"process {running[0].pid} ({running[0].name}) runs in the background", ["process"])
        return True
    return False


# Something is owed -------------------------------------------------------------------------------------------------------


def _owing(scene: Scene) -> Suspicion:
    asked, told = scene.about["request_end_ns"], scene.request_attributes
    told_by = scene.about["turn_witnesses"] or scene.about["request_witnesses"] or ""
    found = Suspicion(list(_OWES_AN_ANSWER), decided_by=set(filter(None, told_by.split(","))))
    after_call = (scene.about["call_end_ns"] or 0) >= (asked or 0) and scene.about["call_end_ns"] is not None
    after_prompt = (scene.about["turn_start_ns"] or 0) >= (asked or 0) and scene.about["turn_key"] is not None
    if scene.about["turn_key"] is None and asked is None:
        found.left = list(dict.fromkeys([*_OWES_AN_ANSWER, *_OWES_A_CALL, Verdict.IDLE]))
        found.why.append("nobody tells of its turns or requests")
    elif after_call or after_prompt or asked is None:
        if after_call or asked is not None:
            found.left.remove(Verdict.MCP)  # servers are waited for before the first request
        found.why.append("the last thing was a tool's result" if after_call and not after_prompt else "the last thing was a prompt")
    elif scene.about["request_status"] in {"error", "cancelled"}:
        found.left = [Verdict.RETRY_WAIT, Verdict.CLIENT, Verdict.IDLE, Verdict.FIRST_BYTE, Verdict.MID_STREAM]
        found.why.append("the last request failed")
    elif told.get(semconv.STOP_REASON) == "tool_use":
        found.left = list(_OWES_A_CALL)
        found.why.append("the last response asked for a tool, and nobody tells of the call")
    elif semconv.STOP_REASON in told:
        found.left = [Verdict.IDLE, Verdict.HOOK, Verdict.CLIENT, Verdict.COMPACTION, Verdict.FIRST_BYTE, Verdict.MID_STREAM]
        found.why.append("the last response was complete, and nobody tells of the end of the turn")
    else:
        found.left = [Verdict.MID_STREAM, Verdict.IDLE, *_OWES_A_CALL]
        found.why.append("the last thing was a response of which nobody tells how it ended")
    _request_would_have_been_told(found, scene)
    return found


def _request_would_have_been_told(found: Suspicion, scene: Scene) -> None:
    answers = (Verdict.FIRST_BYTE, Verdict.MID_STREAM, Verdict.COMPACTION)
    if is_watched(scene):
        for verdict in answers:
            found.exclude(verdict, "no request is open at the gateway", "gateway")
        if scene.about["request_status"] not in {"error", "cancelled"}:
            found.exclude(Verdict.RETRY_WAIT, "the last request at the gateway succeeded", "gateway")
    elif scene.here.client is not None and scene.here.sockets == {}:
        # A connection that was closed from afar still stands there, and its client may wait for it.
        for verdict in answers:
            found.exclude(verdict, "the client has no connection to anybody", "process")
    if _announces(scene):
        for verdict in (*answers, Verdict.RETRY_WAIT):
            found.exclude(verdict, "the stream tells of each request, retry and compaction, and none is open", "stream_json")
    found.why[:] = list(dict.fromkeys(found.why))


def _announces(scene: Scene) -> bool:
    """Whether stream-json of a client that announces its requests is there for this turn."""
    version = tuple(int(part) for part in scene.turn_attributes.get(semconv.CLIENT_VERSION, "").split(".") if part.isdecimal())
    is_there = scene.has_open_turn and scene.about["agent_id"] is None and "stream_json" in (scene.about["turn_witnesses"] or "").split(",")
    return is_there and bool(scene.about["streamed"]) and version >= _ANNOUNCING_CLIENT


def _hook_would_have_been_told(found: Suspicion, scene: Scene) -> None:
    age_ns = scene.now_ns - scene.seen_ns
    if scene.about["hooks_told_by_stream"]:
        found.exclude(Verdict.HOOK, "the stream tells when a hook begins, and none is open", "stream_json")
    if scene.about["hooks_told_by_otel"] and tells_live(scene) and age_ns >= TELEMETRY_LATE_NS:
        found.exclude(Verdict.HOOK, "telemetry tells when a hook begins, and none is open", "otel")
    if scene.here.client is not None and age_ns >= AT_ONCE_NS and not scene.here.begun(scene.seen_ns - AT_ONCE_NS, HARNESS):
        found.exclude(Verdict.HOOK, "no process of a hook runs", "process")
    if age_ns > HOOKS_LONGEST_NS:
        found.exclude(Verdict.HOOK, "no hook lasts for an hour")
