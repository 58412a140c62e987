"""MCP servers that live in the host: their client sends its JSON-RPC through the control channel."""

from collections.abc import Mapping
from typing import Any, Final, cast

from opentelemetry import propagate, trace

from tracekit.instrument.handle import Handle
from tracekit.instrument.place import Place
from tracekit.instrument.runtime import RUNTIME
from tracekit.instrument.sdk.claude_agent.hooks import object_in
from tracekit.instrument.sdk.mcp.connections import IN_PROCESS, Connecting
from tracekit.instrument.sdk.mcp.requests import BESIDE, HANDSHAKE, KNOWN_CALLS, TOOL_USE_ID, TOOLS_LIST, Request
from tracekit.instrument.tools import EXECUTE_TOOL
from tracekit.model import Boundary, Status, semconv

Object = Mapping[str, Any]

_OF_THE_TOOL: Final = frozenset(
    {semconv.ERROR_TYPE, semconv.ERROR_TEXT, semconv.TOOL_RESULT_SIZE, semconv.TOOL_RESULT_DIGEST, semconv.CONTENT}
)
_NO_SERVER: Final = "Missing server_name or message for MCP request"


class HostTool(Handle):
    """A tool that runs in the host. The call itself, from its block to its result, is the client's."""

    boundary = Boundary.TOOL_EXECUTION

    def __init__(self, server: str, tool: str, tool_use_id: str, parent: Handle) -> None:
        name = f"mcp__{server}__{tool}"
        said = {semconv.OPERATION: EXECUTE_TOOL, semconv.TOOL_NAME: name, semconv.TOOL_CALL_ID: tool_use_id}
        super().__init__(f"{EXECUTE_TOOL} {name}", key=tool_use_id, parent=parent, attributes=said)

    def _standing(self) -> Place:
        return self._outer._replace(tool=self._key)

    def _part_of(self) -> str | None:
        return self._key


class ServerCall(Request):
    """A request to a server of the host; of a tool's call also the tool's own run."""

    tool: HostTool | None = None

    def answer(self, reply: Object, at_ns: int) -> None:
        """The host's server answered, or the SDK in its place."""
        error = object_in(reply, "error")
        if error:
            self.failed(int(error.get("code") or 0), str(error.get("message") or ""))
        else:
            self.answered(object_in(reply, "result"))
        self._over(at_ns)

    def refused(self, words: str, at_ns: int) -> None:
        """The host could not even deliver it."""
        self.result(is_error=True, text=words)
        self._over(at_ns)

    def given_up(self) -> None:
        """The client waits no longer."""
        self._status = Status.CANCELLED
        self._over(RUNTIME.clock())

    def _over(self, at_ns: int) -> None:
        said = {name: value for name, value in self._to_say.items() if name in _OF_THE_TOOL}
        self.end(at_ns=at_ns)
        if self.tool is not None:
            self.tool.say(said)
            self.tool.end(status=self._status, at_ns=at_ns)


class Greeting(Connecting):
    """A stage of the client's connecting to a server of the host."""

    def answer(self, reply: Object, at_ns: int) -> None:
        """The stage is over."""
        error = object_in(reply, "error")
        if error:
            code = str(error.get("code") or 0)
            self.failed(text=str(error.get("message") or ""))
            self.say({semconv.ERROR_TYPE: code, semconv.RPC_STATUS: code})
        elif isinstance(version := object_in(reply, "result").get("protocolVersion"), str):
            self.say({semconv.MCP_PROTOCOL: version})
        self.end(at_ns=at_ns)

    def refused(self, words: str, at_ns: int) -> None:
        """The host could not even deliver it."""
        self.failed(text=words or _NO_SERVER)
        self.end(at_ns=at_ns)

    def given_up(self) -> None:
        """The client waits no longer."""
        self.end(status=Status.CANCELLED)


def asked(request: Object, parent: Handle) -> "ServerCall | Greeting | None":
    """What a message to a server of the host is; None where it needs no answer, or is beside the work."""
    server = str(request.get("server_name") or "unknown")
    message = object_in(request, "message")
    method, number = message.get("method"), message.get("id")
    if not isinstance(method, str) or number is None:
        return None
    if method in HANDSHAKE or method == TOOLS_LIST:
        said = {semconv.JSONRPC_ID: str(number), semconv.MCP_STAGE: method, semconv.MCP_METHOD: method}
        return Greeting(server, IN_PROCESS, parent=parent, attributes=said)
    if method in BESIDE:
        return None
    params = object_in(message, "params")
    tool, tool_use_id = params.get("name"), object_in(params, "_meta").get(TOOL_USE_ID)
    run = HostTool(server, tool, tool_use_id, parent) if isinstance(tool, str) and isinstance(tool_use_id, str) else None
    about = {semconv.MCP_TRANSPORT: IN_PROCESS, semconv.JSONRPC_ID: str(number)}
    call = ServerCall(server, method, params, about, parent=run or parent)
    call.tool = run
    return call


def introduce(call: ServerCall, request: Object) -> None:
    """Tell the server's side whose call it is: in the request, as the SDK does over a wire, and in this process."""
    meta = object_in(object_in(object_in(request, "message"), "params"), "_meta")
    if isinstance(tool_use_id := meta.get(TOOL_USE_ID), str):
        KNOWN_CALLS[tool_use_id] = call
    if meta and call.span.is_recording():
        propagate.inject(cast("dict[str, Any]", meta), trace.set_span_in_context(call.span))
