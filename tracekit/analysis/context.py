"""What of its model's window a conversation held, request by request, and what kept filling it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Annotated, Any, ClassVar, Final

from tracekit.analysis.context_windows import UNKNOWN, Window, told_windows, window
from tracekit.analysis.scope import EVERYTHING, Scope, ask
from tracekit.model import Column, Finding
from tracekit.store import SpanStore

GROUPS: Final = ("request", "turn")

REPEATED: Final = 3
"""Failures that are alike count as repeated from so many on."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Context(Finding):
    """What one request held of its model's window; by turn, the turn's fullest request."""

    question: ClassVar[str] = "context"

    session_id: Annotated[str, Column("Session", "id", show=False)]
    agent_id: Annotated[str | None, Column("Agent")]
    turn_key: Annotated[str | None, Column("Turn", "id")]
    request_key: Annotated[str, Column("Request", "id", show=False)]
    start_ns: Annotated[int, Column("Began", "time_ns")]
    model: Annotated[str, Column("Model", show=False)]
    requests: Annotated[int, Column("Requests", "count")]
    input_tokens: Annotated[int, Column("Input", "tokens", show=False)]
    """Uncached input."""
    cache_read_tokens: Annotated[int, Column("Cache read", "tokens", show=False)]
    cache_write_tokens: Annotated[int, Column("Cache write", "tokens", show=False)]
    context_tokens: Annotated[int, Column("Held", "tokens")]
    """All that the request gave to the model: uncached, read from the cache and written to it."""
    output_tokens: Annotated[int, Column("Output", "tokens", show=False)]
    grown_tokens: Annotated[int | None, Column("Grown", "tokens")]
    """More than the agent's request before it held; by turn, than the last one of the turn before. None for its first."""
    window_tokens: Annotated[int | None, Column("Window", "tokens")]
    window_source: Annotated[str | None, Column("Known by", show=False)]
    """`client`, `reference`, `use` or `compaction`: how the window is known."""
    filled: Annotated[float | None, Column("Filled", "ratio")]
    """Held and output, of the window."""
    aside: Annotated[bool, Column("Aside", show=False)]
    """Not part of the agent's conversation: a summary, a title, a check. Left out by turn."""


@dataclass(frozen=True, slots=True)
class RepeatedFailure(Finding):
    """Failures of one tool that were alike and all stayed in the conversation."""

    question: ClassVar[str] = "repeated_failures"

    session_id: Annotated[str, Column("Session", "id", show=False)]
    agent_id: Annotated[str | None, Column("Agent")]
    name: Annotated[str, Column("Tool")]
    alike: Annotated[str, Column("Alike")]
    """`arguments`: the very same call. `result`: the very same answer to whatever calls."""
    times: Annotated[int, Column("Times", "count")]
    first_ns: Annotated[int, Column("First", "time_ns")]
    last_ns: Annotated[int, Column("Last", "time_ns")]
    filled_bytes: Annotated[int, Column("Filled", "bytes")]
    """Arguments and results of all of them."""
    key: Annotated[str, Column("Key", "id", show=False)]
    """Of the first call."""


def context(store: SpanStore, scope: Scope = EVERYTHING, *, by: str = "request") -> Sequence[Context]:
    """Tell what each request in a scope held of its model's window, in order of agent and time.

    Args:
        store: An open store.
        scope: Bounds; a request counts by its start.
        by: `request`, or `turn` for the fullest request of each turn.
    """
    rows = ask(store, "context", scope)
    windows = _windows(store, scope, rows)
    found = [_context(row, windows[row["session_id"], row["model"]]) for row in rows]
    requests = [row for _, rows in groupby(found, key=lambda row: (row.session_id, row.agent_id)) for row in _grown(rows)]
    if by == "request":
        return requests
    talk = (row for row in requests if not row.aside)
    return [_of_turn(list(rows)) for _, rows in groupby(talk, key=lambda row: (row.session_id, row.agent_id, row.turn_key))]


def repeated_failures(store: SpanStore, scope: Scope = EVERYTHING) -> Sequence[RepeatedFailure]:
    """Find failures that came three times or more in one conversation, the very same call or the very same answer."""
    found = [RepeatedFailure.from_row(row) for row in ask(store, "context_failures", scope, at_least=REPEATED)]
    calls = {(row.session_id, row.agent_id, row.name, row.key, row.times) for row in found if row.alike == "arguments"}
    return [row for row in found if row.alike == "arguments" or (row.session_id, row.agent_id, row.name, row.key, row.times) not in calls]


def _context(row: Row, known: Window) -> Context:
    held = row["input_tokens"] + row["cache_read_tokens"] + row["cache_write_tokens"]
    more = {"requests": 1, "context_tokens": held, "grown_tokens": None, "aside": bool(row["aside"])}
    filled = (held + row["output_tokens"]) / known.tokens if known.tokens else None
    return Context.from_row(row | more | {"window_tokens": known.tokens, "window_source": known.source, "filled": filled})


def _grown(rows: Iterable[Context]) -> Iterable[Context]:
    before: Context | None = None
    for row in rows:
        if row.aside:
            yield row
        else:
            yield row if before is None else replace(row, grown_tokens=row.context_tokens - before.context_tokens)
            before = row


def _of_turn(rows: Sequence[Context]) -> Context:
    fullest = max(rows, key=lambda row: (row.context_tokens, row.start_ns))
    grown = [row.grown_tokens for row in rows if row.grown_tokens is not None]
    return replace(fullest, start_ns=rows[0].start_ns, requests=len(rows), grown_tokens=sum(grown) if grown else None)


def _windows(store: SpanStore, scope: Scope, rows: Sequence[Row]) -> dict[tuple[str, str], Window]:
    """The window of each model in each session."""
    held: dict[tuple[str, str], list[int]] = defaultdict(list)
    told: dict[str, dict[str, int]] = {}
    for row in rows:
        held[row["session_id"], row["model"]].append(row["input_tokens"] + row["cache_read_tokens"] + row["cache_write_tokens"])
        told.setdefault(row["session_id"], told_windows(row["windows"]))
    compacted: dict[str, list[int]] = defaultdict(list)
    for row in ask(store, "context_compactions", Scope(session_id=scope.session_id)):
        is_automatic = row["boundary"] == "compaction" and row["kind"] == "full" and row["compaction_trigger"] == "auto"
        if is_automatic and row["before_tokens"] is not None:
            compacted[row["session_id"]].append(row["before_tokens"])
    return defaultdict(
        lambda: UNKNOWN,
        {
            (session_id, model): window(model, told=told[session_id], held=sizes, compacted_at=compacted[session_id])
            for (session_id, model), sizes in held.items()
        },
    )
