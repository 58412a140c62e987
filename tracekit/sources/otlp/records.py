"""Telemetry records without their wire form: what protobuf and JSON bodies have in common."""

from collections.abc import Mapping
from typing import NamedTuple

from tracekit.model import NO_ATTRIBUTES, Event, Value

SpanRef = tuple[str, str]
"""Trace id and span id, in lower-case hex."""

SERVER = 2
"""The span kind of whoever answers a request."""

STATUS_OK = 1
STATUS_ERROR = 2


class Place(NamedTuple):
    """Where a record stands."""

    body: int = 0
    """Index of its body in what is read together."""
    line: int = 0
    """Line number in a JSON file, from 1; 0 in protobuf."""
    position: int = 0
    """Byte offset: of the line in JSON, of the record itself in protobuf."""


class SpanRecord(NamedTuple):
    """A span as its sender exported it."""

    scope: str
    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    """Empty: a root."""
    start_ns: int
    end_ns: int
    """0: not ended."""
    status: int
    """0 unset, 1 ok, 2 error."""
    status_text: str
    attributes: Mapping[str, Value]
    resource: Mapping[str, Value] = NO_ATTRIBUTES
    events: tuple[Event, ...] = ()
    place: Place = Place()

    @property
    def ref(self) -> SpanRef:
        """What names this span everywhere."""
        return self.trace_id, self.span_id

    @property
    def parent(self) -> SpanRef:
        """What names its parent."""
        return self.trace_id, self.parent_id

    @property
    def stop_ns(self) -> int | None:
        """When it ended, never before it began; None while it is open."""
        return max(self.end_ns, self.start_ns) if self.end_ns else None


class LogRecord(NamedTuple):
    """A log record, which Claude Code calls an event."""

    scope: str
    name: str
    """Name of the event, without a prefix."""
    trace_id: str
    span_id: str
    """The span that was active when it was written; empty without traces."""
    time_ns: int
    """0: it has no time."""
    attributes: Mapping[str, Value]
    resource: Mapping[str, Value] = NO_ATTRIBUTES
    place: Place = Place()

    @property
    def ref(self) -> SpanRef:
        """The span that it was written under."""
        return self.trace_id, self.span_id


Record = SpanRecord | LogRecord
