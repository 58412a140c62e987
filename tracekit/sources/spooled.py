"""The spool's own lines: observations that need no translation, and OTLP bodies kept as they came."""

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from tracekit.model import Problem, Span
from tracekit.sources.fields import is_object
from tracekit.sources.lines import Line
from tracekit.sources.otlp import read_group

_ROW: Final = frozenset(
    {"source", "session_id", "boundary", "key", "start_ns", "start_slack_ns", "end_ns", "end_slack_ns", "status", "attributes"}
)
_BODY: Final = frozenset({"signal", "content_type", "received_ns", "body"})


def looks_like_spool(first_object: Mapping[str, Any]) -> bool:
    """Whether a JSON object is an observation as a recorder writes it."""
    return first_object.keys() >= _ROW


def looks_like_spooled_body(first_object: Mapping[str, Any]) -> bool:
    """Whether a JSON object is an OTLP body as the receiver keeps it."""
    return first_object.keys() >= _BODY


def read_rows(lines: Iterable[Line | Problem]) -> Iterator[tuple[Line, str] | Problem]:
    """Give each line that holds an observation, with its session; the store loads the line as it stands."""
    for line in lines:
        if isinstance(line, Problem):
            yield line
            continue
        try:
            row = orjson.loads(line.raw)
        except orjson.JSONDecodeError as error:
            # A recorder writes a line at once: one without its newline is still being written, or was torn by a crash.
            yield Problem(line.number, line.position, "truncated line" if line.ended else "unfinished last line", error.msg)
            continue
        if is_object(row) and row.keys() >= _ROW:
            yield line, str(row["session_id"])
        else:
            yield Problem(line.number, line.position, "not a spool record")


def read_bodies(lines: Iterable[Line | Problem], *, content: bool = False) -> Iterator[Span | Problem]:
    """Understand the bodies of a receiver's file, all together: spans and events explain each other."""
    problems: list[Problem] = []
    bodies: list[tuple[str, bytes]] = []
    positions: dict[str, Line] = {}
    for line in lines:
        if isinstance(line, Problem):
            problems.append(line)
            continue
        body = _body(line)
        if isinstance(body, Problem):
            problems.append(body)
        else:
            positions[str(line.number)] = line
            bodies.append((str(line.number), body))
    yield from problems
    for name, item in read_group(bodies, content=content):
        line = positions[name]
        yield (
            item._replace(line=line.number, position=line.position) if isinstance(item, Problem) else item._replace(position=line.position)
        )


def _body(line: Line) -> bytes | Problem:
    try:
        record = orjson.loads(line.raw)
        return base64.b64decode(record["body"], validate=True) if record["signal"] != "metrics" else b""
    except (orjson.JSONDecodeError, KeyError, TypeError, binascii.Error) as error:
        return Problem(line.number, line.position, "truncated line" if line.ended else "unfinished last line", str(error))
