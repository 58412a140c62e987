"""Steps 12 and 13: work that replaces or repeats what was there."""

from tracekit.analysis.stuck.judged import Judged, state_of
from tracekit.analysis.stuck.limits import Limits
from tracekit.analysis.stuck.verdict import State, Verdict
from tracekit.analysis.stuck.wait import Wait


def compaction(wait: Wait, limits: Limits) -> Judged:
    """A summary is being written. Its request is a wait of its own, where a witness sees it."""
    name = wait.thing.name if wait.thing is not None else ""
    would_tell = "" if wait.suspicion.is_proven else "hooks (PreCompact) or stream-json of the session"
    state = state_of(wait.age_ns, limits.of(Verdict.COMPACTION))
    todo = "interrupt (Esc): the conversation stays as it was" if state == State.STUCK else ""
    return Judged(Verdict.COMPACTION, state, name or "compaction", would_tell=would_tell, todo=todo)


def loop(wait: Wait, _: Limits) -> Judged:
    """The agent is busy and learns nothing: no time limit will ever end this."""
    name = f"{wait.period} call{'s' * (wait.period != 1)} x{wait.times}"
    todo = "interrupt (Esc) and say what is wrong with the approach: the model does not see it"
    return Judged(Verdict.LOOP, State.STUCK, name, todo=todo)
