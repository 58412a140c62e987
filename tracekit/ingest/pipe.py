"""A stream from a pipe: stamped line by line as it arrives, and stored when it ends."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tracekit.ingest.parse import Parsed, Read, Target, file_id, keep
from tracekit.model import Problem, Span
from tracekit.sources import Form
from tracekit.sources.forms import recognise_head
from tracekit.sources.lines import Line
from tracekit.sources.stream_json import read as read_stream_json
from tracekit.sources.transcript import read as read_transcript


def read_pipe(lines: Iterable[bytes], segment: Path, *, content: bool, clock: Callable[[], int]) -> Parsed:
    """Read lines until the pipe ends or its reader is interrupted, each stamped when it arrives; what came until then counts."""
    return read_stamped(((clock(), raw) for raw in lines), segment, content=content, clock=clock)


def read_stamped(arrivals: Iterable[tuple[int, bytes]], segment: Path, *, content: bool, clock: Callable[[], int]) -> Parsed:
    """Read lines that come with the Unix nanosecond of their arrival.

    A transcript that is piped in is known by its digest, so that piping it twice adds nothing.
    """
    kept: list[tuple[int, int, bytes, int | None]] = []
    digest, position = hashlib.sha256(), 0
    try:
        for number, (arrived_ns, raw) in enumerate(arrivals, start=1):
            kept.append((number, position, raw.removesuffix(b"\n"), arrived_ns))
            digest.update(raw)
            position += len(raw)
    except KeyboardInterrupt:
        pass  # the pipe was cut by its reader: what arrived is what there is
    form = recognise_head(b"\n".join(raw for _, _, raw, _ in kept[:200])) or Form.STREAM_JSON
    path = f"pipe:{digest.hexdigest()[:16]}"
    target = Target(file_id(path), path, form)
    parsed = Parsed(str(segment))
    with segment.open("wb") as handle:
        for item in _read(form, kept, content=content):
            keep(item, target.file_id, parsed, handle)
    count = len(kept)
    parsed.reads.append(Read(target, position, clock(), 0, digest.hexdigest()[:32], position, count + 1, 0, 1, 0, count))
    return parsed


def _read(form: Form, kept: list[tuple[int, int, bytes, int | None]], *, content: bool) -> Iterator[Span | Problem]:
    if form is Form.TRANSCRIPT:
        return read_transcript((Line(number, position, raw) for number, position, raw, _ in kept), content=content)
    return read_stream_json(iter(kept), content=content)
