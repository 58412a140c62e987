"""Styled text to a string: the one place that touches rich's console, so that width and colour are always as asked."""

import io
import re
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.text import Text
from rich.theme import Theme

_THEME: Final = Theme(
    {"markdown.h1": "bold", "markdown.h2": "bold", "markdown.code": "cyan", "markdown.table.header": "bold", "markdown.table.border": "dim"}
)
_BARS: Final = str.maketrans("░▓█▒·▶‹›✗═◆◇≡", ".=#%'>()x_mc&")
_SIGNS: Final = str.maketrans("─├┬│–…µ≥≤→•“”‘’\xa0", "-|||-~u><>*\"\"'' ")
_ESCAPE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]+")


def paint(content: RenderableType, *, width: int, colour: bool) -> str:
    """Render to `width` columns, with ANSI colours or without any escape; lines have no trailing blanks."""
    console = _console(width, colour=colour)
    with console.capture() as capture:
        console.print(content)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()).rstrip("\n")


def clean(text: str) -> str:
    """Make a foreign text fit for one line of a terminal: no control characters, no escapes, no direction marks."""
    return " ".join(_UNPRINTABLE.sub(" ", _ESCAPE.sub("", text)).split())


def fold(text: str, width: int, lines: int) -> str:
    """Break a text into at most `lines` lines of `width` columns; what does not fit ends in an ellipsis."""
    if cell_len(text) <= width and "\n" not in text:
        return text
    folded = [line.plain.rstrip() for line in Text(text).wrap(_console(width, colour=False), width, overflow="fold")]
    if len(folded) > lines:
        cut = folded[lines - 1]
        folded[lines - 1] = (set_cell_size(cut, width - 1).rstrip() if cell_len(cut) >= width else cut) + "…"
    return "\n".join(folded[:lines])


def styled(text: str, code: str, *, colour: bool) -> str:
    """Wrap a text in an ANSI style (`1` bold, `2` dim) where colour is allowed and there is something to see."""
    return f"\x1b[{code}m{text}\x1b[0m" if colour and text else text


def to_ascii(text: str) -> str:
    """Replace what a terminal without UTF-8 cannot show, one character for one, so that columns stay where they are."""
    return text.translate(_BARS | _SIGNS).encode("ascii", "replace").decode("ascii")


def _console(width: int, *, colour: bool) -> Console:
    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        emoji=False,
        legacy_windows=False,
        theme=_THEME,
        _environ={},
    )
