"""How a session came out, in five layers that are never folded into one flag, and how it ended."""

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final

from tracekit.analysis.failed import Failure, failures
from tracekit.analysis.failures import Family, Kind
from tracekit.analysis.scope import EVERYTHING, Scope, ask
from tracekit.model import Column, Finding, Status
from tracekit.store import SpanStore

STILL_RUNNING_NS: Final = 900_000_000_000
"""A session in the middle of its work, of which something was seen within this time, runs: how it ends is still to come."""

_AT_A_LIMIT: Final = ("max_tokens", "length", "model_context_window_exceeded")
_LIMITED_RUNS: Final = frozenset({"error_max_turns", "error_max_budget_usd", "error_max_structured_output_retries"})
_ABORTED: Final = frozenset({"aborted_streaming", "aborted_tools"})
_TOOL_USE: Final = "tool_use"

Row = dict[str, Any]


class End(StrEnum):
    """How a session ended."""

    FINISHED = "finished"
    """The last request was answered, and nothing was left to do for it."""
    TRUNCATED = "truncated"
    """The last answer broke off, or a limit (tokens, turns, money) ended it."""
    LOST = "lost"
    """The last request was never answered: nothing came, or the client gave up."""
    INTERRUPTED = "interrupted"
    """A person stopped it and it was not taken up again."""
    EXITED = "exited mid-task"
    """The client ended while a tool ran, or between its result and the next request."""
    RUNNING = "running"
    """It is at work, or was a moment ago."""
    UNKNOWN = "unknown"
    """No witness saw what would say it."""


@dataclass(frozen=True, slots=True)
class Outcome(Finding):
    """The outcome of one session. Each layer says its own; a word says nothing of the layers beside it."""

    question: ClassVar[str] = "outcome"

    session_id: Annotated[str, Column("Session", "id")]
    end: Annotated[str, Column("End")]
    """`finished`, `truncated`, `lost`, `interrupted`, `exited mid-task`, `running` or `unknown`."""
    why: Annotated[str, Column("Why")]
    transport: Annotated[str, Column("Transport")]
    """Did bytes arrive whole: `whole`; `mended` (some did not, and a later answer did); `broken`; `unknown` where only telemetry saw it."""
    protocol: Annotated[str, Column("Protocol")]
    """Did control and tool replies conform: `conformed`, `broken`, `unknown`. A hook that says no conforms."""
    tool: Annotated[str, Column("Tool")]
    """Did the tools succeed: `succeeded`, `mended` (failed, and the model went on), `failed`, `none`."""
    response: Annotated[str, Column("Response")]
    """Did a result or a complete answer close it: `closed`, `error`, `missing`, `unknown`."""
    business: Annotated[str, Column("Business")]
    """Was the work verified from outside: `pass`, `fail`, or `unknown`: a complete response does not say it."""
    seen_ns: Annotated[int, Column("Last seen", "time_ns", show=False)]
    requests: Annotated[int, Column("Requests", "count", show=False)]
    cut_requests: Annotated[int, Column("Cut", "count", show=False)]
    failed_requests: Annotated[int, Column("Unanswered requests", "count", show=False)]
    calls: Annotated[int, Column("Calls", "count", show=False)]
    unanswered_calls: Annotated[int, Column("Unanswered calls", "count", show=False)]
    failed_calls: Annotated[int, Column("Failed calls", "count", show=False)]
    """The tools' own failures: no cancelled siblings, no interrupts, noes and blocks."""
    result: Annotated[str | None, Column("Result", show=False)]
    """Subtype of the result message; None where there is none."""
    verified_by: Annotated[str | None, Column("Verified by", show=False)]


def outcomes(store: SpanStore, scope: Scope = EVERYTHING, *, as_of_ns: int | None = None) -> Sequence[Outcome]:
    """Give the outcome of each session, the latest first.

    Args:
        store: Where to look.
        scope: A session counts by its start.
        as_of_ns: The moment that the answer is about, Unix nanoseconds; now if not given.
    """
    moment = time.time_ns() if as_of_ns is None else as_of_ns
    failed: dict[str, list[Failure]] = defaultdict(list)
    for failure in failures(store, Scope(scope.session_id, project=scope.project)):
        failed[failure.session_id].append(failure)
    return [_outcome(row, failed[row["session_id"]], moment) for row in ask(store, "outcome", scope)]


def _outcome(row: Row, failed: Sequence[Failure], as_of_ns: int) -> Outcome:
    own = [failure for failure in failed if failure.counted and failure.family in {Family.TOOL, Family.MCP} and failure.tool]
    end, why = _end(row, failed, as_of_ns)
    return Outcome(
        session_id=row["session_id"],
        end=end,
        why=why,
        transport=_transport(row, end),
        protocol=_protocol(row, failed, end),
        tool=_tool(row, own),
        response=_response(row, end),
        business=row["verified"] or "unknown",
        seen_ns=row["seen_ns"],
        requests=row["requests"],
        cut_requests=row["cut_requests"],
        failed_requests=row["failed_requests"],
        calls=row["calls"],
        unanswered_calls=row["calls"] - row["answered_calls"],
        failed_calls=len(own),
        result=row["subtype"],
        verified_by=row["verified_by"],
    )


# How it ended


def _end(row: Row, failed: Sequence[Failure], as_of_ns: int) -> tuple[End, str]:
    """The end and what says so. The last thing decides; what came before it was got over."""
    if not row["turns"] and row["request_key"] is None:
        return End.UNKNOWN, "no turn and no request was seen"
    said = _by_result(row) or _by_person(row)
    if said is not None:
        return said
    busy = row["turn_open"] or row["request_open"] or row["open_calls"] or _owes_a_request(row)
    if busy and not row["closed"] and as_of_ns - row["seen_ns"] <= STILL_RUNNING_NS:
        return End.RUNNING, "it was seen at work a moment ago"
    kinds = (f"{failure.family}/{failure.kind}" for failure in failed if failure.key == row["request_key"])
    return _by_last_thing(row, next(kinds, None))


def _by_result(row: Row) -> tuple[End, str] | None:
    """What a result message or its reason says outright; a mere `success` is no proof."""
    if row["reason"] in _ABORTED:
        return End.INTERRUPTED, f"terminal reason {row['reason']}"
    if row["subtype"] in _LIMITED_RUNS:
        return End.TRUNCATED, f"result {row['subtype']}"
    return None


def _by_person(row: Row) -> tuple[End, str] | None:
    """An interrupt ends a turn; a no ends it where nothing was asked of the model afterwards."""
    if row["interrupted"] and not row["turn_open"] and not row["request_open"]:
        return End.INTERRUPTED, f"interrupted by the user during {row['interrupted']}"
    if row["stopped_result"] and row["result_ns"] is not None and row["result_ns"] >= (row["answer_ns"] or 0):
        return End.INTERRUPTED, "the last call was stopped or turned down by a person"
    return None


def _by_last_thing(row: Row, kind: str | None) -> tuple[End, str]:
    if row["open_calls"]:
        return End.EXITED, "a tool was running, and nothing was seen after it"
    if row["request_open"]:
        return End.LOST, "the last request was never answered"
    if _owes_a_request(row):
        return End.EXITED, "the last thing is a tool's result, with no request after it"
    if row["cut"] is not None:
        return End.TRUNCATED, f"the last answer ended without message_stop{'' if row['cut'] == 'true' else ': ' + row['cut']}"
    if row["request_status"] == Status.ERROR:
        said = "the client gave up on the last request" if row["gave_up"] else "the last request failed"
        return End.LOST, f"{said}: {kind}" if kind else said
    return _by_last_answer(row)


def _by_last_answer(row: Row) -> tuple[End, str]:
    if any(limit in (row["stop_reason"] or "") for limit in _AT_A_LIMIT):
        return End.TRUNCATED, f"stop reason {row['stop_reason']}"
    if row["is_error"] == "true":
        return End.LOST, f"the result is an error: {row['reason'] or row['subtype'] or 'no reason given'}"
    if row["request_key"] is None:
        return (End.UNKNOWN, "no request was seen") if row["subtype"] is None else (End.FINISHED, f"result {row['subtype']}")
    if _TOOL_USE in (row["stop_reason"] or ""):
        return End.EXITED, "the last answer asks for a tool, and no request followed"
    return End.FINISHED, f"stop reason {row['stop_reason']}" if row["stop_reason"] else "the last request was answered"


def _owes_a_request(row: Row) -> bool:
    """A tool's result was given back after the last answer, and no request carried it on."""
    result_ns, answer_ns = row["result_ns"], row["answer_ns"]
    return (
        result_ns is not None and not row["stopped_result"] and answer_ns is not None and result_ns > answer_ns and not row["request_open"]
    )


# Layers


def _transport(row: Row, end: End) -> str:
    if not row["requests"]:
        return "unknown"
    if end in {End.LOST, End.TRUNCATED} and (row["request_open"] or row["cut"] is not None or row["request_status"] == Status.ERROR):
        return "broken"
    if row["cut_requests"] or row["failed_requests"]:
        return "mended"
    return "whole" if row["whole"] else "unknown"


def _protocol(row: Row, failed: Sequence[Failure], end: End) -> str:
    """Replies of calls, hooks, hosts and servers that never came or were not valid. A running session may still get them."""
    unanswered = row["calls"] - row["answered_calls"] if end is not End.RUNNING else 0
    broken = {(failure.family, failure.kind) for failure in failed} & _INVALID_REPLIES
    if unanswered or broken or row["broken_hooks"]:
        return "broken"
    return "conformed" if row["calls"] or row["hooks"] or row["requests"] else "unknown"


_INVALID_REPLIES: Final = frozenset(
    {
        (Family.HOOK, Kind.INVALID_OUTPUT),
        (Family.HOOK, Kind.UNKNOWN_CALLBACK),
        (Family.MCP, Kind.INITIALIZE),
        (Family.MCP, Kind.SESSION_LOST),
        (Family.CLIENT, Kind.CONTROL_TIMEOUT),
        (Family.MODEL, Kind.MALFORMED_TOOL_INPUT),
        (Family.TOOL, Kind.SIDE_EFFECT_UNCERTAIN),
    }
)


def _tool(row: Row, own: Sequence[Failure]) -> str:
    if not row["calls"]:
        return "none"
    if not own:
        return "succeeded"
    return "mended" if all(failure.recovered for failure in own) else "failed"


def _response(row: Row, end: End) -> str:
    if row["is_error"] == "true" or (row["subtype"] or "").startswith("error"):
        return "error"
    if end is End.FINISHED:
        return "closed"
    return "unknown" if end in {End.UNKNOWN, End.RUNNING} else "missing"
