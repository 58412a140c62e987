"""A call to an MCP server, from request to response."""

from collections.abc import Mapping
from typing import Final

from opentelemetry.trace import SpanKind

from tracekit.instrument.guard import guarded
from tracekit.instrument.handle import Handle, Told
from tracekit.instrument.kept import kept_result
from tracekit.instrument.tools import TOOL_ERROR
from tracekit.model import NO_ATTRIBUTES, Boundary, Status, semconv
from tracekit.model.redact import error_text

TOOLS_CALL: Final = "tools/call"


class McpCall(Handle):
    """One tools/call. See `mcp_call`."""

    boundary = Boundary.MCP_CALL
    kind = SpanKind.CLIENT

    def __init__(
        self,
        server: str,
        tool: str,
        *,
        tool_use_id: str | None = None,
        jsonrpc_id: str | int | None = None,
        parent: Handle | None = None,
        attributes: Mapping[str, Told] = NO_ATTRIBUTES,
    ) -> None:
        said: dict[str, Told] = {semconv.MCP_METHOD: TOOLS_CALL, semconv.MCP_SERVER: server, semconv.TOOL_NAME: tool, **attributes}
        if jsonrpc_id is not None:
            said[semconv.JSONRPC_ID] = str(jsonrpc_id)
        super().__init__(f"{TOOLS_CALL} {tool}", key=tool_use_id, parent=parent, attributes=said)
        self._server = server

    @guarded
    def result(self, value: object = None, *, is_error: bool = False, text: str | None = None) -> None:
        """The response came.

        Args:
            value: What the tool gave back, of which size and digest are kept.
            is_error: Its `isError`: a failure that raises nothing.
            text: What it says of its error.
        """
        said = kept_result(value)
        if is_error:
            said[semconv.ERROR_TYPE] = TOOL_ERROR
            if text:
                said[semconv.ERROR_TEXT] = error_text(text)
            self._status = Status.ERROR
        self.say(said)

    @guarded
    def failed(self, code: int, text: str = "") -> None:
        """A JSON-RPC error came.

        Args:
            code: Its code.
            text: Its message.
        """
        said: dict[str, Told] = {semconv.RPC_STATUS: str(code), semconv.ERROR_TYPE: str(code)}
        self.say({**said, **({semconv.ERROR_TEXT: error_text(text)} if text else {})})
        self._status = Status.ERROR

    def _known_as(self) -> str | None:
        call = self._key or self._outer.tool
        if call is not None:
            self._to_say[semconv.TOOL_CALL_ID] = call
        return call

    def _part_of(self) -> str | None:
        return self._key or self._outer.around


def mcp_call(
    server: str,
    tool: str,
    *,
    tool_use_id: str | None = None,
    jsonrpc_id: str | int | None = None,
    parent: Handle | None = None,
    attributes: Mapping[str, Told] = NO_ATTRIBUTES,
) -> McpCall:
    """One tools/call to an MCP server, from request to response.

    Args:
        server: Name of the server.
        tool: Name of the tool, as the server calls it.
        tool_use_id: The id that the model gave the call; None: that of the call that the code stands in.
        jsonrpc_id: Id of the JSON-RPC request.
        parent: What it is part of; None: what the code stands in.
        attributes: More to be known of it, by the names of `semconv`.
    """
    return McpCall(server, tool, tool_use_id=tool_use_id, jsonrpc_id=jsonrpc_id, parent=parent, attributes=attributes)
