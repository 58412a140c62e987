"""The report in a browser, opened from a disk."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.looking import heads_and_cells, until
from tests.page.worlds import NOW, asked, hostile, ordinary
from tracekit.analysis.scope import Scope
from tracekit.page.document import document
from tracekit.page.listing import Listing

if TYPE_CHECKING:
    from tests.browser.conftest import Watched

Look = Callable[..., "Watched"]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    with asked(ordinary(), hostile()) as ask:
        path.write_text(document(ask, Listing(ask), list(ask.sessions(Scope())), as_of_ns=NOW), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [400, 900, 1440])
def test_it_draws_every_session_and_runs_nothing_of_others(report: Path, look: Look, width: int) -> None:
    page = look(report.as_uri(), width=width).page
    until(page, "[...document.querySelectorAll('.timeline')].filter((one) => one.tracekit?.drawn > 0).length === 2")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate("window.pwned") is None


def test_it_zooms_and_tells(report: Path, look: Look) -> None:
    page = look(f"{report.as_uri()}#sel=toolu_1").page
    until(page, "document.querySelector('.chosen:not([hidden])')?.textContent.includes('toolu_1')")
    page.get_by_role("button", name="Whole").first.click()
    page.get_by_role("button", name="Zoom in").first.click()
    page.get_by_text("As a table: what is in view").first.click()
    until(page, "document.querySelectorAll('.in-view tbody tr').length > 0")


@pytest.mark.parametrize("width", [1100, 1440])
def test_every_column_that_is_shown_has_its_head(report: Path, look: Look, width: int) -> None:
    heads, cells = heads_and_cells(look(report.as_uri(), width=width).page)
    assert heads == cells
    assert "Cost" in heads
