"""The picture of a turn: what ran when, lane under lane, to scale, in characters that do without colour."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from tracekit.report.axis import ticks
from tracekit.report.bar import LEGEND, Bar, Kind, Lane, Look
from tracekit.report.canvas import Row, Scale
from tracekit.report.paint import clean, paint

__all__ = ["Bar", "Kind", "Lane", "draw"]

_STAIRS: Final = 6
"""Rows over which bars that merely touch are spread, so that each can be told from the next."""
_NARROWEST: Final = 20
_APART: Final = "   "


def draw(lanes: Sequence[Lane], *, start_ns: int, end_ns: int, width: int, colour: bool) -> str:
    """Draw the lanes from `start_ns` to `end_ns` in `width` columns, with a time axis above and a legend below.

    A lane without bars in that time is left out. What is shorter than a column is drawn as one. The part of a bar that is
    only possible (its slack) is dotted; a bar that is open ends in an arrow at the right edge.
    """
    shown = [(clean(lane.name), bars) for lane in lanes if (bars := _visible(lane.bars, start_ns, end_ns))]
    if not shown:
        return "Nothing to draw."
    gutter = min(max(cell_len(name) for name, _ in shown), max(8, width // 5))
    scale = Scale(start_ns, max(end_ns, start_ns + 1), max(_NARROWEST, width - gutter - 2))
    lines = [Text(" " * (gutter + 2) + line, style="dim") for line in ticks(scale.end_ns - start_ns, scale.columns)]
    looks: set[Look] = set()
    for name, bars in shown:
        for number, row in enumerate(_rows(bars, scale)):
            looks |= row.looks()
            lines.append(Text.assemble((set_cell_size("" if number else name, gutter), "bold"), "  ", row.text()))
    picture = Text("\n", no_wrap=True).join([*lines, Text(), *_legend(looks, width)])
    return paint(picture, width=max(width, gutter + 2 + scale.columns), colour=colour)


def _visible(bars: Sequence[Bar], start_ns: int, end_ns: int) -> list[Bar]:
    return [bar for bar in bars if bar.start_ns <= end_ns and bar.ends_by(end_ns) >= start_ns]


def _rows(bars: Sequence[Bar], scale: Scale) -> list[Row]:
    """Share bars out to rows: those that overlap never meet in one, those that touch only where the stairs are used up."""
    stacks: list[list[Bar]] = []
    for bar in sorted(bars, key=lambda bar: bar.start_ns):
        stack = next((stack for stack in stacks if _apart(stack[-1], bar, scale)), None)
        if stack is None and len(stacks) >= _STAIRS:
            stack = next((stack for stack in stacks if stack[-1].ends_by(scale.end_ns) <= bar.start_ns), None)
        if stack is None:
            stacks.append([bar])
        else:
            stack.append(bar)
    rows = [Row(scale) for _ in stacks]
    for row, stack in zip(rows, stacks, strict=True):
        row.draw(stack)
    return rows


def _apart(left: Bar, right: Bar, scale: Scale) -> bool:
    """Tell whether a bar can follow another in one row and still be told from it."""
    end_ns = left.ends_by(scale.end_ns)
    gap = 1 if left.kind_at(end_ns) == right.kind_at(right.start_ns) else 0
    return end_ns <= right.start_ns and scale.extent(left.start_ns, end_ns).stop + gap <= scale.column(right.start_ns)


def _legend(looks: AbstractSet[Look], width: int) -> list[Text]:
    """Explain the looks that occur, in lines of at most `width` columns."""
    lines = [Text()]
    for look in LEGEND:
        if look not in looks:
            continue
        entry = Text.assemble((look.glyph, look.style), " ", (look.meaning, "dim"))
        if lines[-1] and cell_len(lines[-1].plain) + len(_APART) + cell_len(entry.plain) > width:
            lines.append(Text())
        lines[-1] = Text(_APART).join([lines[-1], entry]) if lines[-1] else entry
    return lines
