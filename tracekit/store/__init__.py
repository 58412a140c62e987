"""Where spans rest. `open_store` leases a store for as long as a block lasts; no other room names an engine."""

import os
from contextlib import AbstractContextManager
from pathlib import Path

from tracekit.errors import TracekitError
from tracekit.store.base import Batch, LakeFile, LedgerEntry, SpanStore
from tracekit.store.lease import wait_seconds

__all__ = ["Batch", "LakeFile", "LedgerEntry", "SpanStore", "default_store", "open_store", "store_path"]


def default_store() -> str:
    """`TRACEKIT_STORE`, else a file in the user's state folder."""
    if url := os.environ.get("TRACEKIT_STORE"):
        return url
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return str(Path(state) / "tracekit" / "store.duckdb")


def store_path(url: str) -> Path:
    """The file that a store's URL names: a path, or `duckdb:///path`.

    Raises:
        TracekitError: `store-unknown` for any other scheme.
    """
    scheme, found, rest = url.partition("://")
    if not found:
        return Path(url).expanduser()
    if scheme == "duckdb":
        return Path(rest).expanduser()
    raise TracekitError(f"no engine is known for the store {url}; give the path of a file", slug="store-unknown")


def open_store(
    url: str | None = None, *, write: bool = False, wait: float | None = None, lake: Path | None = None
) -> AbstractContextManager[SpanStore]:
    """Lease a store: shared for reading, or with `write` exclusive, made if it does not exist.

    Args:
        url: A path or `duckdb:///path`; `:memory:` for one that is forgotten; None for the default.
        write: Open for loading.
        wait: Seconds to wait for a busy store; None for `TRACEKIT_WAIT` or 10.
        lake: The folder below which `SpanStore.write_lake` may write, for one who reads.

    Raises:
        TracekitError: On entering the block: `no-store`, `store-busy`, `store-newer`, `store-damaged`, `store-unknown`.
    """
    from tracekit.store import duckdb  # noqa: PLC0415  (0.4 s to import, and not every command opens a store)

    url = url or default_store()
    if url == ":memory:":
        return duckdb.memory_store()
    return duckdb.file_store(store_path(url), write=write, wait=wait_seconds() if wait is None else wait, lake=lake)
