"""What failed, whose fault it was, and whether it was got over: each failure once, attempts of one request as one chain."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final

from tracekit.analysis.chains import Chain, Row, evidence_of, judged, repeated
from tracekit.analysis.failures import Family, Kind, Verdict, classify, not_a_failure
from tracekit.analysis.scope import EVERYTHING, Scope, ask
from tracekit.model import Boundary, Column, Finding, Status, semconv
from tracekit.store import SpanStore

_SAME_MOMENT_NS: Final = 1_000_000_000
"""What two witnesses without a common key saw within this time, under one name, is one event."""

_UNCOUNTED: Final = frozenset({(Family.TOOL, Kind.SIBLING_CANCELLED), (Family.HOOK, Kind.BLOCKED)})
"""Nobody's failure: another call's, or a hook that did what it is for. So is everything that a person did."""

_KEYLESS: Final = frozenset({Boundary.HOOK_REPLY, Boundary.MCP_CONNECTION, Boundary.MODEL_REQUEST, Boundary.COMPACTION})
"""Boundaries that some witnesses cannot name: the keys of hook runs and connections are their own, a request without answer has none."""


@dataclass(frozen=True, slots=True)
class Failure(Finding):
    """One failure."""

    question: ClassVar[str] = "failures"

    session_id: Annotated[str, Column("Session", "id")]
    agent_id: Annotated[str | None, Column("Agent", show=False)]
    turn_key: Annotated[str | None, Column("Turn", "id", show=False)]
    end_ns: Annotated[int, Column("When", "time_ns")]
    family: Annotated[str, Column("Family")]
    kind: Annotated[str, Column("Kind")]
    recovered: Annotated[bool, Column("Recovered")]
    """The session got over it: the request was answered in the end, or the model went on in the same turn."""
    name: Annotated[str, Column("Where")]
    """Tool, model, hook or server."""
    boundary: Annotated[str, Column("Layer", show=False)]
    key: Annotated[str, Column("Key", "id", show=False)]
    attempts: Annotated[int, Column("Attempts", "count", show=False)]
    """HTTP attempts that failed; 0 where there was one attempt, or the boundary is no request."""
    causes: Annotated[str, Column("Causes", show=False)]
    """Kinds of the failed attempts, with their numbers, the commonest first."""
    futile_retries: Annotated[int, Column("Futile", "count", show=False)]
    """Attempts that repeated what no retry cures (a certificate, a prompt too long), and failed in the same way."""
    waited_ns: Annotated[int, Column("Waited", "ns", show=False)]
    """Time that the client slept between the attempts."""
    lost_ns: Annotated[int, Column("Lost", "ns")]
    """Time that failed attempts and the waits between them took."""
    retry: Annotated[str, Column("Retry")]
    evidence: Annotated[str, Column("Evidence")]
    witnesses: Annotated[str, Column("Witnesses", show=False)]
    counted: Annotated[bool, Column("Counted", show=False)]
    """False for what is nobody's failure: a person's interrupt or no, a call cancelled with a sibling, a hook that blocked."""
    tool: Annotated[str | None, Column("Tool", show=False)]
    server: Annotated[str | None, Column("Server", show=False)]
    """MCP server, whether its connection or a call to it failed."""
    model: Annotated[str | None, Column("Model", show=False)]


def failures(store: SpanStore, scope: Scope = EVERYTHING) -> Sequence[Failure]:
    """Find the failures in a scope, in order of time."""
    rows = ask(store, "failed", scope)
    attempts: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if row["boundary"] == Boundary.REQUEST_ATTEMPT:
            attempts[row["session_id"], row["parent_key"]].append(row)
    calls = {boundary: {(row["session_id"], row["key"]) for row in rows if row["boundary"] == boundary} for boundary in _CALLS}
    rejected: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["boundary"] == Boundary.TOOL_SCHEDULE:
            rejected[row["session_id"]].append(row)
    found = [
        _failure(row, attempts.pop((row["session_id"], row["key"]), []))
        for row in rows
        if row["boundary"] != Boundary.REQUEST_ATTEMPT
        and not _told_elsewhere(row, calls, rejected[row["session_id"]])
        and not _harmless(row)
    ]
    found += [_chain(chain) for chain in attempts.values()]
    again = repeated([row for row in rows if row["boundary"] == Boundary.MODEL_REQUEST and row["status"] == Status.ERROR])
    found = [_again(failure) if (failure.session_id, failure.key) in again else failure for failure in found]
    return _without_echoes(_met(sorted(found, key=lambda failure: (failure.end_ns, failure.session_id, failure.key))))


def _again(failure: Failure) -> Failure:
    """A request that did again what no retry cures."""
    said = "" if "could not help" in failure.evidence else "asked again, which could not help; "
    return replace(failure, futile_retries=failure.futile_retries + 1, evidence=f"{said}{failure.evidence}")


def _met(found: Sequence[Failure]) -> list[Failure]:
    """One failure where two witnesses saw the same event under different keys; a server's failures are one, whenever they came."""
    kept: list[Failure] = []
    alike: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
    for failure in found:
        places = alike[failure.session_id, failure.agent_id, failure.boundary, failure.name] if failure.boundary in _KEYLESS else []
        twin = next((place for place in places if _same(kept[place], failure)), None)
        if twin is None:
            places.append(len(kept))
            kept.append(failure)
        else:
            kept[twin] = _joined(kept[twin], failure)
    return kept


def _same(first: Failure, second: Failure) -> bool:
    """Whether two of one boundary under one name are one event."""
    if first.boundary == Boundary.MCP_CONNECTION:
        return True
    apart = not set(first.witnesses.split(",")) & set(second.witnesses.split(","))
    return apart and abs(first.end_ns - second.end_ns) < _SAME_MOMENT_NS


def _joined(first: Failure, second: Failure) -> Failure:
    """The sighting that says more, seen by the witnesses of both."""
    best, other = (second, first) if len(second.evidence) > len(first.evidence) and first.kind != "spawn" else (first, second)
    names = dict.fromkeys([*best.witnesses.split(","), *other.witnesses.split(",")])
    return replace(best, witnesses=",".join(names), recovered=first.recovered and second.recovered)


def _without_echoes(found: Sequence[Failure]) -> list[Failure]:
    """Leave out the result of a turn or a session that only repeats what its request already said."""
    told = {(failure.session_id, failure.family) for failure in found if failure.boundary == Boundary.MODEL_REQUEST}
    turns = {(failure.session_id, failure.family) for failure in found if failure.boundary == Boundary.TURN}
    return [
        failure
        for failure in found
        if not (failure.boundary in {Boundary.TURN, Boundary.SESSION} and (failure.session_id, failure.family) in told)
        and not (failure.boundary == Boundary.SESSION and (failure.session_id, failure.family) in turns)
    ]


def _harmless(row: Row) -> bool:
    return not_a_failure(evidence_of(row)) is not None


_CALLS: Final = (Boundary.TOOL_SCHEDULE, Boundary.TOOL_EXECUTION, Boundary.MCP_CALL)
"""What one call is to its witnesses, from the outside in: the outermost that failed tells of it."""


def _told_elsewhere(row: Row, calls: Mapping[Boundary, set[tuple[str, str]]], rejected: Sequence[Row]) -> bool:
    """A failed execution is told by its schedule; a hook that blocked a tool by the tool; an interrupt by the tool it rejected.

    Args:
        row: What may be told elsewhere.
        calls: Session id and key of the calls that failed, by what of them was seen.
        rejected: Failed calls of its session.
    """
    session_id, boundary = row["session_id"], Boundary(row["boundary"])
    schedules = calls[Boundary.TOOL_SCHEDULE]
    if boundary in _CALLS:
        return any((session_id, row["key"]) in calls[outer] for outer in _CALLS[: _CALLS.index(boundary)])
    if row["boundary"] == Boundary.HOOK_REPLY and row["attributes"].get(semconv.HOOK_OUTCOME) == "blocking":
        return (session_id, row["parent_key"]) in schedules or row["attributes"].get(semconv.HOOK_EVENT) == "PreToolUse"
    during_tool = row["attributes"].get(semconv.INTERRUPTED) == "tool" or row["attributes"].get(semconv.TERMINAL_REASON) == "aborted_tools"
    if boundary in {Boundary.TURN, Boundary.SESSION} and during_tool:
        return any(
            (boundary is Boundary.SESSION or call["turn_key"] == row["key"]) and abs(call["end_ns"] - row["end_ns"]) < _SAME_MOMENT_NS
            for call in rejected
        )
    return False


def _failure(row: Row, attempts: Sequence[Row]) -> Failure:
    """A boundary that failed, with the attempts that failed before it."""
    before = [attempt for attempt in attempts if attempt["key"] != row["key"]]
    chain = judged(before, row) if before else None
    # A hook that fails without blocking stops nothing.
    harmless = row["boundary"] == Boundary.HOOK_REPLY and row["attributes"].get(semconv.HOOK_OUTCOME) == "error"
    recovered = harmless or bool(row["went_on"] or row["reconnected"])
    return _row(row, chain.verdict if chain else classify(evidence_of(row)), chain, recovered=recovered)


def _chain(attempts: Sequence[Row]) -> Failure:
    """Attempts that failed before one that was answered: recovered, unless the request is open to this day."""
    chain = judged(attempts)
    return _row(attempts[-1], chain.verdict, chain, recovered=bool(attempts[-1]["answered"]))


def _row(row: Row, verdict: Verdict, chain: Chain | None, *, recovered: bool) -> Failure:
    boundary, name = Boundary(row["boundary"]), row["name"]
    return Failure(
        session_id=row["session_id"],
        agent_id=row["agent_id"],
        turn_key=row["turn_key"],
        end_ns=row["end_ns"],
        family=verdict.family,
        kind=verdict.kind,
        recovered=recovered,
        name=name,
        boundary=boundary,
        key=row["parent_key"] if boundary is Boundary.REQUEST_ATTEMPT and row["parent_key"] else row["key"],
        attempts=chain.attempts if chain else 0,
        causes=chain.causes if chain else "",
        futile_retries=chain.futile if chain else 0,
        waited_ns=chain.waited_ns if chain else 0,
        lost_ns=chain.lost_ns if chain else 0,
        retry=verdict.retry,
        evidence=_line(verdict, chain),
        witnesses=row["witnesses"],
        counted=verdict.family is not Family.USER and verdict[:2] not in _UNCOUNTED,
        tool=name if boundary in _CALLS else None,
        server=_server(row, boundary),
        model=(row["attributes"].get(semconv.REQUEST_MODEL) or name or None) if boundary in _REQUESTS else None,
    )


_REQUESTS: Final = frozenset({Boundary.MODEL_REQUEST, Boundary.REQUEST_ATTEMPT})


def _server(row: Row, boundary: Boundary) -> str | None:
    if boundary is Boundary.MCP_CONNECTION or row["attributes"].get(semconv.MCP_SERVER):
        return str(row["attributes"].get(semconv.MCP_SERVER) or row["name"])
    prefix, _, rest = row["name"].partition("__")
    return rest.partition("__")[0] if boundary in _CALLS and prefix == "mcp" else None


def _line(verdict: Verdict, chain: Chain | None) -> str:
    """A chain is named by one of its causes: the others are as much its evidence."""
    if chain is None or chain.attempts == 1:
        return verdict.evidence_text
    futile = f"; {chain.futile} {'retry' if chain.futile == 1 else 'retries'} could not help" if chain.futile else ""
    return f"{chain.causes}{futile}; {verdict.evidence_text}"
