"""A receiver on a free loopback port, in a thread of its own, so that blocking clients can talk to it; and what it has kept."""

import asyncio
import gzip
import http.client
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from tracekit.capture.receiver import IdleConnections, Receiver, add_routes, serve_grpc
from tracekit.ingest import import_paths
from tracekit.spool import Spool
from tracekit.store import open_store

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
HOST = "127.0.0.1"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Served:
    """A receiver that listens."""

    receiver: Receiver
    port: int
    grpc_port: int | None
    loop: asyncio.AbstractEventLoop
    patience: float = 20.0
    """Seconds that a client waits for its answer."""

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def post(self, path: str, body: Any, content_type: str = PROTOBUF, **headers: str) -> Answer:
        named = {name.replace("_", "-"): held for name, held in headers.items()}
        return self.send("POST", path, body, {"Content-Type": content_type, **named})

    def send(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Answer:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=self.patience)
        try:
            connection.request(method, path, body, dict(headers), encode_chunked="Transfer-Encoding" in headers)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def call(self, coroutine: Any) -> Any:
        """Run something where the receiver runs."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(20)


@dataclass
class Options:
    auto_decompress: bool = False
    grpc: bool = False
    idle_seconds: float | None = None


@contextmanager
def serving(receiver: Receiver, options: Options | None = None) -> Generator[Served]:
    """Run a receiver's application until the block ends."""
    chosen = options or Options()

    async def start(close: Callable[[Callable[[], Awaitable[object]]], None]) -> Served:
        app = web.Application()
        add_routes(app, receiver)
        idle = None if chosen.idle_seconds is None else IdleConnections(app, seconds=chosen.idle_seconds)
        runner = web.AppRunner(app, auto_decompress=chosen.auto_decompress, lingering_time=1, handler_cancellation=True, access_log=None)
        await runner.setup()
        close(runner.cleanup)
        site = web.TCPSite(runner, HOST, 0)
        await site.start()
        if idle is not None and runner.server is not None:
            sweeping = asyncio.create_task(idle.close(runner.server))

            async def stop_sweeping() -> None:
                sweeping.cancel()

            close(stop_sweeping)
        grpc_port = None
        if chosen.grpc:
            listening = await serve_grpc(HOST, 0, receiver)
            close(listening.close)
            grpc_port = listening.port
        return Served(receiver, int(runner.addresses[0][1]), grpc_port, asyncio.get_running_loop())

    with in_thread(start) as served:
        yield served


@contextmanager
def in_thread(start: "Callable[[Callable[[Callable[[], Awaitable[object]]], None]], Awaitable[Any]]") -> Generator[Any]:
    """Run what `start` starts in a loop of its own; what it hands to `close` is called at the end, the last first."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    closers: list[Callable[[], Awaitable[object]]] = []

    async def end() -> None:
        for closer in reversed(closers):
            await closer()

    try:
        yield asyncio.run_coroutine_threadsafe(_awaited(start(closers.append)), loop).result(20)
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
        loop.close()


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


@dataclass
class Kept:
    """What an import of the spool finds."""

    boundaries: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    spans: int = 0
    problems: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def keys(self) -> set[str]:
        return {row["key"] for row in self.boundaries}


def kept(folder: Path, store: Path) -> Kept:
    """Import a spool folder, and say what the store tells then."""
    done = import_paths([folder], str(store))
    with open_store(str(store)) as opened:
        rows = opened.rows("SELECT session_id, boundary, key, start_ns, end_ns, witnesses FROM boundaries ORDER BY ALL")
        (count,) = opened.rows("SELECT COUNT(*) AS n FROM spans")
    return Kept(rows, int(count["n"]), dict(done.problems))


class SlowDisk(Spool):
    """A spool whose disk answers when the test says so."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "otlp")
        self.free = threading.Event()
        self.syncs = 0

    def sync(self) -> None:
        self.free.wait(20)
        self.syncs += 1
        super().sync()


def spool(folder: Path) -> Spool:
    return Spool(folder, "otlp")


def bodies(folder: Path) -> int:
    """How many bodies stand in a spool folder."""
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("*")) if folder.exists() else 0


def zipped(body: bytes) -> bytes:
    return gzip.compress(body, 1)
