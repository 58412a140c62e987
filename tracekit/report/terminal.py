"""Tables for a terminal: any list of findings, from what their columns say of themselves."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from itertools import takewhile
from typing import Any, Final, cast

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from tracekit.model import Column, Finding
from tracekit.report import units
from tracekit.report.paint import clean, fold, paint

_LINES: Final = 3
"""Lines that a folded text may take in its cell."""
_LINES_IN_BLOCK: Final = 8
_PROSE: Final = 24
_WORD: Final = 14
"""Columns below which a text is not squeezed: then each finding is printed as a block of lines."""
_SHORT_ID: Final = 8
"""What is shown of a UUID where room is scarce: commands take an unambiguous beginning of it."""
_WHOLE_WORD: Final = 40
"""Columns that a name may take before prose gets more than it needs."""
_AS_IT_IS: Final = "as it is"
"""Unit of a column of which nothing is known: its ids may be wanted whole, for the next query."""
_GAP: Final = 2
_BOUND: Final = re.compile(r"(.+)_(lower|best|upper)(_ns)?")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class _Shown:
    """One column as printed."""

    title: str
    number: bool
    cells: list[str]
    unit: str = ""

    @property
    def widest(self) -> int:
        return max(map(cell_len, self.cells), default=0)

    @property
    def identity(self) -> bool:
        """Whether it holds ids, of which the beginning says enough."""
        return self.unit == "id" or (self.unit != _AS_IT_IS and any(_UUID.fullmatch(cell) for cell in self.cells))

    @property
    def of_words(self) -> bool:
        """Whether it holds names and not prose."""
        return not self.identity and not any(" " in cell for cell in self.cells)

    @property
    def least(self) -> int:
        """Columns that it needs: numbers all of theirs, texts enough to be readable; a heading folds between its words."""
        word = _WHOLE_WORD if self.unit == _AS_IT_IS else _WORD
        readable = _SHORT_ID if self.identity else word if self.of_words else _PROSE
        heading = max(map(cell_len, self.title.split()), default=0)
        return max(heading, self.widest if self.number else min(self.widest, readable))

    @property
    def most(self) -> int:
        return max(cell_len(self.title), self.widest)


def table(
    findings: Sequence[Finding],
    *,
    width: int,
    colour: bool,
    zone: tzinfo | None = None,
    lines: int = _LINES,
    empty: str = "Nothing found.",
) -> str:
    """Print findings of one type as a table, or as a block each where the numbers alone would not fit into `width`.

    Args:
        findings: Rows of one type. Its columns say what is shown, under which title and in which unit; three columns
            `x_lower_ns`, `x_best_ns`, `x_upper_ns` are one range under the words that their titles share; a bound that is not to
            be shown leaves the others as columns of their own. Of a text
            of unit `id` the beginning is kept where room is scarce, of unit `path` the end.
        width: Columns of the terminal.
        colour: Whether ANSI escapes may be used.
        zone: Time zone of moments; the machine's own if not given.
        lines: Lines that a text may take in its cell before it ends in an ellipsis.
        empty: The sentence that stands for no findings.
    """
    if not findings:
        return empty
    rows = [finding.as_row() for finding in findings]
    return _lay_out(_columns(type(findings[0]).columns(), rows, zone), width=width, colour=colour, lines=lines)


def plain_table(rows: Sequence[Mapping[str, Any]], *, width: int, colour: bool, empty: str = "No rows.") -> str:
    """Print rows of any names as they are: numbers without units, an unknown as an empty cell."""
    if not rows:
        return empty
    shown = [
        _Shown(name, _all_numbers(values), ["" if value is None else clean(str(value)) for value in values], _AS_IT_IS)
        for name, values in ((name, [row[name] for row in rows]) for name in rows[0])
    ]
    return _lay_out(shown, width=width, colour=colour)


# Findings to columns


def _columns(columns: Mapping[str, Column], rows: Sequence[Mapping[str, Any]], zone: tzinfo | None) -> list[_Shown]:
    shown: list[_Shown] = []
    for name, column in columns.items():
        bounds = _bounds(name, columns)
        if not column.show or (bounds and name != bounds[0]):
            continue
        values = [row[name] for row in rows]
        if bounds:
            title = _shared([columns[part].title for part in bounds])
            shown.append(_Shown(title, number=True, cells=[_range_cell(row, bounds, column.unit) for row in rows]))
        elif units.is_number(column.unit):
            shown.append(_Shown(column.title, number=True, cells=[units.quantity(value, column.unit, zone) for value in values]))
        else:
            shown.append(_Shown(column.title, _all_numbers(values), [_text_cell(value) for value in values], column.unit))
    return shown


def _bounds(name: str, columns: Mapping[str, Column]) -> list[str]:
    """Name the columns of the range that a column is part of, in the order lower, best, upper; none if not both bounds are shown."""
    match = _BOUND.fullmatch(name)
    if not match:
        return []
    stem, _, unit = match.groups("")
    wanted = [f"{stem}_{bound}{unit}" for bound in ("lower", "best", "upper")]
    shown = [part for part in wanted if part in columns and columns[part].show and units.is_number(columns[part].unit)]
    return shown if {wanted[0], wanted[2]} <= set(shown) else []


def _range_cell(row: Mapping[str, Any], bounds: Sequence[str], unit: str) -> str:
    best = row[bounds[1]] if len(bounds) == 3 else None  # noqa: PLR2004 - lower, best, upper
    return units.quantity_range(row[bounds[0]], best, row[bounds[-1]], unit)


def _shared(titles: Sequence[str]) -> str:
    """Give the words that the titles of a range begin with: `Hidden` of `Hidden, at least` and `Hidden, at most`."""
    words = [title.replace(",", "").split() for title in titles]
    same = [parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, zip(*words, strict=False))]
    return " ".join(same).removesuffix(" at") or titles[0]


def _text_cell(value: object) -> str:
    if value is None:
        return units.UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text_cell, cast("Sequence[object]", value)))
    return clean(str(value))


def _all_numbers(values: Sequence[object]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)


# Columns to text


def _lay_out(shown: Sequence[_Shown], *, width: int, colour: bool, lines: int = _LINES) -> str:
    room = width - _GAP * (len(shown) - 1)
    if sum(column.least for column in shown) > room:
        return _blocks(shown, width=width, colour=colour)
    grid = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0), header_style="bold")
    widths = _share(shown, room)
    for column, columns in zip(shown, widths, strict=True):
        heading = Text(column.title, justify="right" if column.number else "left")
        grid.add_column(heading, justify=heading.justify or "left", width=columns)
    for cells in zip(*(_fitted(column, columns, lines) for column, columns in zip(shown, widths, strict=True)), strict=True):
        grid.add_row(*cells)
    return paint(grid, width=width, colour=colour)


def _share(shown: Sequence[_Shown], room: int) -> list[int]:
    """Give every column what it needs; then names their whole length, the rest what it could use, and ids what is left."""
    widths = [column.least for column in shown]
    names = [min(column.most, _WHOLE_WORD) if column.of_words and not column.number else 0 for column in shown]
    texts = [0 if column.identity else column.most for column in shown]
    for wanted in (names, texts, [column.most for column in shown]):
        _widen(widths, wanted, room - sum(widths))
    return widths


def _widen(widths: list[int], wanted: Sequence[int], spare: int) -> None:
    """Give spare columns one by one to the narrowest that wants more."""
    for _ in range(spare):
        hungry = [index for index, width in enumerate(widths) if width < wanted[index]]
        if not hungry:
            return
        widths[min(hungry, key=lambda index: widths[index])] += 1


def _fitted(column: _Shown, width: int, lines: int) -> list[Text]:
    """Fold prose, shorten names and ids to one line, and leave numbers alone."""
    return [Text(cell if column.number else _fit(cell, width, column.unit, lines), no_wrap=column.number) for cell in column.cells]


def _fit(text: str, width: int, unit: str, lines: int) -> str:
    if cell_len(text) <= width:
        return text
    if _UUID.fullmatch(text):
        return text[:_SHORT_ID]
    if unit == "path" or ("/" in text and " " not in text):
        return f"…{_tail(text, width - 1)}"
    return fold(text, width, lines if " " in text else 1)


def _tail(text: str, width: int) -> str:
    return next(text[index:] for index in range(len(text) + 1) if cell_len(text[index:]) <= width)


def _blocks(shown: Sequence[_Shown], *, width: int, colour: bool) -> str:
    """Print each finding as a block, a line for each column."""
    titles = min(max(cell_len(column.title) for column in shown), max(_WORD, width // 3))
    room = max(_SHORT_ID, width - titles - _GAP)
    blocks: list[str] = []
    for index in range(len(shown[0].cells)):
        grid = Table.grid(padding=(0, _GAP, 0, 0), pad_edge=False)
        grid.add_column(style="dim", width=titles)
        grid.add_column(width=room)
        for column in shown:
            grid.add_row(Text(column.title), Text(fold(column.cells[index], room, _LINES_IN_BLOCK)))
        blocks.append(paint(grid, width=width, colour=colour))
    return "\n\n".join(blocks)
