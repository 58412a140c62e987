"""Pages of explanation in a terminal: a small Markdown, folded to the width."""

import re
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown
from rich.text import Text

from tracekit.report.paint import paint

_WIDEST: Final = 96
"""Columns beyond which lines of prose are hard to read."""


class _PlainHeading(Heading):
    """A heading at the left edge, where a terminal's reader looks for it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield Text()
        yield self.text


class _Page(Markdown):
    elements = Markdown.elements | {"heading_open": _PlainHeading}


def page(markdown: str, *, width: int, colour: bool) -> str:
    """Print a page that is written in Markdown."""
    printed = paint(_Page(markdown, code_theme="ansi_light"), width=min(width, _WIDEST), colour=colour)
    return re.sub(r"\n{3,}", "\n\n", printed).strip("\n")
