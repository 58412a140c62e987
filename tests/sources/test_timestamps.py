"""Timestamps of every ISO form as Unix nanoseconds, and nothing that is none."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.sources.timestamps import timestamp_ns

NOON = 1_796_040_000 * 10**9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-30T12:00:00.000Z", NOON),
        ("2026-11-30T12:00:00.417Z", NOON + 417_000_000),
        ("2026-11-30T12:00:00Z", NOON),
        ("2026-11-30T12:00:00.123456Z", NOON + 123_456_000),
        ("2026-11-30T12:00:00.123456789Z", NOON + 123_456_000),
        ("2026-11-30T14:00:00.417+02:00", NOON + 417_000_000),
        ("2026-11-30T05:30:00-06:30", NOON),
        ("2026-11-30T12:00:00.417", NOON + 417_000_000),
        ("2026-11-30 12:00:00.417Z", NOON + 417_000_000),
        ("2026-11-30", NOON - 12 * 3600 * 10**9),
        ("2016-12-31T23:59:60.500Z", 1_483_228_800_500_000_000),
    ],
)
def test_every_form_of_a_time_is_read(text: str, expected: int) -> None:
    assert timestamp_ns(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "yesterday",
        17,
        1.5,
        True,
        [],
        {},
        "2026-11-30T12:00:00.41xZ",
        "2026-11-31T12:00:00.000Z",
        "2026-13-01T12:00:00.000Z",
        "2026-11-30T25:00:00.000Z",
        "\ud83d" * 24,
        "x" * 23 + "Z",
    ],
)
def test_what_is_no_time_is_none(text: Any) -> None:
    assert timestamp_ns(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00.000Z",
        "1970-01-01T00:00:00.000Z",
        "2200-01-01T00:00:00.000Z",
        "9999-12-31T23:59:59.999Z",
    ],
)
def test_a_time_at_which_no_agent_can_have_run_is_none(text: str) -> None:
    assert timestamp_ns(text) is None


@given(st.datetimes(datetime(1970, 1, 2), datetime(2199, 12, 31)))  # noqa: DTZ001  (hypothesis wants them without a zone)
def test_the_common_form_says_what_the_calendar_says(moment: datetime) -> None:
    moment = moment.replace(tzinfo=UTC, microsecond=moment.microsecond // 1000 * 1000)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    expected = since // timedelta(microseconds=1) * 1000
    text = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert timestamp_ns(text) == timestamp_ns(moment.isoformat()) == expected


@given(st.text(max_size=30))
def test_no_text_breaks_the_reading(text: str) -> None:
    found = timestamp_ns(text)
    assert found is None or 0 < found < 1 << 63
