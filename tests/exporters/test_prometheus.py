"""Prometheus takes the exposition, and no name from outside makes a series more."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.exporters.world import AS_OF, HOSTILE, session, stored
from tracekit.analysis.metrics import BUCKETS, Metric, metrics
from tracekit.testing import memory_store
from tracekit_exporters import prometheus

parser: Any = pytest.importorskip("prometheus_client.parser", reason="comes with the extra `dev`")
HISTOGRAM = tuple(range(len(BUCKETS) + 1))


def _families(text: str) -> dict[str, Any]:
    return {family.name: family for family in parser.text_string_to_metric_families(text)}


def _tools(names: Sequence[str]) -> list[Metric]:
    return [Metric("tracekit_tool_seconds", "histogram", "m", (("tool", name),), 1.5, HISTOGRAM) for name in names]


def test_a_store_as_it_is_written(golden: Callable[[str, str], None]) -> None:
    with memory_store(session()) as store:
        golden("exporters/prometheus.txt", "".join(prometheus.export(stored(store))))


def test_the_official_parser_reads_every_series() -> None:
    with memory_store(session()) as store:
        found = _families("".join(prometheus.write(metrics(store, as_of_ns=AS_OF))))
    assert found["tracekit_ttft_seconds"].type == "histogram"
    assert found["tracekit_tool_seconds"].documentation.startswith("Execution of a tool")
    tokens = {(sample.labels["type"]): sample.value for sample in found["tracekit_tokens"].samples}
    assert tokens == {"input": 100, "output": 57, "cache_read": 1_000, "cache_write": 10}
    hidden = {sample.labels["bound"]: sample.value for sample in found["tracekit_hidden_seconds"].samples}
    assert 0 < hidden["lower"] <= hidden["upper"]


def test_a_histogram_adds_up() -> None:
    with memory_store(session()) as store:
        found = _families("".join(prometheus.write(metrics(store, as_of_ns=AS_OF))))
    samples = [sample for sample in found["tracekit_tool_seconds"].samples if sample.labels["tool"] == "Bash"]
    buckets = [(float(sample.labels["le"]), sample.value) for sample in samples if sample.name.endswith("_bucket")]
    total = {sample.name: sample.value for sample in samples if not sample.name.endswith("_bucket")}
    assert buckets == sorted(buckets)
    assert [value for bound, value in buckets if bound in (2.5, 5, float("inf"))] == [0, 1, 1]
    assert total == {"tracekit_tool_seconds_sum": 3.5, "tracekit_tool_seconds_count": 1}


def test_bounds_are_those_of_the_answer() -> None:
    assert [float(bound) for bound in prometheus.BOUNDS] == [*BUCKETS, float("inf")]


def test_the_number_of_series_is_bounded_and_nothing_is_lost() -> None:
    text = "".join(prometheus.write(_tools([f"tool-{number}" for number in range(1_000)])))
    samples = _families(text)["tracekit_tool_seconds"].samples
    counts = {sample.labels["tool"]: sample.value for sample in samples if sample.name.endswith("_count")}
    assert len(counts) == prometheus.VALUES + 1
    assert counts["tool-0"] == HISTOGRAM[-1]
    assert counts["other"] == (1_000 - prometheus.VALUES) * HISTOGRAM[-1]


def test_names_that_become_equal_become_one_series() -> None:
    text = "".join(prometheus.write(_tools(["N" * 200 + "a", "N" * 200 + "b"])))
    (count,) = [sample.value for sample in _families(text)["tracekit_tool_seconds"].samples if sample.name.endswith("_count")]
    assert count == 2 * HISTOGRAM[-1]


def test_the_oldest_of_two_waits_is_the_oldest() -> None:
    waits = [
        Metric("tracekit_stuck_oldest_seconds", "gauge", "m", (("verdict", "tool"),), age, merged_by="max") for age in (10.0, 70.0, 30.0)
    ]
    (sample,) = _families("".join(prometheus.write(waits)))["tracekit_stuck_oldest_seconds"].samples
    assert sample.value == 70


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_inert(text: str) -> None:
    written = "".join(prometheus.write(_tools([text, "Bash"])))
    found = _families(written)
    assert list(found) == ["tracekit_tool_seconds"]
    assert {sample.labels["tool"] for sample in found["tracekit_tool_seconds"].samples} >= {"Bash"}
    assert len({sample.labels["tool"] for sample in found["tracekit_tool_seconds"].samples}) == 2
    assert not set(written) & {"\x1b", "\x9b", "\u202e", "\r", "\x00"}
    assert max(map(len, written.splitlines())) < 1_000
