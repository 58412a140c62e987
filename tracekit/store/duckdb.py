"""The DuckDB store: one file, opened by short leases."""

import contextlib
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb

from tracekit.errors import TracekitError
from tracekit.store import duckdb_lake
from tracekit.store.base import Batch, LakeFile, LedgerEntry
from tracekit.store.lease import lease

if TYPE_CHECKING:
    import polars as pl

SCHEMA_VERSION: Final = "2"
"""1: spans, ledger, problems, copies, and the views over them. 2: meetings, so that only what was seen twice is compared."""

_LOCKED_UP: Final = {"enable_external_access": False, "lock_configuration": True}
"""A reader may look at the store and at nothing else: no COPY to a file, no ATTACH, no way to turn this off."""

_STREAMED: Final = 2_048
"""Rows that are fetched at once where all are not to be held: what DuckDB works on at once."""

_PARAMETER: Final = re.compile(r"\$([a-z_]+)")
_DDL: Final = files("tracekit.store") / "ddl" / "duckdb"
_SPAN_COLUMNS: Final = {
    "file_id": "BIGINT",
    "position": "BIGINT",
    "source": "VARCHAR",
    "session_id": "VARCHAR",
    "agent_id": "VARCHAR",
    "boundary": "VARCHAR",
    "key": "VARCHAR",
    "parent_key": "VARCHAR",
    "name": "VARCHAR",
    "start_ns": "BIGINT",
    "start_slack_ns": "BIGINT",
    "end_ns": "BIGINT",
    "end_slack_ns": "BIGINT",
    "status": "VARCHAR",
    "attributes": "MAP(VARCHAR, VARCHAR)",
    "events": "VARCHAR",
}


class DuckDBStore:
    """Spans in a DuckDB file. The connection never leaves this class."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: str) -> None:
        self._connection = connection
        self._path = path

    def rows(self, sql: str, **parameters: Any) -> list[dict[str, Any]]:
        """Answer a query with a dict a row."""
        cursor = self._execute(sql, parameters)
        names = [column[0] for column in cursor.description or []]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def stream(self, sql: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Answer a query with a dict a row, without holding the rows."""
        used = self._used(sql, parameters)
        with self._connection.cursor() as cursor:
            try:
                cursor.execute(sql, used or None)
                names = [column[0] for column in cursor.description or []]
                while rows := cursor.fetchmany(_STREAMED):
                    yield from (dict(zip(names, row, strict=True)) for row in rows)
            except duckdb.Error as error:
                raise self._explained(error) from error

    def write_lake(
        self, folder: Path, tables: Sequence[str], *, sessions: Sequence[str] | None = None, without: Sequence[str] = ()
    ) -> Iterator[LakeFile]:
        """Write tables as Parquet, a folder a table and in it a folder a day, a file at a time."""
        try:
            yield from duckdb_lake.write(self._connection, folder, tables, sessions, without)
        except duckdb.Error as error:
            raise self._explained(error) from error

    def query(self, sql: str, **parameters: Any) -> "pl.DataFrame":
        """Answer a query with a Polars frame."""
        import polars as pl  # noqa: PLC0415  (1 s to import, and only frames need it)

        used = self._used(sql, parameters)
        try:
            # A cursor of its own: a result that somebody has not read to its end would be in the way.
            return pl.DataFrame(self._connection.cursor().sql(sql, params=used or None))
        except duckdb.Error as error:
            raise self._explained(error) from error

    def ledger(self) -> dict[str, LedgerEntry]:
        """What has been read so far, by path."""
        found = self._execute(f"SELECT {', '.join(LedgerEntry._fields)} FROM files", {}).fetchall()  # noqa: S608  (our own names)
        return {entry.path: entry for entry in (LedgerEntry(*row) for row in found)}

    def load(self, batch: Batch) -> list[str]:
        """Store a batch in one transaction; leave out files that another process has read meanwhile."""
        try:
            return self._load(batch)
        except duckdb.Error as error:
            self._rollback()
            raise self._explained(error) from error
        except BaseException:
            self._rollback()
            raise

    def _load(self, batch: Batch) -> list[str]:
        self._connection.execute("BEGIN")
        known = {entry.file_id: entry.read_to for entry in self.ledger().values()}
        late = {entry.file_id for entry in batch.entries if known.get(entry.file_id, 0) != batch.replaces.get(entry.file_id, (0, 0))[1]}
        self._connection.execute("CREATE OR REPLACE TEMP TABLE touched (session_id VARCHAR)")
        for file_id, (position, _) in batch.replaces.items():
            if file_id not in late:
                self._touch(f"file_id = {file_id} AND position >= {position}")
                for table in ("spans", "problems"):
                    self._connection.execute(f"DELETE FROM {table} WHERE file_id = ? AND position >= ?", [file_id, position])  # noqa: S608
        before = self._connection.execute("SELECT COALESCE(MAX(rowid), -1) FROM spans").fetchone()
        self._insert_spans(batch.segments, late)
        self._touch(f"rowid > {before[0] if before else -1}")
        if problems := [row for row in batch.problems if row[0] not in late]:
            self._connection.executemany("INSERT INTO problems VALUES (?, ?, ?, ?, ?)", problems)
        for entry in batch.entries:
            if entry.file_id not in late:
                marks = ", ".join("?" * len(entry))
                self._connection.execute(f"INSERT OR REPLACE INTO files VALUES ({marks})", list(entry))  # noqa: S608
        self._meet()
        self._connection.execute("COMMIT")
        return [entry.path for entry in batch.entries if entry.file_id in late]

    def _insert_spans(self, segments: Sequence[Path], late: set[int]) -> None:
        paths = [str(path) for path in segments if path.stat().st_size]
        if not paths:
            return
        columns = ", ".join(f"'{name}': '{kind}'" for name, kind in _SPAN_COLUMNS.items())
        where = f"WHERE file_id NOT IN ({', '.join(map(str, late))})" if late else ""
        self._connection.execute(
            f"INSERT INTO spans SELECT * FROM read_json(?, format = 'newline_delimited', columns = {{{columns}}},"  # noqa: S608
            f" maximum_object_size = 268435456) {where} ORDER BY session_id, start_ns",
            [paths],
        )

    def _touch(self, condition: str) -> None:
        """Note the sessions of the spans that are about to go, or have come."""
        self._connection.execute(f"INSERT INTO touched SELECT DISTINCT session_id FROM spans WHERE {condition}")  # noqa: S608

    def _meet(self) -> None:
        """Find anew, for the sessions that were touched, what was copied, what goes by several names, and what was seen twice."""
        self._connection.execute("CREATE OR REPLACE TEMP TABLE touched AS SELECT DISTINCT session_id FROM touched")
        for name in ("forget_meetings.sql", "find_copies.sql", "find_aliases.sql", "find_meetings.sql"):
            self._connection.execute(_read(name))

    def _rollback(self) -> None:
        # The transaction may never have begun, or the engine has already rolled it back.
        with contextlib.suppress(duckdb.Error):
            self._connection.execute("ROLLBACK")

    @staticmethod
    def _used(sql: str, parameters: dict[str, Any]) -> dict[str, Any]:
        names = set(_PARAMETER.findall(sql))
        return {name: value for name, value in parameters.items() if name in names}

    def _execute(self, sql: str, parameters: dict[str, Any]) -> duckdb.DuckDBPyConnection:
        used = self._used(sql, parameters)
        try:
            return self._connection.execute(sql, used) if used else self._connection.execute(sql)
        except duckdb.Error as error:
            raise self._explained(error) from error

    def _explained(self, error: duckdb.Error) -> TracekitError:
        return _explained(error, self._path)


def _explained(error: duckdb.Error, path: str) -> TracekitError:
    text = str(error).splitlines()[0]
    lowered = str(error).lower()
    if "no space left" in lowered or "could not write" in lowered or "disk is full" in lowered:
        message = f"no room to write the store {path}: {text}; free some space and run the command again, nothing is lost"
        return TracekitError(message, slug="store-full")
    if "conflicting lock" in lowered or "could not set lock" in lowered:
        message = f"the store {path} is open in a program other than tracekit: {text}; close it and try again"
        return TracekitError(message, slug="store-busy")
    if isinstance(error, duckdb.IOException | duckdb.FatalException | duckdb.InternalException | duckdb.SerializationException):
        return TracekitError(f"the store {path} cannot be read: {text}; move it away and import again", slug="store-damaged")
    return TracekitError(f"the query failed: {error}", slug="bad-sql")


def _read(name: str) -> str:
    return (_DDL / name).read_text(encoding="utf-8")


def _create(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("BEGIN")
    for name in _read("_order").split():
        connection.execute(_read(name))
    connection.execute("INSERT INTO meta VALUES ('schema_version', ?)", [SCHEMA_VERSION])
    connection.execute("COMMIT")


def _version(connection: duckdb.DuckDBPyConnection) -> str | None:
    """The schema's version; None in a database without tables."""
    tables = {name for (name,) in connection.execute("SELECT table_name FROM information_schema.tables").fetchall()}
    if not tables:
        return None
    if "meta" not in tables:
        return "of no tracekit"
    found = connection.execute("SELECT value FROM meta WHERE name = 'schema_version'").fetchone()
    return str(found[0]) if found else "missing"


def _check(connection: duckdb.DuckDBPyConnection, path: str, *, write: bool) -> None:
    version = _version(connection)
    if version is None and write:
        _create(connection)
    elif version != SCHEMA_VERSION:
        message = (
            f"the store {path} has schema version {version or 'none'} and this tracekit reads version {SCHEMA_VERSION};"
            " use the tracekit that wrote it, or give another file with --store"
        )
        raise TracekitError(message, slug="store-newer")


@contextmanager
def memory_store() -> Generator[DuckDBStore]:
    """Give a store that lives as long as the block."""
    with duckdb.connect(":memory:") as connection:
        _create(connection)
        yield DuckDBStore(connection, ":memory:")


@contextmanager
def file_store(path: Path, *, write: bool, wait: float, lake: Path | None = None) -> Generator[DuckDBStore]:
    """Lease the store in `path` for as long as the block lasts. With `lake`, a reader may write below that folder.

    Raises:
        TracekitError: `no-store`, `store-busy`, `store-newer`, `store-damaged` or `store-full`.
    """
    if not write and not path.exists():
        raise TracekitError(f"there is no store at {path}; `tracekit import` makes one from your sessions", slug="no-store")
    with _folder(path), lease(path, exclusive=write, wait=wait):
        try:
            connection = duckdb.connect(str(path), read_only=not write, config={} if write or lake else dict(_LOCKED_UP))
        except duckdb.Error as error:
            raise _explained(error, str(path)) from error
        try:
            if lake is not None:
                duckdb_lake.confine(connection, lake)
            _check(connection, str(path), write=write)
            yield DuckDBStore(connection, str(path))
        finally:
            _close(connection, str(path))


@contextmanager
def _folder(path: Path) -> Generator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise TracekitError(f"cannot make the folder of the store {path}: {error.strerror}", slug="store-full") from error
    yield


def _close(connection: duckdb.DuckDBPyConnection, path: str) -> None:
    try:
        connection.close()
    except duckdb.Error as error:
        raise _explained(error, path) from error
