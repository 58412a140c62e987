"""Plan, read, load: an import from paths to a summary."""

import multiprocessing
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tracekit.errors import TracekitError
from tracekit.ingest.discover import find_files
from tracekit.ingest.parse import HEAD_BYTES, Job, Parsed, Read, Target, file_id, head_digest, now_ns, parse
from tracekit.sources import Form, recognise

if TYPE_CHECKING:
    from tracekit.store import LedgerEntry

BATCH_BYTES: Final = 64 * 1024 * 1024
"""Bytes of input that are committed together: what a killed import has to read again."""

PARALLEL_BYTES: Final = 8 * 1024 * 1024
"""Below this, starting processes costs more than they save."""

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class Imported:
    """What an import did."""

    files_found: int = 0
    files_read: int = 0
    files_unchanged: int = 0
    files_unknown: list[str] = field(default_factory=list[str])
    """Files in none of the known forms."""
    files_late: list[str] = field(default_factory=list[str])
    """Files that another import has read meanwhile."""
    bytes_read: int = 0
    entries: int = 0
    """JSON objects, or OTLP bodies, in the files that were read."""
    spans: int = 0
    sessions: set[str] = field(default_factory=set[str])
    forms: Counter[str] = field(default_factory=Counter[str])
    problems: Counter[str] = field(default_factory=Counter[str])
    """By reason, of the files that were read now."""
    problem_lines: list[tuple[str, int, str, str]] = field(default_factory=list[tuple[str, int, str, str]])
    """(path, line, reason, detail) of each."""


def import_paths(
    paths: Iterable[str | Path],
    store: str | None = None,
    *,
    content: bool = False,
    parallel: bool = True,
    progress: Progress | None = None,
    clock: Callable[[], int] = now_ns,
) -> Imported:
    """Import what is new or has grown under `paths` into a store.

    Exactly once: a file's spans and its ledger row are one transaction. Killed at any moment, an import loses nothing that was
    committed, and the next one goes on from there.

    Args:
        paths: Files, folders and globs.
        store: URL of the store; None for the default.
        content: Keep prompts, outputs and arguments.
        parallel: Read much in processes of its own. They begin by importing the main script, which has to stand that.
        progress: Called with the bytes read so far and in all.
        clock: Gives the time of the import.

    Raises:
        TracekitError: `path-missing`, `path-unreadable`, `nothing-to-import`, `store-busy`, `store-full`, `store-newer`,
            `store-damaged`.
    """
    files = find_files(paths)
    done = Imported(files_found=len(files))
    with _scratch() as name:
        folder = Path(name)
        jobs = _plan(files, _ledger(store), done, folder, content=content)
        sizes = {job.segment: sum(_size(target.path) - target.position for target in job.targets) for job in jobs}
        _nothing(files, jobs, done)
        for batch in _batches(jobs, sizes, progress, parallel=parallel):
            _load(store, batch, done, clock)
    return done


def import_stream(
    lines: Iterable[bytes], store: str | None = None, *, content: bool = False, clock: Callable[[], int] = now_ns
) -> Imported:
    """Import stream-json as it comes from a pipe, each line stamped when it arrives."""
    from tracekit.ingest.pipe import read_pipe  # noqa: PLC0415  (it imports this module's parts)

    done = Imported(files_found=1)
    with _scratch() as name:
        parsed = read_pipe(lines, Path(name) / "pipe.jsonl", content=content, clock=clock)
        _load(store, [parsed], done, clock)
    return done


def import_stamped(
    arrivals: Iterable[tuple[int, bytes]], store: str | None = None, *, content: bool = False, clock: Callable[[], int] = now_ns
) -> Imported:
    """Import stream-json that somebody else has stamped: lines, each with the Unix nanosecond of its arrival."""
    from tracekit.ingest.pipe import read_stamped  # noqa: PLC0415  (it imports this module's parts)

    done = Imported(files_found=1)
    with _scratch() as name:
        parsed = read_stamped(arrivals, Path(name) / "pipe.jsonl", content=content, clock=clock)
        _load(store, [parsed], done, clock)
    return done


def _nothing(files: Sequence[Path], jobs: Sequence[Job], done: Imported) -> None:
    if jobs or done.files_unchanged:
        return
    if not files:
        message = "nothing to import: the folder holds no .jsonl, .json or .pb file; name a folder with sessions"
    else:
        message = f"nothing to import: none of the {len(files)} files is a transcript, stream-json or OTLP (first: {files[0]})"
    raise TracekitError(message, slug="nothing-to-import")


def _ledger(store: str | None) -> "dict[str, LedgerEntry]":
    from tracekit.store import default_store, open_store, store_path  # noqa: PLC0415  (duckdb is heavy; workers import this module)

    url = store or default_store()
    if not store_path(url).exists():
        return {}
    with open_store(url) as opened:
        return opened.ledger()


def _plan(files: Iterable[Path], ledger: "dict[str, LedgerEntry]", done: Imported, folder: Path, *, content: bool) -> list[Job]:
    """One job a file; OTLP bodies of one folder are one job, since logs and spans explain each other."""
    jobs: list[Job] = []
    groups: dict[str, list[Target]] = {}
    changed: set[str] = set()
    for path in files:
        known = ledger.get(str(path))
        try:
            form = Form(known.form) if known is not None and _unchanged(path, known) else recognise(path)
        except OSError as error:
            _unreadable(path, error, done)
            continue
        if form is None:
            done.files_unknown.append(str(path))
        elif form in {Form.OTLP_JSON, Form.OTLP_PROTOBUF}:
            group = str(path.parent)
            groups.setdefault(group, []).append(_target(path, form, known, resume=False))
            if known is None or not _unchanged(path, known):
                changed.add(group)
        elif known is not None and _unchanged(path, known):
            done.files_unchanged += 1
        else:
            target = _target(path, form, known, resume=form in {Form.TRANSCRIPT, Form.SPOOL})
            jobs.append(Job(form, (target,), str(folder / f"{len(jobs)}.jsonl"), content))
    for group, targets in groups.items():
        if group in changed:
            jobs.append(Job(targets[0].form, tuple(targets), str(folder / f"{len(jobs)}.jsonl"), content))
        else:
            done.files_unchanged += len(targets)
    return jobs


def _unreadable(path: Path, error: OSError, done: Imported) -> None:
    reason = error.strerror or str(error)
    if done.files_found == 1:
        raise TracekitError(f"cannot read {path}: {reason}; check its permissions", slug="path-unreadable") from error
    done.problems["unreadable file"] += 1
    done.problem_lines.append((str(path), 0, "unreadable file", reason))


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def _unchanged(path: Path, known: "LedgerEntry") -> bool:
    status = path.stat()
    return (status.st_size, status.st_mtime_ns, status.st_ino) == (known.size, known.modified_ns, known.inode)


def _target(path: Path, form: str, known: "LedgerEntry | None", *, resume: bool) -> Target:
    """From where a file is read: from the ledger's mark when it has only grown, else from its first byte."""
    name = str(path)
    if known is None:
        return Target(file_id(name), name, form)
    if resume and known.form == form and _has_grown(path, known):
        return Target(known.file_id, name, form, known.resume_at, known.resume_line, known.resume_entries, known.read_to)
    return Target(known.file_id, name, form, expected_read_to=known.read_to)


def _has_grown(path: Path, known: "LedgerEntry") -> bool:
    with path.open("rb") as handle:
        size = os.fstat(handle.fileno()).st_size
        return size >= known.read_to and size >= known.size and head_digest(handle, min(known.size, HEAD_BYTES)) == known.head_digest


def _scratch() -> "tempfile.TemporaryDirectory[str]":
    try:
        return tempfile.TemporaryDirectory(prefix="tracekit-")
    except OSError as error:
        message = f"cannot make a temporary folder: {error.strerror or error}; free some space or set TMPDIR"
        raise TracekitError(message, slug="store-full") from error


def _batches(jobs: Sequence[Job], sizes: dict[str, int], progress: Progress | None, *, parallel: bool) -> Iterator[list[Parsed]]:
    """Parsed jobs, gathered until they are worth a transaction."""
    total, seen, held = sum(sizes.values()), 0, 0
    batch: list[Parsed] = []
    for parsed in _parse_all(jobs, total, parallel=parallel):
        batch.append(parsed)
        seen += sizes[parsed.segment]
        held += sizes[parsed.segment]
        if progress is not None:
            progress(seen, total)
        if held >= BATCH_BYTES:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _parse_all(jobs: Sequence[Job], total: int, *, parallel: bool) -> Iterator[Parsed]:
    workers = min(os.cpu_count() or 1, len(jobs)) if parallel else 1
    try:
        if workers < 2 or total < PARALLEL_BYTES:  # noqa: PLR2004  (two processes are the fewest that help)
            yield from map(parse, jobs)
            return
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            parsed = pool.map(parse, jobs)
            # The engine takes half a second to import: time that the workers need anyway.
            import_module("tracekit.store.duckdb")
            yield from parsed
    except OSError as error:
        message = f"cannot write the temporary files of the import: {error.strerror or error}; free some space or set TMPDIR"
        raise TracekitError(message, slug="store-full") from error


def _load(store: str | None, parsed: Sequence[Parsed], done: Imported, clock: Callable[[], int]) -> None:
    from tracekit.store import Batch, open_store  # noqa: PLC0415  (duckdb is heavy; workers import this module)

    reads = [read for one in parsed for read in one.reads]
    batch = Batch(
        segments=[Path(one.segment) for one in parsed],
        problems=[problem for one in parsed for problem in one.problems],
        entries=[_entry(read, clock()) for read in reads],
        replaces={read.target.file_id: (read.target.position, read.target.expected_read_to) for read in reads},
    )
    with open_store(store, write=True) as opened:
        done.files_late += opened.load(batch)
    names = {read.target.file_id: read.target.path for read in reads}
    for one in parsed:
        Path(one.segment).unlink()
        done.spans += one.spans
        done.sessions |= one.sessions
        for file, line, _, reason, detail in one.problems:
            done.problems[reason] += 1
            done.problem_lines.append((names.get(file, ""), line, reason, detail))
    for read in reads:
        done.files_read += 1
        done.bytes_read += max(0, read.size - read.target.position)
        done.entries += read.entries - read.target.entries
        done.forms[read.target.form] += 1


def _entry(read: Read, imported_ns: int) -> "LedgerEntry":
    from tracekit.store import LedgerEntry  # noqa: PLC0415

    return LedgerEntry(
        read.target.file_id,
        read.target.path,
        read.target.form,
        read.size,
        read.modified_ns,
        read.inode,
        read.head_digest,
        read.read_to,
        read.read_to_line,
        read.resume_at,
        read.resume_line,
        read.resume_entries,
        read.entries,
        imported_ns,
    )
