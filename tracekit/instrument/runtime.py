"""What all boundaries of a process share: the clock, the tracer, the recorder, and the session that nobody named."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from opentelemetry import trace

from tracekit.instrument.issued import Issued
from tracekit.instrument.place import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAME = "tracekit"
"""Of the tracer."""


Moment = tuple[int, str, dict[str, int]]
"""Something inside a span: when, its name, its numbers. A plain tuple: a stream has thousands."""


class Recorder(Protocol):
    """Takes what is to be known of a span before it ends."""

    @property
    def folder(self) -> Path:
        """Where it writes."""
        ...

    def keep(self, row: "Mapping[str, Any]") -> None:
        """Keep an observation that has no span of its own, as a row of the spool."""
        ...

    def opened(self, span: trace.Span, more: "Mapping[str, Any]") -> None:
        """Keep what an open span says so far, and what it will say when it ends."""
        ...


class Runtime:
    """The state of a process.

    Attributes:
        clock: Gives Unix nanoseconds.
        content: Whether arguments, results and texts are kept, without their secrets.
        recorder: Where open spans are told of; None where nobody records.
        provider: The tracer provider that was chosen; None: the global one.
        on_provider: Told of each other global provider that turns up.
        issued: Which request each tool call was asked for by.
        moments: The moments inside spans that are about to be ended, by span id: more than an SDK would keep. As JSON already, or not.
    """

    def __init__(self) -> None:
        self.moments: dict[int, list[Moment] | str] = {}
        self.reset()

    def reset(self) -> None:
        """Be as a process that was never instrumented."""
        self.clock: Callable[[], int] = time.time_ns
        self.content = False
        self.issued: Issued[Any] = Issued()
        self.recorder: Recorder | None = None
        self.provider: trace.TracerProvider | None = None
        self.on_provider: Callable[[trace.TracerProvider], trace.TracerProvider] = _as_it_is
        self._seen: trace.TracerProvider | None = None
        self._tracer: trace.Tracer = trace.NoOpTracer()

    def tracer(self) -> trace.Tracer:
        """The tracer. A provider that was set up after us is noticed: the order of the two does not matter."""
        provider = self.provider or trace.get_tracer_provider()
        if provider is not self._seen:
            self._tracer = self.on_provider(provider).get_tracer(NAME)
            self._seen = provider
        return self._tracer

    def place(self) -> Place:
        """Where code is that stands in no session of anybody's: one session a process."""
        session_id = _process_session()
        return Place(session_id, around=session_id)


class _Process:
    session_id = ""


def _process_session() -> str:
    if not _Process.session_id:
        _Process.session_id = str(uuid4())
    return _Process.session_id


def _as_it_is(provider: trace.TracerProvider) -> trace.TracerProvider:
    return provider


RUNTIME = Runtime()
