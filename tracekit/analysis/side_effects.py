"""What may have run although the protocol says that it did not, or does not say: each such call, and whether it was called again."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from tracekit.analysis.failures import Evidence, Family, Kind, Retry, Verdict, classify
from tracekit.analysis.scope import EVERYTHING, Scope, ask
from tracekit.model import Column, Finding, Status
from tracekit.store import SpanStore

READ_ONLY: Final = frozenset(
    {"Read", "Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch", "TaskOutput", "BashOutput", "AgentOutputTool", "TodoRead",
     "ToolSearch", "ListMcpResourcesTool", "ReadMcpResourceTool", "LSP", "AskUserQuestion", "ExitPlanMode"}
)  # fmt: skip
"""Tools of the client that change nothing: it does not matter whether they ran."""

STILL_RUNNING_NS: Final = 900_000_000_000
"""An open call of a session of which anything was seen within this time may simply run; Bash itself ends a command after ten minutes."""

_NEVER: Final = {(Family.TOOL, Kind.INPUT), (Family.TOOL, Kind.PERMISSION), (Family.HOOK, Kind.BLOCKED)}
"""Turned down before the tool began, whatever else its witnesses say."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SideEffect(Finding):
    """One call whose effect is uncertain: kind `tool/side_effect_uncertain`."""

    question: ClassVar[str] = "side effects"

    session_id: Annotated[str, Column("Session", "id")]
    agent_id: Annotated[str | None, Column("Agent", show=False)]
    start_ns: Annotated[int, Column("When", "time_ns")]
    """When the call was there, at the earliest."""
    tool: Annotated[str, Column("Tool")]
    key: Annotated[str, Column("Call", "id")]
    reason: Annotated[str, Column("Why it may have run")]
    repeated: Annotated[bool, Column("Called again")]
    """The same tool was called with the same arguments afterwards: its effect may be there twice."""
    repeat_key: Annotated[str | None, Column("By", "id", show=False)]
    repeat_ns: Annotated[int | None, Column("Again at", "time_ns", show=False)]
    request_key: Annotated[str | None, Column("Request", "id", show=False)]
    ran: Annotated[bool | None, Column("Seen to run", show=False)]
    """Some witness saw the tool itself begin; None where only the reason says that it did."""
    evidence: Annotated[str, Column("Evidence", show=False)]
    witnesses: Annotated[str, Column("Witnesses", show=False)]


def side_effects(store: SpanStore, scope: Scope = EVERYTHING, *, as_of_ns: int | None = None) -> Sequence[SideEffect]:
    """Find the calls whose effect is uncertain, in order of time.

    Args:
        store: Where to look.
        scope: A call counts by its end, an open one by its start.
        as_of_ns: The moment that the answer is about, Unix nanoseconds; now if not given. A call that is open in a session of which
            something was seen shortly before runs, and is not uncertain yet.
    """
    moment = time.time_ns() if as_of_ns is None else as_of_ns
    found = [(row, _judged(row, moment)) for row in ask(store, "side_effects", scope) if row["name"] not in READ_ONLY]
    return [_finding(row, *why) for row, why in found if why is not None]


def _judged(row: Row, as_of_ns: int) -> tuple[str, str] | None:
    """Why a call's effect is uncertain and what says so; None where it is not."""
    if row["end_ns"] is None:
        return _open(row, as_of_ns)
    if row["request_cut"] is not None and row["ran"] and not row["answered"]:
        return "its message was cut while it ran", f"no message_stop: {row['request_cut']}"
    evidence = Evidence.from_attributes(row["boundary"], row["status"], row["name"], row["attributes"])
    verdict = classify(evidence)
    # A result whose call nobody saw is no sign that the tool ran.
    reason = _of_verdict(verdict, ran=bool(row["ran"] and row["request_key"]))
    if reason is None and row["run_status"] == Status.CANCELLED and verdict[:2] not in _NEVER:
        return "it was stopped while it ran", verdict.evidence_text
    return (reason, verdict.evidence_text) if reason else None


def _open(row: Row, as_of_ns: int) -> tuple[str, str] | None:
    if not row["ran"]:
        return None  # it may have waited for a person to this day
    if row["went_on"]:
        return "no result of it was ever seen, and the session went on", "an open call"
    if as_of_ns - row["seen_ns"] > STILL_RUNNING_NS:
        return "the client was not seen again while it ran", "an open call, the last thing of its session"
    return None


def _of_verdict(verdict: Verdict, *, ran: bool) -> str | None:
    named = (verdict.family, verdict.kind)
    if named == (Family.TOOL, Kind.SIDE_EFFECT_UNCERTAIN):
        return "its result was thrown away or never written"
    if named == (Family.MCP, Kind.CALL) and verdict.retry is Retry.MAY_REPEAT_SIDE_EFFECT:
        too_large = "exceeds" in verdict.evidence_text or "too large" in verdict.evidence_text
        return "it ran, and its answer was too large to be given back" if too_large else "the server did not answer while it was at work"
    if not ran:
        return None
    return _STOPPED.get(named)


_STOPPED: Final = {
    (Family.TOOL, Kind.TIMEOUT): "it was killed after its timeout",
    (Family.TOOL, Kind.SIBLING_CANCELLED): "it was cancelled with another call while it ran",
    (Family.USER, Kind.INTERRUPT): "it was interrupted while it ran",
    (Family.USER, Kind.REJECTION): "it is called rejected, and was seen to run",
}


def _finding(row: Row, reason: str, evidence: str) -> SideEffect:
    return SideEffect(
        session_id=row["session_id"],
        agent_id=row["agent_id"],
        start_ns=row["start_ns"],
        tool=row["name"],
        key=row["key"],
        reason=reason,
        repeated=row["repeat_key"] is not None,
        repeat_key=row["repeat_key"],
        repeat_ns=row["repeat_ns"],
        request_key=row["request_key"],
        ran=True if row["ran"] else None,
        evidence=evidence,
        witnesses=row["witnesses"],
    )
