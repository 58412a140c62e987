"""Columns of ready text to a table: who gets how much room, and what is done where there is too little."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from rich.cells import cell_len

from tracekit.report.paint import fold, styled

AS_IT_IS: Final = "as it is"
"""Unit of a column of which nothing is known: its ids may be wanted whole, for the next query."""
LINES: Final = 3
"""Lines that a folded text may take in its cell."""

_LINES_IN_BLOCK: Final = 8
_PROSE: Final = 24
_WORD: Final = 14
_PATH: Final = 9
_ID: Final = 8
"""Columns below which prose, a name, a path and an id are not squeezed. Commands take an unambiguous beginning of an id."""
_WHOLE_WORD: Final = 40
"""Columns that a name may take before prose gets more than it needs."""
_GAP: Final = 2
_APART: Final = "   "
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Cells:
    """One column as printed.

    Attributes:
        title: Its heading, folded between words where room is scarce.
        cells: A text a row.
        number: Whether the texts are numbers: set to the right, never folded, never cut.
        unit: The unit of its `Column`: of an `id` the beginning is kept, of a `path` the end.
        short: The same column with less detail, for a table that would not fit.
    """

    title: str
    cells: Sequence[str]
    number: bool = False
    unit: str = ""
    short: "Cells | None" = None

    @property
    def widest(self) -> int:
        """Columns of its longest text."""
        return max(map(cell_len, self.cells), default=0)

    @property
    def identity(self) -> bool:
        """Whether it holds ids, of which the beginning says enough."""
        return self.unit == "id" or (self.unit != AS_IT_IS and any(map(_UUID.fullmatch, self.cells)))

    @property
    def of_words(self) -> bool:
        """Whether it holds names and not prose."""
        return not self.number and not self.identity and not any(" " in cell for cell in self.cells)

    @property
    def least(self) -> int:
        """Columns that it needs: numbers all of theirs, texts enough to be readable, the heading its longest word."""
        heading = max(map(cell_len, self.title.split()), default=0)
        return max(heading, self.widest if self.number else min(self.widest, self._readable()))

    def _readable(self) -> int:
        if self.identity:
            return _ID
        if self.unit == "path":
            return _PATH
        if not self.of_words:
            return _PROSE
        return _WHOLE_WORD if self.unit == AS_IT_IS else _WORD

    @property
    def most(self) -> int:
        """Columns beyond which it has no use for more."""
        return max(cell_len(self.title), self.widest)


def lay_out(columns: Sequence[Cells], *, width: int, colour: bool, lines: int = LINES) -> str:
    """Print a table that is no wider than `width`.

    Where it does not fit, columns give up detail that they can spare, then what is the same in every row is said once above the
    table, then columns move together; where even that is too wide, every row becomes a block of lines.
    """
    for common, varying, gap in _attempts(columns):
        if sum(column.least for column in varying) + gap * (len(varying) - 1) <= width:
            head = pack([fold(f"{column.title}: {column.cells[0]}", width, lines) for column in common], width)
            return "\n".join([*head, *([""] if head else []), *_grid(varying, gap, width, colour=colour, lines=lines)])
    return "\n\n".join(_blocks(columns, width, colour=colour))


def pack(entries: Sequence[str], width: int) -> list[str]:
    """Put entries side by side into lines of at most `width` columns."""
    packed: list[str] = []
    for entry in entries:
        if packed and cell_len(packed[-1]) + len(_APART) + cell_len(entry) <= width:
            packed[-1] += _APART + entry
        else:
            packed.append(entry)
    return packed


def _attempts(columns: Sequence[Cells]) -> Iterator[tuple[Sequence[Cells], Sequence[Cells], int]]:
    """Give ways to print a table, the best first: columns to be said once, columns of the table, and the gap between these."""
    shorter = [column.short or column for column in columns]
    common = [column for column in shorter if len(column.cells) > 1 and len(set(column.cells)) == 1]
    varying = [column for column in shorter if column not in common]
    yield [], columns, _GAP
    yield [], shorter, _GAP
    if varying:
        yield common, varying, _GAP
        yield common, varying, 1


def _grid(columns: Sequence[Cells], gap: int, width: int, *, colour: bool, lines: int) -> Iterator[str]:
    widths = _share(columns, width - gap * (len(columns) - 1))
    between = " " * gap
    headings = [fold(column.title, columns_, len(column.title)).split("\n") for column, columns_ in zip(columns, widths, strict=True)]
    tallest = max(map(len, headings))
    for parts in zip(*([""] * (tallest - len(heading)) + heading for heading in headings), strict=True):
        yield styled(_line(parts, columns, widths, between), "1", colour=colour)
    yield styled("─" * (sum(widths) + gap * (len(columns) - 1)), "2", colour=colour)
    for row in zip(*(column.cells for column in columns), strict=True):
        fitted = [_fit(cell, column, room, lines) for cell, column, room in zip(row, columns, widths, strict=True)]
        for parts in zip_longest(*fitted, fillvalue=""):
            yield _line(parts, columns, widths, between)


def _line(parts: Sequence[str], columns: Sequence[Cells], widths: Sequence[int], between: str) -> str:
    padded = (
        " " * (width - cell_len(part)) + part if column.number else part + " " * (width - cell_len(part))
        for part, column, width in zip(parts, columns, widths, strict=True)
    )
    return between.join(padded).rstrip()


def _share(columns: Sequence[Cells], room: int) -> list[int]:
    """Give every column what it needs; then names their whole length, the rest what it could use, and ids what is left."""
    widths = [column.least for column in columns]
    most = [column.most for column in columns]
    names = [min(column.most, _WHOLE_WORD) if column.of_words else 0 for column in columns]
    texts = [0 if column.identity else column.most for column in columns]
    for wanted in (names, texts, most):
        _widen(widths, wanted, room - sum(widths))
    return widths


def _widen(widths: list[int], wanted: Sequence[int], spare: int) -> None:
    """Give spare columns one by one to the narrowest that wants more."""
    for _ in range(spare):
        hungry = [index for index, width in enumerate(widths) if width < wanted[index]]
        if not hungry:
            return
        widths[min(hungry, key=lambda index: widths[index])] += 1


def _fit(text: str, column: Cells, width: int, lines: int) -> list[str]:
    """Fold prose, shorten names and ids to one line, and leave numbers alone."""
    if column.number or cell_len(text) <= width:
        return [text]
    if _UUID.fullmatch(text):
        return [text[:_ID]]
    if column.unit == "path" or ("/" in text and " " not in text):
        return [f"…{_tail(text, width - 1)}"]
    return fold(text, width, lines if " " in text else 1).split("\n")


def _tail(text: str, width: int) -> str:
    return next(text[index:] for index in range(len(text) + 1) if cell_len(text[index:]) <= width)


def _blocks(columns: Sequence[Cells], width: int, *, colour: bool) -> Iterator[str]:
    """Print each row as a block, a line for each column."""
    titles = min(max(cell_len(column.title) for column in columns), max(_WORD, width // 3))
    room = max(_ID, width - titles - _GAP)
    headings = [fold(column.title, titles, len(column.title)).split("\n") for column in columns]
    for row in zip(*(column.cells for column in columns), strict=True):
        block: list[str] = []
        for heading, cell in zip(headings, row, strict=True):
            for title, part in zip_longest(heading, fold(cell, room, _LINES_IN_BLOCK).split("\n"), fillvalue=""):
                padding = " " * (titles - cell_len(title) + _GAP)
                block.append(f"{styled(title, '2', colour=colour)}{padding}{part}".rstrip())
        yield "\n".join(block)
