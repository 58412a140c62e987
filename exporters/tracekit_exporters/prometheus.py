"""Prometheus' text format 0.0.4, for a scrape or for the textfile collector of a node exporter."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from tracekit.model import Finding
from tracekit_exporters.plain import plain
from tracekit_exporters.trace import Trace

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
BOUNDS: Final = ("0.1", "0.25", "0.5", "1", "2.5", "5", "10", "30", "60", "120", "300", "600", "+Inf")
"""Upper bounds of the buckets of every histogram, in seconds."""
VALUES: Final = 50
"""Values that one label may have. Those that were seen first keep a series of their own, all later ones share `other`: names of tools and
models come from outside, and a name more must not be a series more. First seen and not commonest, so that no series goes back."""
_LONGEST: Final = 100
_OTHER: Final = "other"

Row = Mapping[str, Any]
Labels = tuple[tuple[str, str], ...]


def export(trace: Trace) -> Iterator[str]:
    """Give the metrics of all sessions that are exported, a metric at a time."""
    yield from write(trace.ask("metrics", None))


def write(metrics: Sequence[Finding]) -> Iterator[str]:
    """Give the exposition of the answer to `metrics`."""
    rows = sorted((finding.as_row() for finding in metrics), key=lambda row: str(row["metric"]))  # stable: the first seen stay first
    for name, members in groupby(rows, key=lambda row: str(row["metric"])):
        yield "".join(_metric(name, _bounded(list(members))))


def _metric(name: str, series: Mapping[Labels, Row]) -> Iterator[str]:
    first = next(iter(series.values()))
    yield f"# HELP {name} {_escaped(first['meaning'])}\n# TYPE {name} {first['kind']}\n"
    for labels, row in series.items():
        if first["kind"] == "histogram":
            for bound, number in zip(BOUNDS, row["buckets"], strict=True):
                yield f"{name}_bucket{_labels((*labels, ('le', bound)))} {number}\n"
            yield f"{name}_sum{_labels(labels)} {_number(row['value'])}\n"
            yield f"{name}_count{_labels(labels)} {row['buckets'][-1]}\n"
        else:
            yield f"{name}{_labels(labels)} {_number(row['value'])}\n"


def _bounded(rows: Sequence[Row]) -> dict[Labels, Row]:
    """One row a series, the values of each label bounded in number and length."""
    known: dict[str, set[str]] = defaultdict(set)
    series: dict[Labels, Row] = {}
    for row in rows:
        labels = tuple((name, _kept(value, known[name])) for name, value in row["labels"])
        series[labels] = _merged(series[labels], row) if labels in series else row
    return series


def _kept(value: str, known: set[str]) -> str:
    value = plain(value, _LONGEST)
    if value not in known and len(known) >= VALUES:
        return _OTHER
    known.add(value)
    return value


def _merged(one: Row, other: Row) -> Row:
    value = max(one["value"], other["value"]) if one["merged_by"] == "max" else one["value"] + other["value"]
    buckets = tuple(sum(pair) for pair in zip(one["buckets"], other["buckets"], strict=True))
    return {**one, "value": value, "buckets": buckets}


def _labels(labels: Labels) -> str:
    written = ",".join(f'{name}="{_escaped(value, quoted=True)}"' for name, value in labels)
    return f"{{{written}}}" if written else ""


def _escaped(text: str, *, quoted: bool = False) -> str:
    text = text.replace("\\", r"\\").replace("\n", r"\n")
    return text.replace('"', r"\"") if quoted else text


def _number(value: float) -> str:
    return f"{value:d}" if isinstance(value, int) else repr(value)
