"""Tokens and what the client said they cost: each message once, sub-agents apart."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from tracekit.analysis.scope import EVERYTHING, Scope, ask
from tracekit.model import Column, Finding
from tracekit.store import SpanStore

GROUPS: Final = ("agent", "model", "session")
_COUNTS: Final = ("messages", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


@dataclass(frozen=True, slots=True)
class Tokens(Finding):
    """Tokens of a group of messages."""

    question: ClassVar[str] = "tokens"

    session_id: Annotated[str | None, Column("Session", "id")]
    agent_id: Annotated[str | None, Column("Agent")]
    agent_type: Annotated[str | None, Column("Type")]
    model: Annotated[str | None, Column("Model")]
    partial: Annotated[bool, Column("Partial")]
    """The agent is known only from its parent's progress lines: a lower bound."""
    messages: Annotated[int, Column("Messages", "count")]
    input_tokens: Annotated[int, Column("Input", "tokens")]
    """Uncached input."""
    output_tokens: Annotated[int, Column("Output", "tokens")]
    cache_read_tokens: Annotated[int, Column("Cache read", "tokens")]
    cache_write_tokens: Annotated[int, Column("Cache write", "tokens")]
    cost_usd: Annotated[float | None, Column("Cost", "usd")]
    """As the client reported it; None where it did not report all of it."""


def tokens(store: SpanStore, scope: Scope = EVERYTHING, *, by: str = "agent") -> Sequence[Tokens]:
    """Count the tokens in a scope by `agent` (and session and model), `model`, or `session`."""
    rows = ask(store, "tokens", scope)
    if by == "agent":
        return [Tokens.from_row(row | {"partial": bool(row["partial"]), "cost_usd": _cost([row])}) for row in rows]
    if by == "model":
        return _grouped(rows, lambda row: (None, row["model"], row["partial"]))
    reported = _reported(store, scope)
    found = _grouped(rows, lambda row: (row["session_id"], None, row["partial"]))
    return [line if line.cost_usd is not None or line.partial else _with_cost(line, reported.get(line.session_id or "")) for line in found]


def _grouped(rows: list[dict[str, Any]], key: Callable[[dict[str, Any]], tuple[str | None, str | None, int]]) -> list[Tokens]:
    groups: dict[tuple[str | None, str | None, int], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    found: list[Tokens] = []
    for (session_id, model, partial), members in groups.items():
        sums = {name: sum(row[name] for row in members) for name in _COUNTS}
        names = {"session_id": session_id, "agent_id": None, "agent_type": None, "model": model}
        found.append(Tokens.from_row(sums | names | {"partial": bool(partial), "cost_usd": _cost(members)}))
    return found


def _cost(rows: list[dict[str, Any]]) -> float | None:
    """The sum of the reported costs, where every message has one."""
    if any(row["costed"] < row["messages"] for row in rows):
        return None
    return float(sum(row["cost_usd"] for row in rows))


def _with_cost(line: Tokens, cost: float | None) -> Tokens:
    return Tokens.from_row(line.as_row() | {"cost_usd": cost})


def _reported(store: SpanStore, scope: Scope) -> dict[str, float]:
    """What the client said a session had cost so far, at the last time that it said so."""
    sql = (
        "SELECT session_id, MAX(CAST(attributes['tracekit.cost.usd'] AS DOUBLE)) AS cost_usd FROM spans"
        " WHERE boundary = 'session' AND attributes['tracekit.cost.usd'] IS NOT NULL"
        " AND ($session_id IS NULL OR session_id = $session_id) GROUP BY session_id"
    )
    return {row["session_id"]: row["cost_usd"] for row in store.rows(sql, session_id=scope.session_id)}
