"""Passing bytes on, exactly as they come and at once."""

import os
import select
from collections.abc import Callable
from typing import Final

CHUNK_BYTES: Final = 64 * 1024
"""As much as a pipe holds."""

Seen = Callable[[bytes, int], None]


def pump(source: int, target: int, seen: Seen, clock: Callable[[], int], *, hurry: int | None = None, grace_seconds: float = 0.0) -> bool:
    """Pass on what comes from one file descriptor to another, until it ends or nobody takes it.

    Args:
        source: Where bytes come from.
        target: Where they go.
        seen: Is told of each piece with the time at which it came, before it is passed on: so nobody can answer a piece of which
            nothing is known yet.
        clock: Gives Unix nanoseconds.
        hurry: When this can be read, whoever writes to `source` is gone; what others who hold it may still write is not waited for.
        grace_seconds: For how long, then, silence is no end yet.

    Returns:
        Whether the source ended; otherwise nobody takes what it says.
    """
    watched = [source] if hurry is None else [source, hurry]
    limit: float | None = None
    while True:
        ready = select.select(watched, [], [], limit)[0]
        if hurry in ready:
            watched, limit = [source], grace_seconds
        elif not ready:
            return True
        if source in ready:
            data = _read(source)
            at_ns = clock()
            if not data:
                return True
            seen(data, at_ns)
            if not _write(target, data):
                return False


def _read(source: int) -> bytes:
    try:
        return os.read(source, CHUNK_BYTES)
    except OSError:
        # The other end was torn off, or this one was closed.
        return b""


def _write(target: int, data: bytes) -> bool:
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(target, left) :]
        except BlockingIOError:
            # Whoever gave us this descriptor does not like to wait; it is shared, so it stays as it is.
            select.select([], [target], [])
        except OSError:
            return False
    return True
