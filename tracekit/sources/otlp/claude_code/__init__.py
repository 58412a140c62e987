"""Claude Code's own telemetry: spans of its traces beta, log records that it calls events."""

from collections.abc import Iterator, Sequence
from typing import Final

from tracekit.model import Problem, Span
from tracekit.sources.otlp.claude_code import hooks, names, others, requests, tools, turns
from tracekit.sources.otlp.claude_code.hooks import HookRuns
from tracekit.sources.otlp.claude_code.joins import Joins
from tracekit.sources.otlp.claude_code.names import is_claude_code
from tracekit.sources.otlp.records import LogRecord, Place, Record, SpanRecord

__all__ = ["is_claude_code", "observe"]

_EVENTS: Final = frozenset(
    {
        names.USER_PROMPT,
        names.API_REQUEST,
        names.API_ERROR,
        names.TOOL_DECISION,
        names.TOOL_RESULT,
        names.HOOK_START,
        names.HOOK_COMPLETE,
        names.MCP_CONNECTION,
        names.COMPACTION,
        names.SUBAGENT_COMPLETED,
    },
)
"""The events that tell of a boundary. The others are passed over, whatever they hold."""


def observe(records: Sequence[Record], *, content: bool) -> Iterator[tuple[Place, Span | Problem]]:
    """Say what these records, which were read together, tell of boundaries. Spans come in the order of the records."""
    joins = Joins.of(records)
    runs = HookRuns.of(joins)
    for record in records:
        if isinstance(record, LogRecord) and names.event_name(record) not in _EVENTS:
            continue
        if not joins.session_of(record):
            yield record.place, Problem(record.place.line, record.place.position, "no session id", record.name)
            continue
        found = (
            _of_span(record, joins, content=content) if isinstance(record, SpanRecord) else _of_event(record, joins, runs, content=content)
        )
        yield from ((record.place, span) for span in found)


def _of_span(record: SpanRecord, joins: Joins, *, content: bool) -> Iterator[Span]:
    match record.name:
        case names.INTERACTION:
            yield from turns.from_span(record, joins, content=content)
        case names.LLM_REQUEST:
            yield from requests.from_span(record, joins, content=content)
        case names.TOOL:
            yield from tools.schedule_from_span(record, joins, content=content)
        case names.BLOCKED_ON_USER:
            yield from tools.wait_from_span(record, joins)
        case names.TOOL_EXECUTION:
            yield from tools.execution_from_span(record, joins)
        case names.HOOK:
            yield from hooks.from_span(record, joins, content=content)
        case _:
            pass


def _of_event(event: LogRecord, joins: Joins, runs: HookRuns, *, content: bool) -> Iterator[Span]:
    match names.event_name(event):
        case names.USER_PROMPT:
            yield from turns.from_event(event, joins, content=content)
        case names.API_REQUEST | names.API_ERROR:
            yield from requests.from_event(event, joins, content=content)
        case names.TOOL_DECISION:
            yield from tools.from_decision(event, joins)
        case names.TOOL_RESULT:
            yield from tools.from_result(event, joins, content=content)
        case names.HOOK_START:
            yield from hooks.from_start(event, joins, runs, content=content)
        case names.HOOK_COMPLETE:
            yield from hooks.from_complete(event, joins, runs, content=content)
        case names.MCP_CONNECTION:
            yield from others.mcp_connection(event, joins)
        case names.COMPACTION:
            yield from others.compaction(event, joins)
        case _:
            yield from others.subagent(event, joins)
