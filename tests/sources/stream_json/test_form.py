"""How the form is told, and how its lines come out of lines, records and documents."""

import json

import pytest

from tests.sources.stream_json.told import (
    QUIET,
    SESSION,
    SIMPLE,
    Line,
    at,
    end_range,
    init,
    live,
    one,
    problems,
    result,
    said,
    stamp,
    start_range,
    system,
    words,
)
from tracekit.model import Boundary, Span, Status
from tracekit.sources.stream_json import looks_like_stream_json, read, stamp_line


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (init(), True),
        (result(), True),
        (system("hook_started", hook_id="h"), True),
        ({"arrival_ns": 1, "line": init()}, True),
        ({"type": "control_request", "request_id": "1", "request": {"subtype": "can_use_tool"}}, True),
        ({"type": "user", "sessionId": SESSION, "uuid": "u", "parentUuid": None, "message": {}}, False),
        ({"type": "user", "sessionId": SESSION, "session_id": SESSION, "uuid": "u", "message": {}}, False),
        ({"type": "summary", "leafUuid": "u"}, False),
        ({"session_id": SESSION, "hook_event_name": "Stop"}, False),
        ({"resourceSpans": []}, False),
        ({}, False),
    ],
)
def test_the_form_is_told_by_its_first_object(entry: Line, expected: bool) -> None:  # noqa: FBT001
    assert looks_like_stream_json(entry) is expected


def test_a_recorded_line_brings_its_arrival() -> None:
    recorded = [stamp_line(json.dumps(value).encode() + b"\n", at(seconds)) for seconds, value in SIMPLE]
    lines = [(number, 0, data.rstrip(b"\n"), None) for number, data in enumerate(recorded, 1)]
    assert [span._replace(position=0) for span in read(lines) if isinstance(span, Span)] == [
        span._replace(position=0) for span in live(*SIMPLE) if isinstance(span, Span)
    ]


def test_a_blank_line_has_no_recorded_form() -> None:
    assert stamp_line(b" \r\n", 1) == b""


@pytest.mark.parametrize("indent", [None, 1])
def test_an_array_is_read_as_its_lines_and_arrives_with_its_last(indent: int | None) -> None:
    told = [init(), said(words(), timestamp=stamp(1)), result(2)]
    pieces = json.dumps(told, indent=indent).encode().split(b"\n")
    items = list(read([(number, 0, piece, at(3)) for number, piece in enumerate(pieces, 1)]))
    assert problems(items) == []
    turn = one(items, Boundary.TURN)
    assert end_range(turn) == (at(3) - QUIET, at(3))
    assert start_range(turn)[0] <= at(1) <= start_range(turn)[1]


def test_a_lone_result_that_was_seen_to_arrive_tells_its_turn() -> None:
    document = json.dumps(result(2), indent=2).encode().split(b"\n")
    turn = one(read([(number, 0, piece, at(5)) for number, piece in enumerate(document, 1)]), Boundary.TURN)
    assert start_range(turn) == (at(3) - QUIET, at(3) + QUIET)


def test_bad_lines_are_told_and_the_rest_is_read() -> None:
    lines: list[tuple[int, int, bytes, int | None]] = [
        (1, 0, b"Warning: something", at(0)),
        (2, 20, json.dumps(init()).encode(), at(0)),
        (3, 90, b"", at(0)),
        (4, 91, b'{"type":"user","mess', at(0)),
        (5, 120, b"[1]", at(0)),
        (6, 130, json.dumps({"type": "user"}).encode(), at(0)),
        (7, 150, json.dumps(result(0.5)).encode(), at(1)),
    ]
    items = list(read(lines))
    assert [(problem.line, problem.position, problem.reason) for problem in problems(items)] == [
        (1, 0, "not JSON"),
        (4, 91, "truncated line"),
        (5, 120, "not an object"),
    ]
    assert one(items, Boundary.TURN).status == Status.OK


def test_a_line_before_any_session_is_a_problem_unless_it_belongs_to_the_pipe() -> None:
    items = live((0, {"type": "keep_alive"}), (0, {"type": "user", "message": {}}), (1, result(0.5)))
    assert [problem.reason for problem in problems(items)] == ["no session id"]
