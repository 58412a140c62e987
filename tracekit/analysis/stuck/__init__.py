"""What a session waits for: its open obligations, each with a name, an age, a certainty, and the witness that is missing.

Work from what is open and from who owns the next step, never from the seconds since the last line. A name that the witnesses do
not leave alone is `unknown`, with every name that they leave.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tracekit.analysis.scope import EVERYTHING, Scope
from tracekit.analysis.stuck.finding import Stuck
from tracekit.analysis.stuck.here import HARNESS, TOOL, Here, Running
from tracekit.analysis.stuck.judging import judge
from tracekit.analysis.stuck.limits import DEFAULTS, Limits, limits_of
from tracekit.analysis.stuck.scene import Scene, scenes
from tracekit.analysis.stuck.steps import STEPS, Step
from tracekit.analysis.stuck.timers import Timer, timers
from tracekit.analysis.stuck.verdict import BROADER, Certainty, State, Verdict, says_no_more_than
from tracekit.store import SpanStore

__all__ = [
    "BROADER",
    "DEFAULTS",
    "HARNESS",
    "STEPS",
    "TOOL",
    "Certainty",
    "Here",
    "Limits",
    "Running",
    "Scene",
    "State",
    "Step",
    "Stuck",
    "Timer",
    "Verdict",
    "judged",
    "limits_of",
    "look",
    "says_no_more_than",
    "stuck",
    "timers",
]


def stuck(
    store: SpanStore,
    scope: Scope = EVERYTHING,
    *,
    as_of_ns: int,
    limits: Limits = DEFAULTS,
    here: Mapping[str, Here] | None = None,
    idle: bool = False,
    ended: bool | None = None,
) -> Sequence[Stuck]:
    """Name what every agent waits for.

    Args:
        store: An open store.
        scope: Bounds; a wait counts by its beginning.
        as_of_ns: The moment to which ages are counted.
        limits: How long each wait may last.
        here: What this machine shows of sessions, by session id.
        idle: Also agents who wait for nothing.
        ended: Also what was open when its session ended; if not said, where the scope names a session.
    """
    found = judged(look(store, scope, as_of_ns=as_of_ns, limits=limits, idle=idle), as_of_ns=as_of_ns, limits=limits, here=here)
    with_ended = scope.session_id is not None if ended is None else ended
    return [
        one
        for one in found
        if (idle or one.state != State.IDLE)
        and (with_ended or one.ended_ns is None)
        and (scope.since_ns is None or one.since_ns >= scope.since_ns)
        and (scope.until_ns is None or one.since_ns < scope.until_ns)
    ]


def look(store: SpanStore, scope: Scope = EVERYTHING, *, as_of_ns: int, limits: Limits = DEFAULTS, idle: bool = False) -> list[Scene]:
    """Read from the store what can be judged again and again, as time passes and as this machine shows more.

    Args:
        store: An open store.
        scope: Bounds; `since_ns` and `until_ns` are not used.
        as_of_ns: The moment of the look.
        limits: For how long a loop can be.
        idle: Also agents to whom nothing can be owed.
    """
    calls = limits.loop_cycle * (limits.loop_repeats + 1)
    return scenes(store, scope, as_of_ns=as_of_ns, calls=max(calls, 50), every=idle or scope.session_id is not None)


def judged(seen: Iterable[Scene], *, as_of_ns: int, limits: Limits = DEFAULTS, here: Mapping[str, Here] | None = None) -> list[Stuck]:
    """Judge what was read, as of a moment: the oldest wait first."""
    known = here or {}
    found = [
        one
        for scene in seen
        for one in judge(replace(scene, now_ns=as_of_ns, here=known.get(scene.about["session_id"], scene.here)), limits)
    ]
    return sorted(found, key=lambda one: (one.since_ns, one.session_id, one.key))
