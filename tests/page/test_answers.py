"""What the page answers, from whole pages to the script's data, for ordinary and for hostile sessions."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import orjson
import pytest

from tests.page.inert import assert_inert, html
from tests.page.worlds import HOSTILE, NOW, hostile, huge, ordinary, pages
from tracekit.errors import TracekitError
from tracekit.page.answers import Answer, Pages
from tracekit.page.parts import PARTS

if TYPE_CHECKING:
    from tracekit.page.questions import Questions

SESSION = ordinary()[0].session_id


@pytest.fixture(scope="module")
def shown() -> Iterator[Pages]:
    with pages(ordinary()) as found:
        yield found


@pytest.fixture(scope="module")
def hated() -> Iterator[Pages]:
    with pages(hostile(HOSTILE), huge()) as found:
        yield found


def text(answer: Answer) -> str:
    return " ".join(html.fromstring(answer.body.decode()).text_content().split())


def whole(pages_: Pages, session_id: str) -> bytes:
    """A session's page as the server writes it."""
    parts = [pages_.part(session_id, name) for name in PARTS]
    written = [pages_.opening(session_id), *parts, pages_.frame(session_id), pages_.closing()]
    assert [answer.status for answer in written] == [200] * len(written)
    return b"".join(answer.body for answer in written)


def test_the_list_has_a_row_a_session_that_leads_to_it(shown: Pages) -> None:
    document = html.fromstring(shown.sessions({}).body.decode())
    (link,) = document.xpath("//tbody//a")
    assert (link.get("href"), link.text_content()) == (f"/sessions/{SESSION}", SESSION[:8])
    assert "1 of 1 session" in text(shown.sessions({}))


def test_a_search_without_result_says_so_and_keeps_what_was_looked_for(shown: Pages) -> None:
    answer = shown.sessions({"q": 'nowhere "quoted"', "state": "stuck"})
    document = html.fromstring(answer.body.decode())
    assert "No session is as you look for." in text(answer)
    assert document.xpath("//input[@name='q']/@value") == ['nowhere "quoted"']
    assert document.xpath("//select[@name='state']/option[@selected]/text()") == ["stuck"]


def test_the_rows_alone_are_no_page(shown: Pages) -> None:
    assert b"<html" not in shown.sessions({"part": "rows"}).body


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("facts", ["Wall", "Tools hidden", SESSION, "/home/user/project"]),
        ("outcome", ["exited mid-task", "Transport", "a tool was running", "tracekit mark"]),
        ("waiting", ["Bash", "toolu_3", "seen by otel"]),
        ("account", ["model: waiting for the first byte", "tools, exposed", "14.0 s of turns"]),
        ("overlap", ["Bash", "Read", "req_1", "By tool"]),
        ("critical", ["model: first byte", "all that could hide had hidden", "Read × 0.5"]),
        ("failures", ["1 failure", "tool", "Read", "recovered"]),
        ("context", ["2,000 tokens"]),
        ("turns", ["2 turns", "tools, exposed"]),
        ("tokens", ["example-model-1", "120"]),
        ("witnesses", ["otel", "No two witnesses contradict each other."]),
    ],
)
def test_each_part_tells_what_it_is_for(shown: Pages, part: str, words: list[str]) -> None:
    told = text(shown.part(SESSION, part))
    assert [word for word in words if word not in told] == []


def test_every_part_is_tested() -> None:
    marks_of: list[Any] = vars(test_each_part_tells_what_it_is_for)["pytestmark"]
    (marks,) = [mark for mark in marks_of if mark.name == "parametrize"]
    assert [part for part, _ in marks.args[1]] == list(PARTS)


def test_the_bar_of_the_account_is_full(shown: Pages) -> None:
    document = html.fromstring(shown.part(SESSION, "account").body.decode())
    widths = [float(rect.get("width")) for rect in document.xpath("//*[name()='svg'][@class='split']/*[starts-with(@class, 'fill-')]")]
    assert len(widths) > 3
    assert sum(widths) == pytest.approx(100, abs=0.05)


def test_a_page_is_one_document_with_a_name_for_each_part(shown: Pages) -> None:
    page = whole(shown, SESSION)
    ids = html.document_fromstring(page.decode()).xpath("//@id")
    assert len(ids) == len(set(ids))
    assert {*PARTS, "timeline", "main"} <= set(ids)
    assert_inert(page)


def test_what_an_aria_name_points_to_is_there(shown: Pages) -> None:
    document = html.document_fromstring(whole(shown, SESSION).decode())
    ids = set(document.xpath("//@id"))
    assert set(document.xpath("//@aria-labelledby") + document.xpath("//@aria-describedby")) <= ids
    assert document.xpath("//html/@lang") == ["en"]
    assert all(table.xpath("./caption") and table.xpath(".//th[@scope]") for table in document.xpath("//table"))


def test_a_session_that_is_not_there_is_not_found(shown: Pages) -> None:
    answer = shown.opening("nowhere")
    assert answer.status == 404
    assert "tracekit explain session-unknown" in text(answer)
    assert orjson.loads(shown.timeline("nowhere", {}).body)["slug"] == "session-unknown"


def test_the_script_gets_the_picture_once_and_then_hears_that_it_is_the_same(shown: Pages) -> None:
    first = orjson.loads(shown.timeline(SESSION, {}).body)
    again = orjson.loads(shown.timeline(SESSION, {"stamp": first["stamp"]}).body)
    assert (first["is_same"], len(first["bars"]["key"])) == (False, first["count"])
    assert again == {"stamp": first["stamp"], "is_same": True, "as_of_ns": str(NOW)}


@pytest.mark.parametrize("after", ["-5", "x", "9" * 40, "1e3"])
def test_a_moment_that_is_none_leaves_nothing_out(shown: Pages, after: str) -> None:
    found = orjson.loads(shown.timeline(SESSION, {"after": after}).body)
    assert len(found["bars"]["key"]) == found["count"]


# Hostile content


def test_a_hostile_list_is_inert(hated: Pages) -> None:
    answer = hated.sessions({"q": HOSTILE, "state": HOSTILE, "since": HOSTILE, "page": HOSTILE})
    assert_inert(answer.body)
    answer = hated.sessions({})
    assert_inert(answer.body)
    assert len(answer.body) < 50_000


@pytest.mark.parametrize("session_id", [HOSTILE, huge()[0].session_id], ids=["hostile", "huge"])
def test_a_hostile_session_is_inert_and_small(hated: Pages, session_id: str) -> None:
    page = whole(hated, session_id)
    assert_inert(page)
    assert len(page) < 200_000


def test_hostile_words_are_read_as_words(hated: Pages) -> None:
    told = text(hated.part(HOSTILE, "failures"))
    assert "<script>window.pwned=1</script><img src=x" in told
    assert "{{ 7*7 }}" in told


def test_a_huge_name_gets_no_link_that_no_server_takes(hated: Pages) -> None:
    hrefs = html.document_fromstring(hated.sessions({}).body.decode()).xpath("//@href")
    assert max(map(len, hrefs)) < 2_000


def test_the_scripts_data_are_data(hated: Pages) -> None:
    answer = hated.timeline(HOSTILE, {})
    assert answer.content_type == "application/json"
    assert orjson.loads(answer.body)["count"] > 5


# Trouble


class _Troubled:
    def __init__(self, slug: str) -> None:
        self._slug = slug

    def stamp(self) -> str:
        return ""

    def __getattr__(self, name: str) -> Any:
        def refuse(*_: Any) -> None:
            raise TracekitError(f"trouble with <b>{name}</b>", slug=self._slug)

        return refuse


@pytest.mark.parametrize(("slug", "status"), [("store-busy", 503), ("no-store", 404), ("store-damaged", 500)])
def test_a_store_that_cannot_be_asked_is_told_on_the_page(slug: str, status: int) -> None:
    troubled = Pages(cast("Questions", _Troubled(slug)))
    lists = [] if slug == "no-store" else [troubled.sessions({}), troubled.sessions({"part": "rows"})]
    for answer in (*lists, troubled.opening("s"), troubled.part("s", "account"), troubled.frame("s")):
        assert answer.status == status
        assert f"tracekit explain {slug}" in text(answer)
        assert b"<b>" not in answer.body
    assert troubled.timeline("s", {}).status == status


def test_a_server_that_has_recorded_nothing_yet_says_so_and_waits() -> None:
    answer = Pages(cast("Questions", _Troubled("no-store"))).sessions({})
    assert answer.status == 200
    assert "what passes here is shown as it comes" in text(answer)
