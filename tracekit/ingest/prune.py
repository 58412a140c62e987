"""Files of the spool that have done their work: all that they hold is in the store, and nobody writes to them any more."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import psutil

from tracekit.model import Column, Finding
from tracekit.spool import SUFFIX
from tracekit.store import LedgerEntry, open_store

_WRITER: Final = re.compile(r"-(?P<process>\d+)-\d+-\d+$")
"""The end of a file's name that says which process writes it; files of a day are written by many, and closed after each line."""


@dataclass(frozen=True, slots=True)
class Spent(Finding):
    """One file of the spool that is needed no more."""

    path: Annotated[str, Column("File")]
    size: Annotated[int, Column("Size", "bytes")]
    written_ns: Annotated[int, Column("Last written", "time_ns")]


def spent(store: str | None, spool: Path, *, before_ns: int) -> list[Spent]:
    """The files below a spool folder that a store has read to their last line, and that were last written before a moment.

    A file whose writer is still running is not among them, however long it has been silent.

    Raises:
        TracekitError: As opening a store.
    """
    with open_store(store) as opened:
        ledger = opened.ledger()
    found = (_spent(path, ledger.get(str(path))) for path in sorted(spool.resolve().rglob(f"*{SUFFIX}")))
    return [file for file in found if file is not None and file.written_ns < before_ns]


def _spent(path: Path, known: LedgerEntry | None) -> Spent | None:
    """The file, if it is as it was when it was read, and stays so. A last line that a crash has torn waits for nobody."""
    if known is None or _is_written_to(path):
        return None
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    is_read = (status.st_size, status.st_mtime_ns, status.st_ino) == (known.size, known.modified_ns, known.inode)
    return Spent(str(path), status.st_size, status.st_mtime_ns) if is_read else None


def _is_written_to(path: Path) -> bool:
    writer = _WRITER.search(path.name.removesuffix(SUFFIX))
    return writer is not None and psutil.pid_exists(int(writer["process"]))


def remove(files: Iterable[Spent]) -> list[Spent]:
    """Delete files, and the folders that are empty then; gives those that are gone."""
    gone: list[Spent] = []
    for file in files:
        with suppress(OSError):
            Path(file.path).unlink()
            gone.append(file)
    for folder in {Path(file.path).parent for file in gone}:
        # The spool's own folder is made anew by whoever writes next; one that is not empty stays.
        with suppress(OSError):
            folder.rmdir()
    return gone
