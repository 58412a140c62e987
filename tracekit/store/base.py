"""What every engine that holds spans can do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import polars as pl


class LedgerEntry(NamedTuple):
    """What has been read of one file."""

    file_id: int
    path: str
    form: str
    size: int
    modified_ns: int
    inode: int
    head_digest: str
    read_to: int
    """Byte after the last complete line."""
    read_to_line: int
    resume_at: int
    """Spans from this byte on may change when the file grows."""
    resume_line: int
    resume_entries: int
    """JSON objects before `resume_at`."""
    entries: int
    imported_ns: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Files that were read and are to be stored together: all of them, or none."""

    segments: Sequence[Path]
    """Files of flat JSON lines, a span each, with the columns of `spans`."""
    problems: Sequence[tuple[int, int, int, str, str]]
    """Rows of `problems`."""
    entries: Sequence[LedgerEntry]
    replaces: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """By file id: the position from which its rows are replaced, and the `read_to` that the ledger must still have."""


class LakeFile(NamedTuple):
    """One file of a lake, as it was written."""

    path: Path
    rows: int
    number: int
    """From 1."""
    of: int


class SpanStore(Protocol):
    """Where spans rest. Only this room names an engine."""

    def rows(self, sql: str, **parameters: Any) -> list[dict[str, Any]]:
        """Answer a query with a dict a row. Named parameters are written `$name`."""
        ...

    def stream(self, sql: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Answer a query with a dict a row, without holding the rows. Other queries may be asked meanwhile."""
        ...

    def query(self, sql: str, **parameters: Any) -> "pl.DataFrame":
        """Answer a query with a Polars frame."""
        ...

    def write_lake(
        self, folder: Path, tables: Sequence[str], *, sessions: Sequence[str] | None = None, without: Sequence[str] = ()
    ) -> Iterator[LakeFile]:
        """Write tables as Parquet, a folder a table and in it a folder a day, each sorted by session and start; a file at a time.

        Only a store that was opened with `lake=folder` may write there.

        Args:
            folder: Where the lake lies.
            tables: `spans` (what each witness saw) or `boundaries` (each boundary once).
            sessions: Ids of the sessions that are wanted; None for all.
            without: Names of attributes that stay out.
        """
        ...

    def ledger(self) -> dict[str, LedgerEntry]:
        """What has been read so far, by path."""
        ...

    def load(self, batch: Batch) -> list[str]:
        """Store a batch in one transaction.

        Returns:
            Paths that were left out because another process has read them meanwhile.
        """
        ...
