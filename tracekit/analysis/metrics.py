"""What a metrics store is told of all sessions together: how long things took, what hid, what failed, what is stuck."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated, ClassVar, Final, Literal

from tracekit.analysis.failed import failures
from tracekit.analysis.overlap import overlap
from tracekit.analysis.scope import EVERYTHING, Scope, ask
from tracekit.analysis.stuck import State, Stuck, stuck
from tracekit.analysis.tokens import tokens
from tracekit.model import Column, Finding
from tracekit.store import SpanStore

BUCKETS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
"""Upper bounds of the buckets, in seconds, as `metrics.sql` has them; one more has none."""
TOLERANCE_NS: Final = 200_000_000
"""A length whose bounds lie further apart is not measured well enough for these buckets."""

Labels = tuple[tuple[str, str], ...]

_SECOND: Final = 1_000_000_000
_LENGTHS: Final = {
    "ttft": ("tracekit_ttft_seconds", "model", "From a model request to the first byte of its response."),
    "stream": ("tracekit_stream_seconds", "model", "From the first byte of a response to its message_stop."),
    "request": ("tracekit_request_seconds", "model", "A model request with its retries, to message_stop."),
    "tool": ("tracekit_tool_seconds", "tool", "Execution of a tool, without permission, queue and hooks."),
    "hook": ("tracekit_hook_seconds", "event", "What the client waited for the hooks of an event."),
}


@dataclass(frozen=True, slots=True)
class Metric(Finding):
    """One time series: a metric with its labels."""

    question: ClassVar[str] = "metrics"

    metric: Annotated[str, Column("Metric")]
    kind: Annotated[Literal["counter", "gauge", "histogram"], Column("Kind")]
    meaning: Annotated[str, Column("Meaning", show=False)]
    labels: Annotated[Labels, Column("Labels")]
    value: Annotated[float, Column("Value")]
    """Of a histogram, the sum of what was observed."""
    buckets: Annotated[tuple[int, ...], Column("Buckets", show=False)] = ()
    """Of a histogram: how many observations are at most as large as each of `BUCKETS`, and how many there are."""
    merged_by: Annotated[Literal["sum", "max"], Column("Merged by", show=False)] = "sum"
    """What becomes of two series that have to be one."""


def metrics(store: SpanStore, scope: Scope = EVERYTHING, *, as_of_ns: int) -> Sequence[Metric]:
    """Give every series of a scope; series of one metric stand together, those whose label was seen first come first.

    Args:
        store: An open store.
        scope: Bounds; things count by their start, failures by their end.
        as_of_ns: The moment to which waits are counted.
    """
    return [
        *_lengths(store, scope),
        *_hidden(store, scope),
        *_tokens(store, scope),
        *_failures(store, scope),
        *_stuck(stuck(store, scope, as_of_ns=as_of_ns, ended=False)),
    ]


def _lengths(store: SpanStore, scope: Scope) -> Iterator[Metric]:
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
    totals: Counter[tuple[str, str]] = Counter()
    unmeasured: Counter[tuple[str, str]] = Counter()
    for row in ask(store, "metrics", scope, tolerance_ns=TOLERANCE_NS):
        series = row["measure"], row["label"]
        if row["bucket"] < 0:
            unmeasured[series] += row["n"]
        else:
            counts[series][row["bucket"]] += row["n"]
            totals[series] += row["total_ns"]
    for measure, (name, label, meaning) in _LENGTHS.items():
        for series, found in counts.items():
            if series[0] == measure:
                labels = ((label, series[1]),)
                yield Metric(name, "histogram", meaning, labels, totals[series] / _SECOND, tuple(accumulate(found)))
    meaning = f"What is in no histogram: no witness knows its length to {TOLERANCE_NS / _SECOND} s."
    for (measure, label), number in unmeasured.items():
        yield Metric("tracekit_unmeasured_total", "counter", meaning, (("what", measure), (_LENGTHS[measure][1], label)), number)


def _hidden(store: SpanStore, scope: Scope) -> Iterator[Metric]:
    found = overlap(store, scope, by="model")
    for what, meaning in (
        ("hidden", "Tool time that hid behind the stream of the response that asked for it: the truth lies between the bounds."),
        ("exposed", "Tool time that did not: the truth lies between the bounds."),
    ):
        for row in found:
            for bound in ("lower", "upper"):
                labels = (("model", row.model or ""), ("bound", bound))
                yield Metric(f"tracekit_{what}_seconds_total", "counter", meaning, labels, getattr(row, f"{what}_{bound}_ns") / _SECOND)


def _tokens(store: SpanStore, scope: Scope) -> Iterator[Metric]:
    for row in tokens(store, scope, by="model"):
        for kind in ("input", "output", "cache_read", "cache_write"):
            labels = (("model", row.model or ""), ("type", kind))
            yield Metric("tracekit_tokens_total", "counter", "Tokens, each message counted once.", labels, getattr(row, f"{kind}_tokens"))


def _failures(store: SpanStore, scope: Scope) -> Iterator[Metric]:
    counted = Counter((str(one.family), str(one.kind), str(one.recovered).lower()) for one in failures(store, scope))
    for (family, kind, recovered), number in counted.items():
        labels = (("family", family), ("kind", kind), ("recovered", recovered))
        yield Metric("tracekit_failures_total", "counter", "Failures; the attempts of one request are one.", labels, number)


def _stuck(waits: Sequence[Stuck]) -> Iterator[Metric]:
    """What is open now. The numbers of all waits are told even where they are 0, so that an alert can tell that from silence."""
    for state, meaning in ((State.STUCK, "longer than its limit, or without an end"), (State.WAITING, "within its limit")):
        number = sum(one.state == state for one in waits)
        yield Metric(f"tracekit_waits_{state}", "gauge", f"What agents wait for now, {meaning}.", (), number)
    ages: dict[str, list[int]] = defaultdict(list)
    for one in waits:
        if one.state == State.STUCK:
            ages[one.verdict].append(one.age_ns)
    for verdict, found in ages.items():
        yield Metric("tracekit_stuck", "gauge", "What agents are stuck with now, by verdict.", (("verdict", verdict),), len(found))
    for verdict, found in ages.items():
        labels = (("verdict", verdict),)
        meaning = "Age of the oldest wait that is stuck."
        yield Metric("tracekit_stuck_oldest_seconds", "gauge", meaning, labels, max(found) / _SECOND, merged_by="max")
