"""Findings for a pull request: Markdown in which nothing that others wrote can become markup, a mention or a link."""

import re
from collections.abc import Sequence
from datetime import UTC
from typing import Final

from tracekit.model import Finding
from tracekit.report import units
from tracekit.report.html import plain
from tracekit.report.terminal import cells_of

LONGEST: Final = 160
"""Characters of a foreign text that are shown."""
_PLAIN: Final = re.compile(r"[\w .,%–≥≤+$/:()-]*", re.ASCII)
_LESS: Final = re.compile(r"<[\d.]+ %")
_RISKY: Final = re.compile(r"https?:|www\.|\$.*\$|:(?!\d\d:)[\w+-]+:|__|\b_|_\b|\bGH-\d", re.IGNORECASE)


def code(text: str, limit: int = LONGEST) -> str:
    r"""Show a foreign text as code, in which Markdown, HTML, mentions and emoji codes mean nothing. Fit for a cell of a table.

    Examples:
        >>> code("@all | `rm`")
        '`` @all \\| `rm` ``'
    """
    shown = plain(text, limit)
    if not shown:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    inside = f" {shown} " if "`" in shown else shown
    return f"{fence}{inside}{fence}".replace("|", "\\|")


def cell(text: str) -> str:
    """Show a ready text: as it is where it can mean nothing else, as numbers and our own words do, and as code otherwise."""
    if _LESS.fullmatch(text):
        return f"&lt;{text[1:]}"
    if text == units.UNKNOWN or (_PLAIN.fullmatch(text) and not _RISKY.search(text) and len(text) <= LONGEST):
        return text
    return code(text)


def table(findings: Sequence[Finding], *, leave_out: Sequence[str] = (), most: int = 0, empty: str = "Nothing found.") -> str:
    """Show findings of one type as a table: the columns that a terminal shows, without those whose titles are left out.

    Args:
        findings: Rows of one type.
        leave_out: Titles of columns.
        most: Rows that are shown; 0 for all. What is left out is counted below.
        empty: The sentence that stands for no findings.
    """
    columns = [column for column in cells_of(findings, UTC) if column.title not in leave_out]
    if not columns:
        return empty
    rows = list(zip(*(column.cells for column in columns), strict=True))
    shown = rows[:most] if most else rows
    heads = [column.title for column in columns]
    written = grid(heads, shown, numbers=[column.number for column in columns])
    return written if len(shown) == len(rows) else f"{written}\n\n{len(rows) - len(shown)} more are not shown."


def grid(heads: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[bool]) -> str:
    """Write a table of ready texts."""
    rule = ["--:" if number else ":--" for number in numbers]
    lines = [heads, rule, *([cell(text) for text in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
