"""Connections that send nothing, or their headers a byte at a time: the HTTP server itself would keep them for ever."""

import asyncio
import time
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

IDLE_SECONDS: Final = 75.0
"""How long a connection may be without a request, or with half the headers of one."""


class IdleConnections:
    """Knows which connections of a server are answering a request, and closes those that have not for too long.

    Args:
        app: The application whose requests count; not yet running.
        seconds: How long a connection may be idle.
    """

    def __init__(self, app: web.Application, *, seconds: float = IDLE_SECONDS) -> None:
        self._seconds = seconds
        self._answering: dict[web.RequestHandler, int] = {}
        self._idle_since: dict[web.RequestHandler, float] = {}
        app.middlewares.append(self._middleware())

    async def close(self, server: web.Server) -> None:
        """Close idle connections of this server, until cancelled. A connection is seen within a quarter of the time it may have."""
        while True:
            await asyncio.sleep(self._seconds / 4)
            self._sweep(server.connections, time.monotonic())

    def _sweep(self, connections: list[web.RequestHandler], now: float) -> None:
        idle = [connection for connection in connections if not self._answering.get(connection)]
        self._idle_since = {connection: self._idle_since.get(connection, now) for connection in idle}
        for connection, since in self._idle_since.items():
            if now - since >= self._seconds and connection.transport is not None:
                connection.transport.close()

    def _middleware(self) -> Middleware:
        @web.middleware
        async def answering(request: web.Request, handler: Handler) -> web.StreamResponse:
            connection = request.protocol
            self._answering[connection] = self._answering.get(connection, 0) + 1
            try:
                return await handler(request)
            finally:
                self._answering[connection] -= 1
                if not self._answering[connection]:
                    del self._answering[connection]
                # It was not idle, whatever the last look has seen.
                self._idle_since.pop(connection, None)

        return answering
