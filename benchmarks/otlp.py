"""OTLP: spans a second accepted and durable on one core, and spans a second loaded into a store, beside rotel.

    python benchmarks/otlp.py [--spans 200000] [--runs 3] [--rotel PATH]

Sent are the spans of an agent by the GenAI conventions, 512 a body as the SDKs send them, and 10,000 bodies of one span. Each
receiver is a process of its own on one core; the client has the other. rotel (`pip install rotel`; its program is found in the
package, or named) has no exporter that keeps anything on the machine, so it throws away what it receives and acknowledges from
memory: it is the ceiling of a receiver in Rust that does nothing durable. Loading is a whole process on one core, engine and
start included; beside it stands what a Python program would do with the same bodies first of all: protobuf's MessageToDict.
Loading is told by the processor's time as well, which a busy machine changes less.
"""

import argparse
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

RECEIVER = """
import sys, os
os.sched_setaffinity(0, {0})
from aiohttp import web
from pathlib import Path
from tracekit.capture.receiver import Receiver, add_routes
from tracekit.spool import Spool
async def application():
    app = web.Application()
    add_routes(app, Receiver(Spool(Path(sys.argv[1]), "otlp")))
    return app
web.run_app(application(), host="127.0.0.1", port=int(sys.argv[2]), print=None, access_log=None)
"""
LOAD = """
import os, sys
os.sched_setaffinity(0, {0})
from tracekit.cli.main import run
sys.exit(run(["import", sys.argv[1], "--store", sys.argv[2]]))
"""
DECODE = """
import base64, json, os, pathlib, sys
os.sched_setaffinity(0, {0})
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
for path in pathlib.Path(sys.argv[1]).glob("*.jsonl"):
    with path.open("rb") as handle:
        for line in handle:
            MessageToDict(ExportTraceServiceRequest.FromString(base64.b64decode(json.loads(line)["body"])))
"""
HOST: Final = "127.0.0.1"
CONNECTIONS: Final = 8
BATCH: Final = 512
SMALL: Final = 10_000
START_NS: Final = 1_800_000_000_000_000_000
_numbers: Final = count(1)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--spans", type=int, default=200_000)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--rotel", type=Path, default=_installed_rotel())
    chosen = options.parse_args()
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(0, set(range(1, os.cpu_count() or 1)))
    large = [body(BATCH) for _ in range(max(1, chosen.spans // BATCH))]
    small = [body(1) for _ in range(SMALL)]
    print(f"{len(large)} bodies of {BATCH} spans ({sum(map(len, large)) / len(large) / BATCH:.0f} bytes a span), {SMALL:,} of one")
    print(f"{chosen.runs} runs, medians, {CONNECTIONS} connections, one core for the receiver")
    with tempfile.TemporaryDirectory() as name:
        accepted(large, small, Path(name), chosen.runs, chosen.rotel)
        loaded(large, Path(name), chosen.runs)


def accepted(large: Sequence[bytes], small: Sequence[bytes], place: Path, runs: int, rotel: Path | None) -> None:
    """Spans and requests a second until the last one is acknowledged, receiver by receiver in turns."""
    ours: dict[str, list[float]] = {"spans/s": [], "requests/s": []}
    theirs: dict[str, list[float]] = {"spans/s": [], "requests/s": []}
    for number in range(runs):
        with _our_receiver(place / f"spool-{number}") as port:
            ours["spans/s"].append(len(large) * BATCH / _send(port, large))
            ours["requests/s"].append(len(small) / _send(port, small))
        if rotel is not None:
            with _rotel(rotel) as port:
                theirs["spans/s"].append(len(large) * BATCH / _send(port, large))
                theirs["requests/s"].append(len(small) / _send(port, small))
    for name, unit, what in (("spans/s", "spans/s", f"{BATCH} spans a body"), ("requests/s", "bodies/s", "one span a body")):
        mine = statistics.median(ours[name])
        print(f"accepted and durable, {what:<20}{mine:12,.0f} {unit}")
        if rotel is not None:
            other = statistics.median(theirs[name])
            print(f"  rotel, which keeps nothing{'':<14}{other:12,.0f} {unit}   ours / theirs {mine / other:.2f}")
    if rotel is None:
        print("  rotel is not installed: pip install rotel, or --rotel PATH")


def loaded(bodies: Sequence[bytes], place: Path, runs: int) -> None:
    """Spans a second from the spool into a fresh store, whole processes."""
    from tracekit.spool import Spool  # noqa: PLC0415  (only here)

    folder = place / "bodies"
    with Spool(folder, "otlp") as spool:
        for one in bodies:
            spool.write_body("traces", one, content_type="application/x-protobuf", received_ns=START_NS)
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    for number in range(runs):
        ours.append(_seconds(LOAD, folder, place / f"store-{number}.duckdb"))
        theirs.append(_seconds(DECODE, folder, place))
    for index, clock in enumerate(("wall", "processor")):
        mine, other = (len(bodies) * BATCH / statistics.median(run[index] for run in found) for found in (ours, theirs))
        print(f"loaded into a store, {clock + ' time':<21}{mine:12,.0f} spans/s")
        print(f"  decoded by MessageToDict{'':<16}{other:12,.0f} spans/s   ours / theirs {mine / other:.2f}")


def body(spans: int) -> bytes:
    """What an instrumented agent sends: turns with requests and tools in them, everything with an identity of its own."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    _attributes(group.resource, {"service.name": "agent", "service.version": "1.0", "telemetry.sdk.language": "python"})
    scoped = group.scope_spans.add()
    scoped.scope.name = "opentelemetry.instrumentation.agents"
    turn = b""
    trace = b""
    for place in range(spans):
        number = next(_numbers)
        span = scoped.spans.add()
        span.span_id = number.to_bytes(8, "big")
        if place % 8 == 0:
            trace, turn = number.to_bytes(16, "big"), span.span_id
        else:
            span.parent_span_id = turn
        span.trace_id, span.kind, span.flags = trace, Span.SPAN_KIND_INTERNAL, 0x101
        span.start_time_unix_nano = START_NS + number * 1_000_000
        span.end_time_unix_nano = span.start_time_unix_nano + 700_000
        span.name, attributes = _what(place, number)
        _attributes(span, attributes)
    return bytes(request.SerializeToString())


def _what(place: int, number: int) -> tuple[str, dict[str, str | int]]:
    session = f"5e551011-0000-4000-8000-{number // 512:012d}"
    if place % 8 == 0:
        return "invoke_agent coder", {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "coder",
            "gen_ai.conversation.id": session,
            "session.id": session,
        }
    if place % 2:
        return "chat claude-sonnet-5", {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "anthropic",
            "gen_ai.request.model": "claude-sonnet-5",
            "gen_ai.response.model": "claude-sonnet-5",
            "gen_ai.response.id": f"msg_01{number:022d}",
            "gen_ai.response.finish_reasons": "tool_use",
            "gen_ai.usage.input_tokens": 1200 + number % 977,
            "gen_ai.usage.output_tokens": 80 + number % 331,
            "gen_ai.usage.cache_read.input_tokens": 1000 + number % 89,
            "session.id": session,
        }
    return "execute_tool Read", {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "Read",
        "gen_ai.tool.call.id": f"toolu_01{number:022d}",
        "gen_ai.tool.type": "function",
        "session.id": session,
    }


def _attributes(holder: Any, attributes: dict[str, str | int]) -> None:
    for name, value in attributes.items():
        pair = holder.attributes.add(key=name)
        if isinstance(value, int):
            pair.value.int_value = value
        else:
            pair.value.string_value = value


# ------------------------------------------------------------------------------------------------------- the receivers


@contextmanager
def _our_receiver(folder: Path) -> Generator[int]:
    port = _free_port()
    with _running([sys.executable, "-c", RECEIVER, str(folder), str(port)], port):
        yield port


@contextmanager
def _rotel(program: Path) -> Generator[int]:
    port, other = _free_port(), _free_port()
    listen = ["--otlp-http-endpoint", f"{HOST}:{port}", "--otlp-grpc-endpoint", f"{HOST}:{other}"]
    with _running([str(program), "start", "--exporter", "blackhole", *listen], port):
        yield port


@contextmanager
def _running(command: Sequence[str], port: int) -> Generator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=_one_core)  # noqa: PLW1509
    try:
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection((HOST, port), timeout=1).close()
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(20)


def _one_core() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {0})


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _installed_rotel() -> Path | None:
    found = find_spec("rotel")
    folders = list(found.submodule_search_locations or ()) if found is not None else []
    return next((path for folder in folders if (path := Path(folder) / "rotel-agent").exists()), None)


# ---------------------------------------------------------------------------------------------------------- the client


def _send(port: int, bodies: Sequence[bytes]) -> float:
    """Seconds until all bodies are acknowledged. Each connection sends its next body when the last one is."""
    requests = iter([_head(port, len(one)) + one for one in bodies])
    lock = threading.Lock()
    failures: list[str] = []

    def run() -> None:
        with socket.create_connection((HOST, port), timeout=30) as connection:
            while True:
                with lock:
                    request = next(requests, None)
                if request is None:
                    return
                connection.sendall(request)
                answer = connection.recv(4096)
                if not answer.startswith(b"HTTP/1.1 200"):
                    failures.append(answer[:100].decode(errors="replace"))
                    return

    threads = [threading.Thread(target=run) for _ in range(CONNECTIONS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        sys.exit(f"a receiver refused: {failures[0]}")
    return time.perf_counter() - began


def _head(port: int, length: int) -> bytes:
    lines = [
        "POST /v1/traces HTTP/1.1",
        f"Host: {HOST}:{port}",
        "Content-Type: application/x-protobuf",
        f"Content-Length: {length}",
        "",
        "",
    ]
    return "\r\n".join(lines).encode()


def _seconds(program: str, *arguments: Path) -> tuple[float, float]:
    """Wall and processor time of a whole process, with those that it starts."""
    began, used = time.perf_counter(), _processor_seconds()
    subprocess.run([sys.executable, "-c", program, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began, _processor_seconds() - used


def _processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
