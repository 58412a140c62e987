"""What a place is: a store, or files of sessions that are first imported into one."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tracekit.errors import TracekitError
from tracekit.ingest import Imported, import_paths
from tracekit.store import default_store, open_store

Place = str | Path

_MAGIC: Final = b"DUCK"
_MAGIC_AT: Final = 8
"""Where the engine's files say what they are."""
_SUFFIXES: Final = frozenset({".duckdb", ".db"})
"""What stores are called, for the error where one is missing."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A store that can be asked.

    Attributes:
        url: Where it is.
        imported: What was imported into it; None for a store that was there.
        temporary: The folder that holds it, if it is to go.
    """

    url: str
    imported: Imported | None = None
    temporary: "tempfile.TemporaryDirectory[str] | None" = None


def open_store_of(places: Sequence[Place], *, content: bool) -> Opened:
    """Find the store that places mean, or make one of them."""
    if not places:
        return _checked(default_store())
    if len(places) == 1 and _is_store(str(places[0])):
        return _checked(str(places[0]))
    folder = tempfile.TemporaryDirectory(prefix="tracekit-")
    url = str(Path(folder.name) / "store.duckdb")
    try:
        # A script that calls this need not stand being imported by other processes.
        imported = import_paths(places, url, content=content, parallel=False)
    except BaseException:
        folder.cleanup()
        raise
    return Opened(url, imported, folder)


def _checked(url: str) -> Opened:
    """Fail now, and not at the first question."""
    with open_store(url):
        return Opened(url)


def _is_store(text: str) -> bool:
    if "://" in text:
        return True
    path = Path(text).expanduser()
    if not path.exists():
        if path.suffix in _SUFFIXES:
            message = f"there is no store at {path}; `tracekit import --store {path}` makes one from your sessions"
            raise TracekitError(message, slug="no-store")
        return False
    return path.is_file() and _begins_like_a_store(path)


def _begins_like_a_store(path: Path) -> bool:
    try:
        with path.open("rb") as handle:
            return handle.read(_MAGIC_AT + len(_MAGIC))[_MAGIC_AT:] == _MAGIC
    except OSError as error:
        raise TracekitError(f"cannot read {path}: {error.strerror or error}; check its permissions", slug="path-unreadable") from error
