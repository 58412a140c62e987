"""Tables for a terminal: any list of findings, from what their columns say of themselves."""

import re
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from itertools import takewhile
from typing import Any, Final, cast

from tracekit.model import Column, Finding
from tracekit.report import units
from tracekit.report.grid import AS_IT_IS, LINES, Cells, lay_out
from tracekit.report.paint import clean

_BOUND: Final = re.compile(r"(.+)_(lower|best|upper)(_ns)?")


def table(
    findings: Sequence[Finding],
    *,
    width: int,
    colour: bool,
    zone: tzinfo | None = None,
    lines: int = LINES,
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
    return lay_out(cells_of(findings, zone), width=width, colour=colour, lines=lines)


def cells_of(findings: Sequence[Finding], zone: tzinfo | None = None) -> list[Cells]:
    """Give the columns of findings of one type as ready text, for a table of any form: those that are shown, three of a range as one."""
    rows = [finding.as_row() for finding in findings]
    return _columns(type(findings[0]).columns(), rows, zone) if findings else []


def plain_table(rows: Sequence[Mapping[str, Any]], *, width: int, colour: bool, empty: str = "No rows.") -> str:
    """Print rows of any names as they are: numbers without units, an unknown as an empty cell."""
    if not rows:
        return empty
    shown = [
        Cells(name, ["" if value is None else clean(str(value)) for value in values], _all_numbers(values), AS_IT_IS)
        for name, values in ((name, [row[name] for row in rows]) for name in rows[0])
    ]
    return lay_out(shown, width=width, colour=colour)


# Findings to columns


def _columns(columns: Mapping[str, Column], rows: Sequence[Mapping[str, Any]], zone: tzinfo | None) -> list[Cells]:
    shown: list[Cells] = []
    for name, column in columns.items():
        bounds = _bounds(name, columns)
        if not column.show or (bounds and name != bounds[0]):
            continue
        values = [row[name] for row in rows]
        if bounds:
            title = _shared([columns[part].title for part in bounds])
            shown.append(Cells(title, [_range_cell(row, bounds, column.unit) for row in rows], number=True))
        elif column.unit == "time_ns":
            shown.append(_moments(column.title, values, zone))
        elif units.is_number(column.unit):
            shown.append(Cells(column.title, [units.quantity(value, column.unit) for value in values], number=True))
        else:
            shown.append(Cells(column.title, [_text_cell(value) for value in values], _all_numbers(values), column.unit))
    return shown


def _moments(title: str, values: Sequence[int | None], zone: tzinfo | None) -> Cells:
    """Write moments in full; in short to the minute, with what they all share, the day or the year, in the heading."""
    cells = [units.moment(value, zone) for value in values]
    known = [cell for cell, value in zip(cells, values, strict=True) if value is not None]
    shared = next((length for length in (len("2026-11-30 "), len("2026-")) if len({cell[:length] for cell in known}) == 1), 0)
    heading = f"{title} {known[0][:shared].rstrip(' -')}".rstrip() if shared else title
    end = None if shared > len("2026-") else len("2026-11-30 17:29")
    short = [cell if value is None else cell[shared:end] for cell, value in zip(cells, values, strict=True)]
    return Cells(title, cells, number=True, short=Cells(heading, short, number=True))


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
