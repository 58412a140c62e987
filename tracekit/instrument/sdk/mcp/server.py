"""The server's side: a middleware, by the SDK's public list of them, that adds to the SDK's span what came of a call."""

import os
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from opentelemetry import trace
from opentelemetry.trace import SpanKind

from tracekit.instrument.guard import blame, guarded
from tracekit.instrument.handle import current
from tracekit.instrument.place import Place, span_key
from tracekit.instrument.sdk.mcp.requests import BESIDE, KNOWN_CALLS, SCOPE, TOOL_USE_ID, TOOLS_LIST, Request
from tracekit.instrument.sdk.replacing import Replacements
from tracekit.model import Boundary, semconv

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from tracekit.instrument.handle import Told

_CLIENTS_SESSION: Final = "CLAUDE_CODE_SESSION_ID"
_PARENT: Final = "traceparent"
_PARENT_PARTS: Final = 4


class Incoming(Request):
    """A request that a server answers."""

    kind = SpanKind.SERVER

    def _known_as(self) -> str | None:
        session_id = os.environ.get(_CLIENTS_SESSION)
        if self._parent is None and session_id:
            # A server that Claude Code has started works for its session.
            self._outer = Place(session_id, is_named=True, around=session_id)
        return super()._known_as()


class Watching:
    """The middleware. Put where it stands in a server's list, it sees each request and what comes of it."""

    def __init__(self, server: str) -> None:
        self._server = server

    async def __call__(self, ctx: "ServerRequestContext[Any, Any]", call_next: "CallNext") -> "HandlerResult":
        """Pass a request on, and its result back."""
        call = self._begin(ctx) if ctx.request_id is not None and ctx.method not in BESIDE | {TOOLS_LIST} else None
        if call is None:
            return await call_next(ctx)
        try:
            with call.inside():
                result = await call_next(ctx)
        except BaseException as error:
            _broke(call, error)
            raise
        _answered(call, result)
        return result

    def _begin(self, ctx: "ServerRequestContext[Any, Any]") -> Incoming | None:
        try:
            about: dict[str, Told] = {semconv.MCP_PROTOCOL: ctx.protocol_version, semconv.JSONRPC_ID: str(ctx.request_id)}
            params = {**(ctx.params or {}), "_meta": dict(ctx.meta or {})}
            call = Incoming(self._server, ctx.method, params, about, parent=KNOWN_CALLS.get(str(params["_meta"].get(TOOL_USE_ID))))
            native = trace.get_current_span()
            if native.is_recording() and getattr(getattr(native, "instrumentation_scope", None), "name", "") == SCOPE:
                call.adopt(native)
            else:
                call.start()
            _meet(call, params["_meta"])
        except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
            blame(error)
            return None
        return call


def _meet(call: Incoming, meta: dict[str, Any]) -> None:
    """Call it as its client does, which may be watched too: by the model's id of the call, else by the client's own name for it."""
    if call.has_own_name:
        return
    client = current(Boundary.MCP_CALL)
    parts = str(meta.get(_PARENT, "")).split("-")
    if client is not None:
        call.named(client.key)
    elif len(parts) == _PARENT_PARTS:
        call.named(span_key(int(parts[2], 16)))


@guarded
def _answered(call: Incoming, result: Any) -> None:
    call.answered(result)
    call.end()


@guarded
def _broke(call: Incoming, error: BaseException) -> None:
    call.broke(error)


class Watched:
    """The servers that have the middleware."""

    def __init__(self) -> None:
        self._servers: WeakSet[Server[Any]] = WeakSet()

    def put_in(self, replacements: Replacements) -> None:
        """Give it to every server that is made from now on."""
        from mcp.server import Server  # noqa: PLC0415  (loaded with the library)

        watch = self.watch

        def making(original: Any) -> Any:
            def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
                original(self, *args, **kwargs)
                if replacements.active:
                    watch(self)

            return __init__

        replacements.replace(Server, "__init__", making)

    @guarded
    def watch(self, server: "Server[Any]") -> None:
        """Give it to one server. After the SDK's own, whose span it adds to."""
        if server not in self._servers:
            server.middleware.insert(min(1, len(server.middleware)), Watching(server.name))
            self._servers.add(server)

    def take_out(self) -> None:
        """Take it back from all of them."""
        for server in self._servers:
            server.middleware[:] = [one for one in server.middleware if not isinstance(one, Watching)]
        self._servers.clear()
