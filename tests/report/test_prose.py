from collections.abc import Callable

import pytest
from rich.cells import cell_len

from tracekit.report.paint import fold, to_ascii
from tracekit.report.prose import page

PAGE = """# store-busy

Another process holds the store; `tracekit` waited and gave up. A line of Markdown may be as long as it likes.

## What to do

1. Wait.
2. Look:

```
tracekit doctor --store FILE
```

| Letter | Meaning |
|---|---|
| *S* | the stream |
"""


@pytest.mark.parametrize(("width", "colour"), [(80, False), (120, True)])
def test_a_page(golden: Callable[[str, str], None], width: int, colour: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    text = page(PAGE, width=width, colour=colour)
    golden(f"report_page_{width}.txt", text)
    assert "\n\n\n" not in text


def test_a_page_is_never_wider_than_reads_well() -> None:
    assert max(map(cell_len, page(PAGE * 2 + "word " * 100, width=300, colour=False).splitlines())) <= 96


def test_folding_cuts_at_the_last_line_that_is_allowed() -> None:
    assert fold("one two three", 80, 2) == "one two three"
    assert fold("one two three four", 9, 2) == "one two\nthree…"
    assert fold("abcdefghij", 5, 1) == "abcd…"
    assert fold("日本語のエラー", 7, 1) == "日本語…"


def test_ascii_keeps_every_column() -> None:
    text = "░▓█▒·▶ 1.2–3.4 µs ≥ “x” é"
    assert to_ascii(text) == '.=#%\'> 1.2-3.4 us > "x" ?'
