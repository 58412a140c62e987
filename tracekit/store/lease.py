"""Short leases on a store: shared for reading, exclusive for loading, with a bounded wait.

A process that has a DuckDB file open for writing shuts out every other, readers too. A lock beside the file makes them queue
instead of fail.
"""

import fcntl
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from tracekit.errors import TracekitError

WAIT_SECONDS = 10.0
"""How long a command waits for a busy store, unless `TRACEKIT_WAIT` says otherwise."""


def wait_seconds() -> float:
    """The bound of a wait, from the environment or the default."""
    try:
        return float(os.environ.get("TRACEKIT_WAIT", WAIT_SECONDS))
    except ValueError:
        return WAIT_SECONDS


@contextmanager
def lease(path: Path, *, exclusive: bool, wait: float, sleep: Callable[[float], None] = time.sleep) -> Generator[None]:
    """Hold the lock beside `path`.

    Raises:
        TracekitError: `store-busy` when others held it for the whole wait.
    """
    lock = path.with_name(path.name + ".lock")
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _acquire(handle, path, exclusive=exclusive, wait=wait, sleep=sleep)
        yield
    finally:
        os.close(handle)


def _acquire(handle: int, path: Path, *, exclusive: bool, wait: float, sleep: Callable[[float], None]) -> None:
    mode = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(handle, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                message = (
                    f"the store {path} is busy: another tracekit process has held it for {wait:g} s;"
                    " try again, or wait longer with TRACEKIT_WAIT=60"
                )
                raise TracekitError(message, slug="store-busy") from None
            sleep(0.02)
        else:
            return
