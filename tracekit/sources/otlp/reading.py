"""From bodies to observations: every record is decoded first, because spans and events of one thing come in different bodies."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

import orjson

from tracekit.model import Problem, Span
from tracekit.sources.lines import Line, objects
from tracekit.sources.otlp import agents, claude_code, own
from tracekit.sources.otlp.claude_code.names import INTERACTION
from tracekit.sources.otlp.json_form import decode_json
from tracekit.sources.otlp.protobuf import decode_protobuf, decode_request, looks_like_otlp_protobuf
from tracekit.sources.otlp.records import Place, Record, SpanRecord
from tracekit.sources.otlp.values import text
from tracekit.sources.otlp.wire import Signal

_BOM: Final = b"\xef\xbb\xbf"
_END_OF_TIME: Final = 1 << 63
"""Nanoseconds that a signed integer of 64 bits no longer holds. The end of a span may be missing, its start may not."""


class _Decoded(NamedTuple):
    """What a body holds that is of interest."""

    records: list[Record]
    problems: list[tuple[Place, Problem]]


def read(
    chunks: bytes | Iterable[bytes],
    *,
    content: bool = False,
    start_position: int = 0,
    start_line: int = 1,
) -> Iterator[Span | Problem]:
    """Read one file: a protobuf body, a JSON document, or JSON lines.

    Spans and events are joined within what is read. Of a file that has grown, give the new part with the position and the
    line number of its beginning.
    """
    whole = chunks if isinstance(chunks, bytes) else b"".join(chunks)
    return _told(_decode(whole, 0, "", start_position, start_line), content=content)


def read_protobuf(body: bytes, *, name: str = "", content: bool = False) -> Iterator[Span | Problem]:
    """Read one protobuf body. `name`, the file's, helps only where the bytes do not tell traces from logs."""
    return _told(_decode_protobuf(body, 0, name), content=content)


def read_json_lines(lines: Iterable[tuple[int, int, bytes]], *, content: bool = False) -> Iterator[Span | Problem]:
    """Read JSON lines, a body each. A line comes as its number, its byte position and its bytes without the newline."""
    return _told(_sorted_out(chain.from_iterable(_decode_line(Line(*line), 0) for line in lines), 0), content=content)


def read_group(bodies: Iterable[tuple[str, bytes]], *, content: bool = False) -> Iterator[tuple[str, Span | Problem]]:
    """Read bodies that belong together, of either form, and give each observation with the name of its body.

    Claude Code sends its spans and its events in different bodies, and only together do they say which prompt a span
    belongs to, which request issued a tool, and what a request cost: read all files of a folder in one call.
    """
    names: list[str] = []
    records: list[Record] = []
    for index, (name, body) in enumerate(bodies):
        names.append(name)
        decoded = _decode(body, index, name, 0, 1)
        records.extend(decoded.records)
        yield from ((name, problem) for _, problem in decoded.problems)
    yield from ((names[place.body], found) for place, found in _observe(records, content=content))


class Kept(NamedTuple):
    """A body as a receiver kept it, and where it stands in the receiver's file."""

    signal: str
    """`traces`, `logs` or `metrics`."""
    content_type: str
    body: bytes
    place: Place


def read_kept(bodies: Iterable[Kept | Problem], *, content: bool = False) -> Iterator[Span | Problem]:
    """Read bodies that belong together and say what they carry: they are decoded without being looked at first.

    Every observation, and every problem, stands where its body stands.
    """
    records: list[Record] = []
    for kept in bodies:
        if isinstance(kept, Problem):
            yield kept
            continue
        decoded = _decode_kept(kept)
        records.extend(decoded.records)
        yield from (problem for _, problem in decoded.problems)
    yield from (found for _, found in _observe(records, content=content))


# ------------------------------------------------------------------------------------------------------------ decoding


def _decode_kept(kept: Kept) -> _Decoded:
    place = kept.place
    if kept.signal == Signal.METRICS or not kept.body:
        return _Decoded([], [])
    if "json" not in kept.content_type:
        found = decode_request(kept.signal, kept.body, place)
        if found is not None:
            return _sorted_out(found, place.body)
        return _Decoded([], [(place, Problem(place.line, place.position, "not OTLP", f"no {kept.signal} in protobuf"))])
    try:
        return _sorted_out(decode_json(orjson.loads(kept.body), place), place.body)
    except orjson.JSONDecodeError:
        # The body is whole, whatever it ends with.
        return _moved(_decode(kept.body + b"\n", place.body, "", 0, 1), place)


def _moved(decoded: _Decoded, place: Place) -> _Decoded:
    """What was read of a body by itself, set to where the body stands."""
    records = [record._replace(place=place) for record in decoded.records]
    return _Decoded(records, [(place, problem._replace(line=place.line, position=place.position)) for _, problem in decoded.problems])


def _decode(body: bytes, index: int, name: str, position: int, line: int) -> _Decoded:
    start = body[:64].removeprefix(_BOM).lstrip()
    if not start:
        return _Decoded([], [])
    # A protobuf body begins with a newline, and may go on with a length that is a brace.
    if start[:1] in (b"{", b"[") and not (body.startswith(b"\n") and looks_like_otlp_protobuf(body, name)):
        return _sorted_out(_decode_json(body, index, position, line), index)
    return _decode_protobuf(body, index, name)


def _decode_protobuf(body: bytes, index: int, name: str) -> _Decoded:
    found = decode_protobuf(body, name=name, index=index)
    if found is None:
        return _Decoded([], [(Place(index), Problem(0, 0, "not OTLP", f"{len(body)} bytes are neither an OTLP protobuf body nor JSON"))])
    return _sorted_out(found, index)


def _decode_json(body: bytes, index: int, position: int, line: int) -> Iterator[Record | Problem]:
    first, newline, _ = body.partition(b"\n")
    if newline and first.removeprefix(_BOM).strip() in (b"{", b"["):
        return _document(body, Place(index, line, position))
    return chain.from_iterable(_decode_line(found, index) for found in _lines(body, position, line))


def _document(body: bytes, place: Place) -> Iterator[Record | Problem]:
    """One body that is written over many lines, as people do."""
    try:
        document = orjson.loads(body.removeprefix(_BOM))
    except orjson.JSONDecodeError as error:
        return iter([Problem(place.line, place.position, "not JSON", str(error))])
    return decode_json(document, place)


def _lines(body: bytes, position: int, number: int) -> Iterator[Line]:
    at = 0
    while at < len(body):
        newline = body.find(b"\n", at)
        end = len(body) if newline < 0 else newline
        yield Line(number, position + at, body[at:end], ended=newline >= 0)
        at, number = end + 1, number + 1


def _decode_line(line: Line, index: int) -> Iterator[Record | Problem]:
    found = objects(line)
    if isinstance(found, Problem):
        yield found
        return
    for position, value in found:
        yield from decode_json(value, Place(index, line.number, position))


def _sorted_out(found: Iterable[Record | Problem], index: int) -> _Decoded:
    """Put problems aside, and leave out what nothing here reads: log records of others."""
    decoded = _Decoded([], [])
    records = decoded.records
    for item in found:
        if isinstance(item, SpanRecord):
            timed = 0 < item.start_ns < _END_OF_TIME and 0 <= item.end_ns < _END_OF_TIME
        elif isinstance(item, Problem):
            decoded.problems.append((Place(index, item.line, item.position), item))
            continue
        elif claude_code.is_claude_code(item):
            timed = 0 < item.time_ns < _END_OF_TIME
        else:
            continue
        if timed:
            records.append(item)
        else:
            decoded.problems.append((item.place, Problem(item.place.line, item.place.position, "no timestamp", item.name)))
    return decoded


# ----------------------------------------------------------------------------------------------------------- observing


def _told(decoded: _Decoded, *, content: bool) -> Iterator[Span | Problem]:
    yield from (problem for _, problem in decoded.problems)
    yield from (found for _, found in _observe(decoded.records, content=content))


def _observe(records: Sequence[Record], *, content: bool) -> Iterator[tuple[Place, Span | Problem]]:
    clients: list[Record] = []
    ours: list[SpanRecord] = []
    others: list[SpanRecord] = []
    for record in records:
        if claude_code.is_claude_code(record):
            clients.append(record)
        elif isinstance(record, SpanRecord):
            (ours if own.is_own(record) else others).append(record)
    turns = (record for record in clients if isinstance(record, SpanRecord) and record.name == INTERACTION and record.parent_id)
    hosts = {record.parent: session for record in turns if (session := text(record.attributes, "session.id"))}
    yield from own.observe(ours, content=content)
    yield from claude_code.observe(clients, content=content)
    yield from agents.observe(others, hosts, content=content)
