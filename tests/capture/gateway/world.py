"""A gateway between a client and an upstream that does exactly what a test says, down to the byte and the way it hangs up."""

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import aiohttp
from aiohttp import web
from yarl import URL

from tracekit.capture.gateway import Gateway, Upstream, add_routes
from tracekit.model import semconv
from tracekit.spool import SUFFIX, Spool

LONGEST_SECONDS: Final = 30.0
SESSION: Final = "5a4b1c9e-0000-4000-8000-000000000001"
KEY: Final = "sk-ant-api03-thisisthesecretkey"
ASKING: Final = {
    "x-api-key": KEY,
    "anthropic-version": "2023-06-01",
    "X-Claude-Code-Session-Id": SESSION,
    "Content-Type": "application/json",
}
MESSAGE: Final[dict[str, Any]] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x-1", "content": []}

Row = dict[str, Any]


class Request(NamedTuple):
    """What arrived at the upstream."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for known, value in self.headers if known.lower() == name.lower()), None)


Play = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]
"""Answers a request; may close the connection."""


@dataclass
class World:
    """What a test holds in its hands."""

    url: str
    spool: Path
    gateway: Gateway
    client: aiohttp.ClientSession
    requests: list[Request] = field(default_factory=list[Request])

    def rows(self, **wanted: object) -> list[Row]:
        """What has been written, in order; of it what has these fields."""
        # A long line may be seen while it is being written.
        files = [path.read_text().rpartition("\n")[0] for path in sorted(self.spool.glob(f"*{SUFFIX}"))]
        lines = [line for whole_lines in files for line in whole_lines.splitlines()]
        return [row for row in map(json.loads, lines) if all(row[name] == value for name, value in wanted.items())]

    def closed(self, boundary: str) -> list[Row]:
        return [row for row in self.rows(boundary=boundary) if row["end_ns"] is not None]

    async def row(self, boundary: str, *, is_open: bool = False) -> Row:
        """The one observation of a boundary, as soon as it has been written."""
        await until(lambda: any((row["end_ns"] is None) == is_open for row in self.rows(boundary=boundary)))
        (row,) = [row for row in self.rows(boundary=boundary) if (row["end_ns"] is None) == is_open]
        return row

    async def ask(self, path: str = "/v1/messages", body: object = None, **headers: str) -> bytes:
        """Ask for a message, and give the whole answer as it came over the wire."""
        said = body if isinstance(body, bytes) else json.dumps(asking() if body is None else body).encode()
        async with self.client.post(URL(self.url + path, encoded=True), data=said, headers={**ASKING, **headers}) as answer:
            return await answer.read()


def asking(**more: object) -> dict[str, object]:
    return {"model": "claude-x", "max_tokens": 100, "stream": True, "messages": [{"role": "user", "content": "hush"}], "tools": [], **more}


def sse(event: str, **data: object) -> bytes:
    return f"event: {event}\ndata: {json.dumps({'type': event, **data}, ensure_ascii=False)}\n\n".encode()


def message_start(**usage: int) -> bytes:
    return sse("message_start", message={**MESSAGE, "usage": {"input_tokens": 7, "output_tokens": 1, **usage}})


def block(index: int, *pieces: str, kind: str = "text") -> list[bytes]:
    start: dict[str, Any] = {"type": kind, "id": "toolu_1", "name": "Bash", "input": {}}
    if kind in {"text", "thinking"}:
        start = {"type": kind, kind: ""}
    name = {"text": "text", "thinking": "thinking"}.get(kind, "partial_json")
    delta = {"text": "text_delta", "thinking": "thinking_delta"}.get(kind, "input_json_delta")
    return [
        sse("content_block_start", index=index, content_block=start),
        *(sse("content_block_delta", index=index, delta={"type": delta, name: piece}) for piece in pieces),
        sse("content_block_stop", index=index),
    ]


def message_end(reason: str = "end_turn", output_tokens: int = 9) -> list[bytes]:
    return [sse("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": output_tokens}), sse("message_stop")]


def whole_message() -> bytes:
    return b"".join([message_start(), *block(0, "hel", "lo"), *message_end()])


def head(status: int = 200, content_type: str = "text/event-stream", /, **headers: str) -> bytes:
    told = {"Content-Type": content_type, "request-id": "req_1"} | {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status} Some-Reason", *(f"{name}: {value}" for name, value in told.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def whole(data: bytes, status: int = 200, content_type: str = "text/event-stream", /, **headers: str) -> Play:
    """An answer with its length."""

    async def play(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head(status, content_type, Content_Length=str(len(data)), **headers) + data)
        await writer.drain()

    return play


def chunked(*pieces: bytes, pause: float = 0.0, end: bool = True, **headers: str) -> Play:
    """An answer in chunks."""

    async def play(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head(Transfer_Encoding="chunked", **headers))
        for piece in pieces:
            await asyncio.sleep(pause)
            writer.write(chunk(piece))
            await writer.drain()
        if end:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        else:
            writer.close()

    return play


async def silence(_: Request, writer: asyncio.StreamWriter) -> None:
    """Never answer."""
    with contextlib.suppress(ConnectionError, asyncio.CancelledError):
        await writer.wait_closed()


async def until(wanted: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until something is true, but not for ever."""
    limit = time.monotonic() + seconds
    while not wanted():
        assert time.monotonic() < limit, "it never came true"
        await asyncio.sleep(0.005)


def run(test: Coroutine[Any, Any, None]) -> None:
    """Run a test to its end, but not for ever."""

    async def bounded() -> None:
        async with asyncio.timeout(LONGEST_SECONDS):
            await test

    asyncio.run(bounded())


class Server:
    """An upstream: reads requests whole, and plays its answers in order, the last one again and again."""

    def __init__(self, *plays: Play) -> None:
        self._plays = list(plays)
        self.requests: list[Request] = []
        self.left = asyncio.Event()
        """A client closed its connection while it was to be answered."""

    @contextlib.asynccontextmanager
    async def listening(self, tls: ssl.SSLContext | None = None) -> AsyncGenerator[int]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not writer.is_closing():
                request = await _read(reader)
                self.requests.append(request)
                play = self._plays.pop(0) if len(self._plays) > 1 else self._plays[0]
                watching = asyncio.ensure_future(self._watch(reader))
                await play(request, writer)
                watching.cancel()
                await asyncio.wait({watching})
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _watch(self, reader: asyncio.StreamReader) -> None:
        # Whatever is read here belongs to no request: none comes before the last one has been answered.
        while await reader.read(1):
            pass
        self.left.set()


async def _read(reader: asyncio.StreamReader) -> Request:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2]
    method, target, _ = first.split(" ")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    known = {name.lower(): value for name, value in headers}
    if known.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(await reader.readline(), 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
    else:
        body = await reader.readexactly(int(known.get("content-length", 0)))
    return Request(method, target, headers, body)


@contextlib.asynccontextmanager
async def gateway_before(
    upstream: Upstream,
    folder: Path,
    *,
    content: bool = False,
    mcp: Mapping[str, str] | None = None,
    auto_decompress: bool = False,
) -> AsyncGenerator[World]:
    """A gateway that listens, and a client that undoes no encodings."""
    app = web.Application()
    spool = Spool(folder / "spool", "gateway")
    gateway = add_routes(app, upstream=upstream, spool=spool, content=content, mcp=mcp)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, auto_decompress=auto_decompress, shutdown_timeout=0.2)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        async with aiohttp.ClientSession(auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()) as client:
            yield World(f"http://127.0.0.1:{port}", folder / "spool", gateway, client)
    finally:
        await runner.cleanup()
        spool.close()


@contextlib.asynccontextmanager
async def world(folder: Path, *plays: Play, prefix: str = "", content: bool = False) -> AsyncGenerator[World]:
    """A gateway in front of an upstream that plays these answers."""
    server = Server(*plays)
    async with (
        server.listening() as port,
        gateway_before(Upstream(f"http://127.0.0.1:{port}{prefix}", environment={}), folder, content=content) as here,
    ):
        here.requests = server.requests
        yield here


def attribute(row: Row, name: str) -> str | None:
    found: str | None = row["attributes"].get(name)
    return found


def names(row: Row) -> list[str]:
    """Names of the moments inside an observation."""
    return [name for _, name, _ in json.loads(row.get("events", "[]"))]


def tokens(row: Row) -> tuple[str | None, str | None]:
    return attribute(row, semconv.INPUT_TOKENS), attribute(row, semconv.OUTPUT_TOKENS)
