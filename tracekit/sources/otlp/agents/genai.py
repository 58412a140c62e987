"""OpenTelemetry's GenAI and MCP conventions, of every age that is still sent."""

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from tracekit.model import NO_ATTRIBUTES, Value, semconv
from tracekit.model.redact import error_text
from tracekit.sources.otlp.agents.sighting import AGENT, MCP_CLIENT, MCP_SERVER, REQUEST, TOOL, Role, Sighting
from tracekit.sources.otlp.records import SERVER, STATUS_ERROR, SpanRecord
from tracekit.sources.otlp.values import Attributes, integer, number, present, text, texts
from tracekit.sources.timestamps import SECOND

_ROLES: Final[Mapping[Value, Role]] = {
    "chat": REQUEST,
    "generate_content": REQUEST,
    "text_completion": REQUEST,
    "execute_tool": TOOL,
    "invoke_agent": AGENT,
    "invoke_workflow": AGENT,
}
_MCP_CALL: Final = re.compile(r"(?:MCP send )?tools/call(?: (?P<tool>.+))?")
"""Names of the spans of a call: `tools/call add` by the conventions, `MCP send tools/call add` from the Python SDK's client."""
_FAILURES: Final = frozenset({"error.type", "http.response.status_code", "rpc.response.status_code"})
"""Attributes that tell of an error, or of how a call ended."""
_DIGEST_LENGTH: Final = 16
_REQUEST: Final = (
    (semconv.OPERATION, "gen_ai.operation.name"),
    (semconv.PROVIDER, "gen_ai.provider.name"),
    (semconv.REQUEST_MODEL, "gen_ai.request.model"),
    (semconv.RESPONSE_MODEL, "gen_ai.response.model"),
    (semconv.RESPONSE_ID, "gen_ai.response.id"),
    (semconv.STOP_REASON, "gen_ai.response.finish_reasons"),
)
"""What of a request is told as it stands."""
_USAGE: Final = (
    (semconv.OUTPUT_TOKENS, ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")),
    (semconv.CACHE_READ_TOKENS, ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens")),
    (
        semconv.CACHE_WRITE_TOKENS,
        (
            "gen_ai.usage.cache_write.input_tokens",
            "gen_ai.usage.cache_creation.input_tokens",
            "gen_ai.usage.cache_creation_input_tokens",
        ),
    ),
)


def sight(record: SpanRecord) -> Sighting | None:
    """Read a span by the conventions; None where it is no agent's."""
    own = record.attributes
    call = _MCP_CALL.fullmatch(record.name) if "tools/call" in record.name else None
    if own.get("mcp.method.name") == "tools/call" or call:
        return _mcp_call(record, call["tool"] if call else None)
    role = _ROLES.get(own.get("gen_ai.operation.name", ""))
    if role is REQUEST:
        return request(record)
    if role is TOOL:
        return tool(record)
    if role is None:
        return None
    name = text(own, "gen_ai.agent.name", "gen_ai.workflow.name") or ""
    return Sighting(role, name, attributes=present([(semconv.AGENT_TYPE, name)]) | failure(record))


def request(record: SpanRecord, *, key: str | None = None) -> Sighting:
    """A request to a model."""
    own = record.attributes
    attributes = texts(own, _REQUEST)
    attributes.setdefault(semconv.OPERATION, "chat")
    if semconv.PROVIDER not in attributes and (system := text(own, "gen_ai.system")):
        attributes[semconv.PROVIDER] = system
    if semconv.REQUEST_MODEL not in attributes and semconv.RESPONSE_MODEL in attributes:
        attributes[semconv.REQUEST_MODEL] = attributes[semconv.RESPONSE_MODEL]
    attributes |= usage(own)
    attributes |= first_chunk(record, semconv.FIRST_BYTE_NS)
    attributes |= failure(record)
    model, response = attributes.get(semconv.REQUEST_MODEL, ""), attributes.get(semconv.RESPONSE_ID)
    return Sighting(REQUEST, str(model), key or (None if response is None else str(response)), attributes)


def usage(own: Attributes) -> dict[str, int]:
    """The tokens. `gen_ai.usage.input_tokens` counts the cached ones too, ours do not."""
    found: dict[str, int] = {}
    for ours, theirs in _USAGE:
        count = integer(own, *theirs)
        if count is not None:
            found[ours] = count
    total = integer(own, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
    if total is not None:
        found[semconv.INPUT_TOKENS] = uncached(total, found.get(semconv.CACHE_READ_TOKENS), found.get(semconv.CACHE_WRITE_TOKENS))
    return found


def uncached(total: int, read: int | None, write: int | None) -> int:
    """The input tokens that no cache gave or took. A total below its parts was uncached to begin with, as some senders count."""
    rest = total - (read or 0) - (write or 0)
    return rest if rest >= 0 else total


def first_chunk(record: SpanRecord, name: str) -> dict[str, Value]:
    """When the first chunk of the response came."""
    seconds = number(record.attributes, "gen_ai.response.time_to_first_chunk")
    return {} if seconds is None else {name: record.start_ns + int(seconds * SECOND)}


def tool(record: SpanRecord) -> Sighting:
    """The execution of a tool, which may be the call to its MCP server as well."""
    own = record.attributes
    call = text(own, "gen_ai.tool.call.id")
    name = text(own, "gen_ai.tool.name") or record.name.removeprefix("execute_tool").strip()
    attributes = present(((semconv.TOOL_NAME, name), (semconv.TOOL_CALL_ID, call)))
    attributes |= measures(text(own, "gen_ai.tool.call.arguments"), text(own, "gen_ai.tool.call.result"))
    attributes |= failure(record)
    is_mcp = "mcp.method.name" in own
    if is_mcp:
        attributes |= _mcp(own)
    return Sighting(TOOL, name, call, attributes, is_mcp=is_mcp)


def measures(arguments: str | None, result: str | None) -> dict[str, Value]:
    """Sizes and digests of what went into a tool and came out: they tell a loop, and nothing of the content."""
    if arguments is None and result is None:
        return {}
    return present(
        (
            (semconv.TOOL_INPUT_SIZE, None if arguments is None else len(arguments)),
            (semconv.TOOL_INPUT_DIGEST, digest(arguments)),
            (semconv.TOOL_RESULT_SIZE, None if result is None else len(result)),
            (semconv.TOOL_RESULT_DIGEST, digest(result)),
        ),
    )


def digest(content: str | None) -> str | None:
    """Sixteen hex digits that are equal for equal texts."""
    return None if content is None else hashlib.sha256(content.encode()).hexdigest()[:_DIGEST_LENGTH]


def failure(record: SpanRecord) -> dict[str, Value]:
    """The error of a span: its attribute, else the exception that it recorded; the text from the status, else the exception's."""
    own = record.attributes
    if record.status != STATUS_ERROR and _FAILURES.isdisjoint(own):
        return {}
    exception = next((event.attributes for event in reversed(record.events) if event.name == "exception"), NO_ATTRIBUTES)
    kind = text(own, "error.type")
    message = None
    if record.status == STATUS_ERROR:
        kind = kind or text(exception, "exception.type")
        message = record.status_text or text(exception, "exception.message")
    return present(
        (
            (semconv.ERROR_TYPE, kind),
            (semconv.ERROR_TEXT, error_text(message) if message else None),
            (semconv.HTTP_STATUS, integer(own, "http.response.status_code")),
            (semconv.RPC_STATUS, text(own, "rpc.response.status_code")),
        ),
    )


def _mcp_call(record: SpanRecord, named: str | None) -> Sighting:
    own = record.attributes
    name = text(own, "gen_ai.tool.name") or named or ""
    role = MCP_SERVER if record.kind == SERVER else MCP_CLIENT
    attributes = (
        present([(semconv.TOOL_NAME, name), (semconv.TOOL_CALL_ID, text(own, "gen_ai.tool.call.id"))]) | _mcp(own) | failure(record)
    )
    return Sighting(role, name, text(own, "gen_ai.tool.call.id"), attributes)


def _mcp(own: Mapping[str, Value]) -> dict[str, Value]:
    return present(
        (
            (semconv.MCP_METHOD, text(own, "mcp.method.name") or "tools/call"),
            (semconv.MCP_SERVER, text(own, "anthropic.mcp.server.name", "mcp.server.name")),
            (semconv.MCP_SESSION, text(own, "mcp.session.id")),
            (semconv.JSONRPC_ID, text(own, "jsonrpc.request.id")),
            (semconv.MCP_TRANSPORT, text(own, "network.transport")),
        ),
    )
