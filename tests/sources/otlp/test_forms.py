"""Both forms of a body, and what is wrong with some of them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from tests.sources.otlp.bodies import SentEvent, SentSpan, at, event, line, logs, logs_json, metrics, own, pairs_of, traces, traces_json
from tracekit.model import Problem, Span
from tracekit.sources.otlp import (
    decode_protobuf,
    looks_like_otlp_json,
    looks_like_otlp_protobuf,
    read,
    read_group,
    read_json_lines,
    read_protobuf,
)
from tracekit.sources.otlp.json_form import decode_json
from tracekit.sources.otlp.records import Place

TURN = own("interaction", 1, 0, 900, {"interaction.sequence": 1})
REQUEST = own(
    "llm_request",
    2,
    100,
    800,
    {
        "request_id": "req_1",
        "model": "m-1",
        "success": True,
        "attempt": 1,
        "ttft_ms": 200,
        "gen_ai.response.finish_reasons": ["tool_use"],
        "input_tokens": 12,
    },
    parent=1,
    events=[(110, "gen_ai.request.attempt", {"attempt": 1})],
)
PROMPTED = event("user_prompt", 50, {"prompt_length": "12"}, under=1)

scalars = st.one_of(
    st.text(max_size=20),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.binary(max_size=8),
)
values = st.recursive(
    st.one_of(scalars, st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)
attributes = st.dictionaries(st.text(max_size=10), values, max_size=5)


def spans(found: Any) -> list[Span]:
    held = list(found)
    assert all(isinstance(item, Span) for item in held), held
    return held


def problems(found: Any) -> list[Problem]:
    return [item for item in found if isinstance(item, Problem)]


def test_a_protobuf_body_that_begins_like_json_is_read_as_protobuf() -> None:
    def body(padding: int) -> bytes:
        says = {"openinference.span.kind": "LLM"}
        return traces(SentSpan("", 1, 0, 9, says, scope="", resource={"a": "x" * padding}))

    (like_json,) = [found for found in map(body, range(40)) if found.startswith(b"\n{")]
    assert [span.boundary for span in spans(read(like_json))] == ["model_request"]
    assert [name for name, span in read_group([("a.pb", like_json)]) if isinstance(span, Span)] == ["a.pb"]


def test_a_protobuf_body_with_an_attribute_that_is_no_text_is_a_problem() -> None:
    body = traces(own("interaction", 1, 0, 9, {"note": "abcd"})).replace(b"abcd", b"ab\xff\xfe")
    assert [problem.reason for problem in problems(read(body))] == ["not OTLP"]


@given(st.lists(st.tuples(st.sampled_from(["", "a", "é", "gen_ai.usage.input_tokens", "n" * 127, "n" * 128]), values), max_size=8))
def test_an_attribute_reads_the_same_when_its_name_was_seen_before(pairs: list[tuple[str, Any]]) -> None:
    from opentelemetry.proto.common.v1.common_pb2 import KeyValue

    from tracekit.sources.otlp.messages import attributes_of, value_of

    raw = [bytes(pair.SerializeToString()) for pair in pairs_of(dict(pairs))]
    library = {pair.key: value_of(pair.value) for pair in map(KeyValue.FromString, raw)}
    assert attributes_of(raw) == {name: value for name, value in library.items() if value is not None}
    assert attributes_of(raw) == attributes_of(raw)


@given(st.binary(max_size=40))
def test_bytes_that_are_no_attribute_are_told(noise: bytes) -> None:
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped, unused-ignore]
    from opentelemetry.proto.common.v1.common_pb2 import KeyValue

    from tracekit.sources.otlp.messages import attributes_of, value_of

    known = bytes(KeyValue(key="a").SerializeToString())
    for raw in (noise, known + noise, known + b"\x12" + bytes([len(noise)]) + noise):
        try:
            pair = KeyValue.FromString(raw)
        except DecodeError:
            with pytest.raises(DecodeError):
                attributes_of([known, raw])
        else:
            value = value_of(pair.value)
            assert repr(attributes_of([known, raw])) == repr({} if value is None else {pair.key: value})


def test_a_body_reads_the_same_in_protobuf_and_in_json() -> None:
    from_protobuf = [span for _, span in read_group([("a.logs.pb", logs(PROMPTED)), ("b.traces.pb", traces(TURN, REQUEST))])]
    for exact in (True, False):
        text = line(logs_json(PROMPTED, exact=exact)) + line(traces_json(TURN, REQUEST, exact=exact))
        from_json = spans(read(text))
        assert [span._replace(position=0) for span in from_json] == [item._replace(position=0) for item in from_protobuf]
    assert len(from_protobuf) == 2


@given(attributes, attributes)
def test_values_of_every_kind_decode_alike(held: dict[str, Any], resource: dict[str, Any]) -> None:
    sent = SentSpan("any", 7, 1, 2, held, parent=3, events=[(1.5, "moment", held)], resource=resource)
    place = Place()
    (from_json,) = decode_json(json.loads(line(traces_json(sent))), place)
    from_protobuf = decode_protobuf(traces(sent))
    assert from_protobuf is not None
    (record,) = from_protobuf
    assert record._replace(place=place) == from_json


@given(attributes)
def test_events_of_every_kind_decode_alike(held: dict[str, Any]) -> None:
    sent = SentEvent("any", 7, held, under=3)
    place = Place()
    (from_json,) = decode_json(json.loads(line(logs_json(sent))), place)
    from_protobuf = decode_protobuf(logs(sent))
    assert from_protobuf is not None
    (record,) = from_protobuf
    assert record._replace(place=place) == from_json


def test_numbers_and_flags_written_as_text_are_numbers_and_flags() -> None:
    as_text = {"request_id": "req_1", "success": "false", "attempt": "2", "status_code": "500", "output_tokens": "42", "error": ""}
    (span,) = spans(read_protobuf(traces(own("llm_request", 2, 0, 10, as_text))))
    assert (span.status, span.attributes["tracekit.request.attempts"], span.attributes["http.response.status_code"]) == ("error", 2, 500)
    assert span.attributes["gen_ai.usage.output_tokens"] == 42
    assert "tracekit.error.text" not in span.attributes


def test_a_position_is_where_the_record_stands_in_its_body() -> None:
    body = traces(TURN, REQUEST)
    positions = {str(span.boundary): span.position for span in spans(read_protobuf(body))}
    assert SpanMessage.FromString(body[positions["turn"] : positions["model_request"] - 3]).name == "claude_code.interaction"
    assert SpanMessage.FromString(body[positions["model_request"] :]).name == "claude_code.llm_request"
    body = logs(PROMPTED)
    (turn,) = spans(read_protobuf(body))
    assert LogRecord.FromString(body[turn.position :]).body.string_value == "claude_code.user_prompt"


def test_a_position_in_json_is_where_the_line_begins() -> None:
    lines = [line(traces_json(TURN)), line(traces_json(REQUEST))]
    found = spans(read(b"".join(lines), start_position=1000, start_line=5))
    assert [span.position for span in found] == [1000, 1000 + len(lines[0])]


def test_a_bad_line_becomes_a_problem_and_the_rest_is_read() -> None:
    good = line(traces_json(TURN))
    text = good + b'{"resourceSpans": [{"scopeSpa\n' + b"\n" + b'{"hello": 1}\n' + line(traces_json(REQUEST))
    found = list(read(text))
    assert [(item.line, item.position, item.reason) for item in problems(found)] == [
        (2, len(good), "truncated line"),
        (4, len(good) + 31, "not OTLP"),
    ]
    assert [item.boundary for item in found if isinstance(item, Span)] == ["turn", "model_request"]


def test_problems_never_quote_the_line() -> None:
    found = list(read(b'{"resourceSpans": [], "secret-prompt\n{"secret-prompt": 1}\nsecret-prompt\n'))
    assert len(found) == 3
    assert "secret-prompt" not in repr(found)


NO_RECORDS: list[dict[str, Any]] = [
    {"resourceSpans": [{"scopeSpans": [{"spans": ["x", 3, None]}]}]},
    {"resourceLogs": [{"scopeLogs": [{"logRecords": [[]]}]}]},
]


@pytest.mark.parametrize("body", NO_RECORDS)
def test_a_record_that_is_none_is_a_problem(body: dict[str, Any]) -> None:
    assert {item.reason for item in problems(read(line(body)))} == {"malformed record"}


@pytest.mark.parametrize(
    "body", [{"resourceSpans": 3}, {"resourceSpans": [3]}, {"resourceSpans": [{"scopeSpans": {"spans": 1}}]}, [], 7, "x"]
)
def test_anything_else_that_is_json_gives_no_span_and_does_not_raise(body: Any) -> None:
    assert not [item for item in read(line(body)) if isinstance(item, Span)]


def test_half_a_surrogate_pair_is_read_and_can_be_stored() -> None:
    torn = own("llm_request", 2, 0, 10, {"request_id": "req_1", "model": "m", "error": "cut \ud83d here"})
    (span,) = spans(read(line(traces_json(torn))))
    error = span.attributes["tracekit.error.text"]
    assert isinstance(error, str)
    assert error.encode().startswith(b"cut ")


def test_a_document_over_many_lines_is_one_body() -> None:
    document = json.dumps(traces_json(TURN, REQUEST), indent=2).encode()
    assert [span.boundary for span in spans(read(document))] == ["turn", "model_request"]
    assert [span.boundary for span in spans(read(b"\xef\xbb\xbf" + document))] == ["turn", "model_request"]
    assert [item.reason for item in problems(read(document[:-20]))] == ["not JSON"]


def test_a_file_may_come_in_chunks_and_lines_as_tuples() -> None:
    text = line(traces_json(TURN)) + line(traces_json(REQUEST))
    whole = spans(read(text))
    assert spans(read([text[:10], text[10:]])) == whole
    first, second = text.splitlines()
    assert spans(read_json_lines([(1, 0, first), (2, len(first) + 1, second)])) == whole


def test_metrics_are_recognised_and_say_nothing() -> None:
    assert list(read_protobuf(metrics())) == []
    assert list(read(line({"resourceMetrics": [{"scopeMetrics": []}]}))) == []
    assert looks_like_otlp_protobuf(metrics(), "1.metrics.pb")


def test_an_empty_body_is_no_problem() -> None:
    assert list(read(b"")) == []
    assert list(read_protobuf(traces())) == []
    assert list(read(line({"resourceSpans": []}))) == []


def test_a_body_that_is_none_is_one_problem() -> None:
    for body in (b"\x89PNG\r\n", traces(TURN)[:-1], b"\n\xff\xff\xff\xff\x0f", b"\n\x02\n\x05ab"):
        (problem,) = list(read_protobuf(body))
        assert isinstance(problem, Problem)
        assert problem.reason == "not OTLP"


def test_a_name_that_is_no_utf8_is_a_problem_and_no_crash() -> None:
    body = traces(own("interaction", 1, 0, 1)).replace(b"claude_code.interaction", b"claude_code.interactio\xff")
    assert [item.reason for item in problems(read_protobuf(body))] == ["not OTLP"]


@given(st.binary(max_size=200))
def test_no_bytes_raise(body: bytes) -> None:
    list(read(body))
    list(read_protobuf(body))
    list(read_protobuf(b"\n" + body, name="x.logs.pb"))
    looks_like_otlp_protobuf(b"\n" + body, "")


@given(st.integers(0, 10_000))
def test_a_torn_body_is_never_taken_for_a_whole_one(cut: int) -> None:
    body = traces(TURN, REQUEST)
    part = body[: cut % len(body)]
    assert [type(item) for item in read_protobuf(part)] == ([Problem] if part else [])


def test_forms_are_told_by_their_first_bytes() -> None:
    body = traces(TURN, REQUEST, REQUEST, REQUEST)
    assert looks_like_otlp_protobuf(body, "")
    assert looks_like_otlp_protobuf(body[:400], "")
    assert looks_like_otlp_protobuf(logs(PROMPTED), "")
    assert not looks_like_otlp_protobuf(b"", "x.traces.pb")
    assert not looks_like_otlp_protobuf(b"\n\n# A text\nthat begins with blank lines\n", "notes.traces.txt")
    assert not looks_like_otlp_protobuf(line(traces_json(TURN)), "x.traces.pb")
    assert not looks_like_otlp_protobuf(b"\n\x04\n\x02ab", "model.onnx")
    assert looks_like_otlp_json(traces_json(TURN))
    assert not looks_like_otlp_json({"type": "user", "resourceSpans": "no"})


def test_a_name_helps_where_the_bytes_do_not_tell() -> None:
    timeless = logs(PROMPTED).replace(at(50).to_bytes(8, "little"), bytes(8))
    assert [item.reason for item in problems(read_protobuf(timeless, name="1.logs.pb"))] == ["no timestamp"]


def test_a_span_without_a_time_is_a_problem() -> None:
    body = traces_json(TURN)
    del body["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["startTimeUnixNano"]
    assert [(item.line, item.reason, item.detail) for item in problems(read(line(body)))] == [
        (1, "no timestamp", "claude_code.interaction")
    ]


def test_protobuf_is_loaded_for_bodies_only() -> None:
    script = "import sys, tracekit.sources.otlp; print(*sorted({'google.protobuf', 'opentelemetry'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
