"""From an instrumented agent to the answers: what it wrote is loaded, met by other witnesses, and asked."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tracekit.analysis.account import account
from tracekit.analysis.failed import failures
from tracekit.analysis.overlap import overlap
from tracekit.analysis.scope import Scope
from tracekit.analysis.stuck import stuck
from tracekit.analysis.timeline import timeline
from tracekit.ingest import import_paths
from tracekit.instrument import hook_reply, model_request, session, subagent, tool_schedule, turn
from tracekit.model import Boundary, Source, Span, semconv
from tracekit.spool import Spool
from tracekit.store import SpanStore, open_store

if TYPE_CHECKING:
    from tests.instrument.conftest import World
    from tracekit.instrument import ModelRequest
    from tracekit.testing import FakeClock

MS = 1_000_000
START = 1_700_000_000_000 * MS
SESSION = Scope(session_id="s")


def call_block(index: int) -> tuple[dict[str, Any], dict[str, Any]]:
    block = {"type": "tool_use", "id": f"toolu_{index}", "name": "Read"}
    return {"type": "content_block_start", "index": index, "content_block": block}, {"type": "content_block_stop", "index": index}


def events(clock: "FakeClock", *timed: tuple[int, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Events of a stream, each at so many milliseconds from the start."""
    for at_ms, event in timed:
        clock.now_ns = START + at_ms * MS
        yield event


def eager_agent(clock: "FakeClock") -> None:
    """Runs each tool when its block is complete, while the model still speaks; and asks once more."""
    clock.now_ns = START
    opening, closing = call_block(1)
    start = {"type": "message_start", "message": {"id": "msg_1"}}
    rest = {"type": "content_block_start", "index": 2, "content_block": {"type": "text"}}
    timed = ((100, start), (200, opening), (400, closing), (500, rest), (1_000, {"type": "content_block_stop", "index": 2}))
    with session("s", project="/home/me/p"), turn("prompt-1"):
        with model_request("m", stream=True) as request:
            request.response(request_id="req_1")
            call = tool_schedule("Read", "toolu_1", request=request)
            running = call.execution()
            for event in request.stream(events(clock, *timed, (1_100, {"type": "message_stop"}))):
                if event is closing:
                    call.start()
                    clock.advance(50 * MS)
                    running.start()
                elif event is rest:
                    running.result("text", is_error=True)
                    running.end(at_ns=START + 900 * MS)
        call.yielded()
        clock.advance(100 * MS)
        with hook_reply("PostToolUse", "log", tool_use_id="toolu_1") as reply:
            clock.advance(10 * MS)
            reply.decision(None)
        with model_request("m") as request:
            clock.advance(300 * MS)
            request.response(id="msg_2", request_id="req_2")


@contextmanager
def loaded(spool: Path) -> Generator[SpanStore]:
    """A store of what was written."""
    path = str(spool.parent / "store.duckdb")
    done = import_paths([spool], path)
    assert (dict(done.problems), done.files_found) == ({}, len(list(spool.iterdir())))
    with open_store(path) as store:
        yield store


def test_the_timeline_of_an_agent(world: "World") -> None:
    eager_agent(world.clock)
    with loaded(world.spool) as store:
        found = [(one.boundary, one.key, one.parent_key, (one.start_ns - START) // MS) for one in timeline(store, SESSION)]
        assert {one.witnesses for one in timeline(store, SESSION)} == {"instrument"}
    assert found == [
        ("turn", "prompt-1", "s", 0),
        ("model_request", "req_1", "prompt-1", 0),
        ("stream_event", "msg_1#1", "req_1", 200),
        ("tool_schedule", "toolu_1", "req_1", 400),
        ("tool_execution", "toolu_1", "toolu_1", 450),
        ("stream_event", "msg_1#2", "req_1", 500),
        ("hook_reply", found[6][1], "toolu_1", 1_200),
        ("model_request", "req_2", "prompt-1", 1_210),
    ]


def test_what_hid_behind_the_stream_is_a_point_and_no_range(world: "World") -> None:
    eager_agent(world.clock)
    with loaded(world.spool) as store:
        (one,) = overlap(store, SESSION)
    assert (one.request_key, one.tools, one.stream_ns) == ("req_1", 1, 1_100 * MS)
    assert (one.hidden_lower_ns, one.hidden_best_ns, one.hidden_upper_ns) == (450 * MS, 450 * MS, 450 * MS)
    assert (one.exposed_best_ns, one.missed_ns, one.missed_dispatch_ns) == (0, 0, 0)


def test_the_account_sums_to_the_turn(world: "World") -> None:
    eager_agent(world.clock)
    with loaded(world.spool) as store:
        lines = {line.category: line.duration_ns for line in account(store, SESSION)}
        (whole,) = store.rows("SELECT end_ns - start_ns AS wall FROM boundaries WHERE boundary = 'turn'")
    assert sum(lines.values()) == whole["wall"] == 1_510 * MS
    assert lines["hook"] == 10 * MS


def test_the_failure_of_a_tool_is_told_once(world: "World") -> None:
    eager_agent(world.clock)
    with loaded(world.spool) as store:
        (one,) = failures(store, SESSION)
    assert (one.family, one.boundary, one.key, one.witnesses) == ("tool", "tool_schedule", "toolu_1", "instrument")


def test_an_agent_that_is_done_waits_for_nothing(world: "World") -> None:
    eager_agent(world.clock)
    with loaded(world.spool) as store:
        assert list(stuck(store, SESSION, as_of_ns=START + 60_000 * MS)) == []


@pytest.mark.parametrize(("source", "witnesses"), [(Source.GATEWAY, "gateway,instrument"), (Source.OTEL, "instrument,otel")])
def test_another_witness_of_the_same_request_meets_ours(world: "World", source: Source, witnesses: str) -> None:
    eager_agent(world.clock)
    with Spool(world.spool, "other") as other:
        # A gateway names a request by its request id, an OpenTelemetry reader by the message id.
        key = "req_1" if source is Source.GATEWAY else "msg_1"
        seen = Span(source, "s", Boundary.MODEL_REQUEST, key, START + 2 * MS, START + 1_095 * MS, attributes={semconv.RESPONSE_ID: "msg_1"})
        other.write(seen)
        other.write(Span(source, "s", Boundary.TOOL_EXECUTION, "toolu_1", START + 451 * MS, START + 899 * MS))
    with loaded(world.spool) as store:
        rows = store.rows("SELECT * FROM boundaries WHERE boundary IN ('model_request', 'tool_execution') ORDER BY start_ns")
    met = {row["key"]: (row["witnesses"], row["start_source"]) for row in rows}
    first = witnesses.split(",", maxsplit=1)[0]
    assert met == {"req_1": (witnesses, first), "toolu_1": (witnesses, first), "req_2": ("instrument", "instrument")}


def test_the_parts_of_a_request_that_failed_are_its_parts(world: "World") -> None:
    with session("s"), turn("p"):
        request: ModelRequest = model_request("m").start()
        request.attempt().start().failed(ConnectionError("refused"))
        world.clock.advance(5 * MS)
        request.attempt().start().failed(ConnectionError("refused"))
        request.end(ConnectionError("refused"))
    with loaded(world.spool) as store:
        rows = store.rows("SELECT boundary, key, parent_key FROM boundaries ORDER BY start_ns")
        (failure,) = failures(store, SESSION)
    (whole,) = [row["key"] for row in rows if row["boundary"] == "model_request"]
    parts = [row for row in rows if row["boundary"] in {"request_attempt", "retry_wait"}]
    assert [row["parent_key"] for row in parts] == [whole] * 3
    assert (failure.family, failure.attempts, failure.recovered) == ("network", 2, False)


def test_a_subagent_has_an_account_of_its_own(world: "World") -> None:
    world.clock.now_ns = START
    task = tool_schedule("Task", "toolu_1")
    with session("s"), turn("p"), task, task.execution(), subagent("a1", "explorer"), model_request("m"):
        world.clock.advance(70 * MS)
    with loaded(world.spool) as store:
        found = {(line.agent_id, line.category): line.duration_ns for line in account(store, SESSION) if line.duration_ns}
    assert found["a1", "model_wait"] == 70 * MS
    assert found[None, "tool"] == 70 * MS
