"""Figures of the answers, for notebooks: each takes a frame as `Traces` gives it and makes a plotly figure."""

import heapq
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any, Final

import polars as pl

Part = dict[str, Any]

_SECOND: Final = 1e9
_LABEL: Final = 24
_NAME: Final = 200
_FRAME: Final = 140
_LINE: Final = 28
"""Pixels around the lines of a figure, and of one line."""

LANES: Final = {
    "turn": "turn",
    "model_request": "model",
    "tool_execution": "tool",
    "permission_wait": "permission",
    "hook_reply": "hook",
    "mcp_connection": "MCP",
    "mcp_call": "MCP",
    "retry_wait": "retry",
    "compaction": "compaction",
}
"""What a timeline shows, and in which lane, from the top."""

COLOURS: Final = {
    "turn": "#9e9e9e",
    "model": "#4c78a8",
    "tool": "#f58518",
    "permission": "#e45756",
    "hook": "#b279a2",
    "MCP": "#72b7b2",
    "retry": "#ff9da6",
    "compaction": "#9d755d",
}
"""Of lanes: distinct also to eyes that see no red or green."""

_HIDDEN: Final = "#54a24b"
_EXPOSED: Final = "#f58518"
_CAUSES: Final = {"permission": "#e45756", "hook": "#b279a2", "queue": "#eeca3b", "dispatch": "#9e9e9e"}
_POSSIBLE: Final = 0.35
"""Opacity of what is only possible."""


def timeline(moments: pl.DataFrame) -> Any:
    """Draw what `Traces.timeline` gives, to scale: a lane a kind of boundary and agent, what is only possible pale.

    Args:
        moments: Of one session.

    Returns:
        A `plotly.graph_objects.Figure`.
    """
    shown = [row for row in moments.iter_rows(named=True) if row["boundary"] in LANES]
    origin = min((row["start_ns"] for row in shown), default=0)
    last = max((row["end_ns"] or row["start_ns"] for row in shown), default=0)
    bars: list[Part] = []
    for agent in dict.fromkeys([None, *(row["agent_id"] for row in shown)]):
        for lane in dict.fromkeys(LANES.values()):
            rows = [row for row in shown if row["agent_id"] == agent and LANES[row["boundary"]] == lane]
            name = escape(f"{lane} {agent or ''}".strip())
            bars += [_bars(_outer(rows, last), origin, name, COLOURS[lane], pale=True)] if rows else []
            bars += [_bars(_inner(rows, last), origin, name, COLOURS[lane], pale=False)] if rows else []
    return _figure(bars, "seconds since the first boundary", barmode="overlay", legend="kind and agent")


def overlap(found: pl.DataFrame, *, label: str) -> Any:
    """Draw what `Traces.overlap` gives: of each row's tool time, what certainly hid, what may have hidden, what was exposed.

    Args:
        found: Of any grouping.
        label: The column that names a bar.

    Returns:
        A `plotly.graph_objects.Figure`.
    """
    names = _names(found, label)
    parts = (
        ("hidden, certain", found["hidden_lower_ns"], _HIDDEN, 1.0),
        ("hidden, possible", found["hidden_upper_ns"] - found["hidden_lower_ns"], _HIDDEN, _POSSIBLE),
        ("exposed, certain", found["exposed_lower_ns"], _EXPOSED, 1.0),
    )
    bars = [_stacked(name, names, values, {"color": colour, "opacity": opacity}) for name, values, colour, opacity in parts]
    return _figure(bars, "seconds of tool time", barmode="stack", legend="tool time")


def missed(found: pl.DataFrame, *, label: str) -> Any:
    """Draw what stood in the way of hiding more, by cause, from what `Traces.overlap` gives; where it is unknown stands nothing.

    Args:
        found: Of any grouping.
        label: The column that names a bar.

    Returns:
        A `plotly.graph_objects.Figure`.
    """
    names = _names(found, label)
    bars = [_stacked(cause, names, found[f"missed_{cause}_ns"], {"color": colour}) for cause, colour in _CAUSES.items()]
    return _figure(bars, "seconds that could have hidden and did not", barmode="stack", legend="what stood in the way")


def _names(found: pl.DataFrame, label: str) -> list[str]:
    return [escape(str(name)[:_LABEL]) for name in found[label].to_list()]


def _stacked(name: str, names: list[str], values: pl.Series, marker: Part) -> Part:
    seconds = [0.0 if value is None else value / _SECOND for value in values.to_list()]
    return {"type": "bar", "name": name, "y": names, "x": seconds, "orientation": "h", "marker": marker}


def _figure(bars: list[Part], title: str, *, barmode: str, legend: str) -> Any:
    # 0.3 s to import, and without types.
    from plotly import graph_objects  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415

    lines = {line for bar in bars for line in bar["y"]}
    layout = {
        "barmode": barmode,
        "height": _FRAME + _LINE * len(lines),
        "legend": {"title": {"text": legend}},
        "margin": {"l": 10, "r": 10, "t": 30, "b": 40},
        "xaxis": {"title": {"text": title}},
        "yaxis": {"autorange": "reversed", "type": "category"},
    }
    return graph_objects.Figure({"data": bars, "layout": layout})


def _outer(rows: Iterable[Part], last: int) -> Iterator[tuple[int, int, int, str]]:
    """From the earliest start to the latest end, each with the line in its lane where it finds room."""
    free: list[tuple[int, int]] = []
    for row in rows:
        start, end = row["start_ns"], row["end_ns"] or last
        line = heapq.heappop(free)[1] if free and free[0][0] <= start else len(free)
        heapq.heappush(free, (end, line))
        yield line, start, end, _words(row)


def _inner(rows: Iterable[Part], last: int) -> Iterator[tuple[int, int, int, str]]:
    """From the latest start to the earliest end, where that is any time, on the same lines."""
    rows = list(rows)
    for row, (line, _, _, words) in zip(rows, _outer(rows, last), strict=True):
        start = row["start_ns"] + row["start_slack_ns"]
        end = last if row["end_ns"] is None else row["end_ns"] - row["end_slack_ns"]
        if end > start:
            yield line, start, end, words


def _words(row: Part) -> str:
    """What stands beside the pointer. Names come from outside, and plotly reads tags and links in every text."""
    lines = (f"{row['boundary']} {row['name'][:_NAME]}", row["key"], f"seen by {row['witnesses']}", row["status"])
    return "<br>".join(map(escape, lines))


def _bars(found: Iterator[tuple[int, int, int, str]], origin: int, lane: str, colour: str, *, pale: bool) -> Part:
    bars = list(found)
    return {
        "type": "bar",
        "name": lane,
        "legendgroup": lane,
        "showlegend": pale,
        "orientation": "h",
        "y": [lane if line == 0 else f"{lane} ·{line + 1}" for line, _, _, _ in bars],
        "x": [(end - start) / _SECOND for _, start, end, _ in bars],
        "base": [(start - origin) / _SECOND for _, start, _, _ in bars],
        "hovertext": [words for *_, words in bars],
        "hoverinfo": "text",
        "marker": {"color": colour, "opacity": _POSSIBLE if pale else 1.0},
    }
