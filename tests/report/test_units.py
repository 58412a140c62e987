import time
from collections.abc import Iterator
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.report import units

MS = 1_000_000
S = 1_000 * MS
MOMENT = 1_796_052_723_187_000_001


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC-9")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "–"),
        (0, "0 s"),
        (999, "999 ns"),
        (1_200, "1.2 µs"),
        (340 * MS, "340 ms"),
        (4_200_000, "4.2 ms"),
        (999_400_000, "999 ms"),
        (999_600_000, "1.00 s"),
        (1_870 * MS, "1.87 s"),
        (9_996 * MS, "10.0 s"),
        (12_345 * MS, "12.3 s"),
        (59_960 * MS, "1 m 00 s"),
        (125 * S, "2 m 05 s"),
        (3_599_600 * MS, "1 h 00 m"),
        (15_120 * S, "4 h 12 m"),
        (86_399 * S, "1 d 00 h"),
        (273_600 * S, "3 d 04 h"),
        (-5 * S, "-5.00 s"),
    ],
)
def test_durations(ns: int | None, text: str) -> None:
    assert units.duration(ns) == text


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((1_230 * MS, 1_900 * MS, 3_380 * MS), "1.2–3.4 s (best 1.9 s)"),
        ((1_230 * MS, None, 3_380 * MS), "1.2–3.4 s"),
        ((0, 200 * MS, 340 * MS), "0–340 ms (best 200 ms)"),
        ((0, None, 0), "0 s"),
        ((1_870 * MS, 1_870 * MS, 1_870 * MS), "1.87 s"),
        ((1_200_000, None, 5_600_000), "1.2–5.6 ms"),
        ((30 * S, 40 * S, 125 * S), "30.0 s – 2 m 05 s (best 40.0 s)"),
        ((1 * S, None, None), "≥ 1.00 s"),
        ((None, 1 * S, 2 * S), "≤ 2.00 s (best 1.00 s)"),
        ((None, 1 * S, None), "1.00 s"),
        ((None, None, None), "–"),
    ],
)
def test_ranges(bounds: tuple[int | None, int | None, int | None], text: str) -> None:
    assert units.duration_range(*bounds) == text


@given(st.integers(0, 59 * S), st.integers(0, 59 * S))
def test_a_range_as_shown_contains_the_range_as_found(one: int, other: int) -> None:
    lower, upper = sorted((one, other))
    shown, _, unit = units.duration_range(lower, None, upper).partition(" ")
    scale = {"s": S, "ms": MS, "µs": 1_000, "ns": 1}[unit]
    low, _, high = shown.partition("–")
    if lower != upper:
        assert float(low) * scale <= lower + 1e-3
        assert upper - 1e-3 <= float(high) * scale


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12_345_678, "tokens", "12,345,678"),
        (3, "count", "3"),
        (1_234.5, "usd", "$1,234.50"),
        (0.0042, "usd", "$0.0042"),
        (0, "usd", "$0.00"),
        (0, "ratio", "0 %"),
        (0.0001, "ratio", "<0.1 %"),
        (0.423, "ratio", "42.3 %"),
        (0.99999, "ratio", ">99.9 %"),
        (1, "ratio", "100 %"),
        (812, "bytes", "812 B"),
        (999.7, "bytes", "1.0 kB"),
        (164_000_000, "bytes", "164 MB"),
        (1_870 * MS, "ns", "1.87 s"),
        (None, "usd", "–"),
        (None, "time_ns", "–"),
    ],
)
def test_quantities(value: float | None, unit: str, text: str) -> None:
    assert units.quantity(value, unit) == text


def test_a_range_of_other_units() -> None:
    assert units.quantity_range(0.25, None, 0.5, "ratio") == "25.0 % – 50.0 %"
    assert units.quantity_range(100, 200, 1_000, "tokens") == "100 – 1,000 (best 200)"


@pytest.mark.usefixtures("far_east")
def test_times_are_local_unless_a_zone_is_given() -> None:
    assert units.moment(MOMENT) == "2026-12-01 00:32:03"
    assert units.moment(MOMENT, UTC) == "2026-11-30 15:32:03Z"
    assert units.clock(MOMENT) == "00:32:03.187"
    assert units.clock(MOMENT, UTC) == "15:32:03.187"
    assert units.iso(MOMENT) == "2026-11-30T15:32:03.187000001Z"
