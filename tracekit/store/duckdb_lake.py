"""A lake out of a DuckDB store: Parquet, a folder a day, sorted by session and start, which any engine reads as tables."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import duckdb

from tracekit.store.base import LakeFile

_DAY_NS: Final = 86_400_000_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def confine(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Let a connection write below a folder and reach no other file, for good."""
    connection.execute(f"SET allowed_directories = [{_quoted(str(folder))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def write(
    connection: duckdb.DuckDBPyConnection, folder: Path, tables: Sequence[str], sessions: Sequence[str] | None, without: Sequence[str]
) -> Iterator[LakeFile]:
    """Write tables below a folder, a file at a time: `TABLE/day=2026-11-30/part-0.parquet`.

    The day is that of the start, in UTC.
    """
    wanted = "TRUE" if sessions is None else "session_id IN (SELECT unnest($sessions))"
    parameters = None if sessions is None else {"sessions": list(sessions)}
    kept = f"map_from_entries(list_filter(map_entries(attributes), lambda entry: entry.key NOT IN {_listed(without)}))"
    columns = f"* REPLACE ({kept} AS attributes)" if without else "*"
    for table in tables:
        # The view over all witnesses is worked out once, not once a day.
        connection.execute(f"CREATE OR REPLACE TEMP TABLE lake AS SELECT {columns} FROM {table} WHERE {wanted}", parameters)  # noqa: S608
        yield from _days(connection, folder, table)
        connection.execute("DROP TABLE temp.lake")


def _days(connection: duckdb.DuckDBPyConnection, folder: Path, table: str) -> Iterator[LakeFile]:
    days = connection.execute(f"SELECT start_ns // {_DAY_NS} AS day FROM lake GROUP BY day ORDER BY day").fetchall()  # noqa: S608
    for number, (day,) in enumerate(days, start=1):
        path = folder / table / f"day={_EPOCH + timedelta(days=day):%Y-%m-%d}" / "part-0.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        written = connection.execute(
            f"COPY (SELECT * FROM lake WHERE start_ns // {_DAY_NS} = {day} ORDER BY session_id, start_ns, key)"  # noqa: S608
            f" TO {_quoted(str(path))} (FORMAT parquet, COMPRESSION zstd)"
        ).fetchone()
        yield LakeFile(path, rows=written[0] if written else 0, number=number, of=len(days))


def _listed(names: Sequence[str]) -> str:
    return f"({', '.join(_quoted(name) for name in names)})"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
