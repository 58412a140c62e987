"""What the values of shared options mean."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tracekit.cli.options import find_session, since_ns, until_ns, window
from tracekit.errors import TracekitError
from tracekit.store import SpanStore, open_store

S = 1_000_000_000
NOW = int(datetime(2026, 11, 30, 17, 29, 33, tzinfo=UTC).timestamp()) * S + 187


@pytest.fixture(autouse=True)
def _two_hours_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "EET-2EEST,M3.5.0/3,M10.5.0/4")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def utc(text: str) -> int:
    moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    return int(moment.replace(microsecond=0).timestamp()) * S + moment.microsecond * 1_000


@pytest.mark.parametrize(
    ("text", "since"),
    [
        ("2026-11-30", "2026-11-29T22:00"),
        ("2026-07-01", "2026-06-30T21:00"),
        ("2026-11-30T17:29", "2026-11-30T15:29"),
        ("2026-11-30 17:29:33.5", "2026-11-30T15:29:33.5"),
        ("2026-11-30T17:29Z", "2026-11-30T17:29"),
        ("2026-11-30T17:29:00+09:00", "2026-11-30T08:29"),
        ("today", "2026-11-29T22:00"),
        ("Yesterday", "2026-11-28T22:00"),
    ],
)
def test_a_date_begins_at_midnight_here_and_a_moment_without_zone_is_local(text: str, since: str) -> None:
    assert since_ns(text, now_ns=NOW) == utc(since)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("45s", 45), ("90m", 5_400), ("2h", 7_200), ("1.5h", 5_400), ("3d", 259_200), ("2w ago", 1_209_600), (" 2H ", 7_200)],
)
def test_how_long_ago(text: str, seconds: int) -> None:
    assert since_ns(text, now_ns=NOW) == until_ns(text, now_ns=NOW) == NOW - seconds * S


def test_until_a_day_means_its_end_even_when_the_clock_changes() -> None:
    assert until_ns("2026-11-30", now_ns=NOW) == utc("2026-11-30T22:00")
    assert until_ns("today", now_ns=NOW) == utc("2026-11-30T22:00")
    assert until_ns("2026-10-25", now_ns=NOW) == utc("2026-10-25T22:00")
    assert since_ns("2026-10-25", now_ns=NOW) == utc("2026-10-24T21:00")


def test_now_is_exact_and_none_is_no_bound() -> None:
    assert since_ns("now", now_ns=NOW) == NOW
    assert since_ns(None, now_ns=NOW) is None
    assert until_ns(None, now_ns=NOW) is None


@pytest.mark.parametrize("text", ["", "soon", "30.11.2026", "2026-13-01", "2h30", "-2h", "h"])
def test_what_is_no_time_is_an_error_with_a_page(text: str) -> None:
    with pytest.raises(TracekitError) as caught:
        since_ns(text, now_ns=NOW)
    assert caught.value.slug == "bad-time"
    assert repr(text) in str(caught.value)


def test_a_window_must_have_room() -> None:
    assert window("3d", "today", now_ns=NOW) == (NOW - 259_200 * S, utc("2026-11-30T22:00"))
    assert window(None, None, now_ns=NOW) == (None, None)
    with pytest.raises(TracekitError) as caught:
        window("1h", "2h", now_ns=NOW)
    assert caught.value.slug == "bad-time"


@pytest.fixture
def store() -> Iterator[SpanStore]:
    with open_store(":memory:") as opened:
        for session_id, last_ns in (("4f6c-one", 10), ("4f6d-two", 30), ("4f6d-two-more", None), ("9e-three", 20)):
            opened.rows(
                "INSERT INTO spans SELECT 1, 0, 'transcript', $session_id, NULL, 'session', $session_id, NULL, '', 5, 0, $last_ns, 0,"
                " 'unset', MAP {}, NULL",
                session_id=session_id,
                last_ns=last_ns,
            )
        yield opened


@pytest.mark.parametrize(
    ("text", "found"),
    [("9", "9e-three"), ("4f6c", "4f6c-one"), ("4f6d-two", "4f6d-two"), ("4f6d-two-", "4f6d-two-more"), (" 9e ", "9e-three")],
)
def test_a_session_is_meant_by_its_id_or_an_unambiguous_beginning(store: SpanStore, text: str, found: str) -> None:
    assert find_session(store, text) == found


@pytest.mark.parametrize("text", [None, "latest", "LATEST"])
def test_the_latest_session_is_the_one_with_the_last_sign_of_life(store: SpanStore, text: str | None) -> None:
    assert find_session(store, text) == "4f6d-two"


@pytest.mark.parametrize(
    ("text", "slug", "said"), [("x", "session-unknown", "'x'"), ("4f6", "session-ambiguous", "4f6c-one, 4f6d-two, 4f6d-two-more")]
)
def test_a_session_that_is_none_or_several_is_an_error(store: SpanStore, text: str, slug: str, said: str) -> None:
    with pytest.raises(TracekitError) as caught:
        find_session(store, text)
    assert caught.value.slug == slug
    assert said in str(caught.value)


def test_a_session_is_no_pattern(store: SpanStore) -> None:
    with pytest.raises(TracekitError):
        find_session(store, "%")


def test_an_empty_store_has_no_latest_session() -> None:
    with open_store(":memory:") as empty, pytest.raises(TracekitError) as caught:
        find_session(empty, None)
    assert caught.value.slug == "session-unknown"
