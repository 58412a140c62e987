"""A gate is crossed by all that a range allows, or by a part of it, or by nothing: a range is never taken for a point."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.gates import COMPARISONS, Gate, Verdict, judge, parse
from tracekit.analysis.measures import UNKNOWN, Bounds
from tracekit.errors import TracekitError

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "measure", "comparison", "threshold"),
    [
        ("network > 0", "network", ">", 0),
        ("network>0", "network", ">", 0),
        ("  stuck ", "stuck", ">", 0),
        ("hidden_share < 20%", "hidden_share", "<", 0.2),
        ("hidden_share<0.2", "hidden_share", "<", 0.2),
        ("wall >= 1m30s", "wall", ">=", 90 * SECOND),
        ("ttft > 500ms", "ttft", ">", SECOND // 2),
        ("tool_time > 1.5h", "tool_time", ">", 5_400 * SECOND),
        ("wall > 0", "wall", ">", 0),
        ("cost > $1.50", "cost", ">", 1.5),
        ("output_tokens > 100_000", "output_tokens", ">", 100_000),
        ("turns != 1", "turns", "!=", 1),
        ("network/stream_cut == 2", "network/stream_cut", "==", 2),
    ],
)
def test_a_gate_is_understood(text: str, measure: str, comparison: str, threshold: float) -> None:
    gate = parse(text)
    assert gate == Gate(" ".join(text.split()), measure, comparison, threshold)


@pytest.mark.parametrize(
    "text", ["", "> 0", "network > ", "network >> 0", "wall > 90", "wall > 90s later", "wall > s", "network > many", "cost > nan"]
)
def test_what_is_no_gate_is_refused(text: str) -> None:
    with pytest.raises(TracekitError) as caught:
        parse(text)
    assert caught.value.slug == "gate-malformed"


def test_an_unknown_measure_is_told_with_the_nearest() -> None:
    with pytest.raises(TracekitError, match=r"netwrok.* nearest are network, ") as caught:
        parse("netwrok > 0")
    assert caught.value.slug == "measure-unknown"
    with pytest.raises(TracekitError, match="there are wall, ttft, "):
        parse("zzzzzz > 0")


CASES: dict[tuple[str, tuple[float | None, float | None]], tuple[Verdict, float | None]] = {
    ("hidden_share < 20%", (0.0, 0.1)): (Verdict.CROSSED, 0.1),
    ("hidden_share < 20%", (0.1, 0.9)): (Verdict.POSSIBLY, 0.1),
    ("hidden_share < 20%", (0.2, 0.9)): (Verdict.HELD, None),
    ("exposed > 10s", (11 * SECOND, 20 * SECOND)): (Verdict.CROSSED, SECOND),
    ("exposed > 10s", (1 * SECOND, 20 * SECOND)): (Verdict.POSSIBLY, 10 * SECOND),
    ("exposed > 10s", (1 * SECOND, 10 * SECOND)): (Verdict.HELD, None),
    ("network > 0", (3, 3)): (Verdict.CROSSED, 3),
    ("turns == 2", (2, 2)): (Verdict.CROSSED, 0),
    ("turns == 2", (1, 3)): (Verdict.POSSIBLY, 0),
    ("turns != 2", (1, 3)): (Verdict.POSSIBLY, 1),
    ("turns != 2", (3, 4)): (Verdict.CROSSED, 1),
    ("cost > 1", (None, None)): (Verdict.UNKNOWN, None),
}


@pytest.mark.parametrize(("text", "bounds"), CASES, ids=str)
def test_a_gate_is_judged_by_what_the_witnesses_allow(text: str, bounds: tuple[float | None, float | None]) -> None:
    gate = parse(text)
    (found,) = judge([gate], {"s": {gate.measure: Bounds(*bounds)}})
    verdict, over = CASES[text, bounds]
    assert (found.verdict, found.over) == (verdict, pytest.approx(over) if over is not None else None)
    assert (found.lower, found.upper, found.threshold) == (*bounds, gate.threshold)


@given(
    st.sampled_from(sorted(COMPARISONS)),
    st.integers(0, 6),
    st.integers(0, 6),
    st.integers(0, 6),
)
def test_the_verdict_is_that_of_all_values_in_the_range(comparison: str, threshold: int, one: int, other: int) -> None:
    lower, upper = min(one, other), max(one, other)
    inside = [lower + (upper - lower) * step / 12 for step in range(13)] + [threshold] * (lower <= threshold <= upper)
    crossing = [COMPARISONS[comparison](value, threshold) for value in inside]
    expected = Verdict.CROSSED if all(crossing) else Verdict.POSSIBLY if any(crossing) else Verdict.HELD
    (found,) = judge([Gate("g", "turns", comparison, threshold)], {"s": {"turns": Bounds(lower, upper)}})
    assert found.verdict == expected


def test_every_session_is_judged_by_every_gate() -> None:
    gates = [parse("turns > 1"), parse("cost > 1")]
    found = judge(gates, {"a": {"turns": Bounds(2, 2), "cost": UNKNOWN}, "b": {"turns": Bounds(1, 1), "cost": Bounds(0, 0)}})
    assert [(one.session_id, one.measure, one.verdict) for one in found] == [
        ("a", "turns", "crossed"),
        ("a", "cost", "unknown"),
        ("b", "turns", "held"),
        ("b", "cost", "held"),
    ]
