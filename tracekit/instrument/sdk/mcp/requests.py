"""One request on its way to the other side: what is asked, and what comes of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeGuard, cast
from weakref import WeakValueDictionary

from opentelemetry.trace import Span, StatusCode

from tracekit.instrument.endings import is_cancellation
from tracekit.instrument.kept import kept_input
from tracekit.instrument.mcp_calls import McpCall
from tracekit.model import semconv
from tracekit.model.redact import error_text

if TYPE_CHECKING:
    from mcp.shared.exceptions import MCPError

    from tracekit.instrument.handle import Handle, Told
    from tracekit.instrument.mcp_connections import McpConnection

TOOLS_CALL: Final = "tools/call"
TOOLS_LIST: Final = "tools/list"
HANDSHAKE: Final = frozenset({"initialize", "server/discover"})
BESIDE: Final = frozenset({"ping", "prompts/list", "resources/list", "resources/templates/list", "server/discover", "initialize"})
"""Requests that are no work of their own: the handshake belongs to the connection, and clients ask for these lists anyway."""
TOOL_USE_ID: Final = "claudecode/toolUseId"
"""Under which name Claude Code puts its id of a tool call into a request's `_meta`."""

SCOPE: Final = "mcp-python-sdk"
"""Of the SDK's own tracer."""

_EXECUTE_TOOL: Final = "execute_tool"


class Request(McpCall):
    """One request to an MCP server, or from one; of tools/call what the boundary promises, of the others what they have of it.

    Args:
        server: Name of the server.
        method: Its JSON-RPC method.
        params: Its parameters.
        about: What else is known: of the connection.
        parent: What it is part of; None: what the code stands in.
    """

    def __init__(
        self,
        server: str,
        method: str,
        params: Mapping[str, Any] | None,
        about: "Mapping[str, Told]",
        *,
        parent: "Handle | None" = None,
    ) -> None:
        asked: Mapping[str, Any] = params or {}
        known = _item(asked.get("_meta"), TOOL_USE_ID, "")
        name = asked.get("name")
        target = name if isinstance(name, str) else ""
        is_tool = method == TOOLS_CALL
        said: dict[str, Told] = {**about, semconv.MCP_METHOD: method}
        if is_tool:
            said |= {semconv.OPERATION: _EXECUTE_TOOL, **kept_input(asked.get("arguments") or {})}
        called = target if is_tool else method
        super().__init__(server, called, tool_use_id=known if isinstance(known, str) else None, parent=parent, attributes=said)
        if not is_tool:
            del self._to_say[semconv.TOOL_NAME]
            self._name = f"{method} {target}".rstrip()

    @property
    def server(self) -> str:
        """Name of the server."""
        return self._server

    @property
    def has_own_name(self) -> bool:
        """Whether the model gave the call an id."""
        return self._key is not None

    def answered(self, result: Any) -> None:
        """The result came, which may be that of a tool that failed."""
        parts = _parts(result)
        is_error = _item(result, "isError", "is_error") is True
        words = "\n".join(text for part in parts if isinstance(text := part.get("text"), str))
        self.result(parts or None, is_error=is_error, text=words if is_error else None)

    def broke(self, error: BaseException, *, at_ns: int | None = None) -> None:
        """No result came, and this ends."""
        if is_mcp_error(error):
            self.failed(error.error.code, error.error.message)
            self.end(at_ns=at_ns)
        else:
            self.end(error, at_ns=at_ns)


class Return(Request):
    """What a server asks of its client in the middle of a call: to sample, to ask the user, to list its roots.

    Args:
        call: The call that waits for it.
        method: Its JSON-RPC method.
        params: Its parameters.
    """

    def __init__(self, call: Request, method: str, params: Mapping[str, Any] | None) -> None:
        super().__init__(call.server, method, params, {}, parent=call)
        self._call = call

    def _known_as(self) -> str | None:
        return None

    def _part_of(self) -> str | None:
        return self._call.key


KNOWN_CALLS: "WeakValueDictionary[str, Handle]" = WeakValueDictionary()
"""Calls that are under way in this process and whose server's side is in it too, by the model's id of them."""


def is_mcp_error(error: BaseException) -> "TypeGuard[MCPError]":
    """Whether it is JSON-RPC's word for it: the other side's, or the SDK's own for a timeout or a connection that closed."""
    from mcp.shared.exceptions import MCPError  # noqa: PLC0415  (loaded with the library)

    return isinstance(error, MCPError)


def enrich(span: Span, about: "Mapping[str, Told]", error: BaseException | None) -> None:
    """Add to a span of the SDK that is no boundary of its own what it leaves out: the server, and why it failed."""
    if not span.is_recording():
        return
    span.set_attributes(about)
    if error is None or is_cancellation(error):
        return
    if is_mcp_error(error):
        code = str(error.error.code)
        span.set_attributes({semconv.ERROR_TYPE: code, semconv.RPC_STATUS: code})
    else:
        span.set_attribute(semconv.ERROR_TYPE, type(error).__name__)
    span.set_status(StatusCode.ERROR, error_text(str(error)))


def end_of(connecting: "McpConnection", error: BaseException | None, *, at_ns: int | None = None) -> None:
    """End a stage of connecting by what came of its request."""
    if error is not None and is_mcp_error(error):
        connecting.failed(text=error.error.message)
        code = str(error.error.code)
        connecting.say({semconv.ERROR_TYPE: code, semconv.RPC_STATUS: code})
        error = None
    connecting.end(error, at_ns=at_ns)


def _item(result: Any, alias: str, name: str) -> Any:
    return cast("Mapping[str, Any]", result).get(alias) if isinstance(result, Mapping) else getattr(result, name, None)


def _parts(result: Any) -> list[dict[str, Any]]:
    found = _item(result, "content", "content")
    return [part for item in found if (part := _dumped(item))] if isinstance(found, list) else []  # pyright: ignore[reportUnknownVariableType]


def _dumped(part: Any) -> dict[str, Any]:
    if isinstance(part, dict):
        return cast("dict[str, Any]", part)
    dump = getattr(part, "model_dump", None)
    return dump(by_alias=True, mode="json", exclude_none=True) if dump is not None else {}
