"""Where witnesses contradict each other: about how it went, or about when, beyond what a busy client needs to write a line."""

from typing import Any

import pytest

from tests.analysis.cases import in_one_store
from tracekit.analysis.disagreements import TOLERANCE_NS, Disagreement, disagreements
from tracekit.analysis.scope import Scope
from tracekit.model import Boundary, Source, Span, Status, semconv
from tracekit.testing import memory_store, request, span

BY_TRANSCRIPT: dict[str, Any] = {"source": Source.TRANSCRIPT}
LATE = 10 * TOLERANCE_NS
STAMPS: dict[str, Any] = {"source": Source.STAMPS}
TIMED_OUT: dict[str, Any] = {"status": Status.ERROR, "attributes": {semconv.ERROR_TEXT: "Command timed out after 2m 0s"}}
Told = tuple[str, str, str, int | None]


def ended(end_ns: int, boundary: Boundary = Boundary.TOOL_EXECUTION, **fields: Any) -> Span:
    return span(boundary, "it", 0, end_ns, **fields)


def called(end_ns: int | None, **fields: Any) -> Span:
    known: dict[str, Any] = {"name": "Bash", "status": Status.OK}
    return span(Boundary.TOOL_SCHEDULE, "toolu_1", 0, end_ns, **known | fields)


def result(boundary: Boundary, subtype: str, *, is_error: bool, end_ns: int | None = 100, **fields: Any) -> Span:
    attributes = {semconv.RESULT_SUBTYPE: subtype, semconv.RESULT_IS_ERROR: is_error, semconv.TERMINAL_REASON: "image_error"}
    return span(boundary, boundary, 0, end_ns, attributes=attributes, **fields)


def said(status: Status, **fields: Any) -> Span:
    return request(0, 100, status=status, **fields)


CASES: dict[str, tuple[list[Span], list[Told]]] = {
    # How it went
    "one witness": ([said(Status.ERROR)], []),
    "both say it went well": ([said(Status.OK), said(Status.OK, **BY_TRANSCRIPT)], []),
    "both say it failed": ([said(Status.ERROR), said(Status.ERROR, **BY_TRANSCRIPT)], []),
    "one says nothing": ([said(Status.UNSET), said(Status.ERROR, **BY_TRANSCRIPT)], []),
    "one says that it was cancelled": ([said(Status.OK), said(Status.CANCELLED, **BY_TRANSCRIPT)], []),
    "one says ok and the other knows an error": (
        [said(Status.OK), said(Status.ERROR, attributes={semconv.ERROR_TEXT: "Connection lost"}, **BY_TRANSCRIPT)],
        [("otel", "transcript", "Connection lost", None)],
    ),
    "one says ok and the other saw no message_stop": (
        [said(Status.OK), said(Status.ERROR, attributes={semconv.STREAM_CUT: "true"}, **BY_TRANSCRIPT)],
        [("otel", "transcript", "no message_stop", None)],
    ),
    "one says ok and the other names the cut": (
        [said(Status.OK), said(Status.ERROR, attributes={semconv.STREAM_CUT: "stale_connection"}, **BY_TRANSCRIPT)],
        [("otel", "transcript", "stale_connection", None)],
    ),
    "one says ok and the other has no words": (
        [said(Status.OK), said(Status.ERROR, **BY_TRANSCRIPT)],
        [("otel", "transcript", "error", None)],
    ),
    "the worse witness says that it went well": (
        [said(Status.ERROR), said(Status.OK, **BY_TRANSCRIPT)],
        [("transcript", "otel", "error", None)],
    ),
    # A stream
    "a success without message_stop by its own word": (
        [said(Status.OK, attributes={semconv.STREAM_CUT: "true"})],
        [("otel", "otel", "no message_stop", None)],
    ),
    "a success whose stream was cut for a reason": (
        [said(Status.OK, attributes={semconv.STREAM_CUT: "stale_connection"})],
        [("otel", "otel", "no message_stop: stale_connection", None)],
    ),
    "a failure without message_stop": ([said(Status.ERROR, attributes={semconv.STREAM_CUT: "true"})], []),
    # A result
    "a result that is a success and an error": (
        [result(Boundary.SESSION, "success", is_error=True)],
        [("otel", "otel", "is_error: image_error", None)],
    ),
    "a result that a turn and its session tell": (
        [result(Boundary.SESSION, "success", is_error=True), result(Boundary.TURN, "success", is_error=True)],
        [("otel", "otel", "is_error: image_error", None)],
    ),
    "a result that is a success": ([result(Boundary.SESSION, "success", is_error=False)], []),
    "a result that is an error": ([result(Boundary.SESSION, "error_max_turns", is_error=True)], []),
    # An exit
    "a success whose last thing is a tool's result": (
        [said(Status.OK), called(200), span(Boundary.SESSION, "session", 0, 300, status=Status.OK)],
        [("otel", "otel", "the last thing is the result of Bash, and no request took it up", None)],
    ),
    "a result that says success, and the last thing is a tool's": (
        [said(Status.OK), called(200), result(Boundary.SESSION, "success", is_error=False, end_ns=300)],
        [("otel", "otel", "the last thing is the result of Bash, and no request took it up", None)],
    ),
    "a success whose last thing is an answer": (
        [called(50), said(Status.OK), span(Boundary.SESSION, "session", 0, 300, status=Status.OK)],
        [],
    ),
    "a session that is open, and the last thing is a tool's result": (
        [said(Status.OK), called(200), span(Boundary.SESSION, "session", 0, None)],
        [],
    ),
    "a run that failed on a tool's result": (
        [said(Status.OK), called(200), span(Boundary.SESSION, "session", 0, 300, status=Status.ERROR)],
        [],
    ),
    # What goes on
    "a command that timed out and had not ended": (
        [ended(LATE, **TIMED_OUT), ended(LATE, **STAMPS)._replace(end_ns=None)],
        [("otel", "stamps", "it had not ended", None)],
    ),
    "a command that timed out and went on": (
        [ended(LATE, **TIMED_OUT), ended(3 * LATE, **STAMPS)],
        [("otel", "stamps", "it went on", 2 * LATE)],
    ),
    "a command that timed out and was killed": ([ended(LATE, **TIMED_OUT), ended(LATE, **STAMPS)], []),
    "a command that ended well before its stamps": (
        [ended(LATE, status=Status.OK), ended(LATE, status=Status.OK, **STAMPS)._replace(end_ns=None)],
        [],
    ),
    "a call that a server was still at": (
        [
            ended(LATE, Boundary.TOOL_EXECUTION, **TIMED_OUT),
            ended(LATE, Boundary.MCP_CALL, source=Source.MCP_TAP)._replace(end_ns=None),
        ],
        [("otel", "mcp_tap", "it had not ended", None)],
    ),
    # When
    "ends that are as far apart as a busy client needs": ([ended(LATE), ended(LATE + TOLERANCE_NS, **BY_TRANSCRIPT)], []),
    "ends that are further apart": (
        [ended(LATE), ended(LATE + TOLERANCE_NS + 1, **BY_TRANSCRIPT)],
        [("otel", "otel,transcript", "their bounds do not meet", TOLERANCE_NS + 1)],
    ),
    "ends whose bounds meet": ([ended(LATE), ended(2 * LATE, end_slack_ns=LATE, **BY_TRANSCRIPT)], []),
    "starts that are further apart": (
        [ended(2 * LATE), ended(2 * LATE, **BY_TRANSCRIPT)._replace(start_ns=LATE)],
        [("otel", "otel,transcript", "their bounds do not meet", LATE)],
    ),
    "one saw no end": ([ended(LATE), ended(LATE, **BY_TRANSCRIPT)._replace(end_ns=None)], []),
    "a boundary whose edges mean different things to different witnesses": (
        [ended(LATE, Boundary.TURN), ended(3 * LATE, Boundary.TURN, **BY_TRANSCRIPT)],
        [],
    ),
}


@pytest.fixture(scope="module")
def found() -> dict[str, list[Disagreement]]:
    found: dict[str, list[Disagreement]] = {name: [] for name in CASES}
    with memory_store(in_one_store({name: spans for name, (spans, _) in CASES.items()})) as store:
        for one in disagreements(store):
            found[one.session_id].append(one)
    return found


@pytest.mark.parametrize("name", CASES)
def test_contradictions_are_told_and_nothing_else_is(name: str, found: dict[str, list[Disagreement]]) -> None:
    assert [(one.well_source, one.failed_source, one.failed_text, one.gap_ns) for one in found[name]] == CASES[name][1]


@pytest.mark.parametrize(
    ("name", "about"),
    [
        ("one says ok and the other knows an error", "outcome"),
        ("a success without message_stop by its own word", "stream"),
        ("a result that is a success and an error", "result"),
        ("a success whose last thing is a tool's result", "exit"),
        ("a command that timed out and went on", "still running"),
        ("ends that are further apart", "edge"),
    ],
)
def test_a_contradiction_says_what_it_is_about(name: str, about: str, found: dict[str, list[Disagreement]]) -> None:
    assert [one.about for one in found[name]] == [about]


def test_a_contradiction_says_where_it_is() -> None:
    spans = [said(Status.OK, agent_id="a1"), said(Status.ERROR, agent_id="a1", **BY_TRANSCRIPT)]
    with memory_store(spans) as store:
        (one,) = disagreements(store)
        counts = [len(disagreements(store, scope)) for scope in (Scope(since_ns=0), Scope(since_ns=1), Scope(until_ns=0), Scope("another"))]
    assert (one.session_id, one.agent_id, one.boundary, one.key, one.name, one.start_ns) == (
        "session",
        "a1",
        "model_request",
        "req_1",
        "model",
        0,
    )
    assert counts == [1, 0, 0, 0]
