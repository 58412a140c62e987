"""How much tool latency hid behind streaming, how much could have, and what stood in the way."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from tracekit.analysis.scope import EVERYTHING, Scope, ask
from tracekit.model import Column, Finding
from tracekit.store import SpanStore

GROUPS: Final = ("request", "tool", "model", "session")
CAUSES: Final = ("permission", "hook", "queue", "dispatch")
BOUNDS: Final = ("lower", "best", "upper")


@dataclass(frozen=True, slots=True)
class Overlap(Finding):
    """Tool latency of one response, or of all of a model, session or tool.

    With S the response's window, E the execution intervals of its own tools and |.| the length of a union: hidden is the
    length that S and E share, exposed = |E| - hidden, parallel saving is the sum of the single lengths minus |E|. A range
    holds the truth; best is None where the witnesses allow no point. By tool, the intervals of parallel calls are added,
    not united.
    """

    question: ClassVar[str] = "overlap"

    session_id: Annotated[str | None, Column("Session", "id")]
    agent_id: Annotated[str | None, Column("Agent", show=False)]
    request_key: Annotated[str | None, Column("Request", "id")]
    model: Annotated[str | None, Column("Model")]
    tool_name: Annotated[str | None, Column("Tool")]
    start_ns: Annotated[int | None, Column("Began", "time_ns", show=False)]
    responses: Annotated[int, Column("Responses", "count", show=False)]
    """Responses that issued tools."""
    tools: Annotated[int, Column("Tools", "count")]
    stream_ns: Annotated[int | None, Column("Stream", "ns", show=False)]
    """Length of the responses' windows, the best estimate; None by tool."""
    hidden_lower_ns: Annotated[int, Column("Hidden, at least", "ns")]
    hidden_best_ns: Annotated[int | None, Column("Hidden", "ns")]
    hidden_upper_ns: Annotated[int, Column("Hidden, at most", "ns")]
    exposed_lower_ns: Annotated[int, Column("Exposed, at least", "ns")]
    exposed_best_ns: Annotated[int | None, Column("Exposed", "ns")]
    exposed_upper_ns: Annotated[int, Column("Exposed, at most", "ns")]
    under_cut_lower_ns: Annotated[int, Column("Under a cut, at least", "ns", show=False)]
    """Hid under a response that was cut: the message may be discarded and the tool run twice. Neither hidden nor exposed."""
    under_cut_best_ns: Annotated[int | None, Column("Under a cut", "ns", show=False)]
    under_cut_upper_ns: Annotated[int, Column("Under a cut, at most", "ns", show=False)]
    could_hide_best_ns: Annotated[int | None, Column("Could hide", "ns")]
    could_hide_upper_ns: Annotated[int, Column("Could hide, at most", "ns", show=False)]
    missed_ns: Annotated[int | None, Column("Missed", "ns")]
    """could hide - hidden, where both are known; the four causes sum to it."""
    missed_permission_ns: Annotated[int | None, Column("by permission", "ns", show=False)]
    missed_hook_ns: Annotated[int | None, Column("by hook", "ns", show=False)]
    missed_queue_ns: Annotated[int | None, Column("by queue", "ns", show=False)]
    missed_dispatch_ns: Annotated[int | None, Column("by dispatch", "ns", show=False)]
    parallel_best_ns: Annotated[int | None, Column("Saved by parallel tools", "ns", show=False)]
    parallel_upper_ns: Annotated[int, Column("Saved by parallel tools, at most", "ns", show=False)]


def overlap(store: SpanStore, scope: Scope = EVERYTHING, *, by: str = "request") -> Sequence[Overlap]:
    """Measure overlap in a scope by `request`, `tool`, `model` or `session`."""
    tools = [_apart(row) | _missed(row) for row in ask(store, "overlap_tools", scope)]
    if by == "tool":
        return _by_tool(tools)
    requests = ask(store, "overlap", scope)
    issued: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in tools:
        issued[row["session_id"], row["request_key"]].append(row)
    rows = [_response(row, issued[row["session_id"], row["request_key"]]) for row in requests]
    if by == "request":
        return [Overlap.from_row(row) for row in rows]
    groups: dict[tuple[str | None, str | None], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[(row["session_id"], None) if by == "session" else (None, row["model"])].append(row)
    return [_summed(members, session_id=session_id, model=model) for (session_id, model), members in groups.items()]


def _missed(row: dict[str, Any]) -> dict[str, Any]:
    """Share missed time out among what filled the gap; the remainder of the division is dispatch."""
    could, hidden, gap = row["could_hide_best_ns"], row["hidden_best_ns"], row["gap_ns"]
    if could is None or hidden is None or gap is None:
        return dict.fromkeys(("missed_ns", *(f"missed_{cause}_ns" for cause in CAUSES)))
    missed = max(0, could - hidden)
    shares = {cause: missed * row[f"{cause}_ns"] // gap if gap else 0 for cause in CAUSES[:-1]}
    shares["dispatch"] = missed - sum(shares.values())
    return {"missed_ns": missed} | {f"missed_{cause}_ns": share for cause, share in shares.items()}


_SUMMED: Final = (
    "stream_ns",
    "hidden_lower_ns",
    "hidden_best_ns",
    "hidden_upper_ns",
    "exposed_lower_ns",
    "exposed_best_ns",
    "exposed_upper_ns",
    *(f"under_cut_{bound}_ns" for bound in BOUNDS),
    "could_hide_best_ns",
    "could_hide_upper_ns",
    "missed_ns",
    *(f"missed_{cause}_ns" for cause in CAUSES),
    "parallel_best_ns",
    "parallel_upper_ns",
)
_OF_TOOLS: Final = ("could_hide_best_ns", "could_hide_upper_ns", "missed_ns", *(f"missed_{cause}_ns" for cause in CAUSES))


def _response(row: dict[str, Any], tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A response with what its tools missed."""
    return _apart(row) | {"tool_name": None, "responses": 1} | {name: _sum(tools, name) for name in _OF_TOOLS}


def _apart(row: dict[str, Any]) -> dict[str, Any]:
    """Tell what hid under a response that was cut apart from what hid for good."""
    hidden = {bound: row[f"hidden_{bound}_ns"] for bound in BOUNDS}
    nothing = dict.fromkeys(BOUNDS, 0)
    for_good, under_cut = (nothing, hidden) if row["cut"] else (hidden, nothing)
    named = {"hidden": for_good, "under_cut": under_cut}
    return row | {f"{name}_{bound}_ns": values[bound] for name, values in named.items() for bound in BOUNDS}


def _summed(rows: Sequence[dict[str, Any]], **names: str | None) -> Overlap:
    head = {"session_id": None, "agent_id": None, "request_key": None, "model": None, "tool_name": None, "start_ns": None}
    counts = {"responses": sum(row["responses"] for row in rows), "tools": sum(row["tools"] for row in rows)}
    return Overlap.from_row(head | counts | {name: _sum(rows, name) for name in _SUMMED} | names)


def _sum(rows: Iterable[dict[str, Any]], name: str) -> int | None:
    """The sum, or None where one of them is unknown: a sum over the known ones alone would lie."""
    values = [row[name] for row in rows]
    return None if any(value is None for value in values) else sum(values)


def _by_tool(tools: Sequence[dict[str, Any]]) -> list[Overlap]:
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in tools:
        under = {bound: row[f"hidden_{bound}_ns"] if row["cut"] == 0 else row[f"under_cut_{bound}_ns"] for bound in BOUNDS}
        exposed = {
            "exposed_lower_ns": max(0, row["tool_lower_ns"] - under["upper"]),
            "exposed_best_ns": None if under["best"] is None else row["tool_best_ns"] - under["best"],
            "exposed_upper_ns": row["tool_upper_ns"] - under["lower"],
        }
        alone = {"responses": 1, "tools": 1, "stream_ns": None, "parallel_best_ns": 0, "parallel_upper_ns": 0}
        groups[row["tool_name"]].append(row | exposed | alone)
    found = [_summed(members, tool_name=name) for name, members in groups.items()]
    return sorted(found, key=lambda line: -line.exposed_upper_ns)
