"""What the handles of `tracekit.instrument` cost a loop of one's own, beside the OpenTelemetry SDK's bare spans.

    python benchmarks/handles.py [--rounds 200]

All in one process, in turns, each work many times over; told is the best round of each, in microseconds, since a busy machine can only
add. Every boundary is written to a spool, when it begins and when it ends.

    span            a span of the SDK with six attributes, exported nowhere
    request         a model request with a response of one piece
    event           one delta of a stream, told by `event`, with its share of the block's end
    event, read     the same, read from a stream of the Messages API's events by `stream`
    tool call       schedule and execution of one tool
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from opentelemetry.sdk.trace import TracerProvider

from tracekit.instrument import instrument, model_request, session, tool_schedule, turn, uninstrument

DELTAS: Final = 1_000
AIMS: Final = {"request": 50.0, "event": 2.0, "event, read": 2.0}
"""Microseconds beyond a bare span, or for an event all in all."""
ASKED: Final[dict[str, str | int]] = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "m"}
ANSWERED: Final[dict[str, str | int]] = {"gen_ai.response.id": "msg_1", "gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 3}
DELTA: Final = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a few words"}}


def events(deltas: int) -> Iterator[dict[str, Any]]:
    """The events of an answer."""
    yield {"type": "message_start", "message": {"id": "msg_1"}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}
    for _ in range(deltas):
        yield DELTA
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_stop"}


def request() -> None:
    """A request without a stream."""
    with model_request("m") as asked:
        asked.response(id="msg_1", usage={"input_tokens": 3, "output_tokens": 3})


def told(deltas: int) -> None:
    """A stream that the loop tells of."""
    with model_request("m", stream=True) as asked:
        asked.event("message_start")
        asked.event("content_block_start", 0, block_type="text")
        for _ in range(deltas):
            asked.event("content_block_delta", 0, 11)
        asked.event("content_block_stop", 0)
        asked.event("message_stop")


def read(deltas: int) -> None:
    """A stream that is watched."""
    with model_request("m", stream=True) as asked:
        for _ in asked.stream(events(deltas)):
            pass


def unwatched(deltas: int) -> None:
    """The same stream by itself."""
    for _ in events(deltas):
        pass


def tool_call() -> None:
    """A tool that does nothing."""
    with tool_schedule("add", "toolu_1") as call, call.execution() as execution:
        execution.result("3")


def best(work: Callable[[], None], rounds: int, times: int = 20) -> float:
    """Microseconds of one call, in the best of so many rounds."""
    found: list[int] = []
    for _ in range(rounds):
        began = time.perf_counter_ns()
        for _ in range(times):
            work()
        found.append(time.perf_counter_ns() - began)
    return min(found) / times / 1_000


def main() -> None:
    """Take the measures and print them beside their aims."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    rounds: int = parser.parse_args().rounds
    provider = TracerProvider(shutdown_on_exit=False)
    bare = TracerProvider(shutdown_on_exit=False).get_tracer("bare")

    def span() -> None:
        made = bare.start_span("chat m", attributes=ASKED)
        made.set_attributes(ANSWERED)
        made.end()

    with tempfile.TemporaryDirectory() as folder:
        instrument(spool=Path(folder), tracer_provider=provider, libraries=())
        with session("s"), turn("p"):
            taken = {"span": best(span, rounds), "request": best(request, rounds), "tool call": best(tool_call, rounds)}
            few = max(rounds // 10, 3)
            taken["event"] = (best(lambda: told(DELTAS), few, 1) - best(lambda: told(0), rounds)) / DELTAS
            watched = best(lambda: read(DELTAS), few, 1) - best(lambda: unwatched(DELTAS), few, 1)
            taken["event, read"] = (watched - best(lambda: read(0), rounds)) / DELTAS
        uninstrument()
    for name, took in taken.items():
        beyond = f"   beyond a span {took - taken['span']:+7.2f} µs" if name in {"request", "tool call"} else ""
        aim = f"   aim ≤ {AIMS[name]:.0f} µs" if name in AIMS else ""
        print(f"{name:12} {took:8.2f} µs{beyond}{aim}")


if __name__ == "__main__":
    main()
