"""What of a session runs on this machine: Claude Code gives what it starts the session's id in its environment."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Final

import psutil

from tracekit.model import Column, Finding

_SESSION: Final = "CLAUDE_CODE_SESSION_ID"
_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class LocalProcess(Finding):
    """A process that a session started and that has started none itself: what is being waited for, at the bottom. No arguments."""

    session_id: Annotated[str, Column("Session", "id")]
    pid: Annotated[int, Column("Process")]
    name: Annotated[str, Column("Name")]
    start_ns: Annotated[int, Column("Began", "time_ns")]


def processes(sessions: Collection[str]) -> list[LocalProcess]:
    """Find the processes of sessions, the oldest first. Other users' are not visible."""
    found: dict[int, LocalProcess] = {}
    parents: set[int] = set()
    for process in psutil.process_iter() if sessions else ():
        try:
            session_id = process.environ().get(_SESSION, "")
            if session_id in sessions:
                found[process.pid] = LocalProcess(session_id, process.pid, process.name(), int(process.create_time() * _SECOND))
                parents.add(process.ppid())
        except psutil.Error:
            # It has ended meanwhile, or is somebody else's.
            continue
    return sorted((one for pid, one in found.items() if pid not in parents), key=lambda one: (one.start_ns, one.pid))
