"""A receiver's file: bodies that say what they carry, and lines that are broken."""

import base64
import io
import json
from collections.abc import Iterable
from typing import Any

from tests.sources.otlp.bodies import SESSION, SentSpan, event, line, logs, metrics, own, traces, traces_json
from tracekit.model import Problem, Span
from tracekit.sources.lines import read_lines
from tracekit.sources.spooled import read_bodies

PROTOBUF, JSON = "application/x-protobuf", "application/json"
TURN = own("interaction", 1, 0, 900, {"interaction.sequence": 1})
REQUEST = own("llm_request", 2, 100, 800, {"request_id": "req_1", "model": "m-1", "success": True}, parent=1)
PROMPTED = event("user_prompt", 50, {"prompt_length": 12}, under=1)


def kept(signal: str, body: bytes, content_type: str = PROTOBUF) -> bytes:
    record = {"signal": signal, "content_type": content_type, "received_ns": 1, "body": base64.b64encode(body).decode()}
    return json.dumps(record).encode() + b"\n"


def read(*lines: bytes) -> list[Span | Problem]:
    return list(read_bodies(read_lines(io.BytesIO(b"".join(lines)))))


def told(found: Iterable[Span | Problem]) -> list[Any]:
    return [
        (item.line, item.position, item.reason) if isinstance(item, Problem) else (item.boundary, item.key, item.position) for item in found
    ]


def test_bodies_of_both_forms_are_understood_together_and_stand_where_their_lines_stand() -> None:
    first, second = kept("logs", logs(PROMPTED)), kept("traces", line(traces_json(TURN, REQUEST)), JSON)
    turn, request = (item for item in read(first, second) if isinstance(item, Span))
    assert (turn.key, turn.position, turn.session_id) == ("9c0312e7-0000-4000-8000-000000000001", len(first), SESSION)
    assert (request.key, request.parent_key, request.position) == ("req_1", turn.key, len(first))


def test_a_span_without_a_start_is_told_though_nothing_else_says_that_it_is_one() -> None:
    timeless = SentSpan("claude_code.interaction", 1, -1_800_000_000_000, None, {"session.id": SESSION})
    assert told(read(kept("traces", traces(TURN)), kept("traces", traces(timeless)))) == [
        (2, len(kept("traces", traces(TURN))), "no timestamp"),
        ("turn", "span:0000000000000001", 0),
    ]


def test_metrics_and_empty_bodies_say_nothing() -> None:
    assert read(kept("metrics", metrics()), kept("metrics", b"\xff"), kept("traces", b"")) == []


def test_what_cannot_be_read_is_a_problem_of_its_line_and_the_rest_is_read() -> None:
    whole = kept("traces", traces(TURN))
    broken = [
        kept("traces", b"\x0a\x05abc"),
        kept("logs", b"{", JSON),
        whole[:-30] + b"\n",
        whole.replace(b'"body": "', b'"body": "!'),
        b"{}\n",
    ]
    found = read(*broken, whole, whole[:-30])
    at = [len(b"".join(broken[:number])) for number in range(6)]
    assert [item.reason for item in found if isinstance(item, Problem)] == [
        "not OTLP",
        "not JSON",
        "truncated line",
        "truncated line",
        "truncated line",
        "unfinished last line",
    ]
    assert [item.position for item in found if isinstance(item, Problem)] == [*at[:5], at[5] + len(whole)]
    assert [item.position for item in found if isinstance(item, Span)] == [at[5]]


def test_a_body_in_json_that_the_strict_parser_refuses_is_read_all_the_same() -> None:
    body = line(traces_json(TURN)).replace(b'"interaction.sequence"', b'"cut \\ud83d"')
    before = kept("metrics", b"")
    assert told(read(before, kept("traces", body, JSON))) == [("turn", "span:0000000000000001", len(before))]
