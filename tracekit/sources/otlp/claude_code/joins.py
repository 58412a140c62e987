"""What Claude Code's spans and events say of each other.

Spans never name their prompt, events do; events name the request that issued a tool, spans do not. The bridges are the
trace and span id that an event carries, tool use ids and request ids.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from tracekit.sources.otlp.claude_code import names
from tracekit.sources.otlp.records import LogRecord, Record, SpanRecord, SpanRef
from tracekit.sources.otlp.values import integer, text

_DEPTH: Final = 64
"""Ancestors looked at: sub-agents nest a few spans each, and a circle of parents must end."""
_END_TOGETHER_NS: Final = names.EVENT_LATE_NS
_AFTER_THE_TURN: Final = frozenset({names.MCP_CONNECTION, "retention_sweep"})
"""Events that may carry the id of a prompt which is long answered."""


@dataclass(slots=True)
class ToolFacts:
    """Everything that was read of one tool call."""

    span: SpanRecord | None = None
    wait: SpanRecord | None = None
    execution: SpanRecord | None = None
    decision: LogRecord | None = None
    result: LogRecord | None = None

    def records(self) -> Iterator[Record]:
        """What there is of it, the fullest first."""
        yield from (record for record in (self.result, self.decision, self.span, self.execution, self.wait) if record is not None)

    def text(self, *attribute_names: str) -> str | None:
        """The first of these attributes in anything that was read of the call."""
        return next((found for record in self.records() if (found := text(record.attributes, *attribute_names))), None)


@dataclass(slots=True)
class RequestFacts:
    """The events that tell of one model request."""

    event: LogRecord | None = None
    """`api_request` or `api_error`."""
    exhausted: LogRecord | None = None
    """`api_retries_exhausted`, which names no request."""
    response: LogRecord | None = None
    span: SpanRecord | None = None


@dataclass(slots=True)
class Joins:
    """An index of all that was read together."""

    spans: dict[SpanRef, SpanRecord] = field(default_factory=dict[SpanRef, SpanRecord])
    tools: dict[str, ToolFacts] = field(default_factory=lambda: defaultdict(ToolFacts))
    requests: dict[str, RequestFacts] = field(default_factory=lambda: defaultdict(RequestFacts))
    """By request id."""
    unnamed: list[RequestFacts] = field(default_factory=list[RequestFacts])
    """Failed requests that never got an id."""
    prompts: dict[str, LogRecord] = field(default_factory=dict[str, LogRecord])
    """The user_prompt events by prompt id."""
    events: dict[str, list[LogRecord]] = field(default_factory=lambda: defaultdict(list))
    """By session id, in order of time."""
    last_of_prompt: dict[str, int] = field(default_factory=dict[str, int])
    """When the last event of each prompt's turn was written."""
    _prompt_times: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """When the prompts of each session came, in order."""
    _answered: set[str] = field(default_factory=set[str])
    """Prompts whose interaction has ended, and sub-agents that have."""
    _tool_of_span: dict[SpanRef, str] = field(default_factory=dict[SpanRef, str])
    _prompt_of_span: dict[SpanRef, str] = field(default_factory=dict[SpanRef, str])
    _prompts_of_trace: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _requests_under: dict[tuple[SpanRef, str | None], list[SpanRecord]] = field(default_factory=lambda: defaultdict(list))
    _session_of_trace: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, records: Iterable[Record]) -> "Joins":
        """Index these records, which may come in any order."""
        joins = cls()
        held = list(records)
        for record in held:
            joins._note_session(record)
            if isinstance(record, SpanRecord):
                joins.spans[record.ref] = record
        for record in held:
            if isinstance(record, LogRecord):
                joins.events[joins.session_of(record)].append(record)
        for events in joins.events.values():
            events.sort(key=lambda event: (event.time_ns, integer(event.attributes, "event.sequence") or 0))
            joins._add_events(events)
        joins._add_spans()
        return joins

    # ------------------------------------------------------------------------------------------------------- building

    def _note_session(self, record: Record) -> None:
        session = text(record.attributes, "session.id")
        if session and record.trace_id:
            self._session_of_trace.setdefault(record.trace_id, session)

    def _add_events(self, events: list[LogRecord]) -> None:
        failed: RequestFacts | None = None
        for event in events:
            self._add_bridges(event)
            match names.event_name(event):
                case names.USER_PROMPT if prompt := text(event.attributes, "prompt.id"):
                    self.prompts.setdefault(prompt, event)
                    self._prompt_times[self.session_of(event)].append(event.time_ns)
                case names.API_REQUEST:
                    self._request_facts(event).event = event
                case names.API_ERROR:
                    failed = self._request_facts(event)
                    failed.event = event
                case names.RETRIES_EXHAUSTED if failed is not None:
                    failed.exhausted = event
                case names.ASSISTANT_RESPONSE if request := text(event.attributes, "request_id"):
                    self.requests[request].response = event
                case names.TOOL_DECISION if tool := text(event.attributes, "tool_use_id"):
                    self.tools[tool].decision = event
                    # A permission span names no tool. The decision is written under it.
                    self._tool_of_span[event.ref] = tool
                case names.TOOL_RESULT if tool := text(event.attributes, "tool_use_id"):
                    self.tools[tool].result = event
                case names.SUBAGENT_COMPLETED if agent := text(event.attributes, "agent_id"):
                    self._answered.add(agent)
                case _:
                    pass

    def _add_bridges(self, event: LogRecord) -> None:
        prompt = text(event.attributes, "prompt.id")
        if prompt and names.event_name(event) not in _AFTER_THE_TURN:
            self.last_of_prompt[prompt] = event.time_ns
        if prompt and event.trace_id:
            self._prompt_of_span.setdefault(event.ref, prompt)
            self._prompts_of_trace[event.trace_id].add(prompt)

    def _request_facts(self, event: LogRecord) -> RequestFacts:
        request = text(event.attributes, "request_id")
        if request:
            return self.requests[request]
        facts = RequestFacts()
        self.unnamed.append(facts)
        return facts

    def _add_spans(self) -> None:
        for record in self.spans.values():
            match record.name:
                case names.INTERACTION if record.stop_ns and (prompt := self.prompt_of(record)):
                    self._answered.add(prompt)
                case names.LLM_REQUEST:
                    self._requests_under[record.parent, self.agent_of(record)].append(record)
                    if request := text(record.attributes, "request_id"):
                        self.requests[request].span = record
                case names.TOOL if tool := self.tool_use_id(record):
                    self.tools[tool].span = record
                case names.TOOL_EXECUTION if tool := self.tool_use_id(record):
                    self.tools[tool].execution = record
                case names.BLOCKED_ON_USER if tool := self.tool_use_id(record):
                    self.tools[tool].wait = record
                case _:
                    pass
        for requests in self._requests_under.values():
            requests.sort(key=lambda span: span.start_ns)
        for facts in self.unnamed:
            facts.span = self._failed_span(facts)

    def _failed_span(self, facts: RequestFacts) -> SpanRecord | None:
        """The span of a failed request that has no id: it ended under the same parent as the event was written."""
        event = facts.event
        if event is None or not event.trace_id:
            return None
        under = self._requests_under.get((event.ref, self.agent_of(event)), [])
        unnamed = (span for span in under if not text(span.attributes, "request_id"))
        return next((span for span in unnamed if abs(span.end_ns - event.time_ns) <= _END_TOGETHER_NS), None)

    # -------------------------------------------------------------------------------------------------------- asking

    def session_of(self, record: Record) -> str:
        """The session that a record belongs to; its trace where none of the trace names a session."""
        return (
            text(record.attributes, "session.id")
            or text(record.resource, "session.id")
            or self._session_of_trace.get(record.trace_id)
            or record.trace_id
        )

    def agent_of(self, record: Record) -> str | None:
        """The sub-agent that a record belongs to. In sub-agents the conversation's id is the agent's, not the session's."""
        agent = text(record.attributes, "agent_id")
        conversation = text(record.attributes, "gen_ai.conversation.id")
        return agent or (conversation if conversation != self.session_of(record) else None)

    def tool_use_id(self, record: SpanRecord) -> str | None:
        """The tool call that a span is part of: by its own word, its parent's, or that of the decision written under it."""
        own = text(record.attributes, "tool_use_id", "gen_ai.tool.call.id")
        if own:
            return own
        parent = self.spans.get(record.parent)
        if parent is not None and parent.name == names.TOOL:
            return text(parent.attributes, "tool_use_id", "gen_ai.tool.call.id")
        return self._tool_of_span.get(record.ref)

    def calling_tool(self, record: Record) -> str | None:
        """The tool call in which a record's agent runs, from the execution span that it stands under."""
        above = (span for ref in self._upward(record) if (span := self.spans.get(ref)) is not None)
        return next((tool for span in above if span.name == names.TOOL_EXECUTION and (tool := self.tool_use_id(span))), None)

    def prompt_of(self, record: Record) -> str | None:
        """The prompt that a record was part of the answer to."""
        own = text(record.attributes, "prompt.id")
        if own:
            return own
        under = next((prompt for ref in self._upward(record) if (prompt := self._prompt_of_span.get(ref))), None)
        found = self._prompts_of_trace.get(record.trace_id, set())
        return under or (next(iter(found)) if len(found) == 1 else None)

    def turn_key(self, record: Record) -> str | None:
        """The key of the turn that a record stands in: its prompt's id, else that of the interaction's span."""
        prompt = self.prompt_of(record)
        if prompt:
            return prompt
        missing = ""
        for ref in self._upward(record):
            span = self.spans.get(ref)
            if span is None:
                missing = ref[1]
            elif span.name == names.INTERACTION:
                return span_key(span.span_id)
        # The interaction is exported last: a parent that has not been read is taken for it.
        return span_key(missing) if missing and isinstance(record, SpanRecord) else None

    def container(self, record: Record) -> str | None:
        """The key of what a request or compaction belongs to: the sub-agent that made it, else the turn."""
        return self.agent_of(record) or self.turn_key(record)

    def issuing_span(self, facts: ToolFacts) -> SpanRecord | None:
        """The span of the request that issued a tool call: by the events' word, else the last one that began before it."""
        named = facts.text("request_id")
        if named and named in self.requests:
            return self.requests[named].span
        if named or facts.span is None:
            return None
        under = self._requests_under.get((facts.span.parent, self.agent_of(facts.span)), [])
        before = under[: bisect_right(under, facts.span.start_ns, key=lambda span: span.start_ns)]
        issuing = (span for span in reversed(before) if text(span.attributes, "stop_reason") in (None, "tool_use"))
        return next(issuing, None)

    def interaction_of(self, record: Record) -> SpanRecord | None:
        """The interaction that a record stands under, where it was read."""
        above = (span for ref in self._upward(record) if (span := self.spans.get(ref)) is not None)
        return next((span for span in above if span.name == names.INTERACTION), None)

    def is_over(self, event: LogRecord) -> bool:
        """Whether the turn or sub-agent of an event has ended since, with all that it still had to do."""
        agent = self.agent_of(event)
        if agent or self.prompt_of(event) in self._answered:
            return agent is None or agent in self._answered
        return self.next_prompt_ns(event) is not None

    def next_prompt_ns(self, event: LogRecord) -> int | None:
        """When the session's next prompt came."""
        times = self._prompt_times[self.session_of(event)]
        after = bisect_right(times, event.time_ns)
        return times[after] if after < len(times) else None

    def answered_ns(self, event: LogRecord, before_ns: int) -> int | None:
        """When the thing happened that the request of an event answers: the prompt, a tool's result, the request before."""
        agent, query = self.agent_of(event), text(event.attributes, "query_source")
        events = self.events[self.session_of(event)]
        for index in reversed(range(bisect_right(events, before_ns, key=lambda found: found.time_ns))):
            earlier = events[index]
            match names.event_name(earlier):
                case names.USER_PROMPT if text(earlier.attributes, "prompt.id") == text(event.attributes, "prompt.id"):
                    return earlier.time_ns
                case names.TOOL_RESULT if self.agent_of(earlier) == agent and _differ(earlier, event, "request_id"):
                    return earlier.time_ns
                case names.API_REQUEST | names.API_ERROR if (
                    self.agent_of(earlier) == agent and text(earlier.attributes, "query_source") == query
                ):
                    return earlier.time_ns
                case _:
                    continue
        return None

    def _upward(self, record: Record) -> Iterator[SpanRef]:
        """A span and its ancestors, the last of which may not have been read; of an event, the span it was written under."""
        ref = record.ref
        for _ in range(_DEPTH):
            yield ref
            span = self.spans.get(ref)
            if span is None or not span.parent_id:
                return
            ref = span.parent


def _differ(one: LogRecord, other: LogRecord, name: str) -> bool:
    return one.attributes.get(name) != other.attributes.get(name)


def span_key(span_id: str) -> str:
    """The key of a thing that the world gave no identity."""
    return f"span:{span_id}"


def request_key(record: SpanRecord) -> str:
    """The key of a model request's span."""
    return text(record.attributes, "request_id") or span_key(record.span_id)
