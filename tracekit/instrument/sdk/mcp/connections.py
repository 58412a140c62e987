"""A client's way to one server: spawned or connected, greeted, lost or left."""

import errno
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from opentelemetry import trace
from opentelemetry.context import Context

from tracekit.instrument.guard import guarded
from tracekit.instrument.handle import Told
from tracekit.instrument.mcp_connections import McpConnection
from tracekit.instrument.runtime import RUNTIME
from tracekit.instrument.sdk.mcp.requests import TOOLS_LIST, end_of, is_mcp_error
from tracekit.model import Status, semconv
from tracekit.model.redact import error_text
from tracekit.model.servers import server_name

if TYPE_CHECKING:
    from mcp.client.session import ClientSession

PIPE: Final = "pipe"
TCP: Final = "tcp"
IN_PROCESS: Final = "inproc"
UNKNOWN: Final = "unknown"

_SPAWN: Final = "spawn"
_CONNECT: Final = "connect"
_CLOSED: Final = -32000
_SESSION_LOST: Final = ("session not found", "session terminated", "no valid session")


class Way(NamedTuple):
    """How a server is reached.

    Attributes:
        name: What it is called until it says so itself.
        transport: In OpenTelemetry's words.
        began_ns: When it was asked for.
        wire: The SDK's transport, where it has one that knows a session id.
    """

    name: str
    transport: str
    began_ns: int
    wire: Any = None

    @property
    def first_stage(self) -> str:
        """What comes before the handshake."""
        return _SPAWN if self.transport == PIPE else _CONNECT


def way_to(server: Any) -> Way:
    """The way to what a `mcp.Client` is given: a URL, a command, a server object or a transport."""
    now_ns = RUNTIME.clock()
    if isinstance(server, str):
        return by_url(server)
    command = getattr(server, "command", None)
    if isinstance(command, str):
        return by_command([command, *server.args], now_ns)
    name = getattr(server, "name", None)
    return Way(name, IN_PROCESS, now_ns) if isinstance(name, str) else Way(UNKNOWN, UNKNOWN, now_ns)


def by_url(url: str, wire: Any = None) -> Way:
    """The way to a URL. What it holds beside the host may be a secret."""
    parts = urlsplit(url)
    return Way(parts.netloc.rpartition("@")[2] or UNKNOWN, TCP, RUNTIME.clock(), wire)


def by_command(command: Sequence[str], began_ns: int) -> Way:
    """The way to a server that is spawned."""
    return Way(server_name(command), PIPE, began_ns)


class Connecting(McpConnection):
    """The connecting itself: `McpConnection` whose server says in the end what it is called."""

    def introduced(self, name: str) -> None:
        """The server said its name."""
        self._server = name
        self.say({semconv.MCP_SERVER: name})

    def left(self) -> None:
        """The client went, as it wanted."""
        self._mcp_status = "disconnected"
        self.end(status=Status.UNSET)


class Connection:
    """What is known of a client's connection while it lasts."""

    def __init__(self, way: Way) -> None:
        self.server = way.name
        self.leaving = False
        """The client itself is closing it."""
        self._way = way
        self._told: dict[str, Told] = {}
        self._is_over = False
        self._handle = Connecting(way.name, way.transport).start(at_ns=way.began_ns)
        self._handle.stage(way.first_stage, at_ns=way.began_ns)

    @property
    def is_ready(self) -> bool:
        """Whether the handshake is over."""
        return not self._handle.is_open

    def about(self) -> dict[str, Told]:
        """What its requests say of it."""
        found: dict[str, Told] = {semconv.MCP_TRANSPORT: self._way.transport, **self._told}
        if isinstance(session_id := getattr(self._way.wire, "session_id", None), str):
            found[semconv.MCP_SESSION] = session_id
        return found

    def context(self) -> Context | None:
        """Where what is done to connect belongs; None once that is over."""
        return None if self.is_ready or not self._handle.span.is_recording() else trace.set_span_in_context(self._handle.span)

    def reached_by(self, way: Way) -> None:
        """This is the transport that it goes by, as the SDK opens it."""
        if self._way.transport != UNKNOWN:
            self._way = self._way._replace(wire=way.wire)
            return
        self._way = way._replace(began_ns=self._way.began_ns)
        self.server = way.name
        self._handle.introduced(way.name)
        self._handle.say({semconv.MCP_TRANSPORT: way.transport})
        self._handle.stage(way.first_stage)

    @guarded
    def stage(self, method: str) -> None:
        """The next request of the handshake goes out."""
        if not self.is_ready:
            self._handle.stage(method)

    @guarded
    def ready(self, session: "ClientSession") -> None:
        """The handshake is over."""
        if session.protocol_version is not None:
            self._told[semconv.MCP_PROTOCOL] = session.protocol_version
        if session.server_info is not None and session.server_info.name:
            self.server = session.server_info.name
        if not self.is_ready:
            self._handle.introduced(self.server)
            self._handle.say(self.about())
            self._handle.end()

    def listing(self) -> McpConnection:
        """The server is asked for its tools: the stage after the handshake, of which it can have several."""
        return Connecting(
            self.server, self._way.transport, attributes={**self.about(), semconv.MCP_STAGE: TOOLS_LIST, semconv.MCP_METHOD: TOOLS_LIST}
        )

    @guarded
    def failed(self, error: BaseException) -> None:
        """It did not come about."""
        if self.is_ready:
            self.lost(error)
            return
        cause = cause_of(error)
        self._is_over = True
        if isinstance(cause, OSError) and cause.errno is not None:
            self._handle.say({semconv.ERROR_CODE: errno.errorcode.get(cause.errno, str(cause.errno))})
        end_of(self._handle, cause)

    @guarded
    def heard(self, error: BaseException) -> None:
        """A request failed: perhaps since the connection is gone."""
        if is_mcp_error(error) and self.is_ready:
            words = error.error.message.lower()
            if error.error.code == _CLOSED or any(said in words for said in _SESSION_LOST):
                self.lost(error)

    @guarded
    def lost(self, error: BaseException) -> None:
        """It is gone, and nobody here wanted that. Told once."""
        moment = self._last_moment()
        if moment is None:
            return
        cause = cause_of(error)
        said: Mapping[str, Told] = (
            {semconv.ERROR_TYPE: str(cause.error.code), semconv.ERROR_TEXT: error_text(cause.error.message)} if is_mcp_error(cause) else {}
        )
        moment.lost(None if said else cause)
        moment.say(said)
        moment.end()

    @guarded
    def left(self) -> None:
        """The client closed it."""
        if self.is_ready:
            moment = self._last_moment()
            if moment is not None:
                moment.left()
        else:
            self._is_over = True
            self._handle.left()

    def _last_moment(self) -> Connecting | None:
        if self._is_over or not self.is_ready:
            return None
        self._is_over = True
        return Connecting(self.server, self._way.transport, attributes=self.about()).start()


def cause_of(error: BaseException) -> BaseException:
    """What broke, inside the groups that task groups make of it."""
    inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return cause_of(inner[0]) if inner else error


CONNECTIONS: Final[WeakKeyDictionary[Any, Connection]] = WeakKeyDictionary()
"""By dispatcher: whoever sends a request knows no more."""

CONNECTING: Final[ContextVar[Connection | None]] = ContextVar("tracekit_mcp_connecting", default=None)
"""Of the `mcp.Client` that is just being entered."""

WAYS: Final[ContextVar[tuple[Way, ...]]] = ContextVar("tracekit_mcp_ways", default=())
"""Transports that were opened, and have no session yet."""


def opened(way: Way) -> None:
    """A transport was opened; the session on it follows."""
    connection = CONNECTING.get()
    if connection is None:
        WAYS.set((*WAYS.get(), way))
    else:
        connection.reached_by(way)


def connection_for(session: Any) -> Connection:
    """The connection of a session that is being entered."""
    known = CONNECTING.get()
    if known is None:
        first, *rest = WAYS.get() or (Way(UNKNOWN, UNKNOWN, RUNTIME.clock()),)
        WAYS.set(tuple(rest))
        known = Connection(first)
    CONNECTIONS[session._dispatcher] = known  # noqa: SLF001  (no other way from a request to its session)
    return known
