"""The list of sessions: what is found, in which state, and how seldom the store is asked."""

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.page.worlds import HOSTILE, NOW, SECOND, asked, at, hostile, ordinary
from tracekit.model import Boundary, Span, semconv
from tracekit.page.listing import PAGE_ROWS, Line, Listing, Wanted, share_of
from tracekit.testing import span, turn

if TYPE_CHECKING:
    from tracekit.page.questions import Questions


def ended(number: int, *, start_s: float = 0) -> list[Span]:
    attributes = {semconv.PROJECT: f"/home/user/number-{number}"}
    return [turn(at(start_s), at(start_s + 5), session_id=f"session-{number}", key=f"turn-{number}", attributes=attributes)]


@contextmanager
def listed(*spans: Sequence[Span]) -> Generator[Listing]:
    with asked([one for some in spans for one in some]) as ask:
        yield Listing(ask)


def found(listing: Listing, as_of_ns: int = NOW, /, **query: str) -> list[str]:
    return [line.session.session_id for line in listing.find(Wanted.from_query(query), as_of_ns=as_of_ns).lines]


def only(listing: Listing, as_of_ns: int = NOW) -> Line:
    (line,) = listing.find(Wanted(), as_of_ns=as_of_ns).lines
    return line


def test_the_latest_session_comes_first() -> None:
    with listed(ended(1), ended(2, start_s=50)) as listing:
        assert found(listing) == ["session-2", "session-1"]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ({"q": "number-2"}, ["session-2"]),
        ({"q": "SESSION otel"}, ["session-3", "session-2", "session-1"]),
        ({"q": "session nowhere"}, []),
        ({"q": "%"}, []),
    ],
)
def test_every_word_must_be_found(query: dict[str, str], wanted: list[str]) -> None:
    with listed(ended(1), ended(2, start_s=50), ended(3, start_s=100)) as listing:
        assert found(listing, NOW, **query) == wanted


def test_states_are_told_apart() -> None:
    waits = [turn(at(0), None, session_id="waits"), span(Boundary.PERMISSION_WAIT, "toolu_1", at(1), None, session_id="waits", name="Bash")]
    with listed(ended(1), waits) as listing:
        assert found(listing, state="stuck") == ["waits"]
        assert found(listing, state="ended") == ["session-1"]
        assert sorted(found(listing, at(6), state="live")) == ["session-1", "waits"]


def test_a_session_with_failures_is_found_by_them() -> None:
    with listed(ended(1), ordinary()) as listing:
        assert found(listing, failed="yes") == [ordinary()[0].session_id]


def test_a_session_is_found_by_when_it_was_last_seen() -> None:
    with listed(ended(1), ended(2, start_s=3_000)) as listing:
        assert found(listing, since="1h") == ["session-2", "session-1"]
        assert found(listing, NOW + 1_000 * SECOND, since="1h") == ["session-2"]


def test_a_line_tells_what_hid_and_what_failed() -> None:
    with listed(ordinary()) as listing:
        line = only(listing)
    assert line.hidden is not None
    assert line.hidden.lower <= (line.hidden.best or line.hidden.lower) <= line.hidden.upper
    assert (line.failures, line.session.tool_calls) == (1, 3)
    assert [one.name for one in line.waits] == ["Bash"]


def test_pages_are_counted_and_a_page_too_far_is_the_last() -> None:
    sessions = [ended(number, start_s=number) for number in range(PAGE_ROWS + 1)]
    with listed(*sessions) as listing:
        last = listing.find(Wanted(page=99), as_of_ns=NOW)
        assert (last.page, last.pages, last.matching, last.total) == (2, 2, PAGE_ROWS + 1, PAGE_ROWS + 1)
        assert [line.session.session_id for line in last.lines] == ["session-0"]


@pytest.mark.parametrize("page", ["0", "-1", "x", "9" * 30, "²", ""])
def test_a_page_that_is_none_is_the_first(page: str) -> None:
    assert Wanted.from_query({"page": page}).page == 1


def test_a_filter_that_is_none_filters_nothing() -> None:
    assert Wanted.from_query({"state": "asleep", "since": "1y", "failed": ""}) == Wanted()


def test_a_query_survives_its_own_spelling() -> None:
    assert Wanted(text="a&b=c", state="live", failed="yes").to_query(3) == "q=a%26b%3Dc&state=live&failed=yes&page=3"


def test_what_has_not_changed_is_not_asked_again() -> None:
    with asked(ordinary()) as ask:
        counted = _Counting(ask)
        listing = Listing(cast("Questions", counted))
        for _ in range(3):
            listing.find(Wanted(), as_of_ns=NOW)
    assert counted.calls["overlap"] == counted.calls["failures"] == counted.calls["tokens"] == 1
    assert counted.calls["stuck"] == 3


def test_hostile_sessions_are_listed() -> None:
    with listed(hostile(HOSTILE)) as listing:
        assert len(listing.find(Wanted(), as_of_ns=NOW).lines) == 1


def test_without_tools_nothing_could_hide() -> None:
    assert share_of(None) is None
    with listed(ended(1)) as listing:
        assert only(listing).hidden is None


class _Counting:
    """Counts what is asked."""

    def __init__(self, ask: Any) -> None:
        self._ask = ask
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        self.calls[name] += 1
        return getattr(self._ask, name)
