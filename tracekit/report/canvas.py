"""One row of a picture: a bar's times become columns, a column becomes a character."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from tracekit.report.bar import AFTER, BEFORE, FAILED, LOOKS, OPEN, POSSIBLE, Bar, Kind, Look
from tracekit.report.paint import clean, fold


@dataclass(frozen=True, slots=True)
class Scale:
    """From time to columns."""

    start_ns: int
    end_ns: int
    columns: int

    def column(self, ns: int) -> int:
        """Give the column border nearest to a time, from 0 to `columns`."""
        border = round((ns - self.start_ns) * self.columns / (self.end_ns - self.start_ns))
        return min(max(border, 0), self.columns)

    def extent(self, start_ns: int, end_ns: int) -> range:
        """Give the columns of a stretch of time, at least one."""
        first = min(self.column(start_ns), self.columns - 1)
        return range(first, max(self.column(end_ns), first + 1))


class _Cell(NamedTuple):
    text: str = " "
    style: str = ""
    look: Look | None = None


_BLANK: Final = _Cell()
_LEAST_LABEL: Final = 4
"""Columns below which a part of a word says nothing."""


@dataclass(slots=True)
class Row:
    """The columns of one row."""

    scale: Scale
    cells: list[_Cell] = field(init=False)

    def __post_init__(self) -> None:
        self.cells = [_BLANK] * self.scale.columns

    def draw(self, bars: Iterable[Bar]) -> None:
        """Draw bars, long ones first so that no short one is lost, then the labels where room is left."""
        ordered = sorted(bars, key=lambda bar: bar.start_ns - bar.ends_by(self.scale.end_ns))
        for bar in ordered:
            self._draw_bar(bar)
        for bar in ordered:
            self._draw_label(bar)

    def looks(self) -> set[Look]:
        """Name the looks that occur, for the legend."""
        return {cell.look for cell in self.cells if cell.look}

    def text(self) -> Text:
        """Give the row as styled text."""
        runs = groupby(self.cells, key=lambda cell: cell.style)
        return Text.assemble(*((("".join(cell.text for cell in run)), style) for style, run in runs))

    def _draw_bar(self, bar: Bar) -> None:
        end_ns = bar.ends_by(self.scale.end_ns)
        style = LOOKS[bar.kind].style
        whole = self.scale.extent(bar.start_ns, end_ns)
        self._fill(whole, POSSIBLE, style)
        for columns, kind in _stretches(bar, end_ns, self.scale):
            self._fill(columns, LOOKS[kind])
            style = LOOKS[kind].style
        if bar.end_ns is None:
            self._fill(whole[-1:], OPEN, style)
        elif bar.failed:
            self._fill(whole[-1:], FAILED)
        elif bar.end_ns > self.scale.end_ns:
            self._fill(whole[-1:], AFTER, style)
        if bar.start_ns < self.scale.start_ns:
            self._fill(whole[:1], BEFORE, LOOKS[bar.kind].style)

    def _fill(self, columns: Sequence[int], look: Look, style: str = "") -> None:
        for column in columns:
            self.cells[column] = _Cell(look.glyph, style or look.style, look)

    def _draw_label(self, bar: Bar) -> None:
        """Write the label to the right of its bar, else on the bar's longest even stretch; its first word, else part of it."""
        whole = self.scale.extent(bar.start_ns, bar.ends_by(self.scale.end_ns))
        start, stop = self._longest_even(whole)
        inside = stop - start - 4  # a blank on either side, and beyond each a column of the bar
        label = clean(bar.label)
        word = label.partition(" ")[0]
        for text in (label, word, *([fold(word, inside, 1)] if inside >= _LEAST_LABEL else [])):
            if text and self._is_free(whole.stop, cell_len(text) + 2):
                return self._write(text, whole.stop + 1, "dim")
            if text and cell_len(text) <= inside:
                return self._write(f" {text} ", start + 1, "bold")
        return None

    def _is_free(self, column: int, length: int) -> bool:
        """Tell whether nothing is drawn from a column on; the edge of the picture is as good as a blank."""
        return column + length <= self.scale.columns + 1 and all(cell is _BLANK for cell in self.cells[column : column + length])

    def _longest_even(self, columns: range) -> tuple[int, int]:
        borders = [columns.start]
        borders += [right for left, right in pairwise(columns) if self.cells[left].look != self.cells[right].look]
        borders.append(columns.stop)
        return max(pairwise(borders), key=lambda stretch: stretch[1] - stretch[0])

    def _write(self, text: str, column: int, style: str) -> None:
        for character in text:
            width = cell_len(character)
            if width:
                self.cells[column] = _Cell(character, style)
                self.cells[column + 1 : column + width] = [_Cell("")] * (width - 1)
            column += width


def _stretches(bar: Bar, end_ns: int, scale: Scale) -> Iterator[tuple[range, Kind]]:
    """Give the parts of a bar that are certain, each with its columns; none where start and end are not known apart."""
    first_ns, last_ns = bar.start_ns + bar.start_slack_ns, end_ns - bar.end_slack_ns
    if first_ns > last_ns:
        return
    core = scale.extent(first_ns, last_ns)
    turns = [(first_ns, bar.kind), *((at_ns, kind) for at_ns, kind in bar.then if at_ns <= last_ns)]
    for (at_ns, kind), following in zip(turns, [*turns[1:], None], strict=True):
        start = max(core.start, scale.column(at_ns))
        stop = core.stop if following is None else scale.column(following[0])
        # The last stretch keeps a column even where its moment is rounded to the end.
        yield range(min(start, core.stop - 1) if following is None else start, min(stop, core.stop)), kind
