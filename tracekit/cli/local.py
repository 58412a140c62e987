"""What of a session runs on this machine: its client, what that has started, and the client's connections.

Claude Code gives what it starts the session's id and its own process number in the environment, and keeps a file for each client that
runs. Names, numbers and times are read, never arguments.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, cast

import psutil

from tracekit.analysis.stuck.here import HARNESS, TOOL, Here, Running
from tracekit.cli.blocked import read_by
from tracekit.model import Column, Finding

_SESSION: Final = "CLAUDE_CODE_SESSION_ID"
_CLIENT: Final = "CLAUDE_PID"
_AGENT: Final = "AI_AGENT"
_KINDS: Final = {"agent": TOOL, "harness": HARNESS}
_SECOND: Final = 1_000_000_000
_SAMPLE_SECONDS: Final = 0.25
_BUSY: Final = 0.02
"""Seconds of processor time between two looks that are work, and not a look at the clock."""


@dataclass(frozen=True, slots=True)
class LocalProcess(Finding):
    """A process that a session started and that has started none itself: what is being waited for, at the bottom. No arguments."""

    session_id: Annotated[str, Column("Session", "id")]
    pid: Annotated[int, Column("Process")]
    name: Annotated[str, Column("Name")]
    start_ns: Annotated[int, Column("Began", "time_ns")]


class Found(NamedTuple):
    """One process, as it was found."""

    session_id: str
    client: int | None
    parent: int
    running: Running
    seconds: float
    """Processor time that it has used."""


@dataclass(slots=True)
class Table:
    """What was seen of sessions in one look at the process table.

    Attributes:
        found: Processes of the sessions, by number.
        clients: Clients by session.
    """

    found: dict[int, Found] = field(default_factory=dict[int, Found])
    clients: dict[str, int] = field(default_factory=dict[str, int])

    def here(self, session_id: str, before: "Table | None" = None) -> Here:
        """What is here of one session; with a look before this one, whether it works."""
        own = {pid: one for pid, one in self.found.items() if one.session_id == session_id}
        parents = {one.parent for one in own.values()}
        client = self.clients.get(session_id)
        processes = [
            replace(
                one.running,
                top=one.parent == client or one.parent not in own,
                bottom=pid not in parents,
                busy=_is_busy(one, before),
                reads=read_by(pid) if pid not in parents else "",
            )
            for pid, one in own.items()
        ]
        processes.sort(key=lambda one: (one.start_ns, one.pid))
        return Here(client, tuple(processes), None if client is None else _sockets(client))


def table(sessions: Collection[str]) -> Table:
    """Look at the process table once. Other users' processes are not visible."""
    seen = Table()
    if not sessions:
        return seen
    for process in psutil.process_iter():
        one = _found(process, sessions)
        if one is not None:
            seen.found[process.pid] = one
            if one.client is not None and one.client != process.pid and psutil.pid_exists(one.client):
                seen.clients[one.session_id] = one.client
    for session_id, pid in _registered():
        if session_id in sessions:
            seen.clients[session_id] = pid
    return seen


def local(sessions: Collection[str]) -> dict[str, Here]:
    """Look twice, a moment apart, and give what is here of sessions; those of which nothing is here are left out."""
    first = table(sessions)
    known = {one.session_id for one in first.found.values()} | first.clients.keys()
    if not known:
        return {}
    time.sleep(_SAMPLE_SECONDS)
    second = table(known)
    return {session_id: second.here(session_id, first) for session_id in known}


def processes(sessions: Collection[str]) -> list[LocalProcess]:
    """Find the processes of sessions that have started no others, the oldest first."""
    seen = table(sessions)
    parents = {one.parent for one in seen.found.values()}
    found = [
        LocalProcess(one.session_id, pid, one.running.name, one.running.start_ns) for pid, one in seen.found.items() if pid not in parents
    ]
    return sorted(found, key=lambda one: (one.start_ns, one.pid))


def _found(process: psutil.Process, sessions: Collection[str]) -> Found | None:
    try:
        with process.oneshot():
            environment: Mapping[str, str] = process.environ()
            session_id = environment.get(_SESSION, "")
            if session_id not in sessions:
                return None
            client = environment.get(_CLIENT, "")
            times = process.cpu_times()
            running = Running(
                process.pid,
                process.name(),
                int(process.create_time() * _SECOND),
                _KINDS.get(environment.get(_AGENT, "").rpartition("_")[2], ""),
            )
            pid = int(client) if client.isdecimal() else None
            return Found(session_id, pid, process.ppid(), running, float(times.user + times.system))
    except psutil.Error:
        # It has ended meanwhile, or is somebody else's.
        return None


def _is_busy(one: Found, before: Table | None) -> bool | None:
    earlier = before.found.get(one.running.pid) if before is not None else None
    return None if earlier is None else one.seconds - earlier.seconds >= _BUSY


def _sockets(pid: int) -> dict[str, int] | None:
    """How many TCP connections a process has in each state; None where nobody may look."""
    try:
        found = psutil.Process(pid).net_connections("tcp")
    except psutil.Error:
        return None
    return dict(Counter(str(one.status) for one in found if one.status != psutil.CONN_LISTEN))


def _registered() -> Iterator[tuple[str, int]]:
    """Sessions and the process numbers of their clients, as the clients write them down while they run."""
    home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    for path in sorted((home / "sessions").glob("*.json")):
        try:
            said: Any = json.loads(path.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(said, dict):
            known = cast("dict[str, Any]", said)
            session_id, pid = known.get("sessionId"), known.get("pid")
            if isinstance(session_id, str) and isinstance(pid, int) and _is_of(pid, path):
                yield session_id, pid


def _is_of(pid: int, path: Path) -> bool:
    """Whether the process began before its file was written: else the file is of one that is no more, and had the same number."""
    try:
        return bool(psutil.Process(pid).create_time() <= path.stat().st_mtime + 1)
    except (OSError, psutil.Error):
        return False
