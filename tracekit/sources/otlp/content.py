"""What of a record is content, and what may be kept of its span events when content is not wanted."""

from collections.abc import Iterable
from typing import Final

from tracekit.model import Event, Value, semconv
from tracekit.model.redact import error_text, mask_secrets
from tracekit.sources.otlp.records import SpanRecord
from tracekit.sources.otlp.values import Attributes, nested, spelled

REDACTED: Final = "<REDACTED>"
"""What Claude Code writes in place of content that it was not told to give."""

_CONTENT: Final = (
    # Claude Code
    "user_prompt",
    "prompt",
    "response",
    "response.model_output",
    "new_context",
    "system_prompt",
    "system_reminders",
    "tools",
    "tool_input",
    "tool_parameters",
    "full_command",
    "file_path",
    "hook_definitions",
    "output",
    "content",
    "bash_command",
    # GenAI and MCP conventions, newest and older
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.prompt",
    "gen_ai.completion",
    # OpenInference
    "input.value",
    "output.value",
    "tool.parameters",
)
_CONTENT_FAMILIES: Final = ("llm.input_messages.", "llm.output_messages.", "gen_ai.prompt.", "gen_ai.completion.")

_EVENT_NAMES: Final = frozenset({"exception.type", "client_request_id"})
"""Attributes of span events that are text and no content."""


def content_of(*sources: Attributes) -> dict[str, Value]:
    """Everything in these attributes that is content, as one attribute: a JSON object of the names that its senders use."""
    found: dict[str, Value | None] = {}
    for attributes in sources:
        for name, value in attributes.items():
            if value not in ("", REDACTED) and (name in _CONTENT or name.startswith(_CONTENT_FAMILIES)):
                found.setdefault(name, mask_secrets(spelled(value)))
    return {semconv.CONTENT: nested(found)} if found else {}


def span_content(record: SpanRecord) -> dict[str, Value]:
    """The content of a span and of its events."""
    return content_of(record.attributes, *(event.attributes for event in record.events))


def kept_events(events: Iterable[Event]) -> tuple[Event, ...]:
    """The events with what may be stored of them: numbers, and names that are known to be no content."""
    return tuple([Event(event.time_ns, event.name, _kept(event.attributes)) for event in events])


def _kept(attributes: Attributes) -> dict[str, Value]:
    kept: dict[str, Value] = {name: value for name, value in attributes.items() if not isinstance(value, str) or name in _EVENT_NAMES}
    if isinstance(message := attributes.get("exception.message"), str):
        kept["exception.message"] = error_text(message)
    return kept
