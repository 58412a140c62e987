"""The page in a browser: lists, filters, zooms, follows a live session to its end, and runs nothing that others wrote."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.browser.looking import heads_and_cells, until
from tests.page.worlds import HOSTILE, SECOND, hostile, ordinary
from tracekit.model import Boundary, Span, Status, semconv
from tracekit.report.html import path_part
from tracekit.spool import Spool
from tracekit.testing import request, span, tool, turn

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.conftest import Served, Watched

Look = Callable[..., "Watched"]
SESSION = ordinary()[0].session_id
TIMELINE = "document.querySelector('.timeline')?.tracekit"


@pytest.fixture(scope="module")
def served(serve: "Callable[[], Served]") -> "Served":
    """A server that has loaded an ordinary and a hostile session."""
    found = serve()
    with Spool(found.spool, "test") as spool:
        for one in [*ordinary(), *hostile()]:
            spool.write(one)
    return found


def listed(served: "Served", look: Look, **how: object) -> "Watched":
    watched = look(f"{served.url}/", **how)
    until(watched.page, "document.querySelectorAll('#rows tbody tr').length === 2")
    return watched


def drawn(served: "Served", look: Look, session_id: str = SESSION, fragment: str = "", **how: object) -> "Watched":
    listed(served, look)
    watched = look(f"{served.url}/sessions/{path_part(session_id)}{fragment}", **how)
    until(watched.page, f"{TIMELINE}?.drawn > 0")
    return watched


def view(page: "Page") -> list[float]:
    found: list[float] = page.evaluate(f"{TIMELINE}.view")
    return found


def test_the_list_shows_what_comes_and_filters_it(served: "Served", look: Look) -> None:
    page = listed(served, look).page
    page.get_by_label("Search").fill(SESSION[:8])
    until(page, "document.querySelectorAll('#rows tbody tr').length === 1")
    assert page.url.endswith(f"?q={SESSION[:8]}")
    page.get_by_label("State").select_option("ended")
    until(page, "document.querySelector('#rows .nothing')")
    page.reload()
    assert page.get_by_label("Search").input_value() == SESSION[:8]
    page.get_by_label("State").select_option("")
    page.get_by_role("link", name=SESSION[:8]).click()
    until(page, f"{TIMELINE}?.drawn > 0")
    assert page.title() == f"Session {SESSION[:8]} · tracekit"


def test_the_timeline_zooms_by_button_key_and_wheel(served: "Served", look: Look) -> None:
    page = drawn(served, look).page
    whole = view(page)
    page.get_by_role("button", name="Zoom in").click()
    assert view(page)[1] - view(page)[0] == pytest.approx((whole[1] - whole[0]) / 2, rel=0.02)
    stage = page.get_by_role("application")
    stage.press("0")
    assert view(page)[0] == 0
    stage.press("+")
    stage.press("Shift+ArrowRight")
    assert view(page)[0] > 0
    before = view(page)
    stage.hover(position={"x": 500, "y": 40})
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    until(page, f"{TIMELINE}.view[1] - {TIMELINE}.view[0] < {before[1] - before[0]}")


def test_a_bar_is_told_to_eyes_and_to_ears(served: "Served", look: Look) -> None:
    page = drawn(served, look).page
    stage = page.get_by_role("application")
    stage.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown"):
        stage.press(key)
    assert "tool Bash" in page.locator(".spoken").inner_text()
    chosen = page.locator(".chosen")
    assert "toolu_1" in chosen.inner_text()
    assert "Hidden" in chosen.inner_text()
    stage.press("Enter")
    until(page, "location.hash.includes('sel=toolu_1')")
    stage.press("Escape")
    assert chosen.is_hidden()


def test_a_deep_link_shows_what_it_names(served: "Served", look: Look) -> None:
    page = drawn(served, look, fragment="#t=2.000,8.000&sel=toolu_2").page
    assert view(page) == [2e6, 8e6]
    assert "toolu_2" in page.locator(".chosen").inner_text()
    page.locator("#failures").get_by_role("link", name="Read").click()
    until(page, "location.hash.startsWith('#sel=') || location.hash.startsWith('#t=')")
    assert "toolu_2" in page.locator(".chosen").inner_text()


def test_what_is_in_view_is_a_table_too(served: "Served", look: Look) -> None:
    page = drawn(served, look, fragment="#t=2.000,8.000").page
    page.get_by_text("As a table: what is in view").click()
    rows = page.locator(".in-view tbody tr")
    names = rows.locator("td:nth-child(4)").all_inner_texts()
    assert {"Bash", "Read"} <= set(names)


def test_dark_and_light_are_the_systems_until_somebody_chooses(served: "Served", look: Look) -> None:
    page = listed(served, look, scheme="dark").page
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(colour)
    page.get_by_role("button", name="Switch to light colours").click()
    light = page.evaluate(colour)
    assert dark != light
    page.reload()
    assert page.evaluate(colour) == light


@pytest.mark.parametrize("width", [400, 900, 1440])
def test_nothing_is_wider_than_the_screen(served: "Served", look: Look, width: int) -> None:
    page = drawn(served, look, width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.goto(f"{served.url}/")
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize(("width", "last"), [(1100, "Cost"), (1440, "Tools")])
def test_every_column_that_is_shown_has_its_head(served: "Served", look: Look, width: int, last: str) -> None:
    page = look(f"{served.url}/", width=width).page
    until(page, "document.querySelector('.cards tbody tr')")
    heads, cells = heads_and_cells(page)
    assert heads == cells
    assert heads[-1] == last


def test_nothing_that_others_wrote_runs(served: "Served", look: Look) -> None:
    page = drawn(served, look, session_id=HOSTILE).page
    page.get_by_text("As a table: what is in view").click()
    stage = page.get_by_role("application")
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowRight"):
        stage.press(key)
    stage.hover(position={"x": 400, "y": 12})
    page.wait_for_timeout(300)
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.querySelectorAll('img, iframe, object, embed, base').length") == 0
    assert (
        page.evaluate(
            "[...document.querySelectorAll('*')].filter((one) => [...one.attributes].some((a) => a.name.startsWith('on'))).length"
        )
        == 0
    )


def test_an_inline_script_would_not_run(served: "Served", look: Look) -> None:
    watched = listed(served, look)
    watched.page.evaluate("document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.pwned = 1'}))")
    assert watched.page.evaluate("window.pwned") is None
    assert len(watched.complaints) == 1
    watched.complaints.clear()


def test_a_live_session_is_followed_to_its_end(serve: "Callable[[], Served]", look: Look) -> None:
    served = serve()
    began = time.time_ns() - 2 * SECOND
    told = {"session_id": "live-session"}
    prompt = turn(began, None, key="turn_1", name="prompt", **told)
    asks = request(began, None, key="req_1", parent_key="turn_1", attributes={semconv.FIRST_BYTE_NS: began + SECOND}, **told)
    with Spool(served.spool, "live") as spool:
        write(spool, prompt, asks)
        page = look(f"{served.url}/").page
        until(page, "document.querySelector('#rows .state.live')")
        page.get_by_role("link", name="live-session").click()
        until(page, f"{TIMELINE}?.open === 2")
        before = view(page)[1]
        until(page, f"{TIMELINE}.view[1] > {before} + 500000")
        now = time.time_ns()
        write(spool, *tool(now - SECOND, now - SECOND, None, name="Bash", issued_by="req_1", **told))
        until(page, f"[...{TIMELINE}.bars.values()].some((bar) => bar.key === 'toolu_1' && bar.kind === 'hidden' && bar.end === null)")
        until(page, "document.querySelector('#waiting').textContent.includes('Bash')")
        end = time.time_ns()
        ended = [
            asks._replace(end_ns=end, status=Status.OK),
            *tool(now - SECOND, now - SECOND, end, name="Bash", issued_by="req_1", **told),
        ]
        write(
            spool,
            *ended,
            prompt._replace(end_ns=end + SECOND // 100),
            span(Boundary.SESSION, "live-session", began, end + SECOND // 50, **told),
        )
        until(page, f"{TIMELINE}.open === 0")
        until(page, "document.querySelector('#waiting').textContent.includes('Nothing: every turn was answered')")


def write(spool: Spool, *spans: Span) -> None:
    for one in spans:
        spool.write(one)
