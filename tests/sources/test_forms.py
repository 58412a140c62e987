"""The form of a file is told by what is in it, whatever its name."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from tests.sources.otlp.bodies import event as otlp_event
from tests.sources.otlp.bodies import logs, logs_json, metrics, own, traces, traces_json
from tests.sources.stream_json import told as stream
from tests.sources.transcript import written
from tracekit.errors import TracekitError
from tracekit.model import Boundary, Problem, Source, Span
from tracekit.sources import Form, recognise
from tracekit.sources.forms import FORMS, HEAD_BYTES, recognise_head
from tracekit.sources.lines import Line, read_lines
from tracekit.spool import span_row

SPAN = own("interaction", 1, 0, 900, {"interaction.sequence": 1})
PROMPTED = otlp_event("user_prompt", 50, {"prompt_length": "12"}, under=1)
RESOURCE = json.dumps({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": []}]}).encode()


def row(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


SUMMARY = {"type": "summary", "summary": "a title", "leafUuid": "x"}
OBSERVED = span_row(Span(Source.GATEWAY, written.SESSION, Boundary.MODEL_REQUEST, "req_1", 1, 2))
BODY = {"signal": "traces", "content_type": "application/x-protobuf", "received_ns": 1, "body": "AAAA"}
ARRIVED = {"arrival_ns": 1, "line": stream.init()}

EXAMPLES = {
    "a transcript": (written.data_of([written.prompt(0), written.said(1, written.words())]), Form.TRANSCRIPT),
    "a transcript that begins with a title": (row(SUMMARY) + row(written.prompt(0)), Form.TRANSCRIPT),
    "a transcript that begins with a queue": (row({"type": "queue-operation", "sessionId": "s"}), Form.TRANSCRIPT),
    "a transcript behind kinds that say nothing": (row({"type": "mode"}) + row(written.prompt(0)), Form.TRANSCRIPT),
    "a transcript behind a broken line": (b'{"type": "us\n' + row(written.prompt(0)), Form.TRANSCRIPT),
    "a transcript behind NUL bytes": (b"\0" * 40 + b"\n" + row(written.prompt(0)), Form.TRANSCRIPT),
    "a transcript behind null": (b"null\n" + row(written.prompt(0)), Form.TRANSCRIPT),
    "a transcript behind a type that is a list": (row({"type": ["user"], "sessionId": "s"}) + row(written.prompt(0)), Form.TRANSCRIPT),
    "a transcript with a byte order mark": (b"\xef\xbb\xbf" + row(written.prompt(0)), Form.TRANSCRIPT),
    "a transcript with ends of lines of Windows": (row(written.prompt(0)).replace(b"\n", b"\r\n") * 2, Form.TRANSCRIPT),
    "a transcript of one line without its end": (row(written.prompt(0)).rstrip(), Form.TRANSCRIPT),
    "stream-json": (row(stream.init()) + row(stream.result()), Form.STREAM_JSON),
    "stream-json that was recorded": (row(ARRIVED), Form.STREAM_JSON),
    "a document of stream-json": (json.dumps([stream.init(), stream.result()], indent=2).encode(), Form.STREAM_JSON),
    "OTLP spans in JSON": (row(traces_json(SPAN)), Form.OTLP_JSON),
    "OTLP events in JSON": (row(logs_json(PROMPTED)), Form.OTLP_JSON),
    "OTLP metrics in JSON": (row({"resourceMetrics": []}), Form.OTLP_JSON),
    "a document of OTLP": (json.dumps(traces_json(SPAN), indent=2).encode(), Form.OTLP_JSON),
    "OTLP spans in protobuf": (traces(SPAN), Form.OTLP_PROTOBUF),
    "OTLP events in protobuf": (logs(PROMPTED), Form.OTLP_PROTOBUF),
    "observations": (row(OBSERVED), Form.SPOOL),
    "bodies as they came": (row(BODY), Form.OTLP_SPOOL),
}

OTHERS = {
    "an empty file": b"",
    "blank lines": b"\n \r\n\t\n",
    "NUL bytes": b"\0" * 4096,
    "a PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n",
    "a picture": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "an archive": b"PK\x03\x04\x14\0\0\0\x08\0",
    "a text": b"2026-11-30 12:00:00 INFO started\n17\n2026-11-30 12:00:01 INFO stopped\n",
    "a table": b"type,sessionId,uuid\nuser,s,u\n",
    "a document of another agent": json.dumps({"sessionId": "s", "messages": [{"type": "user"}]}, indent=2).encode(),
    "JSON lines of something else": row({"timestamp": "2026-11-30", "type": "response_item"}) + row({"id": 7}),
    "hook payloads": row({"session_id": "s", "hook_event_name": "Stop"}),
    "a document of numbers": b"[1, 2, 3]",
    "JSON that never ends": b"[" * 100_000,
}


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x", "x.txt"])
@pytest.mark.parametrize("example", EXAMPLES)
def test_a_form_is_told_whatever_the_name(example: str, name: str, tmp_path: Path) -> None:
    data, form = EXAMPLES[example]
    path = tmp_path / name
    path.write_bytes(data)
    assert recognise(path) is form


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.pb", "x"])
@pytest.mark.parametrize("example", OTHERS)
def test_what_is_none_of_the_forms_is_none_even_under_their_names(example: str, name: str) -> None:
    assert recognise_head(OTHERS[example], name=name) is None


def test_every_form_has_an_example() -> None:
    assert {form for _, form in EXAMPLES.values()} == set(Form)
    assert set(FORMS) == set(Form) - {Form.OTLP_PROTOBUF}


def test_metrics_in_protobuf_are_told_with_the_help_of_their_name() -> None:
    assert recognise_head(metrics(), name="1.metrics.pb") is Form.OTLP_PROTOBUF


def test_a_document_of_otlp_is_told_by_its_beginning() -> None:
    head = RESOURCE[:40] + b"x" * HEAD_BYTES
    assert recognise_head(head, name="x.json") is Form.OTLP_JSON


def test_a_transcript_is_told_even_where_its_first_line_is_longer_than_what_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(row(written.prompt(0, "x" * (2 * HEAD_BYTES))))
    assert recognise(path) is Form.TRANSCRIPT


def test_a_line_over_the_limit_that_nothing_else_explains_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_a_small_limit(handle: BinaryIO) -> Iterator[Line | Problem]:
        return read_lines(handle, limit=HEAD_BYTES)

    monkeypatch.setattr("tracekit.sources.forms.read_lines", with_a_small_limit)
    path = tmp_path / "x.jsonl"
    long = b'{"type": "user", "x": "' + b"x" * (2 * HEAD_BYTES) + b'"}\n'
    path.write_bytes(long)
    with pytest.raises(TracekitError) as told:
        recognise(path)
    assert told.value.slug == "line-too-long"
    path.write_bytes(long + row(written.prompt(0)))
    assert recognise(path) is Form.TRANSCRIPT


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        recognise(tmp_path / "missing.jsonl")
