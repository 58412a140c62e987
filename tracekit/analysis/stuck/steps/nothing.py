"""Steps 1 and 2: nothing is owed, or only what goes on in the background."""

from tracekit.analysis.stuck.judged import Judged
from tracekit.analysis.stuck.limits import Limits
from tracekit.analysis.stuck.verdict import State, Verdict
from tracekit.analysis.stuck.wait import Wait


def idle(wait: Wait, _: Limits) -> Judged:
    """The last turn was answered to its end: the session waits for its user, or has ended."""
    verdict = wait.suspicion.only or Verdict.IDLE
    who = "nobody" if verdict == Verdict.FINISHED else "its caller" if wait.scene.about["agent_id"] else "its user"
    would_tell = "" if wait.suspicion.is_proven else "the end of the turn in telemetry or stream-json"
    return Judged(verdict, State.IDLE, who, would_tell=would_tell)


def background(_: Wait, __: Limits) -> Judged:
    """The turn is over, and agents or commands that it left behind are at work."""
    return Judged(Verdict.BACKGROUND, State.IDLE, "background work", todo="nothing: it wakes the session when it is done")
