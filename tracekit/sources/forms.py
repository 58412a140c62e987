"""Which form a file has, told by its content and never by its name alone."""

import io
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from tracekit.sources.lines import Line, objects, read_lines
from tracekit.sources.otlp import looks_like_otlp_json, looks_like_otlp_protobuf
from tracekit.sources.stream_json import looks_like_stream_json
from tracekit.sources.transcript import looks_like_transcript

HEAD_BYTES: Final = 256 * 1024
"""How much of a file is looked at to tell its form."""


class Form(StrEnum):
    """A form that can be read."""

    TRANSCRIPT = "transcript"
    STREAM_JSON = "stream_json"
    OTLP_JSON = "otlp_json"
    OTLP_PROTOBUF = "otlp_protobuf"


FORMS: Final[Mapping[Form, Callable[[Mapping[str, Any]], bool]]] = {
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
    return recognise_head(head, name=path.name)


def recognise_head(head: bytes, *, name: str = "") -> Form | None:
    """Tell the form by the first bytes of a file."""
    if looks_like_otlp_protobuf(head, name):
        return Form.OTLP_PROTOBUF
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n\0")
    if text[:1] == b"[" or (text[:1] == b"{" and b"\n" not in text.strip()[:-1] and not name.endswith(".jsonl")):
        return _whole_document(head)
    return _json_lines(head)


def _json_lines(head: bytes) -> Form | None:
    """The first object that tells decides: broken lines before it, and kinds that say nothing, are passed over."""
    for line in read_lines(io.BytesIO(head)):
        found = objects(line) if isinstance(line, Line) else []
        for _, entry in found if isinstance(found, list) else []:
            for form, tells in FORMS.items():
                if tells(entry):
                    return form
    return None


def _whole_document(head: bytes) -> Form | None:
    """A document of its own: OTLP bodies and arrays of stream-json lines. Only its beginning may be at hand."""
    if form := _json_lines(head):
        return form
    start = head[:4096]
    if any(name in start for name in (b'"resourceSpans"', b'"resourceLogs"', b'"resourceMetrics"')):
        return Form.OTLP_JSON
    if head.lstrip()[:1] == b"[" and b'"session_id"' in head and b'"type"' in start:
        return Form.STREAM_JSON
    return None
