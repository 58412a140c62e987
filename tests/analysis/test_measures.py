"""What a session is measured by is what the questions answer, as ranges where they answer ranges."""

import pytest

from tests.exporters.world import AS_OF, SECOND, at, session
from tracekit.analysis.account import account
from tracekit.analysis.failed import failures
from tracekit.analysis.measures import MEASURES, UNKNOWN, Bounds, measures
from tracekit.analysis.overlap import overlap
from tracekit.analysis.scope import Scope
from tracekit.model import Boundary, Source, Span, semconv
from tracekit.testing import memory_store, request, span, tool, turn


def _measured(*spans: Span) -> dict[str, Bounds]:
    with memory_store(spans) as store:
        (found,) = measures(store, as_of_ns=AS_OF).values()
    return dict(found)


def test_every_measure_is_there_and_in_order() -> None:
    found = _measured(*session())
    assert list(found) == list(MEASURES)
    assert all(one.lower is None or one.upper is None or one.lower <= one.upper for one in found.values())


def test_they_are_what_the_questions_answer() -> None:
    with memory_store(session()) as store:
        found = measures(store, as_of_ns=AS_OF)["7f3a"]
        (whole,) = overlap(store, by="session")
        failed = failures(store)
        times = {line.category: line for line in account(store, by="session")}
    assert found["hidden"] == (whole.hidden_lower_ns, whole.hidden_upper_ns)
    assert found["exposed"] == (whole.exposed_lower_ns, whole.exposed_upper_ns)
    assert found["mcp"] == found["mcp/call"] == (1, 1)
    assert found["failures"] == (len(failed), len(failed))
    assert found["tool_time"] == (times["tool"].time_lower_ns, times["tool"].time_upper_ns)
    assert found["wall"] == (50 * SECOND, 50 * SECOND)
    assert found["ttft"] == (SECOND // 2, SECOND // 2)
    assert (found["input_tokens"], found["output_tokens"], found["compactions"]) == ((100, 100), (57, 57), (1, 1))


def test_a_share_is_as_wide_as_its_parts_allow() -> None:
    unproven = {"source": Source.TRANSCRIPT}
    shares: dict[int, Bounds] = {}
    for ends in (8, 14):
        call = tool(at(4), at(4), at(ends), start_slack_ns=(ends - 4) * SECOND, **unproven)
        found = _measured(turn(at(0), at(20), **unproven), request(at(1), at(10), **unproven), *call)
        shares[ends] = found["hidden_share"]
    assert shares[8] == (1, 1)  # whenever it began, it was over before the stream was
    assert shares[14] == (0, 1)  # the bounds of both parts, taken by themselves


def test_what_no_witness_knows_is_unknown_and_what_did_not_happen_is_zero() -> None:
    found = _measured(turn(at(0), at(5)), request(at(1), at(4)))
    assert found["hidden_share"] == found["cost"] == found["ttft"] == UNKNOWN
    assert found["hidden"] == found["network"] == found["permission_time"] == found["stuck"] == (0, 0)


def test_quantiles_of_bounds_are_bounds_of_quantiles() -> None:
    requests = [
        request(
            at(10 * number),
            at(10 * number + 9),
            key=f"req_{number}",
            start_slack_ns=SECOND,
            attributes={semconv.FIRST_BYTE_NS: at(10 * number + number + 1)},
        )
        for number in range(5)
    ]
    found = _measured(turn(at(0), at(60)), *requests)
    assert found["ttft"] == (2 * SECOND, 3 * SECOND)
    assert found["ttft_p95"] == (4 * SECOND, 5 * SECOND)


def test_a_wait_beyond_its_limit_is_stuck() -> None:
    found = _measured(turn(at(-90_000), None), *tool(at(-3_600), at(-3_600), None), request(at(-3_700), at(-3_600)))
    assert found["stuck"] == (1, 1)


def test_sessions_are_those_of_the_scope_the_earliest_first() -> None:
    spans = [*session("later"), *(one._replace(start_ns=one.start_ns - 1, session_id="sooner") for one in session("sooner"))]
    with memory_store(spans) as store:
        assert list(measures(store, as_of_ns=AS_OF)) == ["sooner", "later"]
        assert list(measures(store, Scope("later"), as_of_ns=AS_OF)) == ["later"]
        assert list(measures(store, Scope(since_ns=at(0)), as_of_ns=AS_OF)) == ["later"]


def test_an_interrupt_is_counted() -> None:
    found = _measured(span(Boundary.TURN, "t", at(0), at(5), attributes={semconv.INTERRUPTS: 2}))
    assert found["interrupts"] == (2, 2)


def test_only_what_is_wanted_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with memory_store(session()) as store:
        whole = measures(store, as_of_ns=AS_OF)["7f3a"]
        for question in ("overlap", "account", "stuck", "tokens"):
            monkeypatch.delattr(f"tracekit.analysis.measures.{question}")
        wanted = measures(store, as_of_ns=AS_OF, names={"mcp", "ttft", "wall"})["7f3a"]
    assert wanted == {name: whole[name] for name in ("wall", "ttft", "mcp")}
