"""Keeping a store up with what is still being written: the spool, and the transcripts of sessions that go on."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tracekit.errors import TracekitError
from tracekit.ingest.road import Imported, import_paths
from tracekit.spool import SUFFIX

_LOOKING: Final = 20
"""Looking for transcripts takes at most one part in so many of the time."""
_GONE: Final = frozenset({"path-missing", "path-unreadable"})
"""What can become of a file between the look and the import: the next look tells."""

_State = tuple[int, int]


class Follower:
    """Imports what has been written since it last looked.

    Args:
        store: URL of the store; None for the default.
        spool: Folder that recorders write to, folders of theirs within.
        roots: Folders with transcripts, `…/projects`.
        since_ns: Transcripts that were last written before this are history; None follows those only whose session the spool tells of.
        content: Keep prompts, outputs and arguments.
        clock: Gives seconds that only grow, to bound the time that looking takes.

    Attributes:
        sessions: Sessions that anything was read of.
    """

    def __init__(
        self,
        store: str | None,
        *,
        spool: Path,
        roots: Sequence[Path] = (),
        since_ns: int | None = None,
        content: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.sessions: set[str] = set()
        self._store = store
        self._spool = spool
        self._roots = roots
        self._since_ns = since_ns
        self._content = content
        self._clock = clock
        self._read: dict[Path, _State] = {}
        self._found: list[Path] = []
        self._look_again_at = 0.0

    def catch_up(self) -> Imported | None:
        """Import what has been written; None where nothing has.

        Raises:
            TracekitError: As `import_paths`. What was not read is tried again by the next call.
        """
        seen = {path: state for path in self._candidates() if (state := _state(path)) is not None}
        changed = {path: state for path, state in seen.items() if self._read.get(path) != state}
        if not changed:
            return None
        try:
            done = import_paths(changed, self._store, content=self._content)
        except TracekitError as error:
            if error.slug in _GONE:
                return None
            if error.slug != "nothing-to-import":
                raise
            done = Imported()
        self._read |= changed
        if self._since_ns is None and done.sessions - self.sessions:
            # Their transcripts are to be found now.
            self._look_again_at = 0.0
        self.sessions |= done.sessions
        return done

    def _candidates(self) -> Iterator[Path]:
        yield from _walk([self._spool], SUFFIX)
        began = self._clock()
        if began >= self._look_again_at:
            self._found = list(self._transcripts())
            ended = self._clock()
            self._look_again_at = ended + _LOOKING * (ended - began)
        yield from self._found

    def _transcripts(self) -> Iterator[Path]:
        if self._since_ns is None:
            yield from transcripts_of(self.sessions, self._roots)
            return
        for path in _walk(self._roots, ".jsonl"):
            state = _state(path)
            if state is not None and state[1] >= self._since_ns:
                yield path


def transcripts_of(sessions: Iterable[str], roots: Iterable[Path]) -> Iterator[Path]:
    """The transcripts of sessions, their sub-agents' among them."""
    # An id is what a client says it is, and must not lead to another folder.
    wanted = {session for session in sessions if Path(session).name == session}
    for project in (entry for root in roots for entry in _folders(root)):
        for session in wanted:
            path = project / f"{session}.jsonl"
            if path.is_file():
                yield path
                yield from _walk([project / session], ".jsonl")


def _folders(root: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(root) if entry.is_dir()]
    except OSError:
        return []


def _walk(folders: Iterable[Path], suffix: str) -> Iterator[Path]:
    for folder in folders:
        for parent, _, names in os.walk(folder):
            yield from (Path(parent) / name for name in names if name.endswith(suffix))


def _state(path: Path) -> _State | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
