"""What a session waits for: the open boundary, since when, how certain, and what is no wait at all."""

from typing import Any, NamedTuple

import pytest

from tests.analysis.cases import in_one_store
from tracekit.analysis.scope import Scope
from tracekit.analysis.stuck import Stuck, stuck
from tracekit.model import Boundary, Source, Span, semconv
from tracekit.testing import memory_store, request, span, tool, turn

SECOND = 1_000_000_000
NOW = 11 * SECOND
BY_TRANSCRIPT: dict[str, Any] = {"source": Source.TRANSCRIPT}
BY_GATEWAY: dict[str, Any] = {"source": Source.GATEWAY}
BY_HOOKS: dict[str, Any] = {"source": Source.HOOKS}
BY_TAP: dict[str, Any] = {"source": Source.MCP_TAP}
BY_STREAM: dict[str, Any] = {"source": Source.STREAM_JSON}


def waits(last_seen_ns: int = 50, **fields: Any) -> Span:
    return turn(0, None, attributes={semconv.LAST_SEEN_NS: last_seen_ns}, **fields)


def open_call(boundary: Boundary, start_ns: int = 30, **fields: Any) -> Span:
    return span(boundary, "toolu_1", start_ns, None, **{"name": "Bash"} | fields)


def block(**fields: Any) -> Span:
    return span(Boundary.STREAM_EVENT, "msg_1#0", 30, 40, parent_key="req_1", **fields)


def attempt(start_ns: int = 20, end_ns: int | None = None, key: str = "exchange:1", **fields: Any) -> Span:
    return span(Boundary.REQUEST_ATTEMPT, key, start_ns, end_ns, **{"name": "model", "parent_key": "request:1", **BY_GATEWAY} | fields)


def streaming(start_ns: int = 20, **attributes: int) -> Span:
    said = {semconv.OPENED_AS: "request:1", semconv.FIRST_BYTE_NS: 30, **attributes}
    return request(start_ns, None, parent_key=None, attributes=said, **BY_GATEWAY)


class Wait(NamedTuple):
    verdict: str
    boundary: str
    certainty: str
    since_ns: int


CASES: dict[str, tuple[list[Span], list[Wait]]] = {
    # Nothing is owed
    "nothing at all": ([], []),
    "a turn that ended": ([turn(0, 100), *tool(10, 10, 50)], []),
    "an open call of a turn that ended": ([turn(0, 100), open_call(Boundary.TOOL_SCHEDULE)], []),
    "an open turn before the last one": ([turn(0, None), turn(200, 300, key="turn_2")], []),
    "an open call from before the turn": (
        [turn(50, None), open_call(Boundary.TOOL_EXECUTION, 10)],
        [Wait("unknown", "turn", "unknown", 50)],
    ),
    "what only a mirror shows": ([waits(source=Source.PROGRESS, agent_id="a1")], []),
    # Somebody owes the next byte
    "an open turn with nothing in it": ([waits()], [Wait("unknown", "turn", "unknown", 50)]),
    "a turn of which nothing more was seen": ([turn(7, None)], [Wait("unknown", "turn", "unknown", 7)]),
    "a request that a transcript announced": (
        [waits(), request(20, None, start_slack_ns=5, **BY_TRANSCRIPT)],
        [Wait("unknown", "model_request", "unknown", 25)],
    ),
    "a request that a stream announced which may tell whole messages only": (
        [waits(), request(20, None, **BY_STREAM)],
        [Wait("unknown", "model_request", "unknown", 20)],
    ),
    "a request that a stream announced which tells first bytes": (
        [waits(), request(2, 9, key="req_0", attributes={semconv.FIRST_BYTE_NS: 5}, **BY_STREAM), request(20, None, **BY_STREAM)],
        [Wait("first byte", "model_request", "certain", 20)],
    ),
    "a response whose first byte came": (
        [waits(), request(20, None, attributes={semconv.FIRST_BYTE_NS: 25})],
        [Wait("mid-stream", "model_request", "certain", 20)],
    ),
    "a response of which a block came": (
        [waits(), request(20, None, **BY_STREAM), block(**BY_STREAM)],
        [Wait("mid-stream", "model_request", "certain", 20)],
    ),
    "two sightings of one request, of which one saw more": (
        [waits(), request(20, None, key="uuid", **BY_TRANSCRIPT), request(22, None, **BY_STREAM), block(**BY_STREAM)],
        [Wait("mid-stream", "model_request", "certain", 22)],
    ),
    # A gateway sees every request
    "a request without a byte": ([waits(), attempt()], [Wait("first byte", "request_attempt", "certain", 20)]),
    "a request that a transcript announced, and the gateway has": (
        [waits(), request(18, None, key="uuid", **BY_TRANSCRIPT), attempt()],
        [Wait("first byte", "request_attempt", "certain", 20)],
    ),
    "two requests side by side": (
        [waits(), attempt(), attempt(25, key="exchange:2", parent_key="request:2")],
        [Wait("first byte", "request_attempt", "certain", 20), Wait("first byte", "request_attempt", "certain", 25)],
    ),
    "a request of which nothing else tells yet": ([attempt()], [Wait("first byte", "request_attempt", "certain", 20)]),
    "a request after the last turn that a transcript tells of": (
        [turn(0, 15), attempt()],
        [Wait("first byte", "request_attempt", "certain", 20)],
    ),
    "a request left open in an earlier turn": ([turn(0, 15), attempt(10), turn(16, 19, key="turn_2")], []),
    "an attempt that ended": (
        [waits(), attempt(20, 40, attributes={semconv.OPENED_AS: "exchange:1"}), attempt()],
        [Wait("unknown", "turn", "unknown", 50)],
    ),
    "a request that a transcript announced, and the gateway has seen end": (
        [waits(), request(18, None, key="uuid", **BY_TRANSCRIPT), attempt(20, 40)],
        [Wait("unknown", "turn", "unknown", 50)],
    ),
    "a request of a turn that came by no gateway, as those before did": (
        [turn(0, 15, key="before"), attempt(2, 10), turn(16, None), request(18, None, key="uuid", **BY_TRANSCRIPT)],
        [Wait("unknown", "model_request", "unknown", 18)],
    ),
    # A tool
    "a call of which telemetry tells, and nobody of its turn": (
        [open_call(Boundary.TOOL_EXECUTION)],
        [Wait("tool", "tool_execution", "certain", 30)],
    ),
    "a call that only a transcript shows": (
        [waits(**BY_TRANSCRIPT), open_call(Boundary.TOOL_SCHEDULE, **BY_TRANSCRIPT)],
        [Wait("unknown", "tool_schedule", "unknown", 30)],
    ),
    "a tool that began": ([waits(), open_call(Boundary.TOOL_EXECUTION)], [Wait("tool", "tool_execution", "certain", 30)]),
    "a call as schedule and execution is told once, by the innermost": (
        [waits(), open_call(Boundary.TOOL_SCHEDULE, 20), open_call(Boundary.TOOL_EXECUTION)],
        [Wait("tool", "tool_execution", "certain", 30)],
    ),
    "a call that waits for permission": (
        [waits(), open_call(Boundary.TOOL_SCHEDULE, 20, name="Write"), open_call(Boundary.PERMISSION_WAIT, name="Write")],
        [Wait("permission", "permission_wait", "likely", 30)],
    ),
    "a call of which somebody was asked, and which may run by now": (
        [waits(**BY_HOOKS), *(open_call(part, **BY_HOOKS) for part in (Boundary.TOOL_SCHEDULE, Boundary.PERMISSION_WAIT))],
        [Wait("unknown", "permission_wait", "unknown", 30)],
    ),
    "a call to a server": (
        [waits(), open_call(Boundary.TOOL_SCHEDULE, 20), open_call(Boundary.TOOL_EXECUTION), open_call(Boundary.MCP_CALL, 35)],
        [Wait("mcp", "mcp_call", "likely", 30)],
    ),
    "a call that has reached its server": (
        [waits(), open_call(Boundary.TOOL_SCHEDULE, 20), open_call(Boundary.TOOL_EXECUTION), open_call(Boundary.MCP_CALL, 35, **BY_TAP)],
        [Wait("mcp call", "mcp_call", "certain", 35)],
    ),
    "a permission that was given does not hide the tool": (
        [waits(), open_call(Boundary.TOOL_EXECUTION), span(Boundary.PERMISSION_WAIT, "toolu_1", 20, 30)],
        [Wait("tool", "tool_execution", "certain", 30)],
    ),
    "two tools": (
        [waits(), *(open_call(Boundary.TOOL_EXECUTION, start)._replace(key=f"toolu_{start}") for start in (30, 40))],
        [Wait("tool", "tool_execution", "certain", 30), Wait("tool", "tool_execution", "certain", 40)],
    ),
    "one tool of two came back": (
        [waits(), *tool(20, 20, 40), open_call(Boundary.TOOL_EXECUTION)._replace(key="toolu_2")],
        [Wait("tool", "tool_execution", "certain", 30)],
    ),
    "a tool whose own timeout has passed": (
        [waits(), open_call(Boundary.TOOL_EXECUTION, attributes={semconv.TOOL_TIMEOUT_NS: 4 * SECOND})],
        [Wait("tool past its timeout", "tool_execution", "certain", 30)],
    ),
    "a tool within its own timeout": (
        [waits(), open_call(Boundary.TOOL_EXECUTION, attributes={semconv.TOOL_TIMEOUT_NS: 7 * SECOND})],
        [Wait("tool", "tool_execution", "certain", 30)],
    ),
    # Others
    "a hook of which a transcript tells the beginning, as it does of those that are long done": (
        [waits(**BY_TRANSCRIPT), span(Boundary.HOOK_REPLY, "run", 30, None, **BY_TRANSCRIPT)],
        [Wait("unknown", "turn", "unknown", 50)],
    ),
    "a hook": ([waits(), span(Boundary.HOOK_REPLY, "run", 30, None)], [Wait("hook", "hook_reply", "certain", 30)]),
    "a server that does not answer": (
        [waits(), span(Boundary.MCP_CONNECTION, "s@1", 30, None)],
        [Wait("mcp connection", "mcp_connection", "certain", 30)],
    ),
    "a wait to retry": ([waits(), span(Boundary.RETRY_WAIT, "req_1~1", 30, None)], [Wait("retry wait", "retry_wait", "certain", 30)]),
    "a compaction": ([waits(), span(Boundary.COMPACTION, "uuid", 30, None)], [Wait("compaction", "compaction", "certain", 30)]),
    # Agents
    "a sub-agent's tool, and the parent's call that waits for it": (
        [
            waits(),
            open_call(Boundary.TOOL_EXECUTION, 10, name="Task"),
            waits(key="task", agent_id="a1"),
            open_call(Boundary.TOOL_EXECUTION, 40, agent_id="a1")._replace(key="toolu_2"),
        ],
        [Wait("sub-agent", "tool_execution", "certain", 10), Wait("tool", "tool_execution", "certain", 40)],
    ),
}


@pytest.fixture(scope="module")
def found() -> dict[str, list[Stuck]]:
    found: dict[str, list[Stuck]] = {name: [] for name in CASES}
    with memory_store(in_one_store({name: spans for name, (spans, _) in CASES.items()})) as store:
        for one in stuck(store, as_of_ns=NOW):
            found[one.session_id].append(one)
    return found


@pytest.mark.parametrize("name", CASES)
def test_what_is_open_is_named(name: str, found: dict[str, list[Stuck]]) -> None:
    assert [(one.verdict, one.boundary, one.certainty, one.since_ns) for one in found[name]] == CASES[name][1]
    assert all(one.age_ns == NOW - one.since_ns for one in found[name])
    assert all(one.because for one in found[name])


def test_where_a_witness_is_missing_it_is_named(found: dict[str, list[Stuck]]) -> None:
    (unknown,) = found["an open turn with nothing in it"]
    (call,) = found["a call that only a transcript shows"]
    assert "gateway" in unknown.would_tell
    assert "PermissionRequest" in call.would_tell
    assert call.could_be == "permission, hook, tool, client"


def test_a_stream_says_how_long_it_has_been_quiet_and_whether_its_server_lives() -> None:
    said = {semconv.LAST_EVENT_NS: 2 * SECOND, semconv.LAST_PING_NS: 9 * SECOND}
    with memory_store([waits(), streaming(**said)]) as store:
        (soon,), (late,) = (stuck(store, as_of_ns=now) for now in (NOW, 90 * SECOND))
    assert (soon.quiet_ns, late.quiet_ns) == (9 * SECOND, 88 * SECOND)
    assert ("pings" in soon.because, "pings" in late.because) == (True, False)


def test_an_attempt_whose_response_has_begun_is_told_as_the_request_that_it_is_part_of() -> None:
    with memory_store([waits(), attempt(), streaming(), block(**BY_GATEWAY)]) as store:
        (one,) = stuck(store, as_of_ns=NOW)
    assert (one.verdict, one.boundary, one.since_ns) == ("mid-stream", "model_request", 20)


def test_the_newest_record_of_an_open_stream_counts() -> None:
    with memory_store([waits()], [streaming(**{semconv.LAST_EVENT_NS: at * SECOND})._replace(position=at) for at in (1, 2, 3)]) as store:
        (one,) = stuck(store, as_of_ns=NOW)
    assert one.quiet_ns == 8 * SECOND


def test_agents_are_told_apart(found: dict[str, list[Stuck]]) -> None:
    assert [one.agent_id for one in found["a sub-agent's tool, and the parent's call that waits for it"]] == [None, "a1"]


def test_no_age_is_negative_and_a_wait_counts_by_its_beginning() -> None:
    with memory_store([waits(), open_call(Boundary.TOOL_EXECUTION)]) as store:
        (early,) = stuck(store, as_of_ns=10)
        inside, outside = (stuck(store, Scope(since_ns=since), as_of_ns=NOW) for since in (30, 31))
    assert (early.age_ns, early.last_seen_ns, len(inside), len(outside)) == (0, 50, 1, 0)
