"""For eyes: findings as tables, pictures, pages and documents. Text comes out; nobody here opens a file or asks the store."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tracekit.model import Finding


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a report is written on.

    Attributes:
        as_of_ns: The moment that the answer is about.
        width: Columns of the terminal.
        colour: Whether ANSI escapes may be used.
        empty: The sentence that stands for no findings.
    """

    as_of_ns: int
    width: int = 80
    colour: bool = False
    empty: str = "Nothing found."


Report = Callable[[Sequence[Finding], Sheet], str]


def _table(findings: Sequence[Finding], sheet: Sheet) -> str:
    from tracekit.report.terminal import table  # noqa: PLC0415 - as REPORTS says

    return table(findings, width=sheet.width, colour=sheet.colour, empty=sheet.empty)


def _json(findings: Sequence[Finding], sheet: Sheet) -> str:
    from tracekit.report.json import document  # noqa: PLC0415 - as REPORTS says

    return document(findings, as_of_ns=sheet.as_of_ns)


def _csv(findings: Sequence[Finding], _: Sheet) -> str:
    from tracekit.report.csv import sheet  # noqa: PLC0415 - as REPORTS says

    return sheet(findings)


REPORTS: Final[dict[str, Report]] = {"table": _table, "json": _json, "csv": _csv}
"""Every form in which any list of findings of one type can be written; each loads what it needs when it is used."""
