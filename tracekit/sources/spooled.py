"""The spool's own lines: observations that need no translation, and OTLP bodies kept as they came."""

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from tracekit.model import Problem, Span
from tracekit.sources.fields import is_object
from tracekit.sources.lines import Line
from tracekit.sources.otlp import Kept, Place, read_kept

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
    yield from read_kept((line if isinstance(line, Problem) else _body(line) for line in lines), content=content)


def _body(line: Line) -> Kept | Problem:
    try:
        record = orjson.loads(line.raw)
        # Metrics say nothing of a single boundary.
        body = b"" if record["signal"] == "metrics" else base64.b64decode(record["body"], validate=True)
        return Kept(record["signal"], record["content_type"], body, Place(0, line.number, line.position))
    except (orjson.JSONDecodeError, KeyError, TypeError, binascii.Error) as error:
        return Problem(line.number, line.position, "truncated line" if line.ended else "unfinished last line", str(error))
