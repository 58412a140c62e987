"""The client's side: each request on the span that the SDK makes of it, or on ours where it makes none, and the connections."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry.context import Context

from tracekit.instrument.guard import blame, guarded
from tracekit.instrument.runtime import RUNTIME
from tracekit.instrument.sdk.mcp.connections import (
    CONNECTING,
    CONNECTIONS,
    Connection,
    by_command,
    by_url,
    connection_for,
    opened,
    way_to,
)
from tracekit.instrument.sdk.mcp.requests import BESIDE, HANDSHAKE, SCOPE, TOOLS_LIST, Request, end_of, enrich
from tracekit.instrument.sdk.replacing import Replacements
from tracekit.model import semconv

if TYPE_CHECKING:
    from tracekit.instrument.handle import Told
    from tracekit.instrument.mcp_connections import McpConnection


class Outgoing:
    """A request, from the call that sends it to the call's return.

    Args:
        connection: Where it goes.
        method: Its JSON-RPC method.
        params: Its parameters.
    """

    def __init__(self, connection: Connection, method: str, params: Mapping[str, Any] | None) -> None:
        self._connection = connection
        self._method = method
        self._span: trace.Span | None = None
        self._began_ns = RUNTIME.clock()
        self._ended_ns = 0
        self._handle: Request | McpConnection | None = None
        self._about: dict[str, Told] = connection.about()
        if method in HANDSHAKE:
            connection.stage(method)
        if method == TOOLS_LIST:
            self._handle = connection.listing()
        elif method not in BESIDE:
            self._handle = Request(connection.server, method, params, self._about)
        self._about[semconv.MCP_SERVER] = connection.server

    @property
    def context(self) -> Context | None:
        """Where the SDK's span belongs: what is asked while connecting is part of that."""
        return self._connection.context() if self._method in HANDSHAKE else None

    @property
    def span(self) -> trace.Span | None:
        """What the other side is to know as its parent, where the SDK's own span is seen by nobody."""
        found = self._handle.span if self._handle is not None else None
        return found if found is not None and found.is_recording() else None

    def started(self, span: trace.Span) -> None:
        """The SDK made a span of it."""
        self._span = span
        if self._handle is not None and span.is_recording():
            self._handle.adopt(span)
        else:
            self.begin()

    def begin(self) -> None:
        """The SDK makes no span that anybody sees: there is one of ours."""
        if self._handle is not None:
            self._handle.start()

    def passed(self) -> None:
        """The SDK is done with its span."""
        self._ended_ns = RUNTIME.clock()

    def answered(self, result: Any) -> None:
        """A result came."""
        try:
            if isinstance(self._handle, Request):
                self._handle.answered(result)
            self._end(None)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
            blame(error)

    def failed(self, error: BaseException) -> None:
        """None came."""
        try:
            self._end(error)
            self._connection.heard(error)
        except Exception as mine:  # noqa: BLE001  (whatever it is, it is ours)
            blame(mine)

    def _end(self, error: BaseException | None) -> None:
        at_ns = self._ended_ns or RUNTIME.clock()
        if self._handle is not None and self._span is None:
            # On a connection that is closed nothing is sent, and the SDK makes no span.
            self._handle.start(at_ns=self._began_ns)
        match self._handle:
            case None if self._span is not None:
                enrich(self._span, self._about, error)
            case Request() as call if error is not None:
                call.broke(error, at_ns=at_ns)
            case Request() as call:
                call.end(at_ns=at_ns)
            case None:
                return
            case listing:
                end_of(listing, error, at_ns=at_ns)
        if self._span is not None:
            self._span.end(at_ns)

    def inside(self) -> Any:
        """Be where the other side's work stands, if that is done in this very process."""
        return self._handle.inside() if self._handle is not None else _NOTHING


class _Nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


_NOTHING: Final = _Nothing()
_OUT: Final[ContextVar[Outgoing | None]] = ContextVar("tracekit_mcp_outgoing", default=None)
"""The request that has no span yet."""


def _outgoing(dispatcher: Any, method: str, params: Mapping[str, Any] | None) -> Outgoing | None:
    connection = CONNECTIONS.get(dispatcher)
    if connection is None:  # a server that asks its client
        return None
    try:
        return Outgoing(connection, method, params)
    except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
        blame(error)
        return None


def put_in(replacements: Replacements) -> None:
    """Wrap the client's side of the SDK."""
    from mcp.client import stdio  # noqa: PLC0415  (loaded with the library)
    from mcp.client.client import Client  # noqa: PLC0415
    from mcp.client.session import ClientSession  # noqa: PLC0415
    from mcp.client.streamable_http import StreamableHTTPTransport  # noqa: PLC0415
    from mcp.shared import jsonrpc_dispatcher  # noqa: PLC0415
    from mcp.shared.direct_dispatcher import DirectDispatcher  # noqa: PLC0415

    replace = replacements.replace
    replace(jsonrpc_dispatcher, "otel_span", lambda original: _otel_span(original, replacements))
    replace(jsonrpc_dispatcher.JSONRPCDispatcher, "send_raw_request", lambda original: _sending(original, replacements))
    replace(jsonrpc_dispatcher.JSONRPCDispatcher, "run", lambda original: _running(original, replacements))
    replace(DirectDispatcher, "send_raw_request", lambda original: _sending_directly(original, replacements))
    replace(Client, "__aenter__", lambda original: _entering_client(original, replacements))
    replace(Client, "__aexit__", lambda original: _leaving_client(original, replacements))
    replace(ClientSession, "__aenter__", lambda original: _entering_session(original, replacements))
    replace(ClientSession, "__aexit__", lambda original: _leaving_session(original, replacements))
    replace(ClientSession, "initialize", lambda original: _initializing(original, replacements))
    replace(ClientSession, "adopt", lambda original: _adopting(original, replacements))
    replace(StreamableHTTPTransport, "__init__", lambda original: _http(original, replacements))
    replace(stdio, "_create_platform_compatible_process", lambda original: _spawning(original, replacements))


Any_ = Callable[..., Any]


def _sending(original: Any_, replacements: Replacements) -> Any_:
    async def send_raw_request(self: Any, method: str, params: Any, opts: Any = None, **more: Any) -> Any:
        out = _outgoing(self, method, params) if replacements.active else None
        if out is None:
            return await original(self, method, params, opts, **more)
        token = _OUT.set(out)
        try:
            result = await original(self, method, params, opts, **more)
        except BaseException as error:
            out.failed(error)
            raise
        finally:
            _OUT.reset(token)
        out.answered(result)
        return result

    return send_raw_request


def _otel_span(original: Any_, replacements: Replacements) -> Any_:
    """The SDK's own span, by the SDK's own tracer, which stays open for what is known of the request only after the SDK is done."""

    @contextmanager
    def otel_span(name: str, *, kind: Any, attributes: Any = None, context: Any = None, **more: Any) -> Generator[trace.Span]:
        out = _OUT.get()
        if out is None or not replacements.active:
            with original(name, kind=kind, attributes=attributes, context=context, **more) as span:
                yield span
            return
        _OUT.set(None)
        span = _start_native(name, kind, attributes, context or out.context)
        out.started(span)
        try:
            with trace.use_span(span if span.is_recording() else out.span or span, end_on_exit=False, **more):
                yield span
        finally:
            out.passed()

    return otel_span


def _start_native(name: str, kind: Any, attributes: Any, context: Any) -> trace.Span:
    from mcp.shared import _otel  # noqa: PLC0415  (loaded with the library)

    given = RUNTIME.provider
    tracer: trace.Tracer = vars(_otel)["_tracer"] if given is None else given.get_tracer(SCOPE)
    return tracer.start_span(name, context, kind, attributes, start_time=RUNTIME.clock())


def _sending_directly(original: Any_, replacements: Replacements) -> Any_:
    async def send_raw_request(self: Any, method: str, params: Any, opts: Any = None) -> Any:
        out = _outgoing(self, method, params) if replacements.active else None
        if out is None:
            return await original(self, method, params, opts)
        out.begin()
        try:
            with out.inside():
                result = await original(self, method, params, opts)
        except BaseException as error:
            out.failed(error)
            raise
        out.answered(result)
        return result

    return send_raw_request


def _running(original: Any_, replacements: Replacements) -> Any_:
    async def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = await original(self, *args, **kwargs)
        connection = CONNECTIONS.get(self) if replacements.active else None
        # It ends by itself when the other side has closed; a client that goes cancels it.
        if connection is not None and not connection.leaving:
            connection.lost(ConnectionResetError("connection closed by the server"))
        return result

    return run


def _entering_client(original: Any_, replacements: Replacements) -> Any_:
    async def __aenter__(self: Any) -> Any:  # noqa: N807  (the name of what it stands for)
        connection = _connect(self) if replacements.active else None
        token = CONNECTING.set(connection)
        try:
            return await original(self)
        except BaseException as error:
            if connection is not None:
                connection.failed(error)
            raise
        finally:
            CONNECTING.reset(token)

    return __aenter__


def _connect(client: Any) -> Connection | None:
    try:
        return Connection(way_to(client.server))
    except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
        blame(error)
        return None


def _leaving_client(original: Any_, replacements: Replacements) -> Any_:
    async def __aexit__(self: Any, kind: Any, error: Any, traceback: Any) -> Any:  # noqa: N807
        session = getattr(self, "_session", None)
        connection = CONNECTIONS.get(getattr(session, "_dispatcher", None)) if replacements.active and session is not None else None
        if connection is None:
            return await original(self, kind, error, traceback)
        connection.leaving = True
        try:
            result = await original(self, kind, error, traceback)
        except BaseException as raised:
            # Of its own transport, where it is not what came in.
            if raised is error:
                connection.left()
            else:
                connection.lost(raised)
            raise
        connection.left()
        return result

    return __aexit__


def _entering_session(original: Any_, replacements: Replacements) -> Any_:
    async def __aenter__(self: Any) -> Any:  # noqa: N807
        if replacements.active:
            _claim(self)
        return await original(self)

    return __aenter__


@guarded
def _claim(session: Any) -> None:
    connection_for(session)


def _leaving_session(original: Any_, replacements: Replacements) -> Any_:
    async def __aexit__(self: Any, *error: Any) -> Any:  # noqa: N807
        connection = CONNECTIONS.get(self._dispatcher) if replacements.active else None
        is_clients = connection is not None and connection.leaving
        if connection is not None:
            connection.leaving = True
        try:
            return await original(self, *error)
        finally:
            if connection is not None and not is_clients and CONNECTING.get() is None:
                connection.left()

    return __aexit__


def _initializing(original: Any_, replacements: Replacements) -> Any_:
    async def initialize(self: Any) -> Any:
        try:
            return await original(self)
        except BaseException as error:
            connection = CONNECTIONS.get(self._dispatcher) if replacements.active else None
            if connection is not None and CONNECTING.get() is None:
                connection.failed(error)
            raise

    return initialize


def _adopting(original: Any_, replacements: Replacements) -> Any_:
    def adopt(self: Any, result: Any) -> Any:
        done = original(self, result)
        connection = CONNECTIONS.get(self._dispatcher) if replacements.active else None
        if connection is not None:
            connection.ready(self)
        return done

    return adopt


def _http(original: Any_, replacements: Replacements) -> Any_:
    def __init__(self: Any, url: str, **more: Any) -> None:  # noqa: N807
        original(self, url, **more)
        if replacements.active:
            _note_http(self, url)

    return __init__


@guarded
def _note_http(transport: Any, url: str) -> None:
    opened(by_url(url, transport))


def _spawning(original: Any_, replacements: Replacements) -> Any_:
    async def spawn(command: str, args: list[str], *rest: Any, **more: Any) -> Any:
        began_ns = RUNTIME.clock()
        try:
            process = await original(command, args, *rest, **more)
        except BaseException as error:
            if replacements.active:
                _not_spawned(command, args, began_ns, error)
            raise
        if replacements.active:
            _note_spawned(command, args, began_ns)
        return process

    return spawn


@guarded
def _note_spawned(command: str, args: list[str], began_ns: int) -> None:
    opened(by_command([command, *args], began_ns))


@guarded
def _not_spawned(command: str, args: list[str], began_ns: int, error: BaseException) -> None:
    if CONNECTING.get() is None:
        Connection(by_command([command, *args], began_ns)).failed(error)
