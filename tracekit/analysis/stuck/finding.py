"""The answer: one row a wait, with everything that somebody who has to act needs to know of it."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from tracekit.model import Column, Finding


@dataclass(frozen=True, slots=True)
class Stuck(Finding):
    """One thing that an agent waits for, or the word that it waits for nothing."""

    question: ClassVar[str] = "stuck"

    session_id: Annotated[str, Column("Session", "id")]
    agent_id: Annotated[str | None, Column("Agent", show=False)]
    turn_key: Annotated[str, Column("Turn", "id", show=False)]
    """Empty where no witness told of the turn."""
    state: Annotated[str, Column("State")]
    """`stuck`, `waiting` or `idle`."""
    verdict: Annotated[str, Column("Waits for")]
    could_be: Annotated[str, Column("Could be")]
    """Where the verdict is `unknown`: every name that the witnesses leave, separated by commas."""
    name: Annotated[str, Column("Which")]
    boundary: Annotated[str, Column("Open boundary", show=False)]
    key: Annotated[str, Column("Key", "id", show=False)]
    since_ns: Annotated[int, Column("Since", "time_ns")]
    age_ns: Annotated[int, Column("Age", "ns")]
    """From the beginning of the wait to the moment asked about, or to the end of the session."""
    quiet_ns: Annotated[int | None, Column("Quiet", "ns", show=False)]
    """From the last event of a stream to that moment; None where it is no stream, or nobody can say."""
    until_ns: Annotated[int | None, Column("Until", "time_ns", show=False)]
    """When the wait is planned to end: the next attempt, the tool's own timeout. None where nobody planned it."""
    ended_ns: Annotated[int | None, Column("Session ended", "time_ns", show=False)]
    """When the session ended, with this still open; None where it may still run."""
    last_seen_ns: Annotated[int, Column("Last seen", "time_ns", show=False)]
    certainty: Annotated[str, Column("Certainty")]
    """`certain`, `likely` or `unknown`."""
    because: Annotated[str, Column("Because")]
    decided_by: Annotated[str, Column("Decided by", show=False)]
    """The witnesses that the verdict rests on, separated by commas; `process` is this machine's own process table."""
    would_tell: Annotated[str, Column("Would be certain with", show=False)]
    """What is missing; empty where the verdict is certain."""
    todo: Annotated[str, Column("What to do", show=False)]
    step: Annotated[int, Column("Step", show=False)]
    """Number of the step that decided, in the order of `STEPS`, from 1."""
    witnesses: Annotated[str, Column("Witnesses", show=False)]
    """Everybody who saw the open boundary."""
