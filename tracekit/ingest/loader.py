"""A process beside the recorders that loads what they write, so that reading it never makes their traffic wait."""

import multiprocessing
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from tracekit.errors import TracekitError
from tracekit.ingest.follow import Follower

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

_EVERY_SECONDS: Final = 1.0
_SHARE: Final = 4
"""Loading pauses at least this many times as long as it took."""
_NOT_OURS: Final = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
_NICENESS: Final = 10
_END_SECONDS: Final = 30.0


class Loader:
    """Keeps a store up with a spool from `start` to `stop`. A busy store is tried again, and nothing is lost meanwhile.

    Args:
        store: URL of the store; None for the default.
        spool: Folder that recorders write to.
        roots: Folders with transcripts; those of sessions that the spool tells of are followed.
        content: Keep prompts, outputs and arguments.
        last_look: Load once more at the end what was written until then.
    """

    def __init__(
        self, store: str | None, *, spool: Path, roots: Sequence[Path] = (), content: bool = False, last_look: bool = True
    ) -> None:
        self._arguments = (store, spool, tuple(roots), content, last_look)
        self._process: SpawnProcess | None = None
        self._line: Connection | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to load."""
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        self._process = context.Process(target=keep_loading, args=(theirs, *self._arguments), name="tracekit loader", daemon=True)
        # From its first moment on, a terminal's keys are not for it. What multiprocessing starts beside it would let them in again.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _NOT_OURS)
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def complaint(self) -> str | None:
        """What kept the store from being loaded, told once; None where nothing has since the last call."""
        with suppress(EOFError, OSError):
            if self._line is not None and self._line.poll():
                return str(self._line.recv())
        return None

    def stop(self, *, wait: float = _END_SECONDS) -> None:
        """End, when what is being loaded has been. A loader that does not end in time is killed: the next import reads the rest."""
        if self._process is None or self._line is None:
            return
        self._line.close()
        self._process.join(wait)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process = None


def keep_loading(
    line: Connection,
    store: str | None,
    spool: Path,
    roots: Sequence[Path],
    content: bool,  # noqa: FBT001  (what a process is started with has no names)
    last_look: bool,  # noqa: FBT001
) -> None:
    """Load again and again, until whoever started this process closes the line or ends."""
    _stand_back()
    follower = Follower(store, spool=spool, roots=roots, content=content)
    told: str | None = None
    pause = _EVERY_SECONDS
    while not line.poll(pause):
        began = time.monotonic()
        complaint = _try(follower)
        if complaint is not None and complaint != told:
            with suppress(OSError):
                line.send(complaint)
        told = complaint
        pause = max(_EVERY_SECONDS, _SHARE * (time.monotonic() - began))
    if last_look:
        _try(follower)


def _try(follower: Follower) -> str | None:
    try:
        follower.catch_up()
    except TracekitError as error:
        return None if error.slug == "store-busy" else str(error)
    return None


def _stand_back() -> None:
    """Whoever started this process decides when it ends, and everything else on the machine goes first."""
    for number in _NOT_OURS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    with suppress(OSError):
        os.nice(_NICENESS)
