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
Told = tuple[str, str, str, int | None]


def ended(end_ns: int, boundary: Boundary = Boundary.TOOL_EXECUTION, **fields: Any) -> Span:
    return span(boundary, "it", 0, end_ns, **fields)


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
