"""Which form a file has, told by its content and never by its name alone."""

import io
from collections.abc import Callable, Mapping
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

from tracekit.errors import TracekitError
from tracekit.model import Problem
from tracekit.sources.lines import Line, objects, read_lines
from tracekit.sources.otlp import looks_like_otlp_json, looks_like_otlp_protobuf
from tracekit.sources.spooled import looks_like_spool, looks_like_spooled_body
from tracekit.sources.stream_json import looks_like_stream_json
from tracekit.sources.transcript import looks_like_transcript

HEAD_BYTES: Final = 256 * 1024
"""How much of a file is looked at to tell its form."""


_BLANK: Final = b"\xef\xbb\xbf \t\r\n\0"
_LINES_TRIED: Final = 100
"""Lines that are looked at where the first is longer than the head."""


class Form(StrEnum):
    """A form that can be read."""

    TRANSCRIPT = "transcript"
    STREAM_JSON = "stream_json"
    OTLP_JSON = "otlp_json"
    OTLP_PROTOBUF = "otlp_protobuf"
    SPOOL = "spool"
    OTLP_SPOOL = "otlp_spool"


FORMS: Final[Mapping[Form, Callable[[Mapping[str, Any]], bool]]] = {
    Form.SPOOL: looks_like_spool,
    Form.OTLP_SPOOL: looks_like_spooled_body,
    Form.OTLP_JSON: looks_like_otlp_json,
    Form.STREAM_JSON: looks_like_stream_json,
    Form.TRANSCRIPT: looks_like_transcript,
}
"""The forms made of JSON objects, each with what tells it by one object; the narrow ones come first."""


def recognise(path: Path) -> Form | None:
    """Tell the form of a file; None where it is none of ours.

    Raises:
        OSError: The file cannot be opened or read.
    """
    with path.open("rb") as handle:
        head = handle.read(HEAD_BYTES)
        form = recognise_head(head, name=path.name)
        if form is None and len(head) == HEAD_BYTES and b"\n" not in head and head.lstrip(_BLANK)[:1] in b"{[":
            return _past_long_lines(handle)
    return form


def recognise_head(head: bytes, *, name: str = "") -> Form | None:
    """Tell the form by the first bytes of a file."""
    if looks_like_otlp_protobuf(head, name):
        return Form.OTLP_PROTOBUF
    return _json_lines(head) or _document(head)


def _past_long_lines(handle: BinaryIO) -> Form | None:
    """Look further where the first line is longer than the head.

    Raises:
        TracekitError: `line-too-long` where nothing but lines over the limit was found.
    """
    longest: Problem | None = None
    for line in islice(read_lines(handle), _LINES_TRIED):
        if isinstance(line, Problem):
            longest = longest or line
        elif form := _form_of(line):
            return form
    if longest is not None:
        where = f"{handle.name}:{longest.line}"
        message = f"{where}: the line is {longest.detail}, and no other line tells what the file is; split the file or leave it out"
        raise TracekitError(message, slug="line-too-long")
    return None


def _json_lines(head: bytes) -> Form | None:
    """The first object that tells decides: broken lines before it, and kinds that say nothing, are passed over."""
    lines = (line for line in read_lines(io.BytesIO(head)) if isinstance(line, Line))
    return next((form for line in lines if (form := _form_of(line))), None)


def _form_of(line: Line) -> Form | None:
    found = objects(line)
    entries = found if isinstance(found, list) else []
    return next((form for _, entry in entries for form, tells in FORMS.items() if tells(entry)), None)


def _document(head: bytes) -> Form | None:
    """One JSON value over many lines, or of one that is longer than the head: an OTLP body, or an array of stream-json lines."""
    start = head.lstrip(_BLANK)[:4096]
    if start[:1] in {b"{", b"["} and any(name in start for name in (b'"resourceSpans"', b'"resourceLogs"', b'"resourceMetrics"')):
        return Form.OTLP_JSON
    if start[:1] == b"[" and b'"session_id"' in head and b'"type"' in start:
        return Form.STREAM_JSON
    return None
