"""The gateway as part of an application: which requests go where, and which of them go on record."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Final

import aiohttp
from aiohttp import web

from tracekit.capture.gateway.asked import form_of
from tracekit.capture.gateway.backlog import Backlog
from tracekit.capture.gateway.connections import open_session
from tracekit.capture.gateway.exchange import Memory, ModelExchange
from tracekit.capture.gateway.mcp import McpExchange
from tracekit.capture.gateway.mcp_server import McpServer
from tracekit.capture.gateway.passing import leave_as_it_came
from tracekit.capture.gateway.recorder import Recorder
from tracekit.capture.gateway.recording import Ending, Guarded, Recording, now_ns
from tracekit.capture.gateway.relay import Target, relay
from tracekit.capture.gateway.upstream import Upstream
from tracekit.spool import Spool

_MCP: Final = "/mcp/"


class Gateway:
    """Passes requests on and records them."""

    def __init__(self, upstream: Upstream, recorder: Recorder, *, content: bool = False, mcp: Mapping[str, str]) -> None:
        self._upstream = upstream
        self._recorder = recorder
        self._backlog = Backlog(recorder)
        self._content = content
        self._memory = Memory()
        self._servers = {
            name: McpServer(name, replace(upstream, base_url=url, certificate=None, key=None), self._memory.calls)
            for name, url in mcp.items()
        }
        self._session: aiohttp.ClientSession | None = None
        self._is_stopping = False

    @property
    def gaps(self) -> int:
        """How many observations could not be made or written; the traffic was not touched by it."""
        return self._recorder.gaps

    def check(self) -> None:
        """Raise what is wrong with certificates now, and not at the first request.

        Raises:
            TracekitError: `certificate-unusable`.
        """
        for upstream in (self._upstream, *(server.upstream for server in self._servers.values())):
            upstream.check()

    async def connected(self, _app: web.Application) -> AsyncGenerator[None]:
        """Hold the connections as long as the application runs; at its end, wait for the record to be written."""
        async with open_session() as self._session:
            yield
        self._backlog.catch_up()
        await asyncio.to_thread(self._recorder.close)

    async def stopping(self, _app: web.Application) -> None:
        """From here on it is not the client that breaks exchanges off."""
        self._is_stopping = True

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Pass a request on, and its answer back."""
        if self._session is None:
            raise web.HTTPServiceUnavailable
        target, found = self._destination(request)
        recording = Guarded(found, self._backlog)
        try:
            return await relay(request, target, self._session, recording)
        except asyncio.CancelledError:
            recording.ended(Ending.GATEWAY if self._is_stopping else Ending.CLIENT, now_ns())
            raise

    def _destination(self, request: web.Request) -> tuple[Target, Recording | None]:
        """Where a request goes, and what becomes of its record."""
        target = request.raw_path if request.raw_path.startswith("/") else request.rel_url.raw_path_qs
        path = target.partition("?")[0]
        if (form := form_of(request.method, path)) is not None:
            record = ModelExchange(form, request.headers, now_ns(), recorder=self._recorder, memory=self._memory, content=self._content)
            return Target(self._upstream, self._upstream.url(target)), record
        if (server := self._server_at(path)) is not None:
            own = target.removeprefix(f"{_MCP}{server.name}")
            return Target(server.upstream, server.upstream.url(own)), self._of_mcp(server, request)
        if (server := self._server_with(target)) is not None:
            return Target(server.upstream, server.upstream.at_origin(target)), self._of_mcp(server, request, endpoint=target)
        return Target(self._upstream, self._upstream.url(target)), None

    def _server_at(self, path: str) -> McpServer | None:
        if not path.startswith(_MCP):
            return None
        return self._servers.get(path.removeprefix(_MCP).partition("/")[0])

    def _server_with(self, target: str) -> McpServer | None:
        """The server that has told its clients to send their requests here."""
        if not self._servers:
            return None
        # It may have told so a moment ago.
        self._backlog.catch_up()
        return next((server for server in self._servers.values() if target in server.endpoints), None)

    def _of_mcp(self, server: McpServer, request: web.Request, *, endpoint: str = "") -> McpExchange:
        return McpExchange(server, request.headers, endpoint=endpoint, recorder=self._recorder, content=self._content)


def add_routes(
    app: web.Application, *, upstream: Upstream, spool: Spool, content: bool = False, mcp: Mapping[str, str] | None = None
) -> Gateway:
    """Pass every request that no other route takes on to the upstream, and record what models and MCP servers are asked.

    Must be called after all other routes are there. The application must be run by a runner with `handler_cancellation=True`, so that
    an upstream is left as soon as its client has gone; with `auto_decompress=False`, compressed requests, too, pass as they came.

    Args:
        app: The application.
        upstream: Where requests go.
        spool: Takes the observations, all of them from one thread. Whoever opened it closes it, after the application's cleanup.
        content: Keep the newest message of each request, the blocks of each response, what MCP tools are given and give; no secrets.
        mcp: URLs of MCP servers by their names: `/mcp/NAME` is passed on to them.

    Raises:
        TracekitError: `upstream-unusable` or `certificate-unusable`.
    """
    gateway = Gateway(upstream, Recorder(spool), content=content, mcp=mcp or {})
    gateway.check()
    app.on_response_prepare.append(leave_as_it_came)
    app.on_shutdown.append(gateway.stopping)
    app.cleanup_ctx.append(gateway.connected)
    app.router.add_route("*", "/{path:.*}", gateway.handle)
    return gateway
