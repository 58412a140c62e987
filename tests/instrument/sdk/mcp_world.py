"""Servers to talk to: in the process, over stdio, and over HTTP on loopback; and the SDK's own spans where a test sees them."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from mcp import Client, StdioServerParameters
from mcp.server import MCPServer

from tests.instrument.conftest import World

STDIO = StdioServerParameters(command=sys.executable, args=[str(Path(__file__).parents[2] / "lab" / "mcp_server.py")])


def calc(world: World) -> MCPServer[Any]:
    """A server whose tools move the clock."""
    server: MCPServer[Any] = MCPServer("calc")

    @server.tool()
    def add(a: int, b: int) -> int:
        world.clock.advance(500)
        return a + b

    @server.tool()
    def boom() -> str:
        message = "a secret"
        raise ValueError(message)

    @server.tool()
    async def hang() -> str:
        world.clock.advance(70)
        await asyncio.sleep(30)
        return "slept"

    return server


@contextmanager
def over_http(server: MCPServer[Any], **how: Any) -> Generator[str]:
    """Serve on loopback, and give the URL."""
    config = uvicorn.Config(server.streamable_http_app(**how), host="127.0.0.1", port=0, log_level="error", lifespan="on")
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not running.started and time.monotonic() < deadline:
        time.sleep(0.02)
    port = running.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        running.should_exit = True
        thread.join(20)


def talk(what: Any, say: Callable[[Client], Coroutine[Any, Any, Any]], **how: Any) -> Any:
    """Connect to a server, say something, and leave."""

    async def talking() -> Any:
        async with Client(what, **how) as client:
            return await say(client)

    return asyncio.run(asyncio.wait_for(talking(), 30))
