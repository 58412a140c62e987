"""The corridor between recorders and the store: observations as flat JSON lines, one append-only file a process.

Any number of processes write, each to a file of its own; whoever ingests reads what ends in a newline. A line is written with one
system call, so that a reader sees it whole or not at all; a torn last line, left by a crash, is legal and waits. Processes that live
for a moment, such as command hooks, share a file a day.

A thing that lasts is written twice: when it begins (`end_ns` null) and when it ends, whole. The store tells the closed observation
instead of the open one; what never ended stays open, which is what a stuck session is made of. Where the name of a thing is known
only at its end, the closing record says under which name it was opened (`semconv.OPENED_AS`).
"""

import base64
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Self

from tracekit.model import Span, Value

SUFFIX: Final = ".spool.jsonl"
ROTATE_BYTES: Final = 32 * 1024 * 1024
"""Size from which a file is continued in another."""


class Sync(StrEnum):
    """When a record is on the disk for sure."""

    NEVER = "never"
    """When the operating system writes it: survives a crash of the process, not of the machine."""
    ALWAYS = "always"
    """Before `write` returns."""


def spool_folder() -> Path:
    """Where recorders write: `TRACEKIT_SPOOL`, else a folder beside the default store."""
    if place := os.environ.get("TRACEKIT_SPOOL"):
        return Path(place)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "tracekit" / "spool"


def span_row(span: Span) -> dict[str, Any]:
    """A span as the flat row that the store loads."""
    row: dict[str, Any] = {
        "source": span.source,
        "session_id": span.session_id,
        "agent_id": span.agent_id,
        "boundary": span.boundary,
        "key": span.key,
        "parent_key": span.parent_key,
        "name": span.name,
        "start_ns": span.start_ns,
        "start_slack_ns": span.start_slack_ns,
        "end_ns": span.end_ns,
        "end_slack_ns": span.end_slack_ns,
        "status": span.status,
        "attributes": {name: value if type(value) is str else as_text(value) for name, value in span.attributes.items()},
    }
    if span.events:
        row["events"] = json.dumps([[event.time_ns, event.name, dict(event.attributes)] for event in span.events])
    return row


def as_text(value: Value) -> str:
    """An attribute's value as the store keeps it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


_AS_JSON: Final = json.JSONEncoder(separators=(",", ":")).encode
"""Made once: `json.dumps` makes one for each call that does not want the spaces."""


def _line(record: Mapping[str, Any]) -> bytes:
    return _AS_JSON(record).encode("ascii") + b"\n"


class _Process:
    """The process that the code is in, without a system call for each record."""

    number = os.getpid()

    @classmethod
    def renew(cls) -> None:
        """Be another process."""
        cls.number = os.getpid()


os.register_at_fork(after_in_child=_Process.renew)


class Spool:
    """One process's file of records. Safe for several threads; never shared between processes.

    Args:
        folder: Where the files are.
        name: What writes: the beginning of the files' names.
        sync: When a record must be on the disk.
        rotate_bytes: Size from which the next record goes to a new file.
        clock: Gives Unix nanoseconds, for the files' names.

    Raises:
        OSError: From `write`, when the record cannot be kept. A recorder passes the traffic on all the same.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        sync: Sync = Sync.NEVER,
        rotate_bytes: int = ROTATE_BYTES,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._folder = folder
        self._name = name
        self._sync = sync
        self._rotate_bytes = rotate_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._handle: int | None = None
        self._path = folder
        self._to_sync: set[Path] = set()
        """Files, and the folder of new ones, that may not be on the disk yet and are not open any more."""
        self._written = 0
        self._number = 0
        self._process = _Process.number

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self._folder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, span: Span) -> None:
        """Keep an observation: an open one, or a closed one."""
        self.append(span_row(span))

    def write_body(self, signal: str, body: bytes, *, content_type: str, received_ns: int) -> None:
        """Keep a request body as it came, to be understood when it is loaded."""
        # Base64 needs no escapes: the JSON writer, which would look for some, takes longer than all the rest.
        rest = _line({"signal": signal, "content_type": content_type, "received_ns": received_ns})
        self._write(b"".join((rest[: -len(b"}\n")], b',"body":"', base64.b64encode(body), b'"}\n')))

    def append(self, record: Mapping[str, Any]) -> None:
        """Keep one record, in one write."""
        self._write(_line(record))

    def append_line(self, line: bytes) -> None:
        """Keep one record that is a line of JSON already, with its newline, in one write."""
        self._write(line)

    def _write(self, line: bytes) -> None:
        with self._lock:
            handle = self._file(len(line))
            written = os.write(handle, line)
            self._written += written
            if written < len(line):
                # A torn line ends here; the next record must not continue it.
                self._leave()
                message = "the disk took only a part of a record"
                raise OSError(message)
            if self._sync is Sync.ALWAYS:
                self._to_disk()

    def sync(self) -> None:
        """Return when all that was written is on the disk."""
        with self._lock:
            self._to_disk()

    def close(self) -> None:
        """End the file. A later write begins another."""
        with self._lock:
            self._leave()

    def _to_disk(self) -> None:
        if self._handle is not None:
            # macOS has no fdatasync.
            getattr(os, "fdatasync", os.fsync)(self._handle)
        while self._to_sync:
            path = self._to_sync.pop()
            # One that is gone was loaded and removed meanwhile.
            with suppress(FileNotFoundError):
                handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)

    def _leave(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
            self._to_sync.add(self._path)

    def _file(self, size: int) -> int:
        """The file for the next record: a new one after a fork, at the first record, and when the last one is full."""
        if self._process != _Process.number:
            self._process, self._handle = _Process.number, None
            self._to_sync.clear()
        if self._handle is not None and self._written and self._written + size > self._rotate_bytes:
            self._leave()
        if self._handle is None:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._number += 1
            name = f"{self._name}-{self._process}-{self._clock()}-{self._number}{SUFFIX}"
            self._path = self._folder / name
            self._handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            # A new file is not there after a crash of the machine until its folder is on the disk too.
            self._to_sync.add(self._folder)
            self._written = 0
        return self._handle


class SharedSpool:
    """A day's file of records, for processes that each live for a moment: one file for each of them would be thousands.

    What a process has to say goes out in one write to the end of the file, and the operating system never mixes two of those.

    Args:
        folder: Where the files are.
        name: What writes: the beginning of the files' names.
        clock: Gives Unix nanoseconds, for the day.
    """

    def __init__(self, folder: Path, name: str, *, clock: Callable[[], int] = time.time_ns) -> None:
        self._folder = folder
        self._name = name
        self._clock = clock

    def write(self, spans: Iterable[Span]) -> None:
        """Keep observations.

        Raises:
            OSError: When they cannot be kept.
        """
        lines = b"".join(_line(span_row(span)) for span in spans)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(self._path(0), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            if os.write(handle, lines) < len(lines):
                # A torn line ends here; the next process must not continue it.
                os.write(handle, b"\n")
                message = "the disk took only a part of a record"
                raise OSError(message)
        finally:
            os.close(handle)

    def recent(self, limit: int) -> bytes:
        """The last bytes that were written, at most so many: of today, and of yesterday where today has fewer."""
        found = _tail(self._path(0), limit)
        return found if len(found) == limit else _tail(self._path(1), limit - len(found)) + found

    def _path(self, days_ago: int) -> Path:
        day = time.strftime("%Y%m%d", time.gmtime(self._clock() // 1_000_000_000 - days_ago * 86_400))
        return self._folder / f"{self._name}-{day}{SUFFIX}"


def _tail(path: Path, limit: int) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        os.lseek(handle, max(0, os.fstat(handle).st_size - limit), os.SEEK_SET)
        return os.read(handle, limit)
    finally:
        os.close(handle)
