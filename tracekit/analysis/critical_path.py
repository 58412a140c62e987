"""What the end of a turn, or of a session, waited for: the time-weighted chain of boundaries, and what the wall would be without some."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any, ClassVar, Final, NamedTuple

from tracekit.analysis.critical_path_chain import Link, chain
from tracekit.analysis.critical_path_pieces import Piece, Session, sessions_of
from tracekit.analysis.critical_path_what_if import Factors, lasted
from tracekit.analysis.scope import EVERYTHING, Scope, ask
from tracekit.errors import TracekitError
from tracekit.model import Boundary, Column, Finding
from tracekit.store import SpanStore

GROUPS: Final = ("session", "turn", "segment")

TITLES: Final = {
    "model_wait": "model: first byte",
    "streaming": "model: streaming",
    "tool": "tool",
    "permission": "permission",
    "hook": "hook",
    "mcp_connection": "MCP connection",
    "retry_wait": "wait to retry",
    "compaction": "compaction",
    "client": "client itself",
    "unobserved": "unobserved",
    "user_idle": "the user, between turns",
}
"""The account's categories, short."""

SCALABLE: Final = (
    Boundary.MODEL_REQUEST,
    Boundary.RETRY_WAIT,
    Boundary.TOOL_EXECUTION,
    Boundary.PERMISSION_WAIT,
    Boundary.HOOK_REPLY,
    Boundary.MCP_CONNECTION,
    Boundary.COMPACTION,
)
"""Boundaries that a what-if can name, beside the names of tools."""


@dataclass(frozen=True, slots=True)
class CriticalPath(Finding):
    """One segment of a critical path, or all segments of one kind.

    The durations of a path sum to its wall. A session's wall lasts from its first turn to the end of its last, with the user's time
    between them.
    """

    question: ClassVar[str] = "critical_path"

    session_id: Annotated[str, Column("Session", "id", show=False)]
    turn_key: Annotated[str | None, Column("Turn", "id", show=False)]
    """None in a session's path, for the time between turns and for sums over them."""
    agent_id: Annotated[str | None, Column("Agent", show=False)]
    """The sub-agent inside of which the path runs; None in the main agent, and in sums over several."""
    start_ns: Annotated[int, Column("Began", "time_ns", show=False)]
    """Of the segment; of a sum, where its path begins."""
    wall_ns: Annotated[int, Column("Wall", "ns", show=False)]
    category: Annotated[str, Column("Category", show=False)]
    """As in the account."""
    title: Annotated[str, Column("The end waited for")]
    name: Annotated[str, Column("Which")]
    """Tool, model, hook or server."""
    boundary: Annotated[str | None, Column("Boundary", show=False)]
    key: Annotated[str | None, Column("Key", "id", show=False)]
    """Of the boundary; None where nothing was open, and in sums."""
    segments: Annotated[int, Column("Segments", "count")]
    duration_ns: Annotated[int, Column("Time", "ns")]
    share: Annotated[float, Column("Share", "ratio")]
    time_lower_ns: Annotated[int, Column("Certain", "ns")]
    """What of it the witnesses are certain that the boundary was open."""
    time_best_ns: Annotated[int | None, Column("Best", "ns", show=False)]
    """The duration, where its edges are measured."""
    time_upper_ns: Annotated[int, Column("At most", "ns", show=False)]
    """How long the boundary, or the gap, can have lasted."""


@dataclass(frozen=True, slots=True)
class WhatIf(Finding):
    """How long a turn, or all turns of a session, would have lasted if something had been otherwise."""

    question: ClassVar[str] = "what_if"

    session_id: Annotated[str, Column("Session", "id", show=False)]
    turn_key: Annotated[str | None, Column("Turn", "id", show=False)]
    """None in a sum over turns."""
    change: Annotated[str, Column("If")]
    wall_ns: Annotated[int, Column("Wall", "ns")]
    """As it was, without the time between turns."""
    wall_if_lower_ns: Annotated[int, Column("Would be, at least", "ns")]
    wall_if_best_ns: Annotated[int | None, Column("Would be", "ns")]
    """Where the edges that matter are measured."""
    wall_if_upper_ns: Annotated[int, Column("Would be, at most", "ns")]
    saved_lower_ns: Annotated[int, Column("Saved, at least", "ns")]
    saved_best_ns: Annotated[int | None, Column("Saved", "ns", show=False)]
    saved_upper_ns: Annotated[int, Column("Saved, at most", "ns", show=False)]


class _Turn(NamedTuple):
    session_id: str
    key: str
    start: int
    end: int
    is_open: bool
    pieces: tuple[Piece, ...]


def critical_path(store: SpanStore, scope: Scope = EVERYTHING, *, by: str = "session") -> Sequence[CriticalPath]:
    """Find what the ends of the main agent's turns waited for.

    Args:
        store: An open store.
        scope: Bounds; a turn counts by its start.
        by: `segment`: the chain of each turn, from its start to its end, and inside sub-agents. `turn`: what is alike in it summed,
            the longest first. `session`: the turns of a session and the user's time between them summed.

    Returns:
        Rows grouped by session and turn. Within a group the durations sum to the wall.
    """
    turns = _turns(store, scope)
    if by == "session":
        groups = groupby(sorted(turns, key=lambda turn: (turn.session_id, turn.start)), key=lambda turn: turn.session_id)
        return [row for _, members in groups for row in _of_session(list(members))]
    found = [(turn, _chain(turn, turn.start)) for turn in turns]
    if by == "turn":
        return [row for turn, links in found for row in _summed(turn, links, turn.end - turn.start, turn.key)]
    return [_row(turn, [link], turn.end - turn.start, turn.key) for turn, links in found for link in links]


def what_if(store: SpanStore, scope: Scope = EVERYTHING, *, factors: Factors | None = None, by: str = "session") -> Sequence[WhatIf]:
    """Tell how long turns would have lasted if something had taken longer or shorter.

    Each boundary begins as long after what it waited for as it did. Where edges are only bounded, the answer is a range that holds what
    the true edges would give.

    Args:
        store: An open store.
        scope: Bounds; a turn counts by its start.
        factors: By name of a tool, or of a boundary in `SCALABLE`: what its lengths are multiplied with. Without any, what if each
            tool had begun when its block was complete: all that could hide had hidden.
        by: `turn`, or `session`: the main agent's turns summed.

    Raises:
        TracekitError: `what-if-unknown` for a name that nothing in the scope has, or a factor that is no number from 0 on.
    """
    turns = _turns(store, scope)
    _check(factors or {}, turns)
    change = ", ".join(f"{name} × {factor:g}" for name, factor in factors.items()) if factors else "all that could hide had hidden"
    rows = [_otherwise(turn, factors or {}, change, eager=not factors) for turn in turns]
    if by == "turn":
        return rows
    groups = groupby(sorted(rows, key=lambda row: row.session_id), key=lambda row: row.session_id)
    return [_added(list(members)) for _, members in groups]


def _turns(store: SpanStore, scope: Scope) -> list[_Turn]:
    """The main agent's turns, as long as the account says that they lasted."""
    sessions = sessions_of(ask(store, "critical_path", scope))
    lengths = {
        (row["session_id"], row["turn_key"]): (row["turn_start_ns"], row["turn_start_ns"] + row["wall_ns"], bool(row["is_open"]))
        for row in ask(store, "account", scope)
        if row["agent_id"] is None
    }
    nothing = Session()
    return [
        _Turn(session_id, key, start, end, is_open, sessions.get(session_id, nothing).within(None, start, end))
        for (session_id, key), (start, end, is_open) in lengths.items()
    ]


def _chain(turn: _Turn, start: int) -> list[Link]:
    pieces = turn.pieces if start == turn.start else tuple(piece for piece in turn.pieces if piece.start >= start)
    return chain(pieces, start, turn.end, is_open=turn.is_open)


def _of_session(turns: list[_Turn]) -> list[CriticalPath]:
    """The paths of a session's turns and the time between them. Of a turn that begins within another, the rest counts."""
    links: list[Link] = []
    reached = turns[0].start
    for turn in turns:
        if turn.start > reached:
            links.append(Link("user_idle", None, "", None, None, reached, turn.start, turn.start - reached, turn.start - reached))
        if turn.end > reached:
            links += _chain(turn, max(turn.start, reached))
        reached = max(reached, turn.end)
    return _summed(turns[0], links, reached - turns[0].start, None)


def _summed(turn: _Turn, links: Iterable[Link], wall: int, turn_key: str | None) -> list[CriticalPath]:
    groups: dict[tuple[str, str, bool], list[Link]] = defaultdict(list)
    for link in links:
        groups[link.category, link.name, link.agent_id is None].append(link)
    rows = [_row(turn, members, wall, turn_key, start=turn.start) for members in groups.values()]
    return sorted(rows, key=lambda row: -row.duration_ns)


def _row(turn: _Turn, links: Sequence[Link], wall: int, turn_key: str | None, *, start: int | None = None) -> CriticalPath:
    head = links[0]
    lengths = [link.end - link.start for link in links]
    lower, upper = sum(link.lower for link in links), sum(link.upper for link in links)
    agents = {link.agent_id for link in links}
    return CriticalPath(
        session_id=turn.session_id,
        turn_key=turn_key,
        agent_id=head.agent_id if len(agents) == 1 else None,
        start_ns=head.start if start is None else start,
        wall_ns=wall,
        category=head.category,
        title=("" if head.agent_id is None else "sub-agent: ") + TITLES[head.category],
        name=head.name,
        boundary=head.boundary,
        key=head.key if start is None else None,
        segments=len(links),
        duration_ns=sum(lengths),
        share=sum(lengths) / wall if wall else 0.0,
        time_lower_ns=lower,
        time_best_ns=sum(lengths) if lower == upper else None,
        time_upper_ns=upper,
    )


def _check(factors: Factors, turns: Iterable[_Turn]) -> None:
    if not factors:
        return
    tools = sorted({piece.name for turn in turns for piece in _all(turn.pieces) if piece.boundary == Boundary.TOOL_EXECUTION})
    for name, factor in factors.items():
        if name not in {*tools, *SCALABLE}:
            known = f"the tools that ran are {', '.join(tools)}" if tools else "no tool ran"
            message = f"nothing in this scope is called {name!r}: {known}; boundaries are {', '.join(SCALABLE)}"
            raise TracekitError(message, slug="what-if-unknown")
        if not 0 <= factor < float("inf"):
            raise TracekitError(f"{name}={factor:g} is no factor; give a number from 0 on, such as 0.5", slug="what-if-unknown")


def _all(pieces: Iterable[Piece]) -> Iterable[Piece]:
    for piece in pieces:
        yield piece
        yield from _all(piece.inner)


def _otherwise(turn: _Turn, factors: Factors, change: str, *, eager: bool) -> WhatIf:
    wall = turn.end - turn.start
    low, high = lasted(turn.pieces, turn.start, turn.end, factors, eager=eager)
    return WhatIf(
        session_id=turn.session_id,
        turn_key=turn.key,
        change=change,
        wall_ns=wall,
        wall_if_lower_ns=low,
        wall_if_best_ns=low if low == high else None,
        wall_if_upper_ns=high,
        saved_lower_ns=wall - high,
        saved_best_ns=wall - low if low == high else None,
        saved_upper_ns=wall - low,
    )


def _added(rows: Sequence[WhatIf]) -> WhatIf:
    def total(name: str) -> Any:
        values = [getattr(row, name) for row in rows]
        return None if any(value is None for value in values) else sum(values)

    sums: Callable[[str], Any] = total
    names = [name for name in WhatIf.columns() if name.endswith("_ns")]
    return WhatIf(session_id=rows[0].session_id, turn_key=None, change=rows[0].change, **{name: sums(name) for name in names})
