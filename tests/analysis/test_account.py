"""Where the time of a turn went: which category an instant belongs to, and that nothing is lost or counted twice."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.analysis.cases import in_one_store
from tracekit.analysis.account import AccountLine, account
from tracekit.analysis.scope import Scope
from tracekit.model import Boundary, Source, Span, semconv
from tracekit.testing import memory_store, request, span, tool, turn

Times = dict[str, int]


def run(start_ns: int, end_ns: int | None, key: str = "toolu_1", **fields: Any) -> Span:
    return span(Boundary.TOOL_EXECUTION, key, start_ns, end_ns, parent_key=key, **fields)


def answered(start_ns: int, first_byte_ns: int, end_ns: int | None, **fields: Any) -> Span:
    return request(start_ns, end_ns, attributes={semconv.FIRST_BYTE_NS: first_byte_ns}, **fields)


def block(end_ns: int) -> Span:
    return span(Boundary.STREAM_EVENT, f"msg_1#{end_ns}", end_ns - 1, end_ns, parent_key="req_1")


def piece(boundary: Boundary, start_ns: int, end_ns: int, **fields: Any) -> Span:
    return span(boundary, f"{boundary}@{start_ns}", start_ns, end_ns, **fields)


def still_open(last_seen_ns: int) -> Span:
    return turn(0, None, attributes={semconv.LAST_SEEN_NS: last_seen_ns})


TURN = turn(0, 100)
CASES: dict[str, tuple[list[Span], Times]] = {
    # One boundary
    "nothing seen": ([TURN], {"unobserved": 100}),
    "a turn of no length": ([turn(0, 0)], {}),
    "a request": ([TURN, answered(0, 30, 100)], {"model_wait": 30, "streaming": 70}),
    "a request inside the turn": ([TURN, answered(10, 30, 90)], {"client": 20, "model_wait": 20, "streaming": 60}),
    "a request without a first byte, whose first block came": ([TURN, request(0, 100), block(40)], {"model_wait": 40, "streaming": 60}),
    "a request without first byte or block": ([TURN, request(0, 100)], {"model_wait": 100}),
    "a tool": ([TURN, run(20, 60)], {"client": 60, "tool": 40}),
    "a permission": ([TURN, piece(Boundary.PERMISSION_WAIT, 20, 60)], {"client": 60, "permission": 40}),
    "a hook": ([TURN, piece(Boundary.HOOK_REPLY, 20, 60)], {"client": 60, "hook": 40}),
    "a connection": ([TURN, piece(Boundary.MCP_CONNECTION, 20, 60)], {"client": 60, "mcp_connection": 40}),
    "a wait to retry": ([TURN, piece(Boundary.RETRY_WAIT, 20, 60)], {"client": 60, "retry_wait": 40}),
    "a compaction": ([TURN, piece(Boundary.COMPACTION, 20, 60)], {"client": 60, "compaction": 40}),
    "a boundary of no length": ([TURN, run(50, 50)], {"unobserved": 100}),
    # Two at once
    "a tool under the stream": (
        [TURN, answered(0, 30, 80), run(40, 60)],
        {"model_wait": 30, "streaming": 30, "streaming_hidden": 20, "client": 20},
    ),
    "a tool beyond the stream": (
        [TURN, answered(0, 30, 80), run(70, 100)],
        {"model_wait": 30, "streaming": 40, "streaming_hidden": 10, "tool": 20},
    ),
    "a tool of another response while the model is silent": ([TURN, answered(0, 80, 100), run(0, 50)], {"model_wait": 80, "streaming": 20}),
    "two tools at once": ([TURN, run(0, 60), run(40, 100, "toolu_2")], {"tool": 100}),
    "adjacent tools": ([TURN, run(0, 50), run(50, 100, "toolu_2")], {"tool": 100}),
    "a permission inside a tool": ([TURN, run(0, 100), piece(Boundary.PERMISSION_WAIT, 20, 60)], {"tool": 100}),
    "a hook inside a permission": (
        [TURN, piece(Boundary.PERMISSION_WAIT, 0, 100), piece(Boundary.HOOK_REPLY, 20, 60)],
        {"permission": 100},
    ),
    "a wait to retry inside the request": (
        [TURN, answered(0, 70, 100), piece(Boundary.RETRY_WAIT, 20, 60)],
        {"model_wait": 30, "retry_wait": 40, "streaming": 30},
    ),
    "a compaction with its own request": ([TURN, answered(0, 30, 100), piece(Boundary.COMPACTION, 0, 100)], {"compaction": 100}),
    # At the turn's edges
    "a tool that outlasts the turn": ([TURN, run(80, 180)], {"client": 80, "tool": 20}),
    "a tool that began before the turn": ([TURN, run(-50, 20)], {"tool": 20, "client": 80}),
    "a tool of another time": ([TURN, run(100, 150)], {"unobserved": 100}),
    # Open
    "an open tool in an open turn": ([still_open(100), run(20, None)], {"client": 20, "tool": 80}),
    "an open stream in an open turn": ([still_open(100), answered(0, 30, None)], {"model_wait": 30, "streaming": 70}),
    "an open turn of which a gateway saw more than the transcript": (
        [still_open(50), answered(0, 30, 100)],
        {"model_wait": 30, "streaming": 70},
    ),
    "an open turn after the last thing seen": ([still_open(100), run(20, 60)], {"client": 20, "tool": 40, "unobserved": 40}),
    "an open turn of which nothing was seen since": ([turn(0, None)], {}),
}


@pytest.fixture(scope="module")
def lines() -> dict[str, list[AccountLine]]:
    found: dict[str, list[AccountLine]] = {name: [] for name in CASES}
    with memory_store(in_one_store({name: spans for name, (spans, _) in CASES.items()})) as store:
        for line in account(store):
            found[line.session_id].append(line)
    return found


@pytest.mark.parametrize("name", CASES)
def test_every_instant_has_one_category(name: str, lines: dict[str, list[AccountLine]]) -> None:
    found = lines[name]
    assert {line.category: line.duration_ns for line in found} == CASES[name][1]
    assert all(line.time_lower_ns == line.time_best_ns == line.time_upper_ns == line.duration_ns for line in found if name not in UNSURE)
    assert {line.wall_ns for line in found} <= {100}


UNSURE = {
    "a request without a first byte, whose first block came",
    "a request without first byte or block",
}
"""Where the first byte came is not known, so how long the model was waited for is not certain."""


def ask(spans: Iterable[Span], *, by: str = "turn", scope: Scope | None = None) -> list[AccountLine]:
    with memory_store(spans) as store:
        return list(account(store, scope or Scope(), by=by))


# What the witnesses cannot say ---------------------------------------------------------------------------------------


def test_time_that_may_have_been_something_is_counted_there_and_not_called_certain() -> None:
    found = ask([TURN, run(20, 80, start_slack_ns=30, end_slack_ns=10, source=Source.TRANSCRIPT)])
    assert [(line.category, line.time_lower_ns, line.time_best_ns, line.time_upper_ns, line.duration_ns) for line in found] == [
        ("tool", 20, None, 60, 60),
        ("client", 40, 40, 40, 40),
    ]


def test_what_certainly_was_goes_before_what_may_have_been() -> None:
    unsure = run(0, 100, start_slack_ns=100, source=Source.TRANSCRIPT)
    found = ask([TURN, unsure, piece(Boundary.HOOK_REPLY, 20, 60)])
    assert {line.category: (line.time_lower_ns, line.time_upper_ns) for line in found} == {"tool": (0, 60), "hook": (40, 40)}


def test_a_tool_that_may_have_run_under_the_stream_is_not_called_hidden() -> None:
    unsure = run(40, 60, start_slack_ns=20, source=Source.TRANSCRIPT)
    assert {line.category for line in ask([TURN, answered(0, 30, 100), unsure])} == {"model_wait", "streaming"}


# Agents --------------------------------------------------------------------------------------------------------------


def test_a_sub_agent_has_an_account_of_its_own_and_is_a_tool_to_its_parent() -> None:
    agents = turn(25, 55, key="task", agent_id="a1")
    inner = run(30, 50, "toolu_2", agent_id="a1")
    found = ask([TURN, run(20, 60), agents, inner])
    assert {(line.agent_id, line.category): line.duration_ns for line in found} == {
        (None, "tool"): 40,
        (None, "client"): 60,
        ("a1", "tool"): 20,
        ("a1", "client"): 10,
    }


def test_a_sum_by_session_leaves_sub_agents_to_their_parents_tool() -> None:
    agents = turn(25, 55, key="task", agent_id="a1")
    found = ask([TURN, run(20, 60), agents, run(30, 50, "toolu_2", agent_id="a1")], by="session")
    assert {line.category: line.duration_ns for line in found} == {"tool": 40, "client": 60}


# Sums by session -----------------------------------------------------------------------------------------------------


def test_the_user_is_idle_between_turns_and_outside_their_wall() -> None:
    found = ask([turn(0, 100), run(0, 60), turn(250, 300, key="turn_2"), run(250, 300, "toolu_2")], by="session")
    assert [(line.category, line.duration_ns, line.wall_ns, line.turn_key) for line in found] == [
        ("tool", 110, 150, None),
        ("client", 40, 150, None),
        ("user_idle", 150, 150, None),
    ]


def test_adjacent_turns_leave_the_user_no_time() -> None:
    assert "user_idle" not in {line.category for line in ask([turn(0, 100), turn(100, 200, key="turn_2")], by="session")}


def test_turns_that_overlap_make_no_negative_idle_time() -> None:
    inside = [turn(0, 100), turn(20, 60, key="turn_2"), turn(150, 160, key="turn_3")]
    found = ask(inside, by="session")
    assert {line.category: line.duration_ns for line in found}["user_idle"] == 50


def test_shares_are_of_the_wall() -> None:
    found = ask([TURN, run(0, 25)])
    assert {line.category: line.share for line in found} == {"tool": 0.25, "client": 0.75}


# Scope ---------------------------------------------------------------------------------------------------------------


def test_a_turn_counts_by_its_start_and_with_all_of_it() -> None:
    spans = [turn(0, 100), *tool(20, 20, 150), turn(200, 300, key="turn_2")]
    bounds: list[tuple[Scope, list[str]]] = [
        (Scope(), ["turn", "turn_2"]),
        (Scope(since_ns=1), ["turn_2"]),
        (Scope(until_ns=200), ["turn"]),
        (Scope(session_id="x"), []),
    ]
    with memory_store(spans) as store:
        found = [account(store, scope) for scope, _ in bounds]
    assert [sorted({str(line.turn_key) for line in lines}) for lines in found] == [keys for _, keys in bounds]
    assert [line.duration_ns for line in found[2]] == [80, 20]
