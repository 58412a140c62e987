"""Looking at a page, and waiting for it.

The page's policy lets nobody evaluate text as a script, so a test asks again and again from outside.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from playwright.sync_api import Page

LIMIT_MS: Final = 60_000
_STEP_MS: Final = 100


def until(page: "Page", expression: str) -> None:
    """Return when an expression is true in a page.

    Raises:
        AssertionError: It never was.
    """
    for _ in range(LIMIT_MS // _STEP_MS):
        if page.evaluate(f"Boolean({expression})"):
            return
        page.wait_for_timeout(_STEP_MS)
    message = f"never true: {expression}\n{page.locator('main').inner_text()[:2_000]}"
    raise AssertionError(message)


def heads_and_cells(page: "Page") -> tuple[list[str], list[str]]:
    """The heads of the table of sessions that are shown, and the columns of its first row that are."""
    shown = "(one) => getComputedStyle(one).display !== 'none'"
    heads: list[str] = page.evaluate(f"[...document.querySelectorAll('.cards thead th')].filter({shown}).map((one) => one.textContent)")
    cells = f"[...document.querySelector('.cards tbody tr').children].filter({shown}).map((one) => one.dataset.label)"
    found: list[str] = page.evaluate(cells)
    return heads, found
