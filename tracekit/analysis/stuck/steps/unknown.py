"""Step 14: several names are possible. Which, and which witness would leave one."""

from collections.abc import Iterator, Sequence
from typing import Final

from tracekit.analysis.stuck.judged import Judged
from tracekit.analysis.stuck.limits import Limits
from tracekit.analysis.stuck.verdict import State, Verdict
from tracekit.analysis.stuck.wait import Wait
from tracekit.model import Boundary

_NEXT_TIME: Final = "next time, `tracekit run -- COMMAND` brings every witness along; for what runs by itself: hooks install, env"
_WOULD_TELL: Final = (
    ({Verdict.FIRST_BYTE, Verdict.MID_STREAM, Verdict.CLIENT}, "a gateway: each request and each byte of its response"),
    ({Verdict.PERMISSION}, "hooks (PermissionRequest): whether a person was asked"),
    ({Verdict.HOOK}, "stream-json with --include-hook-events, or telemetry: whether a hook runs"),
    ({Verdict.TOOL, Verdict.SUBAGENT}, "telemetry (tool_decision), or the process table of its machine: whether the tool runs"),
    ({Verdict.MCP}, "a tap of the MCP server: whether the call has reached it"),
    ({Verdict.RETRY_WAIT}, "the transcript or stream-json of the session: when the next attempt comes"),
    ({Verdict.COMPACTION}, "hooks (PreCompact): whether it compacts"),
    ({Verdict.IDLE}, "hooks or stream-json: whether the turn is over"),
)


def unknown(wait: Wait, limits: Limits) -> Judged:
    """Say what it can be. It is stuck where it would be under each of the names."""
    left = wait.suspicion.left
    # That somebody was asked is known already: whether the answer was given is not.
    was_asked = wait.call is not None and wait.call.part(Boundary.PERMISSION_WAIT) is not None
    missing = list(_missing([verdict for verdict in left if not (was_asked and verdict == Verdict.PERMISSION)]))
    return Judged(
        Verdict.UNKNOWN,
        _state(wait, left, limits),
        _name(wait),
        would_tell="; ".join(missing),
        todo=_NEXT_TIME,
    )


def _missing(left: Sequence[Verdict]) -> Iterator[str]:
    for verdicts, witness in _WOULD_TELL:
        if verdicts.intersection(left):
            yield witness


def _state(wait: Wait, left: Sequence[Verdict], limits: Limits) -> State:
    if Verdict.IDLE in left:
        return State.IDLE
    bounds = [limits.longest_of(verdict) for verdict in left]
    longest_ns = max((bound for bound in bounds if bound is not None), default=None)
    return State.STUCK if longest_ns is not None and None not in bounds and wait.age_ns > longest_ns else State.WAITING


def _name(wait: Wait) -> str:
    if wait.call is not None:
        return wait.call.tool
    return wait.thing.name if wait.thing is not None else wait.scene.about["turn_name"] or ""
