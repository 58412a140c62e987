"""`tracekit sql`: any question, in SQL, read-only."""

import sys
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any

import typer

from tracekit.cli import output
from tracekit.cli.columns import meaning
from tracekit.cli.options import AsJson, Store
from tracekit.errors import TracekitError
from tracekit.model import Column, Finding
from tracekit.store import open_store


@dataclass(frozen=True, slots=True)
class Described(Finding):
    """One column of a table or view."""

    table: Annotated[str, Column("Table", show=False)]
    column: Annotated[str, Column("Column")]
    type: Annotated[str, Column("Type")]
    meaning: Annotated[str, Column("Meaning")]


def command(
    query: Annotated[str | None, typer.Argument(metavar="QUERY", help="One SELECT; without it, what comes from stdin.")] = None,
    *,
    schema: Annotated[bool, typer.Option("--schema", help="Print the tables and views with their columns.")] = False,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
    store: Store = None,
) -> None:
    """Ask the store in SQL. Nothing can be changed: the store is opened for reading only.

    `boundaries` has every boundary once, fused from its witnesses; `spans` has what each of them saw. `--schema` lists all columns.
    """
    if as_json and as_csv:
        raise typer.BadParameter("--json and --csv exclude each other")
    if schema:
        _print_schema(as_json=as_json)
        return
    text = _query(query)
    with open_store(store) as opened:
        rows = opened.rows(text)
    if as_json:
        output.emit_json(rows)
    elif as_csv:
        _print_csv(rows)
    else:
        _print_table(rows)


def describe() -> list[Described]:
    """Give every column of every table and view that a store has."""
    with open_store(":memory:") as empty:
        found = empty.rows(
            "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'main'"
            " ORDER BY table_name, ordinal_position"
        )
    columns = ((row["table_name"], row["column_name"], row["data_type"]) for row in found)
    return [Described(table, column, kind, meaning(table, column)) for table, column, kind in columns]


def _query(given: str | None) -> str:
    text = sys.stdin.read() if given is None and not sys.stdin.isatty() else given or ""
    if not text.strip():
        raise TracekitError("no query was given; write tracekit sql 'SELECT …', or pipe one in; --schema lists the tables", slug="bad-sql")
    return text


def _print_schema(*, as_json: bool) -> None:
    if as_json:
        output.emit(describe(), as_json=True)
        return
    from tracekit.report.terminal import table

    place = output.screen()
    for name, columns in groupby(describe(), key=lambda column: column.table):
        output.write(f"{name}\n\n{table(list(columns), width=place.width, colour=place.colour)}\n")


def _print_csv(rows: list[dict[str, Any]]) -> None:
    from tracekit.report.csv import sheet

    output.write(sheet(rows))


def _print_table(rows: list[dict[str, Any]]) -> None:
    from tracekit.report.terminal import plain_table

    place = output.screen()
    output.write(plain_table(rows, width=place.width, colour=place.colour))
