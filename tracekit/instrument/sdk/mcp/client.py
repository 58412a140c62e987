"""The client's side: what of the SDK is wrapped, and how connections come and go."""

from contextlib import suppress
from typing import Any

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
from tracekit.instrument.sdk.mcp.outgoing import Function, sending, sending_directly, spanning
from tracekit.instrument.sdk.replacing import Replacements


def put_in(replacements: Replacements) -> None:
    """Wrap the client's side of the SDK."""
    from mcp.client import stdio  # noqa: PLC0415  (loaded with the library)
    from mcp.client.client import Client  # noqa: PLC0415
    from mcp.client.session import ClientSession  # noqa: PLC0415
    from mcp.client.streamable_http import StreamableHTTPTransport  # noqa: PLC0415
    from mcp.shared import jsonrpc_dispatcher  # noqa: PLC0415
    from mcp.shared.direct_dispatcher import DirectDispatcher  # noqa: PLC0415

    replace = replacements.replace
    replace(jsonrpc_dispatcher, "otel_span", lambda original: spanning(original, replacements))
    replace(jsonrpc_dispatcher.JSONRPCDispatcher, "send_raw_request", lambda original: sending(original, replacements))
    replace(jsonrpc_dispatcher.JSONRPCDispatcher, "run", lambda original: _running(original, replacements))
    replace(DirectDispatcher, "send_raw_request", lambda original: sending_directly(original, replacements))
    replace(Client, "__aenter__", lambda original: _entering_client(original, replacements))
    replace(Client, "__aexit__", lambda original: _leaving_client(original, replacements))
    replace(ClientSession, "__aenter__", lambda original: _entering_session(original, replacements))
    replace(ClientSession, "__aexit__", lambda original: _leaving_session(original, replacements))
    replace(ClientSession, "initialize", lambda original: _initializing(original, replacements))
    replace(ClientSession, "adopt", lambda original: _adopting(original, replacements))
    replace(StreamableHTTPTransport, "__init__", lambda original: _http(original, replacements))
    replace(stdio, "_create_platform_compatible_process", lambda original: _spawning(original, replacements), optional=True)


def _running(original: Function, replacements: Replacements) -> Function:
    async def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = await original(self, *args, **kwargs)
        connection = CONNECTIONS.get(self) if replacements.active else None
        # It ends by itself when the other side has closed; a client that goes cancels it.
        if connection is not None and not connection.leaving:
            connection.lost(ConnectionResetError("connection closed by the server"))
        return result

    return run


def _entering_client(original: Function, replacements: Replacements) -> Function:
    async def __aenter__(self: Any) -> Any:  # noqa: N807  (the name of what it stands for)
        if not replacements.active:
            return await original(self)
        connection = _connect(self)
        token = CONNECTING.set(connection)
        try:
            return await original(self)
        except BaseException as error:
            if connection is not None:
                connection.failed(error)
            raise
        finally:
            with suppress(ValueError):  # closed in another context than it ran in
                CONNECTING.reset(token)

    return __aenter__


def _connect(client: Any) -> Connection | None:
    try:
        return Connection(way_to(client.server))
    except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
        blame(error)
        return None


def _leaving_client(original: Function, replacements: Replacements) -> Function:
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


def _entering_session(original: Function, replacements: Replacements) -> Function:
    async def __aenter__(self: Any) -> Any:  # noqa: N807
        if replacements.active:
            _claim(self)
        return await original(self)

    return __aenter__


@guarded
def _claim(session: Any) -> None:
    connection_for(session)


def _leaving_session(original: Function, replacements: Replacements) -> Function:
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


def _initializing(original: Function, replacements: Replacements) -> Function:
    async def initialize(self: Any) -> Any:
        try:
            return await original(self)
        except BaseException as error:
            connection = CONNECTIONS.get(self._dispatcher) if replacements.active else None
            if connection is not None and CONNECTING.get() is None:
                connection.failed(error)
            raise

    return initialize


def _adopting(original: Function, replacements: Replacements) -> Function:
    def adopt(self: Any, result: Any) -> Any:
        done = original(self, result)
        connection = CONNECTIONS.get(self._dispatcher) if replacements.active else None
        if connection is not None:
            connection.ready(self)
        return done

    return adopt


def _http(original: Function, replacements: Replacements) -> Function:
    def __init__(self: Any, url: str, **more: Any) -> None:  # noqa: N807
        original(self, url, **more)
        if replacements.active:
            _note_http(self, url)

    return __init__


@guarded
def _note_http(transport: Any, url: str) -> None:
    opened(by_url(url, transport))


def _spawning(original: Function, replacements: Replacements) -> Function:
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
