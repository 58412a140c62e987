"""What a step says of a wait."""

from typing import NamedTuple

from tracekit.analysis.stuck.verdict import State, Verdict


class Judged(NamedTuple):
    """A name, whether it is one to worry about, and what to do.

    Attributes:
        verdict: The name.
        state: Whether it lasts too long.
        name: Which tool, server, hook or model.
        more: What else speaks for it, as parts of a sentence.
        would_tell: What would make it certain.
        todo: What to do about it; empty where there is nothing to be done.
        until_ns: When it is planned to end.
        quiet_ns: From the last event of a stream to now.
        decided_by: Witnesses besides those of the suspicion.
    """

    verdict: Verdict
    state: State
    name: str
    more: tuple[str, ...] = ()
    would_tell: str = ""
    todo: str = ""
    until_ns: int | None = None
    quiet_ns: int | None = None
    decided_by: tuple[str, ...] = ()


def state_of(age_ns: int, limit_ns: int | None) -> State:
    """Whether a wait is longer than its limit; without one it never is."""
    return State.STUCK if limit_ns is not None and age_ns > limit_ns else State.WAITING
