"""The names that Claude Code gives its spans and events, and how late its events are."""

from typing import Final

from tracekit.sources.otlp.records import Record
from tracekit.sources.timestamps import MILLISECOND, SECOND

PREFIX: Final = "claude_code."

INTERACTION: Final = "claude_code.interaction"
LLM_REQUEST: Final = "claude_code.llm_request"
TOOL: Final = "claude_code.tool"
BLOCKED_ON_USER: Final = "claude_code.tool.blocked_on_user"
TOOL_EXECUTION: Final = "claude_code.tool.execution"
HOOK: Final = "claude_code.hook"

USER_PROMPT: Final = "user_prompt"
API_REQUEST: Final = "api_request"
API_ERROR: Final = "api_error"
RETRIES_EXHAUSTED: Final = "api_retries_exhausted"
ASSISTANT_RESPONSE: Final = "assistant_response"
TOOL_DECISION: Final = "tool_decision"
TOOL_RESULT: Final = "tool_result"
HOOK_START: Final = "hook_execution_start"
HOOK_COMPLETE: Final = "hook_execution_complete"
MCP_CONNECTION: Final = "mcp_server_connection"
COMPACTION: Final = "compaction"
SUBAGENT_COMPLETED: Final = "subagent_completed"

# Measured on client 2.1.332 against a server and commands that logged their own times.
STOP_LATE_NS: Final = 500 * MILLISECOND
"""A request's span and its api_request event end 6 to 478 ms after the server sent message_stop: the client was busy."""
EVENT_LATE_NS: Final = 100 * MILLISECOND
"""An event that tells of an end is written up to 18 ms (tools) or 80 ms (requests) after it."""
GIVEN_BACK_NS: Final = 60 * MILLISECOND
"""A tool's result is written to the transcript 2 to 51 ms after its span ended."""
PROMPT_LATE_NS: Final = SECOND
"""The user_prompt event is written 8 to 753 ms after its interaction began."""
ROUNDING_NS: Final = MILLISECOND
"""Durations are whole milliseconds."""
RETRY_FLOOR_NS: Final = 400 * MILLISECOND
"""No retry begins sooner after a failed attempt: the first backoff is half a second, less its jitter."""
CALL_WITHIN_NS: Final = 50 * MILLISECOND
"""An MCP tool's execution span holds its tools/call with this much of the client's own work at either end (9 ms seen)."""


def is_claude_code(record: Record) -> bool:
    """Whether Claude Code sent this. The scope's name may have been lost on the way, the record's never is."""
    return record.name.startswith(PREFIX) or record.scope.startswith("com.anthropic.claude_code.")


def event_name(record: Record) -> str:
    """An event's name as the attribute `event.name` gives it; it is the record's own without a prefix."""
    given = record.attributes.get("event.name")
    return given if isinstance(given, str) else record.name.removeprefix(PREFIX)
