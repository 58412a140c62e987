"""OpenTelemetry's GenAI and MCP conventions, of every age that is still sent."""

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from tracekit.model import NO_ATTRIBUTES, Value, semconv
from tracekit.model.redact import error_text
from tracekit.sources.otlp.agents.sighting import Role, Sighting
from tracekit.sources.otlp.records import SERVER, STATUS_ERROR, SpanRecord
from tracekit.sources.otlp.values import Attributes, integer, number, present, text
from tracekit.sources.timestamps import SECOND

_ROLES: Final = {
    "chat": Role.REQUEST,
    "generate_content": Role.REQUEST,
    "text_completion": Role.REQUEST,
    "execute_tool": Role.TOOL,
    "invoke_agent": Role.AGENT,
    "invoke_workflow": Role.AGENT,
}
_MCP_CALL: Final = re.compile(r"(?:MCP send )?tools/call(?: (?P<tool>.+))?")
"""Names of the spans of a call: `tools/call add` by the conventions, `MCP send tools/call add` from the Python SDK's client."""
_DIGEST_LENGTH: Final = 16


def sight(record: SpanRecord) -> Sighting | None:
    """Read a span by the conventions; None where it is no agent's."""
    call = _MCP_CALL.fullmatch(record.name)
    if text(record.attributes, "mcp.method.name") == "tools/call" or call:
        return _mcp_call(record, call["tool"] if call else None)
    match _ROLES.get(text(record.attributes, "gen_ai.operation.name") or ""):
        case Role.REQUEST:
            return request(record)
        case Role.TOOL:
            return tool(record)
        case Role.AGENT:
            name = text(record.attributes, "gen_ai.agent.name", "gen_ai.workflow.name") or ""
            return Sighting(Role.AGENT, name, attributes=present([(semconv.AGENT_TYPE, name)]) | failure(record))
        case _:
            return None


def request(record: SpanRecord, *, key: str | None = None) -> Sighting:
    """A request to a model."""
    own = record.attributes
    model = text(own, "gen_ai.request.model", "gen_ai.response.model") or ""
    response = text(own, "gen_ai.response.id")
    attributes = present(
        (
            (semconv.OPERATION, text(own, "gen_ai.operation.name") or "chat"),
            (semconv.PROVIDER, text(own, "gen_ai.provider.name", "gen_ai.system")),
            (semconv.REQUEST_MODEL, model),
            (semconv.RESPONSE_MODEL, text(own, "gen_ai.response.model")),
            (semconv.RESPONSE_ID, response),
            (semconv.STOP_REASON, text(own, "gen_ai.response.finish_reasons")),
        ),
    )
    return Sighting(
        Role.REQUEST, model, key or response, attributes | usage(own) | first_chunk(record, semconv.FIRST_BYTE_NS) | failure(record)
    )


def usage(own: Attributes) -> dict[str, Value]:
    """The tokens. `gen_ai.usage.input_tokens` counts the cached ones too, ours do not."""
    read = integer(own, "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens")
    write = integer(
        own,
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
    )
    return present(
        (
            (semconv.INPUT_TOKENS, uncached(integer(own, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"), read, write)),
            (semconv.OUTPUT_TOKENS, integer(own, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")),
            (semconv.CACHE_READ_TOKENS, read),
            (semconv.CACHE_WRITE_TOKENS, write),
        ),
    )


def uncached(total: int | None, read: int | None, write: int | None) -> int | None:
    """The input tokens that no cache gave or took. A total below its parts was uncached to begin with, as some senders count."""
    if total is None:
        return None
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
    arguments, result = text(own, "gen_ai.tool.call.arguments"), text(own, "gen_ai.tool.call.result")
    attributes = present([(semconv.TOOL_NAME, name), (semconv.TOOL_CALL_ID, call)]) | measures(arguments, result) | failure(record)
    is_mcp = "mcp.method.name" in own
    return Sighting(Role.TOOL, name, call, attributes | (_mcp(own) if is_mcp else {}), is_mcp=is_mcp)


def measures(arguments: str | None, result: str | None) -> dict[str, Value]:
    """Sizes and digests of what went into a tool and came out: they tell a loop, and nothing of the content."""
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
    role = Role.MCP_SERVER if record.kind == SERVER else Role.MCP_CLIENT
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
