"""What instrumenting the anthropic SDK costs an agent: a stream event and a model request, beside others who instrument it.

    python benchmarks/instrument.py [--python PATH] [--rounds 15]

PATH is an interpreter with anthropic, orjson, opentelemetry-sdk, openinference-instrumentation-anthropic and
opentelemetry-instrumentation-anthropic; who is not installed there is left out.

Each contender is a process of its own, with the same SDK, the same OpenTelemetry SDK and an exporter that takes every span and does
nothing; answers come from memory, so that nothing is measured but the work in the process. All take turns, round by round, so that a
busy machine is busy for all. Told is processor time: nothing in it waits.

    bare            the SDK with its tracing off
    sdk             the SDK with its own span for each call; the others come on top of this
    least           what a recorder cannot do without, and nothing else: a middleware that passes on, a dozen attributes on the SDK's
                    span, and four lines made beforehand: a request and its attempt written when they begin and when they end
    tracekit        `tracekit.instrument()`: attempts, blocks, every event's time, each written to the spool when it begins and ends
    openinference   its AnthropicInstrumentor
    openllmetry     its AnthropicInstrumentor (opentelemetry-instrumentation-anthropic)

    event           one of many deltas of one stream: what it takes more than with `sdk`
    request         one answer in one piece, from the call to its result
    stream          one answer in a stream of 12 events, from the call to its end
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import anthropic
import httpx2
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from tracekit.instrument import instrument

ROOT: Final = Path(__file__).parents[1]
CONTENDERS: Final = ("bare", "sdk", "least", "tracekit", "openinference", "openllmetry")
MODULES: Final = {"openinference": "openinference.instrumentation.anthropic", "openllmetry": "opentelemetry.instrumentation.anthropic"}
AIMS: Final = {"event": 2.0, "request": 50.0}
"""Microseconds that tracekit may take beyond `sdk`."""
DELTAS: Final = 4_000
CALLS: Final = 60
ASKED: Final = {"model": "claude-sonnet-5", "max_tokens": 64, "messages": [{"role": "user", "content": "hi"}]}
MESSAGE: Final[dict[str, Any]] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5",
    "content": [],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 7, "output_tokens": 9},
}


# In a contender's process ---------------------------------------------------------------------------------------------


def body(deltas: int) -> list[bytes]:
    """A streamed answer with so many deltas, a chunk an event."""
    text = {"type": "text", "text": ""}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a few words "}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": MESSAGE | {"stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": text},
        *[delta] * deltas,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]


class Nowhere(SpanExporter):
    """Takes spans, and does nothing with them."""

    def export(self, spans: Any) -> SpanExportResult:  # noqa: ARG002  (of the interface)
        """Take them."""
        return SpanExportResult.SUCCESS


class PassesOn(anthropic.Middleware):
    """Does nothing."""

    def handle(self, request: Any, call_next: Callable[[Any], Any]) -> Any:
        """Pass it on."""
        return call_next(request)


class Least(SpanProcessor):
    """Writes what was made beforehand."""

    ATTRIBUTES: Final = {f"tracekit.attribute.number_{number}": number for number in range(12)}
    LINE: Final = b"x" * 600 + b"\n"

    def __init__(self, folder: str) -> None:
        self._file = os.open(Path(folder, "least"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002  (of the interface)
        """Write the request, and its attempt."""
        os.write(self._file, self.LINE)
        os.write(self._file, self.LINE)
        span.set_attributes(self.ATTRIBUTES)

    def on_end(self, span: ReadableSpan) -> None:  # noqa: ARG002  (of the interface)
        """Write both again."""
        os.write(self._file, self.LINE)
        os.write(self._file, self.LINE)


def set_up(contender: str, spool: str) -> None:
    """Have a provider whose exporter does nothing, and what the contender adds."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(Nowhere()))
    trace.set_tracer_provider(provider)
    if contender == "least":
        provider.add_span_processor(Least(spool))
    elif contender == "tracekit":
        instrument(spool=Path(spool), libraries=("anthropic",))
    elif contender in MODULES:
        import_module(MODULES[contender]).AnthropicInstrumentor().instrument()


def measures(contender: str) -> dict[str, Callable[[], float]]:
    """How each measure is taken: microseconds an event, or a call."""
    whole, few, many = json.dumps(MESSAGE).encode(), body(7), body(DELTAS)
    answers: dict[str, list[bytes]] = {"few": few, "many": many}

    def answer(request: httpx2.Request) -> httpx2.Response:
        chunks = answers.get(request.headers.get("x-answer", ""))
        headers = {"request-id": "req_1", "content-type": "application/json" if chunks is None else "text/event-stream"}
        return httpx2.Response(200, headers=headers, content=whole if chunks is None else iter(chunks))

    client: Any = anthropic.Anthropic(
        api_key="none",
        base_url="http://memory",
        http_client=httpx2.Client(transport=httpx2.MockTransport(answer)),
        open_telemetry=False if contender == "bare" else None,
        middleware=[PassesOn()] if contender == "least" else [],
    )

    def call() -> None:
        client.messages.create(**ASKED)

    def stream(which: str) -> None:
        for _ in client.messages.create(stream=True, extra_headers={"x-answer": which}, **ASKED):
            pass

    def timed(work: Callable[[], None], times: int, of_each: int = 1) -> float:
        began = time.process_time_ns()
        for _ in range(times):
            work()
        return (time.process_time_ns() - began) / times / of_each / 1_000

    return {
        "event": lambda: timed(lambda: stream("many"), 1, DELTAS),
        "request": lambda: timed(call, CALLS),
        "stream": lambda: timed(lambda: stream("few"), CALLS),
    }


def work(contender: str) -> None:
    """Take a measure for each line that names one, and say it."""
    with tempfile.TemporaryDirectory() as spool:
        set_up(contender, spool)
        known = measures(contender)
        for line in sys.stdin:
            print(known[line.strip()](), flush=True)


# Around them ----------------------------------------------------------------------------------------------------------


class Contender:
    """A process that measures when it is asked to."""

    def __init__(self, name: str, python: str) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [python, __file__, "--worker", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="ascii",
            env={"PYTHONPATH": str(ROOT), "PATH": ""},
        )

    def measure(self, what: str) -> float:
        """Microseconds."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise OSError(self.name)
        stdin.write(f"{what}\n")
        stdin.flush()
        return float(stdout.readline())

    def end(self) -> None:
        """Let it go."""
        self._process.communicate(timeout=30)


def installed(python: str) -> Iterator[str]:
    """The contenders that an interpreter has."""
    for name in CONTENDERS:
        module = MODULES.get(name, "anthropic")
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0:
            yield name
        else:
            print(f"{name}: not installed for {python}, left out")


def main() -> None:
    """Let all take turns and print the medians, and the difference of the best rounds, which a busy machine spoils least."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the others")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker)
        return
    contenders = [Contender(name, options.python) for name in installed(options.python)]
    kinds = ("event", "request", "stream")
    for kind in kinds:  # what is done for the first time is not measured
        for contender in contenders:
            contender.measure(kind)
    taken: dict[tuple[str, str], list[float]] = {}
    for _ in range(options.rounds):
        for kind in kinds:
            for contender in contenders:
                taken.setdefault((kind, contender.name), []).append(contender.measure(kind))
    for contender in contenders:
        contender.end()
    for kind in kinds:
        base = taken[kind, "sdk"]
        for contender in contenders:
            own = taken[kind, contender.name]
            more = statistics.median(one - other for one, other in zip(own, base, strict=True))
            least = min(own) - min(base)
            aim = f"   aim ≤ {AIMS[kind]:.0f} µs" if contender.name == "tracekit" and kind in AIMS else ""
            print(
                f"{kind:8} {contender.name:14} {statistics.median(own):9.2f} µs   beyond sdk {more:+9.2f} µs   best {least:+9.2f} µs{aim}"
            )


if __name__ == "__main__":
    main()
