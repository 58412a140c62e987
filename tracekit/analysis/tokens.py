"""Tokens and what they cost: each message once, sub-agents apart."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Final

from tracekit.analysis.cost import Message, PriceList, price_list
from tracekit.analysis.scope import EVERYTHING, Scope, ask
from tracekit.model import Column, Finding
from tracekit.store import SpanStore

GROUPS: Final = ("message", "agent", "model", "session")
_COUNTS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_TIERS: Final = ("cache_write_5m_tokens", "cache_write_1h_tokens")

Row = dict[str, Any]
_Group = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Tokens(Finding):
    """Tokens of a message, or of a group of messages."""

    question: ClassVar[str] = "tokens"

    session_id: Annotated[str | None, Column("Session", "id")]
    agent_id: Annotated[str | None, Column("Agent")]
    agent_type: Annotated[str | None, Column("Type")]
    model: Annotated[str | None, Column("Model")]
    request_key: Annotated[str | None, Column("Request", "id")]
    """None in a group."""
    start_ns: Annotated[int, Column("Began", "time_ns", show=False)]
    """Of the request; of a group, of its first."""
    partial: Annotated[bool, Column("Partial")]
    """The agent is known only from its parent's progress lines: a lower bound."""
    messages: Annotated[int, Column("Messages", "count")]
    input_tokens: Annotated[int, Column("Input", "tokens")]
    """Uncached input."""
    output_tokens: Annotated[int, Column("Output", "tokens")]
    cache_read_tokens: Annotated[int, Column("Cache read", "tokens")]
    cache_write_tokens: Annotated[int, Column("Cache write", "tokens")]
    cache_write_5m_tokens: Annotated[int | None, Column("for 5 minutes", "tokens", show=False)]
    """Of the tokens written to the cache; None where it is not known of all of them."""
    cache_write_1h_tokens: Annotated[int | None, Column("for 1 hour", "tokens", show=False)]
    cost_usd: Annotated[float | None, Column("Cost", "usd")]
    """As the client reported it; None where it did not report all of it."""
    estimate_usd: Annotated[float | None, Column("Estimate", "usd")]
    """By a price list, where the client reported no cost; None without a list, or where it does not know a model."""
    prices: Annotated[str | None, Column("Prices", show=False)]
    """The list behind the estimate: package and version."""


def tokens(store: SpanStore, scope: Scope = EVERYTHING, *, by: str = "agent") -> Sequence[Tokens]:
    """Count the tokens in a scope, and say what they cost.

    Args:
        store: An open store.
        scope: Bounds; a message counts by its request's start.
        by: `message`, `agent` (and session and model), `model`, or `session`.
    """
    groups = _grouped(ask(store, "tokens", scope, each=int(by == "message")), by)
    found = {key: _line(key, members) for key, members in groups.items()}
    if by == "session":
        reported = _reported(store, scope)
        found = {key: _with_total(line, reported) for key, line in found.items()}
    unpaid = [key for key, line in found.items() if line.cost_usd is None]
    if unpaid and (prices := price_list()) is not None:
        if not all(prices.is_flat(_message(row)) for key in unpaid for row in groups[key]):
            groups = _grouped(ask(store, "tokens", scope, each=1), by)
        found |= {key: _estimated(found[key], groups[key], prices) for key in unpaid}
    return list(found.values())


_KEYS: Final[dict[str, Callable[[Row], _Group]]] = {
    "message": lambda row: (row["session_id"], row["agent_id"], row["agent_type"], row["model"], row["request_key"]),
    "agent": lambda row: (row["session_id"], row["agent_id"], row["agent_type"], row["model"], None, str(row["partial"])),
    "model": lambda row: (None, None, None, row["model"], None, str(row["partial"])),
    "session": lambda row: (row["session_id"], None, None, None, None, str(row["partial"])),
}


def _grouped(rows: Iterable[Row], by: str) -> dict[_Group, list[Row]]:
    groups: dict[_Group, list[Row]] = defaultdict(list)
    for row in rows:
        groups[_KEYS[by](row)].append(row)
    return groups


def _line(key: _Group, members: Sequence[Row]) -> Tokens:
    session_id, agent_id, agent_type, model, request_key = key[:5]
    sums = {name: sum(row[name] for row in members) for name in (*_COUNTS, *_TIERS, "messages", "tiered", "costed")}
    is_tiered, is_costed = (sums.pop(name) == sums["messages"] for name in ("tiered", "costed"))
    tiers = {name: sums.pop(name) for name in _TIERS}
    return Tokens(
        session_id=session_id,
        agent_id=agent_id,
        agent_type=agent_type,
        model=model,
        request_key=request_key,
        start_ns=min(row["start_ns"] for row in members),
        partial=bool(members[0]["partial"]),
        **sums,
        cache_write_5m_tokens=tiers["cache_write_5m_tokens"] if is_tiered else None,
        cache_write_1h_tokens=tiers["cache_write_1h_tokens"] if is_tiered else None,
        cost_usd=float(sum(row["cost_usd"] for row in members)) if is_costed else None,
        estimate_usd=None,
        prices=None,
    )


def _with_total(line: Tokens, reported: Mapping[str, float]) -> Tokens:
    return line if line.cost_usd is not None or line.partial else replace(line, cost_usd=reported.get(line.session_id or ""))


def _message(row: Row) -> Message:
    return Message(**{name: row[name] for name in Message._fields})


def _estimated(line: Tokens, members: Iterable[Row], prices: PriceList) -> Tokens:
    costs = [prices.of(_message(row)) for row in members]
    known = [cost for cost in costs if cost is not None]
    return replace(line, estimate_usd=sum(known), prices=prices.name) if len(known) == len(costs) else line


def _reported(store: SpanStore, scope: Scope) -> dict[str, float]:
    """What the client said a session had cost so far, at the last time that it said so."""
    sql = (
        "SELECT session_id, MAX(CAST(attributes['tracekit.cost.usd'] AS DOUBLE)) AS cost_usd FROM spans"
        " WHERE boundary = 'session' AND attributes['tracekit.cost.usd'] IS NOT NULL"
        " AND ($session_id IS NULL OR session_id = $session_id) GROUP BY session_id"
    )
    return {row["session_id"]: row["cost_usd"] for row in store.rows(sql, session_id=scope.session_id)}
