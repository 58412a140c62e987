"""What compactions did to a conversation: what was there before and after, what they cost, what came back, how soon it was full again."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from tracekit.analysis.context import Context, context
from tracekit.analysis.scope import EVERYTHING, Scope, ask
from tracekit.analysis.tokens import Tokens, tokens
from tracekit.model import Boundary, Column, Finding
from tracekit.store import SpanStore

THRASH_TURNS: Final = 3
"""A conversation that is full again within so many turns thrashes."""

_BEFORE_NS: Final = 1_000_000_000
"""A request for a summary may have begun so long before its compaction, by the clocks of different witnesses."""

Row = dict[str, Any]
_Agent = tuple[str, str | None]


@dataclass(frozen=True, slots=True)
class Compaction(Finding):
    """One compaction of a conversation."""

    question: ClassVar[str] = "compactions"

    session_id: Annotated[str, Column("Session", "id", show=False)]
    agent_id: Annotated[str | None, Column("Agent")]
    turn_key: Annotated[str | None, Column("Turn", "id", show=False)]
    end_ns: Annotated[int, Column("When", "time_ns")]
    kind: Annotated[str, Column("Kind", show=False)]
    """`full`: a summary took the place of the conversation. `micro`: old results of tools were cleared."""
    trigger: Annotated[str | None, Column("Trigger")]
    """`auto` or `manual`."""
    time_lower_ns: Annotated[int, Column("Took, at least", "ns", show=False)]
    time_best_ns: Annotated[int | None, Column("Took", "ns", show=False)]
    time_upper_ns: Annotated[int, Column("Took, at most", "ns")]
    before_tokens: Annotated[int | None, Column("Before", "tokens")]
    """As the client counted; where it did not, what the last request before it held."""
    after_tokens: Annotated[int | None, Column("After", "tokens")]
    """As the client counted; None where it did not."""
    next_tokens: Annotated[int | None, Column("Next request", "tokens")]
    """What the first request after it held. None where there was none."""
    came_back_tokens: Annotated[int | None, Column("Came back", "tokens")]
    """What that request held beyond the summary: system prompt, tools, files read again, the next prompt. None where old results
    were cleared: what the client counts then is not the whole conversation."""
    cost_input_tokens: Annotated[int | None, Column("Cost, input", "tokens", show=False)]
    """All input of the request that wrote the summary, cached or not. None where no witness saw that request."""
    cost_output_tokens: Annotated[int | None, Column("Cost, output", "tokens", show=False)]
    cost_usd: Annotated[float | None, Column("Cost", "usd")]
    """As the client reported it, else estimated (`cost_source`)."""
    cost_source: Annotated[str | None, Column("Cost by", show=False)]
    """`client`, or the price list of the estimate."""
    refilled_turns: Annotated[int | None, Column("Full again after", "count", show=False)]
    """Turns that began until the next automatic compaction; 0 is the same turn. None where there was none."""
    thrash: Annotated[bool, Column("Thrash")]
    """It was full again within three turns."""


def compactions(store: SpanStore, scope: Scope = EVERYTHING) -> Sequence[Compaction]:
    """Tell of every compaction in a scope, in order of session and time."""
    rows = ask(store, "context_compactions", scope)
    turns: dict[_Agent, list[int]] = defaultdict(list)
    for row in rows:
        if row["boundary"] == Boundary.TURN:
            turns[row["session_id"], row["agent_id"]].append(row["start_ns"])
    found = [row for row in rows if row["boundary"] == Boundary.COMPACTION]
    if not found:
        return []
    requests: dict[str, list[Context]] = defaultdict(list)
    for request in context(store, Scope(session_id=scope.session_id)):
        requests[request.session_id].append(request)
    costs = _costs(store, {row["session_id"] for row in found if any(request.aside for request in requests[row["session_id"]])})
    return [_compaction(row, found, requests[row["session_id"]], costs, turns[row["session_id"], row["agent_id"]]) for row in found]


def _costs(store: SpanStore, sessions: Iterable[str]) -> dict[str | None, Tokens]:
    """What the messages of some sessions cost, by request."""
    return {row.request_key: row for session in sorted(sessions) for row in tokens(store, Scope(session_id=session), by="message")}


def _compaction(
    row: Row, all_rows: Sequence[Row], requests: Sequence[Context], costs: dict[str | None, Tokens], turns: Sequence[int]
) -> Compaction:
    talk = [request for request in requests if request.agent_id == row["agent_id"] and not request.aside]
    before = next((request.context_tokens for request in reversed(talk) if request.start_ns < row["sure_start_ns"]), None)
    following = next((request.context_tokens for request in talk if request.start_ns >= row["sure_end_ns"]), None)
    before = before if row["before_tokens"] is None else row["before_tokens"]
    after = row["after_tokens"]
    if after is None and before is not None and row["saved_tokens"] is not None:
        after = before - row["saved_tokens"]
    refilled = _refilled(row, all_rows, turns)
    lower, upper = max(0, row["sure_end_ns"] - row["sure_start_ns"]), row["end_ns"] - row["start_ns"]
    return Compaction(
        session_id=row["session_id"],
        agent_id=row["agent_id"],
        turn_key=row["turn_key"],
        end_ns=row["end_ns"],
        kind=row["kind"],
        trigger=row["compaction_trigger"],
        time_lower_ns=lower,
        time_best_ns=upper if lower == upper else None,
        time_upper_ns=upper,
        before_tokens=before,
        after_tokens=after,
        next_tokens=following,
        came_back_tokens=None if after is None or following is None or row["kind"] != "full" else following - after,
        **_cost(row, requests, costs),
        refilled_turns=refilled,
        thrash=refilled is not None and refilled <= THRASH_TURNS,
    )


def _cost(row: Row, requests: Sequence[Context], costs: dict[str | None, Tokens]) -> dict[str, Any]:
    """What the request that wrote the summary took and cost."""
    wrote = [costs[request.request_key] for request in requests if _wrote(request, row) and request.request_key in costs]
    if not wrote:
        return dict.fromkeys(("cost_input_tokens", "cost_output_tokens", "cost_usd", "cost_source"))
    prices = [(line.estimate_usd, line.prices) if line.cost_usd is None else (line.cost_usd, "client") for line in wrote]
    known = [cost for cost, _ in prices if cost is not None]
    return {
        "cost_input_tokens": sum(line.input_tokens + line.cache_read_tokens + line.cache_write_tokens for line in wrote),
        "cost_output_tokens": sum(line.output_tokens for line in wrote),
        "cost_usd": sum(known) if len(known) == len(wrote) else None,
        "cost_source": prices[0][1] if len(known) == len(wrote) else None,
    }


def _wrote(request: Context, row: Row) -> bool:
    """Whether a request wrote the summary: it is aside from the conversation and lies within the compaction."""
    own = request.agent_id == row["agent_id"] or (request.agent_id or "").startswith("acompact")
    within = row["start_ns"] - _BEFORE_NS <= request.start_ns <= row["end_ns"]
    return row["kind"] == "full" and request.aside and own and within


def _refilled(row: Row, all_rows: Sequence[Row], turns: Sequence[int]) -> int | None:
    """Turns that began between a full compaction and the next one that the client made on its own."""
    following: list[int] = [
        other["end_ns"]
        for other in all_rows
        if (other["session_id"], other["agent_id"]) == (row["session_id"], row["agent_id"])
        and (other["kind"], other["compaction_trigger"]) == ("full", "auto")
        and other["end_ns"] > row["end_ns"]
    ]
    if row["kind"] != "full" or not following:
        return None
    ended, full_ns = row["end_ns"], min(following)
    return len([began for began in turns if ended < began < full_ns])
