"""Where an export goes: a file that appears when it is whole, a folder of a lake, or stdout."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tracekit.cli import output
from tracekit.cli.progress import bar
from tracekit.errors import TracekitError
from tracekit.model import semconv
from tracekit.store import LakeFile, open_store

TABLES: Final = ("boundaries", "spans")
"""The tables of a lake: each boundary once, and what each witness saw."""


def refuse_existing(path: Path, *, force: bool) -> None:
    """Keep what is there, unless the user says otherwise.

    Raises:
        TracekitError: `output-exists`, or `output-unwritable` where the folder is missing or the path is a folder.
    """
    if path.is_dir():
        raise TracekitError(f"{path} is a folder; name a file in it", slug="output-unwritable")
    if path.exists() and not force:
        raise TracekitError(f"{path} is there already; name another file, or replace it with --force", slug="output-exists")
    if not path.parent.is_dir():
        raise TracekitError(f"there is no folder {path.parent}; make it first", slug="output-unwritable")


def write_file(path: Path, pieces: Iterable[str]) -> int:
    """Write a file and give its size in bytes. Until all of it is written, nothing is there under its name.

    Raises:
        TracekitError: `output-unwritable`.
    """
    try:
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", encoding="utf-8", newline="", delete=False) as file:
            part = Path(file.name)
            try:
                file.writelines(pieces)
            except BaseException:
                part.unlink()
                raise
        part.chmod(0o666 & ~_umask())
        part.replace(path)
        return path.stat().st_size
    except OSError as error:
        raise _unwritable(path, error) from error


def write_stdout(pieces: Iterable[str]) -> None:
    """Write to stdout, in UTF-8 whatever the terminal speaks: it is for programs."""
    out = sys.stdout.buffer
    try:
        for piece in pieces:
            out.write(piece.encode())
        out.flush()
    except BrokenPipeError:
        output.end_quietly()


def write_lake(store: str | None, folder: Path, sessions: Sequence[str] | None, *, content: bool, force: bool) -> list[LakeFile]:
    """Write the tables of a lake below a folder; `sessions` None means all.

    Raises:
        TracekitError: `output-exists` where a table is there already, `output-unwritable`.
    """
    there = [name for name in TABLES if (folder / name).exists()]
    if there and not force:
        message = f"{folder} has {' and '.join(there)} already; name another folder, or replace them with --force"
        raise TracekitError(message, slug="output-exists")
    if folder.exists() and not folder.is_dir():
        raise TracekitError(f"{folder} is a file; name a folder", slug="output-unwritable")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".") as part:
            written = _write_tables(store, Path(part), sessions, without=() if content else (semconv.CONTENT,))
            for name in TABLES:
                shutil.rmtree(folder / name, ignore_errors=True)
                (Path(part) / name).mkdir(exist_ok=True)
                (Path(part) / name).replace(folder / name)
    except OSError as error:
        raise _unwritable(folder, error) from error
    return written


def _write_tables(store: str | None, folder: Path, sessions: Sequence[str] | None, *, without: Sequence[str]) -> list[LakeFile]:
    written: list[LakeFile] = []
    with open_store(store, lake=folder) as opened, bar("files") as tell:
        for file in opened.write_lake(folder, TABLES, sessions=sessions, without=without):
            written.append(file)
            if tell is not None:
                tell(file.number, file.of)
    return written


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _unwritable(path: Path, error: OSError) -> TracekitError:
    return TracekitError(f"cannot write {path}: {error.strerror or error}; name another place with --output", slug="output-unwritable")
