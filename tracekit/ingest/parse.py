"""Reading one file, or one group of files that only make sense together, into a segment that the store loads at once.

Runs in processes of its own, so nothing here may load the warehouse.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import orjson

from tracekit.model import Problem, Span
from tracekit.sources import Form
from tracekit.sources.lines import Line, read_lines
from tracekit.sources.otlp import read_group
from tracekit.sources.spooled import read_bodies, read_rows
from tracekit.sources.stream_json import read as read_stream_json
from tracekit.sources.transcript import TranscriptReader, companion_of
from tracekit.spool import span_row

HEAD_BYTES: Final = 4096
"""Bytes whose digest tells whether a file is still the one that was read."""


class Target(NamedTuple):
    """One file to be read, from where the ledger stands."""

    file_id: int
    path: str
    form: str
    position: int = 0
    line: int = 1
    entries: int = 0
    expected_read_to: int = 0
    """What the ledger says now; the load is refused if it says something else by then."""


class Job(NamedTuple):
    """What one worker reads in one go."""

    form: str
    targets: tuple[Target, ...]
    segment: str
    content: bool


class Read(NamedTuple):
    """What became of one file: the fields of its ledger row."""

    target: Target
    size: int
    modified_ns: int
    inode: int
    head_digest: str
    read_to: int
    read_to_line: int
    resume_at: int
    resume_line: int
    resume_entries: int
    entries: int


@dataclass(slots=True)
class Parsed:
    """The outcome of a job."""

    segment: str
    reads: list[Read] = field(default_factory=list[Read])
    problems: list[tuple[int, int, int, str, str]] = field(default_factory=list[tuple[int, int, int, str, str]])
    spans: int = 0
    sessions: set[str] = field(default_factory=set[str])


def file_id(path: str) -> int:
    """A number for a path: the same on every import, and no counter to fight over."""
    return int.from_bytes(hashlib.blake2b(path.encode(errors="surrogateescape"), digest_size=8).digest()) >> 1


def head_digest(handle: BinaryIO, size: int) -> str:
    """Digest of the first bytes that a file of this size had."""
    handle.seek(0)
    return hashlib.sha256(handle.read(min(size, HEAD_BYTES))).hexdigest()[:32]


def parse(job: Job) -> Parsed:
    """Read the files of a job and write their spans to its segment."""
    parsed = Parsed(job.segment)
    with Path(job.segment).open("wb") as segment:
        if job.form in {Form.OTLP_PROTOBUF, Form.OTLP_JSON}:
            _otlp(job, parsed, segment)
        else:
            for target in job.targets:
                _one(job, target, parsed, segment)
    return parsed


def _one(job: Job, target: Target, parsed: Parsed, segment: BinaryIO) -> None:
    try:
        handle = Path(target.path).open("rb")  # noqa: SIM115  (closed below)
    except OSError as error:
        parsed.problems.append((target.file_id, 0, target.position, "unreadable file", error.strerror or str(error)))
        return
    with handle:
        if job.form == Form.TRANSCRIPT:
            parsed.reads.append(_transcript(job, target, handle, parsed, segment))
        elif job.form == Form.SPOOL:
            parsed.reads.append(_rows(target, handle, parsed, segment))
        elif job.form == Form.OTLP_SPOOL:
            parsed.reads.append(_bodies(job, target, handle, parsed, segment))
        else:
            parsed.reads.append(_stream(job, target, handle, parsed, segment))


class _Cursor:
    """Passes lines on and remembers where they ended."""

    def __init__(self, handle: BinaryIO, position: int, line: int) -> None:
        self._lines = read_lines(handle, position=position, number=line)
        self.end, self.end_line = position, line
        self.torn: int | None = None
        self._last: Line | None = None

    def __iter__(self) -> Iterator[Line | Problem]:
        for line in self._lines:
            if isinstance(line, Line):
                self._last = line
                self.end = line.position + len(line.raw) + (1 if line.ended else 0)
                self.end_line = line.number + (1 if line.ended else 0)
            yield line

    def unfinished(self) -> None:
        """The last line could not be read yet: it waits."""
        if self._last is not None:
            self.end, self.end_line = self._last.position, self._last.number


def _transcript(job: Job, target: Target, handle: BinaryIO, parsed: Parsed, segment: BinaryIO) -> Read:
    facts = _facts(handle)
    reader = TranscriptReader(content=job.content, companion=companion_of(Path(target.path)), entries=target.entries)
    cursor = _Cursor(handle, target.position, target.line)
    for line in cursor:
        for item in reader.feed(line):
            if isinstance(item, Problem) and item.reason == "unfinished last line":
                cursor.unfinished()
            keep(item, target.file_id, parsed, segment)
    for span in reader.finish():
        keep(span, target.file_id, parsed, segment)
    resume = reader.resume_point(cursor.end, cursor.end_line)
    return Read(target, *facts, cursor.end, cursor.end_line, *resume, reader.entries)


def _stream(job: Job, target: Target, handle: BinaryIO, parsed: Parsed, segment: BinaryIO) -> Read:
    facts = _facts(handle)
    cursor = _Cursor(handle, 0, 1)
    count = 0

    def lines() -> Iterator[tuple[int, int, bytes, int | None]]:
        nonlocal count
        for line in cursor:
            if isinstance(line, Line):
                count += 1
                yield line.number, line.position, line.raw, None
            else:
                keep(line, target.file_id, parsed, segment)

    for item in read_stream_json(lines(), content=job.content, written_ns=facts[1]):
        keep(item, target.file_id, parsed, segment)
    return Read(target, *facts, cursor.end, cursor.end_line, 0, 1, 0, count)


def _rows(target: Target, handle: BinaryIO, parsed: Parsed, segment: BinaryIO) -> Read:
    """Observations go to the store as they stand, with the file that they stand in."""
    facts = _facts(handle)
    cursor = _Cursor(handle, target.position, target.line)
    entries = target.entries
    for item in read_rows(cursor):
        if isinstance(item, Problem):
            if item.reason == "unfinished last line":
                cursor.unfinished()
            keep(item, target.file_id, parsed, segment)
            continue
        line, session_id = item
        entries += 1
        parsed.spans += 1
        parsed.sessions.add(session_id)
        segment.write(b'{"file_id":%d,"position":%d,' % (target.file_id, line.position) + line.raw.strip()[1:] + b"\n")
    return Read(target, *facts, cursor.end, cursor.end_line, cursor.end, cursor.end_line, entries, entries)


def _bodies(job: Job, target: Target, handle: BinaryIO, parsed: Parsed, segment: BinaryIO) -> Read:
    facts = _facts(handle)
    cursor = _Cursor(handle, 0, 1)
    for item in read_bodies(cursor, content=job.content):
        if isinstance(item, Problem) and item.reason == "unfinished last line":
            cursor.unfinished()
        keep(item, target.file_id, parsed, segment)
    return Read(target, *facts, cursor.end, cursor.end_line, 0, 1, 0, cursor.end_line - 1)


def _otlp(job: Job, parsed: Parsed, segment: BinaryIO) -> None:
    targets: dict[str, Target] = {target.path: target for target in job.targets}
    reads: list[Read] = []

    def bodies() -> Iterator[tuple[str, bytes]]:
        for target in job.targets:
            try:
                with Path(target.path).open("rb") as handle:
                    facts = _facts(handle)
                    handle.seek(0)
                    body = handle.read()
            except OSError as error:
                parsed.problems.append((target.file_id, 0, 0, "unreadable file", error.strerror or str(error)))
                continue
            reads.append(Read(target, *facts, len(body), 1 + body.count(b"\n"), 0, 1, 0, 1))
            yield target.path, body

    for path, item in read_group(bodies(), content=job.content):
        keep(item, targets[path].file_id, parsed, segment)
    parsed.reads.extend(reads)


def _facts(handle: BinaryIO) -> tuple[int, int, int, str]:
    status = os.fstat(handle.fileno())
    return status.st_size, status.st_mtime_ns, status.st_ino, head_digest(handle, status.st_size)


def keep(item: Span | Problem, file: int, parsed: Parsed, segment: BinaryIO) -> None:
    """Write a span to the segment, or note a problem."""
    if isinstance(item, Problem):
        parsed.problems.append((file, item.line, item.position, item.reason, item.detail))
        return
    parsed.spans += 1
    parsed.sessions.add(item.session_id)
    segment.write(span_line(item, file))


def span_line(span: Span, file: int) -> bytes:
    """A span as the flat JSON line that the store loads."""
    row = {"file_id": file, "position": span.position, **span_row(span)}
    try:
        return orjson.dumps(row) + b"\n"
    except TypeError:  # lone surrogates in a name
        return json.dumps(row, ensure_ascii=False).encode(errors="replace") + b"\n"


def now_ns() -> int:
    """The present, in Unix nanoseconds."""
    return time.time_ns()
