"""An MCP server behind the gateway: which of its calls are open, and how each is told when it ends."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import orjson

from tracekit.capture.gateway.asked import no_session
from tracekit.capture.gateway.calls import Caller, Calls
from tracekit.capture.gateway.fields import Object, as_list, as_object, inner, text
from tracekit.capture.gateway.naming import fresh
from tracekit.capture.gateway.upstream import Upstream
from tracekit.model import NO_ATTRIBUTES, Boundary, Source, Span, Status, Value, semconv
from tracekit.model.redact import error_text, mask_secrets

_Key = TypeVar("_Key")
_Found = TypeVar("_Found")

TOOL_USE: Final = "claudecode/toolUseId"
"""In the `_meta` of a call: the id that the model gave it."""

_CALLS: Final = frozenset({"tools/call", "resources/read", "prompts/get"})
_HANDSHAKE: Final = frozenset({"initialize", "server/discover"})
_NOT_FOUND: Final = "-32601"
_KEPT: Final = 4_096
"""Calls, sessions and endpoints of one server that are remembered at most."""
_RESERVED: Final = ("/v1/", "/api/")
"""Paths of the Messages API's host: no MCP server may draw what is meant for it to itself."""


@dataclass(slots=True)
class Call:
    """One JSON-RPC request that goes on record.

    Attributes:
        boundary: A call, or a part of the connection.
        method: Its JSON-RPC method.
        rpc_id: Its id as JSON: the same number may be an id as text too.
        start_ns: When it had been read.
        caller: Whose it is.
        key: What it is called while it is open.
        parent_key: What it is part of.
        attributes: What is known of it from the first.
        said: Its arguments, where content is wanted.
        is_over: Somebody has told its end.
    """

    boundary: Boundary
    method: str
    rpc_id: bytes
    start_ns: int
    caller: Caller
    key: str
    parent_key: str | None
    attributes: dict[str, Value]
    said: Any = None
    is_over: bool = False


@dataclass(slots=True)
class McpServer:
    """What is known of a server beyond one exchange.

    Attributes:
        name: By which the gateway knows it.
        upstream: Where it is.
        calls: Whose the tool calls are that passed in responses of the model.
        pending: Open calls by MCP session and id: a response may come in another exchange than its request.
        callers: Who uses an MCP session, once one of its calls has told.
        endpoints: Where a server of the older HTTP+SSE transport takes requests, as it told its clients.
    """

    name: str
    upstream: Upstream
    calls: Calls
    pending: OrderedDict[tuple[str, bytes], Call] = field(default_factory=OrderedDict[tuple[str, bytes], Call])
    callers: OrderedDict[str, Caller] = field(default_factory=OrderedDict[str, Caller])
    endpoints: OrderedDict[str, None] = field(default_factory=OrderedDict[str, None])

    def add_endpoint(self, target: str) -> None:
        """Remember where the server takes requests; only an address with a session of its own, and never one of the model's API."""
        if target.startswith("/") and "?" in target and not target.startswith(_RESERVED):
            _remember(self.endpoints, target, None)

    def call(self, message: Object, session: str, claimed: str, at_ns: int, *, content: bool) -> Call | None:
        """Open a call for a JSON-RPC request; None where it is none that goes on record.

        Args:
            message: The request.
            session: The MCP session; empty without one.
            claimed: The client's session where it names it.
            at_ns: When the request had been read.
            content: Keep the arguments.
        """
        method, rpc_id = message.get("method"), message.get("id")
        boundary = _boundary(method)
        if not isinstance(method, str) or rpc_id is None or boundary is None:
            return None
        params = inner(message, "params")
        use_id = str(inner(params, "_meta").get(TOOL_USE) or "")
        caller = self._caller(use_id, session, claimed, at_ns)
        call = Call(
            boundary,
            method,
            orjson.dumps(rpc_id),
            at_ns,
            caller,
            key=use_id if use_id and boundary is Boundary.MCP_CALL else fresh("exchange"),
            parent_key=(use_id or None) if boundary is Boundary.MCP_CALL else caller.session_id,
            attributes=self._attributes(method, rpc_id, params, session),
            said=params.get("arguments") if content else None,
        )
        if session:
            _remember(self.pending, (session, call.rpc_id), call)
        return call

    def forget(self, call: Call) -> bool:
        """A call ends; gives whether nobody has told of that yet."""
        session = str(call.attributes.get(semconv.MCP_SESSION, ""))
        self.pending.pop((session, call.rpc_id), None)
        was_over, call.is_over = call.is_over, True
        return not was_over

    def opened(self, call: Call) -> Span:
        """The call as it stands while nobody has answered."""
        return self._span(call, call.key, None, Status.UNSET, NO_ATTRIBUTES)

    def closed(self, call: Call, at_ns: int, status: Status, attributes: Mapping[str, Value]) -> Span:
        """The call with its end."""
        said = dict(attributes)
        if call.boundary is Boundary.MCP_CONNECTION:
            key = f"{self.name}@{at_ns}"
            is_probe = call.method != "initialize" and said.get(semconv.RPC_STATUS) == _NOT_FOUND
            if status is not Status.CANCELLED and not is_probe:
                said[semconv.MCP_STATUS] = "connected" if status is Status.OK else "failed"
        else:
            key = call.key if not call.key.startswith("exchange:") else f"{self.name}/{call.attributes[semconv.JSONRPC_ID]}@{call.start_ns}"
        if key != call.key:
            said[semconv.OPENED_AS] = call.key
        return self._span(call, key, at_ns, status, said)

    def _span(self, call: Call, key: str, end_ns: int | None, status: Status, said: Mapping[str, Value]) -> Span:
        return Span(
            Source.MCP_TAP,
            call.caller.session_id,
            call.boundary,
            key,
            call.start_ns,
            end_ns,
            name=self._name(call),
            agent_id=call.caller.agent_id,
            parent_key=call.parent_key,
            status=status,
            attributes={**call.attributes, **said},
        )

    def _name(self, call: Call) -> str:
        if call.boundary is Boundary.MCP_CONNECTION:
            return self.name
        tool = str(call.attributes.get(semconv.TOOL_NAME, ""))
        return tool.removeprefix(f"mcp__{self.name}__") or call.method

    def _caller(self, use_id: str, session: str, claimed: str, at_ns: int) -> Caller:
        known = self.calls.caller(use_id)
        if known is not None:
            if session:
                _remember(self.callers, session, known._replace(agent_id=None))
            return known
        if claimed:
            return Caller(claimed, None)
        return self.callers.get(session) or Caller(no_session(at_ns), None)

    def _attributes(self, method: str, rpc_id: object, params: Object, session: str) -> dict[str, Value]:
        found: dict[str, Value] = {
            semconv.MCP_SERVER: self.name,
            semconv.MCP_METHOD: method,
            semconv.MCP_TRANSPORT: "tcp",
            semconv.JSONRPC_ID: str(rpc_id),
        }
        if session:
            found[semconv.MCP_SESSION] = session
        if method == "tools/call" and (tool := text(params, "name")):
            found[semconv.TOOL_NAME] = f"mcp__{self.name}__{tool}"
            found[semconv.TOOL_INPUT_SIZE] = len(orjson.dumps(params.get("arguments")))
        if use_id := inner(params, "_meta").get(TOOL_USE):
            found[semconv.TOOL_CALL_ID] = str(use_id)
        return found


def result_of(call: Call, message: Object) -> tuple[Status, dict[str, Value]]:
    """How a call ended, by its JSON-RPC response."""
    if (error := message.get("error")) is not None:
        return Status.ERROR, rpc_error(error)
    result = inner(message, "result")
    found: dict[str, Value] = {semconv.TOOL_RESULT_SIZE: len(orjson.dumps(result))} if call.boundary is Boundary.MCP_CALL else {}
    if call.said is not None:
        found[semconv.CONTENT] = mask_secrets(orjson.dumps({"arguments": call.said, "result": result}).decode())
    if result.get("isError") is True:
        return Status.ERROR, {**found, semconv.ERROR_TYPE: "tool_error", semconv.ERROR_TEXT: error_text(_words(result))}
    return Status.OK, found


def rpc_error(error: Any) -> dict[str, Value]:
    """What a JSON-RPC error says."""
    said = as_object(error)
    code = said.get("code")
    found: dict[str, Value] = {semconv.ERROR_TEXT: error_text(text(said, "message"))}
    return found if code is None else {**found, semconv.ERROR_TYPE: str(code), semconv.RPC_STATUS: str(code)}


def _boundary(method: object) -> Boundary | None:
    if method in _CALLS:
        return Boundary.MCP_CALL
    is_listing = isinstance(method, str) and method.endswith("/list")
    return Boundary.MCP_CONNECTION if method in _HANDSHAKE or is_listing else None


def _words(result: Object) -> str:
    return "\n".join(text(as_object(part), "text") for part in as_list(result.get("content")))


def _remember(known: OrderedDict[_Key, _Found], key: _Key, found: _Found) -> None:
    known[key] = found
    if len(known) > _KEPT:
        known.popitem(last=False)
