import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.context import get_current
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracekit.instrument import instrument, uninstrument
from tracekit.model import semconv
from tracekit.testing import FakeClock


class World:
    """A process that is instrumented: its clock, what it writes to the spool, and what a backend of the user's gets."""

    def __init__(self, spool: Path) -> None:
        self.spool = spool
        self.clock = FakeClock(1_000)
        self._backend = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._backend))

    def instrument(self, **settings: Any) -> None:
        usual: dict[str, Any] = {"spool": self.spool, "clock": self.clock, "tracer_provider": self.provider, "libraries": ()}
        instrument(**usual | settings)

    def rows(self) -> list[dict[str, Any]]:
        """What was written, in order."""
        files = sorted(self.spool.glob("agent-*.spool.jsonl")) if self.spool.exists() else []
        return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]

    def closed(self, boundary: str) -> list[dict[str, Any]]:
        return [row for row in self.rows() if row["boundary"] == boundary and row["end_ns"] is not None]

    def opened(self, boundary: str) -> list[dict[str, Any]]:
        return [row for row in self.rows() if row["boundary"] == boundary and row["end_ns"] is None]

    def one(self, boundary: str) -> dict[str, Any]:
        """The only one of its kind, as it ended."""
        (row,) = self.closed(boundary)
        return row

    @property
    def spans(self) -> list[ReadableSpan]:
        """What the backend got, in the order of the ends."""
        return list(self._backend.get_finished_spans())

    def span(self, boundary: str) -> ReadableSpan:
        (found,) = [one for one in self.spans if (one.attributes or {}).get(semconv.BOUNDARY) == boundary]
        return found


@pytest.fixture(autouse=True)
def _nothing_is_stood_in() -> Iterator[None]:
    """Each test leaves the context as it found it."""
    before = get_current()
    yield
    assert get_current() is before


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "spool")
    made.instrument()
    yield made
    uninstrument()


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[World]:
    """A process that is not instrumented yet."""
    yield World(tmp_path / "spool")
    uninstrument()
