"""The gateway between a client and a scripted model: what it adds to the first byte, what it carries, how well it tells the time.

    python benchmarks/gateway.py [--streams 50] [--rounds 3] [--megabytes 200] [--mitmdump PATH]

Server, gateway and client are processes of their own. Each measure is taken directly, through the gateway, through the gateway on a
path that it does not record (what its recording costs), through a relay in fifteen lines that does nothing else (what aiohttp costs),
and, where a `mitmdump` is found, through mitmproxy as a reverse proxy that streams. All take turns within a run, so that a busy machine
is busy for all.

    first byte   from the last byte of a request of 90 kB to the first of the answer, on kept connections, while so many streams go on
    large        one stream of so many megabytes, in deltas of 64 kB; its digest must be the same everywhere. Read once by a client that
                 does nothing, and once by httpx2, which is what the Python SDKs read it by
    small        one stream of deltas of 100 bytes, as fast as it goes: no model is that fast
    event times  arrival as it stands in the spool, beside the moment before the server wrote the event
"""

import argparse
import asyncio
import contextlib
import hashlib
import itertools
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Generator, Iterator
from pathlib import Path
from typing import Any, Final, Self

import httpx2

from tracekit.spool import SUFFIX

NUMBERS: Final = itertools.count(1)
MEGABYTE: Final = 1_000_000
QUIET: Final = 200
"""Deltas of the streams that are alone; the others have fewer."""
REQUEST: Final = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "x" * 90_000}]}).encode()
STREAMING: Final = "def responseheaders(flow):\n    flow.response.stream = True\n"
GATEWAY: Final = """
import asyncio, sys
from pathlib import Path
from aiohttp import web
from tracekit.capture.gateway import Upstream, add_routes
from tracekit.spool import Spool

async def main():
    app = web.Application()
    add_routes(app, upstream=Upstream(sys.argv[1], environment={}), spool=Spool(Path(sys.argv[2]), "gateway"))
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, auto_decompress=False)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
BARE: Final = """
import asyncio, sys
import aiohttp
from aiohttp import web

async def relay(request):
    session = request.app["session"]
    headers = {name: request.headers[name] for name in ("Content-Type", "Content-Length") if name in request.headers}
    async with session.post(sys.argv[1] + request.raw_path, data=request.content.iter_any(), headers=headers) as answer:
        response = web.StreamResponse(status=answer.status, headers={"Content-Type": answer.headers["Content-Type"]})
        await response.prepare(request)
        while piece := await answer.content.readany():
            await response.write(piece)
        await response.write_eof()
        return response

async def main():
    app = web.Application()
    app["session"] = aiohttp.ClientSession(auto_decompress=False, connector=aiohttp.TCPConnector(limit=0))
    app.router.add_route("*", "/{path:.*}", relay)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


# The server ------------------------------------------------------------------------------------------------------------


def sse(event: str, **data: object) -> bytes:
    """One event as the Messages API writes it."""
    return f"event: {event}\ndata: {json.dumps({'type': event, **data})}\n\n".encode()


def delta(text: str) -> bytes:
    """One piece of the only block."""
    return sse("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


def pieces(kind: str, number: int) -> Iterator[bytes]:
    """The events of an answer; `number` is how many deltas it has."""
    yield sse("message_start", message={"id": f"msg_{kind}", "model": "m", "usage": {"input_tokens": 1}})
    yield sse("content_block_start", index=0, content_block={"type": "text", "text": ""})
    sent = {"large": delta("x" * 65_400), "small": delta("x" * 10)}.get(kind) or delta("a few words ")
    yield from (sent for _ in range(number))
    yield sse("content_block_stop", index=0)
    yield sse("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 1})
    yield sse("message_stop")


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, truth: list[Any]) -> None:
    """Answer the requests of one connection: `/KIND/NUMBER/PAUSE/v1/messages`."""
    while True:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        await read_body(reader, head)
        _, kind, number, pause, _ = head.split(" ", 2)[1].split("/", 4)
        name = f"req_{next(NUMBERS)}"
        told = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nrequest-id: {name}\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(told.encode())
        for piece in pieces(kind, int(number)):
            if float(pause):
                truth.append([name, time.time_ns()])
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            if float(pause):
                await asyncio.sleep(float(pause))
        writer.write(b"0\r\n\r\n")


async def read_body(reader: asyncio.StreamReader, head: str) -> None:
    """Read a request's body."""
    lengths = [line.partition(":")[2] for line in head.split("\r\n") if line.startswith("content-length:")]
    if lengths:
        await reader.readexactly(int(lengths[0]))
        return
    while size := int(await reader.readline(), 16):
        await reader.readexactly(size + 2)
    await reader.readline()


async def serve(truth_file: Path) -> None:
    """Serve until somebody ends this; then write down when each event of the paced streams was written."""
    truth: list[Any] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await answer(reader, writer, truth)
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await stopped.wait()
    await asyncio.to_thread(truth_file.write_text, json.dumps(truth))
    os._exit(0)


# The client ------------------------------------------------------------------------------------------------------------


class Client:
    """One connection, kept alive as clients keep theirs."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    @contextlib.asynccontextmanager
    async def connected(cls, port: int) -> AsyncGenerator[Self]:
        """A connection on which something has been asked already, so that whatever there is to warm up is warm."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
        client = cls(reader, writer)
        await client.ask("/paced/1/0/v1/messages")
        yield client
        writer.close()

    async def ask(self, path: str) -> float:
        """Ask, and read the answer to its end; gives the seconds from the request's last byte to the answer's first."""
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Claude-Code-Session-Id: s\r\n"
        self._writer.write(f"{head}Content-Length: {len(REQUEST)}\r\n\r\n".encode() + REQUEST)
        await self._writer.drain()
        began = time.perf_counter()
        await self._reader.readexactly(1)
        took = time.perf_counter() - began
        tail = b""
        while not tail.endswith(b"0\r\n\r\n"):
            tail = (tail + await self._reader.read(1 << 20))[-8:]
        return took

    async def digest(self, path: str) -> str:
        """Ask, and give the digest of the answer's body."""
        self._writer.write(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(REQUEST)}\r\n\r\n".encode() + REQUEST)
        await self._reader.readuntil(b"\r\n\r\n")
        found = hashlib.sha256()
        while size := int(await self._reader.readline(), 16):
            found.update(memoryview(await self._reader.readexactly(size + 2))[:-2])
        await self._reader.readline()
        return found.hexdigest()


async def first_bytes(port: int, path: str, streams: int, requests: int) -> list[float]:
    """First bytes of so many requests on each of so many connections, while the other connections stream: each answer takes a second."""

    async def worker(number: int) -> list[float]:
        # One after another, so that no two streams keep step.
        await asyncio.sleep(number / streams)
        async with Client.connected(port) as client:
            found: list[float] = []
            for _ in range(requests + 1):
                found.append(await client.ask(path))
                await asyncio.sleep(random.random() * 0.2)  # noqa: S311  (nothing is kept secret by it)
            return found[1:]

    return [took for found in await asyncio.gather(*map(worker, range(streams))) for took in found]


# The processes ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def process(*command: str) -> Generator[int]:
    """A process that says on which port it listens."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as started:
        try:
            yield int((started.stdout or sys.stdin).readline())
        finally:
            started.terminate()


@contextlib.contextmanager
def mitmproxy(program: str, upstream: int, folder: Path) -> Generator[int]:
    """Start mitmproxy as a reverse proxy that passes bodies on as they come."""
    (folder / "streaming.py").write_text(STREAMING)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    mode = ["--mode", f"reverse:http://127.0.0.1:{upstream}", "-p", str(port), "--listen-host", "127.0.0.1"]
    command = [program, "-q", *mode, "-s", str(folder / "streaming.py"), "--set", f"confdir={folder}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as started:
        try:
            for _ in range(200):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.1)
            yield port
        finally:
            started.terminate()


# The measures ----------------------------------------------------------------------------------------------------------


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--streams", type=int, default=50)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--megabytes", type=int, default=200)
    options.add_argument("--mitmdump", default=shutil.which("mitmdump"))
    options.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.serve:
        asyncio.run(serve(chosen.serve))
        return
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        with process(sys.executable, __file__, "--serve", str(folder / "truth.json")) as port:
            gateway = stack.enter_context(process(sys.executable, "-c", GATEWAY, f"http://127.0.0.1:{port}", str(folder / "spool")))
            ways = {"direct": (port, "/v1/messages"), "gateway": (gateway, "/v1/messages"), "gateway, unrecorded": (gateway, "/v1/other")}
            bare = stack.enter_context(process(sys.executable, "-W", "ignore", "-c", BARE, f"http://127.0.0.1:{port}"))
            ways["bare aiohttp relay"] = (bare, "/v1/messages")
            if chosen.mitmdump:
                ways["mitmproxy"] = (stack.enter_context(mitmproxy(chosen.mitmdump, port, folder)), "/v1/messages")
            asyncio.run(measure(ways, chosen))
            asyncio.run(first_bytes(gateway, f"/paced/{QUIET}/0.005/v1/messages", 1, 3))
            time.sleep(0.5)
        event_times(folder, chosen.streams)


async def measure(ways: dict[str, tuple[int, str]], chosen: argparse.Namespace) -> None:
    """Take every measure every way."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(chosen.rounds):
        for name, (port, path) in ways.items():
            found[name] += await first_bytes(port, f"/paced/40/0.025{path}", chosen.streams, 4)
    direct = quantiles(found["direct"])
    print(f"first byte, {chosen.streams} streams, {len(found['direct'])} requests each way, milliseconds")
    for name, times in found.items():
        p50, p99 = quantiles(times)
        print(f"  {name:<22} p50 {p50:7.2f}   p99 {p99:7.2f}   added p50 {p50 - direct[0]:6.2f}   added p99 {p99 - direct[1]:6.2f}")
    await throughput("large", ways, chosen.megabytes * MEGABYTE // 65_500)
    await asyncio.to_thread(as_the_sdks_read, ways, chosen.megabytes * MEGABYTE // 65_500)
    await throughput("small", ways, 100_000)


def as_the_sdks_read(ways: dict[str, tuple[int, str]], number: int) -> None:
    """Read one large stream each way by httpx2, five times, in turns."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    size = 0
    for _ in range(5):
        for name, (port, path) in ways.items():
            began = time.perf_counter()
            with httpx2.stream("POST", f"http://127.0.0.1:{port}/large/{number}/0{path}", content=REQUEST, timeout=60) as answered:
                size = sum(map(len, answered.iter_raw()))
            times[name].append(time.perf_counter() - began)
    print(f"large, {size / MEGABYTE:.0f} MB, read by httpx2")
    show_throughput(times, size, number)


def quantiles(seconds: list[float]) -> tuple[float, float]:
    """Median and 99th percentile, in milliseconds."""
    ordered = sorted(seconds)
    return statistics.median(ordered) * 1e3, ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1e3


async def throughput(kind: str, ways: dict[str, tuple[int, str]], number: int) -> None:
    """Carry one stream each way, three times, in turns, and once more to see that nothing was changed."""
    size = sum(len(piece) for piece in pieces(kind, number))
    times: dict[str, list[float]] = {name: [] for name in ways}
    digests: set[str] = set()
    for turn in range(3):
        for name, (port, path) in ways.items():
            async with Client.connected(port) as client:
                began = time.perf_counter()
                await client.ask(f"/{kind}/{number}/0{path}")
                times[name].append(time.perf_counter() - began)
                if turn == 0:
                    digests.add(await client.digest(f"/{kind}/{number}/0{path}"))
    print(f"{kind}, {size / MEGABYTE:.0f} MB in {number} deltas; {'the same bytes every way' if len(digests) == 1 else 'BYTES DIFFER'}")
    show_throughput(times, size, number)


def show_throughput(times: dict[str, list[float]], size: int, number: int) -> None:
    """Print what each way carried in a second, and beside the direct one."""
    direct = statistics.median(times["direct"])
    for name, found in times.items():
        took = statistics.median(found)
        print(f"  {name:<22} {size / MEGABYTE / took:7.0f} MB/s   {direct / took:5.2f} of direct   {number / took:9.0f} deltas/s")


def event_times(folder: Path, streams: int) -> None:
    """Compare the spool with what the server wrote down."""
    written: dict[str, list[int]] = {}
    for name, at_ns in json.loads((folder / "truth.json").read_text()):
        written.setdefault(name, []).append(at_ns)
    seen: dict[str, list[int]] = {}
    blocks: dict[str, list[int]] = {}
    for row in rows(folder / "spool"):
        times = [at_ns for at_ns, _, _ in json.loads(row.get("events", "[]"))]
        if row["boundary"] == "model_request" and row["end_ns"] is not None:
            seen.setdefault(row["key"], []).extend(times)
        elif row["boundary"] == "stream_event":
            blocks.setdefault(row["parent_key"], []).extend(times)
    late: dict[bool, list[int]] = {True: [], False: []}
    for name, times in seen.items():
        true = written.get(name)
        told = sorted(times + blocks.get(name, []))
        if true and len(told) == len(true):
            late[len(true) > QUIET].extend(told_ns - true_ns for told_ns, true_ns in zip(told, sorted(true), strict=True))
    for quiet, name in ((True, "one stream"), (False, f"{streams} streams")):
        ordered = sorted(late[quiet])
        marks = "   ".join(f"p{mark} {ordered[int(len(ordered) * mark / 100)] / 1e6:.2f}" for mark in (50, 95, 99))
        print(f"event times, {name}, {len(ordered)} events, milliseconds after the server's own: {marks}   max {ordered[-1] / 1e6:.2f}")


def rows(spool: Path) -> Iterator[dict[str, Any]]:
    """The observations that were written."""
    for path in spool.glob(f"*{SUFFIX}"):
        yield from map(json.loads, path.read_text().splitlines())


if __name__ == "__main__":
    main()
