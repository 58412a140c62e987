"""Hooks: the span claude_code.hook of the detailed beta, else the pair of events around a run."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tracekit.model import Boundary, Source, Span, Status, Value, semconv
from tracekit.sources.otlp.claude_code import names
from tracekit.sources.otlp.claude_code.joins import Joins
from tracekit.sources.otlp.content import content_of
from tracekit.sources.otlp.records import LogRecord, Record, SpanRecord
from tracekit.sources.otlp.values import integer, milliseconds, present, text

_OUTCOMES: Mapping[str, tuple[str, Status]] = {
    # A hook that blocks has done its work.
    "num_blocking": ("blocking", Status.OK),
    "num_cancelled": ("cancelled", Status.CANCELLED),
    "num_non_blocking_error": ("error", Status.ERROR),
    "num_success": ("success", Status.OK),
}


@dataclass(slots=True)
class HookRuns:
    """Which events tell of one run. They name none."""

    completions: dict[int, LogRecord] = field(default_factory=dict[int, LogRecord])
    """The completing event by the identity of the starting one."""
    paired: set[int] = field(default_factory=set[int])
    """Identities of the completing events that have a start."""
    _spans: dict[tuple[str, str | None], list[SpanRecord]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, joins: Joins) -> "HookRuns":
        """Pair the events of each session."""
        runs = cls()
        for events in joins.events.values():
            runs._pair(events)
        for record in joins.spans.values():
            if record.name == names.HOOK:
                name = text(record.attributes, "hook_name")
                runs._spans[record.trace_id, name].append(record)
                runs._spans["", name].append(record)
        return runs

    def _pair(self, events: Iterable[LogRecord]) -> None:
        """Runs of one hook that overlap are told apart by their duration: it leads back to the start that was theirs."""
        waiting: dict[tuple[str | None, str | None], list[LogRecord]] = defaultdict(list)
        for event in events:
            started = waiting[text(event.attributes, "hook_name"), text(event.attributes, "prompt.id")]
            match names.event_name(event):
                case names.HOOK_START:
                    started.append(event)
                case names.HOOK_COMPLETE if started:
                    began_ns = event.time_ns - (milliseconds(event.attributes, "total_duration_ms") or 0)
                    start = min(started, key=lambda found: abs(found.time_ns - began_ns))
                    started[:] = [other for other in started if other is not start]
                    self.completions[id(start)] = event
                    self.paired.add(id(event))
                case _:
                    pass

    def has_span(self, event: LogRecord) -> bool:
        """Whether the run that an event tells of was read as a span too, which measures it."""
        late_ns = names.EVENT_LATE_NS
        return any(
            span.start_ns - late_ns <= event.time_ns <= (span.stop_ns or event.time_ns) + late_ns
            for span in self._spans.get((event.trace_id, text(event.attributes, "hook_name")), ())
        )


def from_span(record: SpanRecord, joins: Joins, *, content: bool) -> Iterator[Span]:
    """A run that a span measured."""
    yield _reply(record, joins, record.start_ns, record.stop_ns, record.attributes if record.stop_ns else {}, content=content)


def from_start(event: LogRecord, joins: Joins, runs: HookRuns, *, content: bool) -> Iterator[Span]:
    """A run from its first event on; without a second one it has not ended."""
    if runs.has_span(event):
        return
    complete = runs.completions.get(id(event))
    if complete is None:
        # Where the turn came to its end the hook did too, and when is not known.
        if not joins.is_over(event):
            yield _reply(event, joins, event.time_ns, None, {}, content=content)
        return
    end_ns = max(complete.time_ns, event.time_ns)
    # The run itself lies between the two events, and took this much of the time between them.
    duration_ns = milliseconds(complete.attributes, "total_duration_ms")
    slack_ns = 0 if duration_ns is None else max(0, end_ns - event.time_ns - duration_ns)
    reply = _reply(event, joins, event.time_ns, end_ns, complete.attributes, content=content)
    yield reply._replace(start_slack_ns=slack_ns, end_slack_ns=slack_ns)


def from_complete(event: LogRecord, joins: Joins, runs: HookRuns, *, content: bool) -> Iterator[Span]:
    """A run whose first event was not read."""
    if id(event) in runs.paired or runs.has_span(event):
        return
    duration_ns = milliseconds(event.attributes, "total_duration_ms") or 0
    start_ns = event.time_ns - duration_ns - names.EVENT_LATE_NS
    reply = _reply(event, joins, start_ns, event.time_ns, event.attributes, content=content)
    yield reply._replace(start_slack_ns=names.EVENT_LATE_NS, end_slack_ns=names.EVENT_LATE_NS)


def _reply(record: Record, joins: Joins, start_ns: int, end_ns: int | None, result: Mapping[str, Value], *, content: bool) -> Span:
    outcome, status = next((found for name, found in _OUTCOMES.items() if integer(result, name)), ("", Status.UNSET))
    attributes = present(
        (
            (semconv.HOOK_EVENT, text(record.attributes, "hook_event")),
            (semconv.HOOK_NAME, text(record.attributes, "hook_name")),
            (semconv.HOOK_COUNT, integer(record.attributes, "num_hooks")),
            (semconv.HOOK_OUTCOME, outcome),
        ),
    )
    if content:
        attributes |= content_of(record.attributes, result)
    return Span(
        Source.OTEL,
        joins.session_of(record),
        Boundary.HOOK_REPLY,
        f"hook@{start_ns}",
        start_ns,
        end_ns,
        name=text(record.attributes, "hook_name") or "",
        agent_id=joins.agent_of(record),
        parent_key=joins.turn_key(record),
        status=status,
        attributes=attributes,
        position=record.place.position,
    )
