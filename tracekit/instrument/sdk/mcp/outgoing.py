"""A request on its way out: on the span that the SDK makes of it, or on ours where nobody sees one of the SDK's."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry.context import Context

from tracekit.instrument.guard import blame
from tracekit.instrument.handle import current
from tracekit.instrument.runtime import RUNTIME
from tracekit.instrument.sdk.mcp.connections import CONNECTIONS, Connection
from tracekit.instrument.sdk.mcp.requests import BESIDE, HANDSHAKE, SCOPE, TOOLS_LIST, Request, Return, end_of, enrich
from tracekit.instrument.sdk.replacing import Replacements
from tracekit.model import Boundary, semconv

if TYPE_CHECKING:
    from tracekit.instrument.handle import Told
    from tracekit.instrument.mcp_connections import McpConnection

Function = Callable[..., Any]


class Outgoing:
    """A request, from the call that sends it to the call's return.

    Args:
        handle: The boundary that it is; None where it is none of its own.
        connection: Where it goes, where a client sends it.
        context: Where the SDK's span belongs, where that is not where the code stands.
    """

    def __init__(self, handle: "Request | McpConnection | None", connection: Connection | None, context: Context | None = None) -> None:
        self._connection = connection
        self._span: trace.Span | None = None
        self._began_ns = RUNTIME.clock()
        self._ended_ns = 0
        self._handle = handle
        self.context = context

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
            if self._connection is not None:
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
                enrich(self._span, self._about(), error)
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

    def _about(self) -> "dict[str, Told]":
        connection = self._connection
        return {} if connection is None else connection.about() | {semconv.MCP_SERVER: connection.server}

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
    try:
        connection = CONNECTIONS.get(dispatcher)
        return _to_client(method, params) if connection is None else _to_server(connection, method, params)
    except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
        blame(error)
        return None


def _to_server(connection: Connection, method: str, params: Mapping[str, Any] | None) -> Outgoing:
    if method in HANDSHAKE:
        connection.stage(method)
        return Outgoing(None, connection, connection.context())
    if method == TOOLS_LIST:
        return Outgoing(connection.listing(), connection)
    return Outgoing(None if method in BESIDE else Request(connection.server, method, params, connection.about()), connection)


def _to_client(method: str, params: Mapping[str, Any] | None) -> Outgoing | None:
    """What a server asks of its client while it answers a call; what it asks beside is nobody's waiting."""
    call = current(Boundary.MCP_CALL)
    if not isinstance(call, Request) or method in BESIDE:
        return None
    return Outgoing(Return(call, method, params), None)


def sending(original: Function, replacements: Replacements) -> Function:
    """Follow each request over a wire."""

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
            with suppress(ValueError):  # closed in another context than it ran in
                _OUT.reset(token)
        out.answered(result)
        return result

    return send_raw_request


def spanning(original: Function, replacements: Replacements) -> Function:
    """Leave the SDK's own span, by its own tracer, open for what is known of the request only after the SDK is done with it."""

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


def sending_directly(original: Function, replacements: Replacements) -> Function:
    """Follow each request within the process."""

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
