"""Whatever reads OpenTelemetry reads the spans, and tracekit makes the same boundaries of them."""

import base64
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format  # type: ignore[import-untyped, unused-ignore]
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.exporters.world import HOSTILE, at, session, stored, trace
from tracekit.ingest import import_paths
from tracekit.model import Span, Status, semconv
from tracekit.sources import otlp as source
from tracekit.store import SpanStore, open_store
from tracekit.testing import memory_store, request, turn
from tracekit_exporters import otlp

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
COLUMNS = "session_id, agent_id, boundary, key, parent_key, name, start_ns, start_slack_ns, end_ns, end_slack_ns, status, attributes"
Json = dict[str, Any]


def _boundaries(store: SpanStore) -> list[Json]:
    return store.rows(f"SELECT {COLUMNS} FROM boundaries ORDER BY session_id, boundary, key")  # noqa: S608


def _spans(text: str) -> list[Json]:
    bodies = [json.loads(line) for line in text.splitlines()]
    return [span for body in bodies for span in body["resourceSpans"][0]["scopeSpans"][0]["spans"]]


def _attributes(span: Json) -> Json:
    return {pair["key"]: pair["value"] for pair in span["attributes"]}


def _read(text: str, *, content: bool = False) -> list[Span]:
    found = list(source.read(text.encode(), content=content))
    assert [one for one in found if not isinstance(one, Span)] == []
    return [one for one in found if isinstance(one, Span)]


def test_a_session_as_it_is_written(golden: Callable[[str, str], None]) -> None:
    golden("exporters/otlp.jsonl", "".join(otlp.export(trace(session()))))


def test_the_official_reader_reads_every_line() -> None:
    lines = list(otlp.export(trace(session())))
    bodies = [json_format.Parse(line, ExportTraceServiceRequest()) for line in lines]
    spans = [span for body in bodies for group in body.resource_spans for scope in group.scope_spans for span in scope.spans]
    assert len(spans) == len(session())
    written = _spans("".join(lines))
    # Protobuf's own JSON has bytes in base64 where OTLP's has hex: what it read is the base64 of the hex.
    assert [base64.b64encode(span.trace_id).decode() for span in spans] == [span["traceId"] for span in written]
    assert [span.start_time_unix_nano for span in spans] == [int(span["startTimeUnixNano"]) for span in written]
    assert all(len(span["traceId"]) == 32 and len(span["spanId"]) == 16 for span in written)


def test_names_are_those_of_the_conventions() -> None:
    spans = {span["name"]: _attributes(span) for span in _spans("".join(otlp.export(trace(session()))))}
    chat = spans["chat claude-sonnet-4-5"]
    tool = spans["execute_tool mcp__files__read"]
    assert {"invoke_agent", "invoke_agent explore", "tools/call read"} <= spans.keys()
    assert tool["gen_ai.tool.call.id"] == {"stringValue": "toolu_2"}
    assert tool["error.type"] == {"stringValue": "ShellError"}
    assert spans["invoke_agent"]["gen_ai.conversation.id"] == {"stringValue": "7f3a"}
    assert chat["gen_ai.operation.name"] == {"stringValue": "chat"}
    assert not [name for attributes in spans.values() for name in attributes if "claude" in name]


def test_a_request_has_usage_and_times_as_the_conventions_count_them() -> None:
    (first, *_) = [span for span in _spans("".join(otlp.export(trace(session())))) if span["name"].startswith("chat")]
    own = _attributes(first)
    assert own["gen_ai.usage.input_tokens"] == {"intValue": "1110"}
    assert own["gen_ai.usage.output_tokens"] == {"intValue": "50"}
    assert own["gen_ai.response.time_to_first_chunk"] == {"doubleValue": 0.5}
    assert own["gen_ai.response.finish_reasons"] == {"arrayValue": {"values": [{"stringValue": "tool_use"}]}}
    assert own["tracekit.cost.usd"] == {"doubleValue": 0.0125}


def test_spans_stand_in_each_other() -> None:
    spans = _spans("".join(otlp.export(trace(session()))))
    known = {span["spanId"]: span["name"] for span in spans}
    above = {span["name"]: known[span["parentSpanId"]] for span in spans if "parentSpanId" in span}
    assert above["tools/call read"] == "execute_tool mcp__files__read"
    assert above["execute_tool Bash"] == "tool_schedule Bash"
    assert above["invoke_agent explore"] == "execute_tool Task"
    assert above["invoke_agent"] == "session"
    assert [span["name"] for span in spans if "parentSpanId" not in span] == ["session"]


def test_what_is_open_ends_for_readers_at_the_moment_of_the_export() -> None:
    (span,) = _spans("".join(otlp.export(trace([turn(at(0), None)]))))
    assert span["endTimeUnixNano"] == str(at(100))
    assert _read("".join(otlp.export(trace([turn(at(0), None)]))))[0].end_ns is None


def test_ids_are_the_same_every_time_and_differ_between_sessions() -> None:
    once, again = ("".join(otlp.export(trace(session()))) for _ in range(2))
    other = _spans("".join(otlp.export(trace(session("another")))))
    assert once == again
    assert {span["spanId"] for span in _spans(once)} & {span["spanId"] for span in other} == set()


def test_what_went_out_comes_in_as_it_was() -> None:
    with memory_store(session("one"), session("two")) as store:
        before, text = _boundaries(store), "".join(otlp.export(stored(store)))
    with memory_store(_read(text)) as store:
        assert _boundaries(store) == before


def test_a_line_holds_a_bounded_number_of_spans() -> None:
    many = [request(at(number), at(number + 1), key=f"req_{number}") for number in range(otlp.SPANS_PER_LINE + 1)]
    assert [len(_spans(line)) for line in otlp.export(trace(many))] == [otlp.SPANS_PER_LINE, 1]


def test_recordings_come_back_without_a_difference(tmp_path: Path) -> None:
    store = str(tmp_path / "store.duckdb")
    names = ("overlap", "subagent", "cut_mid_stream", "mcp", "hooks")
    import_paths([CAPTURES / name for name in names], store)
    with open_store(store) as opened:
        before, text = _boundaries(opened), "".join(otlp.export(stored(opened)))
    with memory_store(_read(text)) as again:
        assert _boundaries(again) == before


def test_a_sender_that_is_not_careful_leaves_no_content_and_no_secret() -> None:
    careless = {semconv.CONTENT: "prompt", "gen_ai.tool.call.arguments": "rm -rf", semconv.ERROR_TEXT: "key sk-ant-api03-abcdefghijkl"}
    (span,) = _spans("".join(otlp.export(trace([turn(at(0), at(1), status=Status.CANCELLED)]))))
    span["attributes"] += [{"key": name, "value": {"stringValue": value}} for name, value in careless.items()]
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    (found,) = _read(body)
    assert found.status == Status.CANCELLED
    assert dict(found.attributes) == {semconv.ERROR_TEXT: "key [secret]"}
    (found,) = _read(body, content=True)
    assert found.attributes[semconv.CONTENT] == "prompt"


def _hostile(text: str) -> Iterable[Span]:
    return (
        one._replace(name=text, key=f"{one.key}{text}", attributes={**one.attributes, semconv.ERROR_TEXT: text})
        for one in session(f"s{text}")
    )


@pytest.mark.parametrize("text", [text for text in HOSTILE if len(text) < 1_000], ids=str)
def test_hostile_text_is_inert_and_whole(text: str) -> None:
    hostile = [one for one in _hostile(text) if one.boundary != "session"]
    written = "".join(otlp.export(trace(hostile)))
    assert written.isascii()
    assert not set(written) & {"\x1b", "\x7f"}
    assert {one.name for one in _read(written)} == {text}
