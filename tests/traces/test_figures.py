"""Figures of the answers: to scale, what is only possible pale, and drawn by plotly alone."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plotly.graph_objects import Figure  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

import tracekit
from tracekit import Traces, figures
from tracekit.model import Boundary, Span
from tracekit.spool import Spool
from tracekit.testing import request, span, tool, turn

S = 1_000_000_000
CAPTURES = Path(__file__).parents[1] / "data" / "captures"


@pytest.fixture(scope="module")
def traces() -> Iterator[Traces]:
    with tracekit.open(CAPTURES / "overlap", CAPTURES / "subagent") as opened:
        yield opened


def opened(folder: Path, *spans: Span) -> Traces:
    with Spool(folder, "otel") as spool:
        for one in spans:
            spool.write(one)
    return tracekit.open(folder)


def bars(figure: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = figure.to_plotly_json()["data"]
    return found


def test_a_timeline_is_to_scale_and_what_is_only_possible_is_pale(tmp_path: Path) -> None:
    spans = [turn(0, 10 * S), request(S, 4 * S), *tool(4 * S, 4 * S, 9 * S, start_slack_ns=2 * S, end_slack_ns=S)]
    with opened(tmp_path, *spans) as traces:
        drawn = bars(figures.timeline(traces.timeline()))
    tools = [(bar["base"], bar["x"], bar["marker"]["opacity"] < 1) for bar in drawn if bar["name"] == "tool"]
    assert tools == [([4.0], [5.0], True), ([6.0], [2.0], False)]
    assert [(bar["name"], bar["base"], bar["x"]) for bar in drawn if bar["name"] != "tool"] == [
        *(("turn", [0.0], [10.0]), ("turn", [0.0], [10.0]), ("model", [1.0], [3.0]), ("model", [1.0], [3.0])),
    ]
    assert [bar["showlegend"] for bar in drawn] == [True, False] * 3


def test_what_runs_at_the_same_time_has_lines_of_its_own(tmp_path: Path) -> None:
    calls = [one for number in range(3) for one in tool(number * S, number * S, (number + 2) * S, key=f"toolu_{number}")]
    with opened(tmp_path, turn(0, 5 * S), *calls) as traces:
        (lines, *_) = [bar["y"] for bar in bars(figures.timeline(traces.timeline())) if bar["name"] == "tool"]
    assert lines == ["tool", "tool ·2", "tool"]


def test_what_is_open_lasts_to_the_end_and_agents_have_lanes(tmp_path: Path) -> None:
    spans = [turn(0, 10 * S), *tool(S, S, None, name="Bash"), span(Boundary.HOOK_REPLY, "h", S, 2 * S, agent_id="a1")]
    with opened(tmp_path, *spans) as traces:
        drawn = {bar["name"]: bar["x"] for bar in bars(figures.timeline(traces.timeline()))}
    assert (drawn["tool"], drawn["hook a1"]) == ([9.0], [1.0])


def test_names_from_outside_are_inert(tmp_path: Path) -> None:
    hostile = '<a href="javascript:alert(1)">x</a><script>' + "y" * 1_000_000
    with opened(tmp_path, turn(0, 9), request(0, 4), *tool(4, 4, 9, name=hostile, agent_id="<b>a1</b>")) as traces:
        drawn = figures.timeline(traces.timeline()).to_json() + figures.overlap(traces.overlap(by="tool"), label="tool_name").to_json()
    assert "<a" not in drawn.replace("\\u003c", "<")
    assert "<b>" not in drawn.replace("\\u003c", "<")
    assert len(drawn) < 100_000


def test_recorded_answers_are_drawn(traces: Traces) -> None:
    for session in traces.sessions()["session_id"]:
        figure = figures.timeline(traces.timeline(session))
        assert isinstance(figure, Figure)
        assert len(bars(figure)) > 4
    found = traces.overlap(by="tool")
    parts = {bar["name"]: sum(bar["x"]) for bar in bars(figures.overlap(found, label="tool_name"))}
    assert parts["hidden, certain"] == pytest.approx(found["hidden_lower_ns"].sum() / S)
    assert parts["hidden, certain"] + parts["hidden, possible"] == pytest.approx(found["hidden_upper_ns"].sum() / S)
    causes = {bar["name"]: sum(bar["x"]) for bar in bars(figures.missed(found, label="tool_name"))}
    assert sum(causes.values()) == pytest.approx((found["missed_ns"].sum() or 0) / S)


def test_nothing_is_drawn_of_nothing(traces: Traces) -> None:
    assert bars(figures.timeline(traces.timeline(until=0))) == []
    assert [bar["x"] for bar in bars(figures.overlap(traces.overlap(until=0), label="session_id"))] == [[], [], []]


def test_neither_numpy_nor_pandas_is_needed(traces: Traces, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("numpy", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    assert len(figures.missed(traces.overlap(by="model"), label="model").to_json()) > 100
