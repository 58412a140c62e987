"""Comma-separated values: a line a boundary, for spreadsheets and whatever reads them."""

import csv
import json
from collections.abc import Iterator
from typing import Final

from tracekit_exporters.plain import plain
from tracekit_exporters.trace import BoundaryRow, Trace

COLUMNS: Final = BoundaryRow._fields
"""As `BoundaryRow` describes them; times are Unix nanoseconds, `attributes` is a JSON object, an unknown is empty."""
_CELL: Final = 32_000
"""Characters of a cell: Excel takes 32,767, and breaks the row at more."""
_FORMULA: Final = frozenset("=+-@\t\r")
"""What makes a spreadsheet calculate a text (OWASP, CSV injection)."""


class _Line:
    """What the csv writer writes on: holds the last line."""

    text: str = ""

    def write(self, text: str) -> int:
        self.text = text
        return len(text)


def export(trace: Trace) -> Iterator[str]:
    """Give a line of column names, and a line a boundary in order of session and start.

    A text that a spreadsheet would take for a formula has an apostrophe before it; control characters and marks that turn the
    direction of text are written as escapes.
    """
    line = _Line()
    writer = csv.writer(line, lineterminator="\r\n")  # as RFC 4180 has it
    writer.writerow(COLUMNS)
    yield line.text
    for session in trace.sessions:
        for row in session.boundaries:
            writer.writerow([_attributes(row) if name == "attributes" else _cell(getattr(row, name)) for name in COLUMNS])
            yield line.text


def _attributes(row: BoundaryRow) -> str:
    return plain(json.dumps(dict(row.attributes), ensure_ascii=False, sort_keys=True), _CELL)


def _cell(value: str | int | None) -> str | int:
    if not isinstance(value, str):
        return "" if value is None else value
    text = plain(value, _CELL)
    return f"'{text}" if text[:1] in _FORMULA else text
