"""What a metrics store is told is what is measured; the rest is counted and not made up."""

from collections.abc import Iterable

from tests.exporters.world import AS_OF, SECOND, at, session
from tracekit.analysis.metrics import BUCKETS, Metric, metrics
from tracekit.model import Span
from tracekit.testing import memory_store, request, tool, turn


def _metrics(*spans: Iterable[Span], as_of_ns: int = AS_OF) -> list[Metric]:
    with memory_store(*spans) as store:
        return list(metrics(store, as_of_ns=as_of_ns))


def _of(found: Iterable[Metric], name: str) -> dict[tuple[str, ...], Metric]:
    return {tuple(value for _, value in one.labels): one for one in found if one.metric == name}


def test_a_length_is_in_every_bucket_that_it_is_not_beyond() -> None:
    lengths = (0.1, 0.11, 600, 601)
    tools = [one for number, length in enumerate(lengths) for one in tool(at(0), at(0), at(length), key=f"toolu_{number}")]
    (found,) = _of(_metrics(tools), "tracekit_tool_seconds").values()
    assert found.buckets == (1, *[2] * (len(BUCKETS) - 2), 3, 4)
    assert found.value == sum(lengths)


def test_what_is_not_measured_is_counted_apart() -> None:
    vague = tool(at(0), at(0), at(9), start_slack_ns=9 * SECOND)
    found = _metrics(vague)
    assert _of(found, "tracekit_tool_seconds") == {}
    assert _of(found, "tracekit_unmeasured_total")["tool", "Bash"].value == 1


def test_a_small_slack_is_halved() -> None:
    (found,) = _of(_metrics([request(at(0), at(2), end_slack_ns=SECOND // 5)]), "tracekit_request_seconds").values()
    assert found.value == 1.9


def test_labels_come_in_the_order_in_which_they_were_first_seen() -> None:
    late, early = tool(at(9), at(9), at(10), key="toolu_1", name="Alpha"), tool(at(0), at(0), at(1), key="toolu_2", name="Zulu")
    assert list(_of(_metrics([*late, *early]), "tracekit_tool_seconds")) == [("Zulu",), ("Alpha",)]


def test_failures_and_hidden_time_are_counters() -> None:
    found = _metrics(session())
    assert _of(found, "tracekit_failures_total")["mcp", "call", "false"].value == 1
    hidden = _of(found, "tracekit_hidden_seconds_total")
    assert hidden["claude-sonnet-4-5", "lower"].value <= hidden["claude-sonnet-4-5", "upper"].value


def test_what_is_stuck_now_is_a_gauge_and_nothing_is_zero() -> None:
    quiet = _metrics(session())
    assert (_of(quiet, "tracekit_waits_stuck")[()].value, _of(quiet, "tracekit_stuck")) == (0, {})
    running = [turn(at(0), None), request(at(1), at(2)), *tool(at(2), at(2), None)]
    waiting = _metrics(running, as_of_ns=at(10))
    assert (_of(waiting, "tracekit_waits_stuck")[()].value, _of(waiting, "tracekit_waits_waiting")[()].value) == (0, 1)
    stuck = _metrics(running, as_of_ns=at(7_200))
    (oldest,) = _of(stuck, "tracekit_stuck_oldest_seconds").values()
    assert (_of(stuck, "tracekit_waits_stuck")[()].value, oldest.value) == (1, 7_198)


def test_a_session_that_was_left_alone_for_a_day_is_no_longer_stuck() -> None:
    running = [turn(at(0), None), request(at(1), at(2)), *tool(at(2), at(2), None)]
    assert _of(_metrics(running, as_of_ns=at(200_000)), "tracekit_waits_stuck")[()].value == 0
