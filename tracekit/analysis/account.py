"""Where the time of a turn went: exclusive categories that sum to its wall, to the nanosecond."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from tracekit.analysis.scope import EVERYTHING, Scope, ask
from tracekit.model import Column, Finding
from tracekit.store import SpanStore

CATEGORIES: Final = {
    "model_wait": "model: waiting for the first byte",
    "streaming": "model: streaming",
    "streaming_hidden": "model: streaming, tools hidden under it",
    "tool": "tools, exposed",
    "permission": "permission, by a person or a rule",
    "hook": "hooks",
    "mcp_connection": "connecting to MCP servers",
    "retry_wait": "waiting to retry",
    "compaction": "compaction",
    "client": "client itself",
    "unobserved": "unobserved",
    "user_idle": "between turns: the user",
}
"""The categories of an account in the order of reading, with their titles. `user_idle` is outside every turn."""


@dataclass(frozen=True, slots=True)
class AccountLine(Finding):
    """One category of one turn, or of several turns summed."""

    question: ClassVar[str] = "account"

    session_id: Annotated[str, Column("Session", "id", show=False)]
    agent_id: Annotated[str | None, Column("Agent", show=False)]
    turn_key: Annotated[str | None, Column("Turn", "id", show=False)]
    """None in a sum over turns."""
    turn_start_ns: Annotated[int, Column("Began", "time_ns", show=False)]
    wall_ns: Annotated[int, Column("Wall", "ns", show=False)]
    category: Annotated[str, Column("Category", show=False)]
    title: Annotated[str, Column("Where the time went")]
    duration_ns: Annotated[int, Column("Time", "ns")]
    """The durations of a turn sum to its wall."""
    share: Annotated[float, Column("Share", "ratio")]
    time_lower_ns: Annotated[int, Column("Certain", "ns")]
    """What of it the witnesses are certain of."""
    time_best_ns: Annotated[int | None, Column("Best", "ns", show=False)]
    """The duration, where all of it is certain."""
    time_upper_ns: Annotated[int, Column("At most", "ns", show=False)]


def account(store: SpanStore, scope: Scope = EVERYTHING, *, by: str = "turn") -> Sequence[AccountLine]:
    """Account for every turn in the scope.

    Args:
        store: An open store.
        scope: Bounds; a turn counts by its start.
        by: `turn`: a group of lines for each turn of each agent. `session`: the main agent's turns summed, with the user's idle
            time between them as a category of its own, outside the wall.

    Returns:
        Lines grouped by turn; within each, in the order of `CATEGORIES`, categories without time left out.
    """
    rows = ask(store, "account", scope)
    turns: dict[tuple[str, str | None, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        turns[row["session_id"], row["agent_id"], row["turn_key"]].append(row)
    if by == "turn":
        return [line for group in turns.values() for line in _lines(group, turn_key=group[0]["turn_key"])]
    sessions: dict[str, list[list[dict[str, Any]]]] = defaultdict(list)
    for (session_id, agent_id, _), group in turns.items():
        if agent_id is None:
            sessions[session_id].append(group)
    return [line for groups in sessions.values() for line in _session_lines(groups)]


def _session_lines(groups: list[list[dict[str, Any]]]) -> list[AccountLine]:
    heads = sorted((group[0]["turn_start_ns"], group[0]["turn_start_ns"] + group[0]["wall_ns"]) for group in groups)
    wall = sum(group[0]["wall_ns"] for group in groups)
    merged = [row | {"turn_start_ns": heads[0][0], "wall_ns": wall} for group in groups for row in group]
    idle, covered_to = 0, heads[0][1]
    for start, end in heads[1:]:
        idle += max(0, start - covered_to)
        covered_to = max(covered_to, end)
    lines = _lines(merged, turn_key=None)
    if idle:
        lines.append(_line(merged[0], None, "user_idle", certain=idle, possible=0))
    return lines


def _lines(group: list[dict[str, Any]], *, turn_key: str | None) -> list[AccountLine]:
    certain: dict[str, int] = defaultdict(int)
    possible: dict[str, int] = defaultdict(int)
    for row in group:
        (certain if row["certain"] else possible)[row["category"]] += row["duration_ns"]
    names = [name for name in CATEGORIES if certain[name] or possible[name]]
    return [_line(group[0], turn_key, name, certain=certain[name], possible=possible[name]) for name in names]


def _line(head: dict[str, Any], turn_key: str | None, category: str, *, certain: int, possible: int) -> AccountLine:
    wall = head["wall_ns"]
    return AccountLine(
        session_id=head["session_id"],
        agent_id=head["agent_id"],
        turn_key=turn_key,
        turn_start_ns=head["turn_start_ns"],
        wall_ns=wall,
        category=category,
        title=CATEGORIES[category],
        duration_ns=certain + possible,
        share=(certain + possible) / wall if wall else 0.0,
        time_lower_ns=certain,
        time_best_ns=None if possible else certain,
        time_upper_ns=certain + possible,
    )
