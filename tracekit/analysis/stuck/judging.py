"""From one agent's scene to the rows of the answer."""

from collections.abc import Iterator
from dataclasses import replace

from tracekit.analysis.stuck.finding import Stuck
from tracekit.analysis.stuck.judged import Judged
from tracekit.analysis.stuck.limits import SECOND, Limits
from tracekit.analysis.stuck.scene import Scene
from tracekit.analysis.stuck.steps import decide
from tracekit.analysis.stuck.verdict import Certainty, Verdict
from tracekit.analysis.stuck.wait import Wait
from tracekit.analysis.stuck.waits import waits_of

_ORDER = ("stamps", "gateway", "mcp_tap", "instrument", "otel", "hooks", "stream_json", "transcript")


def judge(scene: Scene, limits: Limits) -> Iterator[Stuck]:
    """Judge everything that an agent waits for; of a session that is over, as of its end."""
    ended_ns = _ended(scene, limits)
    if ended_ns is not None and ended_ns < scene.now_ns:
        scene = replace(scene, now_ns=ended_ns)
    for wait in waits_of(scene, limits):
        step, said = decide(wait, limits)
        yield _finding(wait, step, said, ended_ns)


def _ended(scene: Scene, limits: Limits) -> int | None:
    """When the session ended: as a hook said, or when it was seen last, where that is too long ago for a session that lives."""
    about = scene.about
    if about["session_end_ns"] is not None and about["session_end_ns"] >= (about["turn_start_ns"] or 0):
        return int(about["session_end_ns"])
    last_ns = int(about["last_seen_ns"] or 0)
    is_gone = scene.here.client is None and scene.now_ns - last_ns > limits.gone * SECOND
    return last_ns if is_gone else None


def _finding(wait: Wait, step: int, said: Judged, ended_ns: int | None) -> Stuck:
    scene, thing, suspicion = wait.scene, wait.thing, wait.suspicion
    return Stuck(
        session_id=scene.about["session_id"],
        agent_id=scene.about["agent_id"],
        turn_key=scene.about["turn_key"] or "",
        state=said.state,
        verdict=said.verdict,
        could_be=", ".join(suspicion.left) if said.verdict == Verdict.UNKNOWN else "",
        name=said.name,
        boundary=thing.boundary if thing is not None else "turn",
        key=thing.key if thing is not None else scene.about["turn_key"] or "",
        since_ns=wait.since_ns,
        age_ns=wait.age_ns,
        quiet_ns=said.quiet_ns,
        until_ns=said.until_ns,
        ended_ns=ended_ns,
        last_seen_ns=int(scene.about["last_seen_ns"] or 0),
        certainty=_certainty(wait, said),
        because="; ".join(dict.fromkeys([*suspicion.why, *said.more])),
        decided_by=",".join(_in_order({*suspicion.decided_by, *said.decided_by})),
        would_tell=said.would_tell,
        todo=said.todo if ended_ns is None else "nothing: the session has ended",
        step=step,
        witnesses=",".join(_in_order(set(thing.witnesses) if thing is not None else suspicion.decided_by)),
    )


def _certainty(wait: Wait, said: Judged) -> Certainty:
    if said.verdict == Verdict.UNKNOWN:
        return Certainty.UNKNOWN
    # A longer wait than is allowed makes a lost wake-up of the client's turn: that it will not come is a guess.
    is_guess = said.verdict == Verdict.LOST_WAKE_UP or not wait.suspicion.is_proven or said.would_tell != ""
    return Certainty.LIKELY if is_guess else Certainty.CERTAIN


def _in_order(names: set[str]) -> list[str]:
    return sorted(names, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))
