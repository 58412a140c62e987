"""For tests of whatever is built on tracekit: spans in a line each, and a store in memory that holds them."""

import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tracekit.ingest.parse import span_line
from tracekit.model import Boundary, Source, Span
from tracekit.store import Batch, LedgerEntry, SpanStore, open_store

__all__ = ["SESSION", "FakeClock", "memory_store", "request", "span", "tool", "turn"]

SESSION: Final = "session"
"""The session of every span that is not given another."""


class FakeClock:
    """A clock that stands still until it is moved: give it to `tracekit.instrument(clock=…)`, and every time is known beforehand.

    Attributes:
        now_ns: What it shows, in Unix nanoseconds.
        step_ns: How far each look at it moves it.

    Examples:
        >>> clock = FakeClock(100, step_ns=5)
        >>> clock(), clock(), clock.advance(1_000), clock()
        (100, 105, None, 1110)
    """

    def __init__(self, now_ns: int = 1_000_000_000_000_000_000, *, step_ns: int = 0) -> None:
        self.now_ns = now_ns
        self.step_ns = step_ns

    def __call__(self) -> int:
        """Look at it."""
        shown = self.now_ns
        self.now_ns += self.step_ns
        return shown

    def advance(self, ns: int) -> None:
        """Move it on."""
        self.now_ns += ns


def span(boundary: Boundary, key: str, start_ns: int, end_ns: int | None, **fields: Any) -> Span:
    """Build an observation of the main agent by OTel, both edges measured, unless `fields` of `Span` say otherwise."""
    return Span(Source.OTEL, SESSION, boundary, key, start_ns, end_ns)._replace(**fields)


def turn(start_ns: int, end_ns: int | None, *, key: str = "turn", **fields: Any) -> Span:
    """Build a turn."""
    return span(Boundary.TURN, key, start_ns, end_ns, **fields)


def request(start_ns: int, end_ns: int | None, *, key: str = "req_1", **fields: Any) -> Span:
    """Build a model request, part of the turn `turn` unless `parent_key` says otherwise."""
    return span(Boundary.MODEL_REQUEST, key, start_ns, end_ns, **{"parent_key": "turn", "name": "model"} | fields)


def tool(ready_ns: int, start_ns: int, end_ns: int | None, *, key: str = "toolu_1", issued_by: str = "req_1", **fields: Any) -> list[Span]:
    """Build a tool call: its schedule from the completion of its block at `ready_ns`, and its execution.

    `fields` are those of both; `start_slack_ns` and `end_slack_ns` belong to the execution alone.
    """
    named = {"name": "Bash"} | fields
    scheduled = named | {"parent_key": issued_by, "start_slack_ns": 0, "end_slack_ns": 0}
    return [
        span(Boundary.TOOL_SCHEDULE, key, ready_ns, end_ns, **scheduled),
        span(Boundary.TOOL_EXECUTION, key, start_ns, end_ns, **{"parent_key": key} | named),
    ]


@contextmanager
def memory_store(*files: Iterable[Span]) -> Generator[SpanStore]:
    """Give a store in memory that lives as long as the block. The spans of each file are loaded together, in the order of the files."""
    with open_store(":memory:") as store, tempfile.TemporaryDirectory(prefix="tracekit-") as folder:
        for number, spans in enumerate(files, start=1):
            segment = Path(folder) / f"{number}.jsonl"
            segment.write_bytes(b"".join(span_line(one, number) for one in spans))
            entry = LedgerEntry(number, segment.name, "spans", 0, 0, 0, "", 0, 1, 0, 1, 0, 0, 0)
            store.load(Batch(segments=[segment], problems=[], entries=[entry]))
        yield store
