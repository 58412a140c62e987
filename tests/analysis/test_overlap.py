"""How much tool latency hid behind streaming: one relation of two intervals, or one thing that a witness cannot say, a test."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pytest

from tests.analysis.cases import in_one_store
from tracekit.analysis.overlap import Overlap, overlap
from tracekit.analysis.scope import Scope
from tracekit.model import Boundary, Source, Span, semconv
from tracekit.testing import memory_store, request, span, tool

Range = tuple[int, int | None, int]
UNPROVEN: dict[str, Any] = {"source": Source.TRANSCRIPT}
PROVEN: dict[str, Any] = {semconv.EAGER_TOOLS: True}
SERIAL: dict[str, Any] = {semconv.TOOLS_WAIT: True}
CUT: dict[str, Any] = {semconv.STREAM_CUT: "true"}


def point(value: int) -> Range:
    return value, value, value


def hidden(found: Overlap) -> Range:
    return found.hidden_lower_ns, found.hidden_best_ns, found.hidden_upper_ns


def exposed(found: Overlap) -> Range:
    return found.exposed_lower_ns, found.exposed_best_ns, found.exposed_upper_ns


def under_cut(found: Overlap) -> Range:
    return found.under_cut_lower_ns, found.under_cut_best_ns, found.under_cut_upper_ns


def measured(stream: tuple[int, int | None], *tools: tuple[int, int]) -> list[Span]:
    calls = [tool(start, start, end, key=f"toolu_{number}") for number, (start, end) in enumerate(tools)]
    return [request(stream[0], stream[1]), *(one for call in calls for one in call)]


def unproven(stream: tuple[int, int], execution: tuple[int, int], **fields: Any) -> list[Span]:
    """Build what a transcript knows: the tool began somewhere between its block and its result."""
    start, end = execution
    call = tool(start, start, end, start_slack_ns=end - start, **UNPROVEN)
    return [request(stream[0], stream[1], **UNPROVEN, **fields), *call]


def proven(end_slack_ns: int) -> list[Span]:
    """Build a call whose end is open too, in a session that proves that tools start early."""
    execution = tool(0, 0, 300_000_000, start_slack_ns=100_000_000, end_slack_ns=end_slack_ns, **UNPROVEN)
    return [request(0, 400_000_000, attributes=PROVEN, **UNPROVEN), *execution]


def asked(cases: Mapping[str, Iterable[Span]]) -> dict[str, list[Overlap]]:
    """Answer each case in a session of its own."""
    found: dict[str, list[Overlap]] = {name: [] for name in cases}
    with memory_store(in_one_store(cases)) as store:
        for row in overlap(store):
            found[str(row.session_id)].append(row)
    return found


class Case(NamedTuple):
    spans: list[Span]
    hidden: Range
    exposed: Range
    parallel: tuple[int | None, int] = (0, 0)


CASES = {
    # Two measured intervals
    "nested": Case(measured((0, 100), (20, 60)), point(40), point(0)),
    "equal": Case(measured((0, 100), (0, 100)), point(100), point(0)),
    "the tool outlasts the stream": Case(measured((0, 100), (80, 130)), point(20), point(30)),
    "adjacent": Case(measured((0, 100), (100, 130)), point(0), point(30)),
    "the tool comes after": Case(measured((0, 100), (120, 130)), point(0), point(10)),
    "a tool of no length": Case(measured((0, 100), (50, 50)), point(0), point(0)),
    "a tool of no length at the stream's end": Case(measured((0, 100), (100, 100)), point(0), point(0)),
    "the stream inside the tool": Case(measured((0, 100), (-10, 130)), point(100), point(40)),
    "a stream of no length": Case(measured((10, 10), (0, 30)), point(0), point(30)),
    "a tool without a schedule names its request itself": Case(
        [request(0, 100), span(Boundary.TOOL_EXECUTION, "toolu_1", 20, 60, parent_key="req_1")],
        point(40),
        point(0),
    ),
    # Several tools
    "side by side": Case(measured((0, 100), (20, 60), (30, 70)), point(50), point(0), (30, 30)),
    "one after the other": Case(measured((0, 100), (20, 60), (60, 130)), point(80), point(30)),
    "one inside the other": Case(measured((0, 100), (20, 160), (40, 120)), point(80), point(60), (80, 80)),
    "an open tool hides not that another one ended": Case(
        [*measured((0, 100), (20, 60)), *tool(30, 30, None, key="toolu_open")], point(40), point(0)
    ),
    # What the witnesses cannot say
    "a tool that may have started at any time": Case(unproven((0, 100), (20, 60)), (0, None, 40), (0, None, 0), (None, 0)),
    "a tool that may have started at any time, also after the stream": Case(
        unproven((0, 100), (20, 130)), (0, None, 80), (0, None, 30), (None, 0)
    ),
    "the session proves that tools start early": Case(
        [*unproven((0, 100), (20, 60)), request(200, 300, key="req_2", attributes=PROVEN, **UNPROVEN)], (0, 40, 40), (0, 0, 0)
    ),
    "the session proves it, but the end is open by 100 ms": Case(proven(100_000_000), (100_000_000, 300_000_000, 300_000_000), (0, 0, 0)),
    "the session proves it, but the end is open by more": Case(
        proven(100_000_001), (99_999_999, None, 300_000_000), (0, None, 0), (None, 0)
    ),
    "one start of two is unknown": Case(
        [*measured((0, 100), (20, 60)), *tool(30, 30, 80, key="toolu_2", start_slack_ns=50, **UNPROVEN)],
        (40, None, 60),
        (0, None, 0),
        (None, 30),
    ),
    "a stream's end that is only bounded is best at its last block": Case(
        [request(0, 150, end_slack_ns=100, attributes={semconv.LAST_BLOCK_NS: 90}), *tool(20, 20, 120)], (30, 70, 100), (0, 30, 70)
    ),
    "a last block outside the bounds": Case(
        [request(0, 150, end_slack_ns=50, attributes={semconv.LAST_BLOCK_NS: 40}), *tool(20, 20, 120)], (80, 80, 100), (0, 20, 20)
    ),
    "an open response": Case(measured((0, None), (20, 60), (30, 90)), (0, None, 70), (0, None, 70), (None, 30)),
    # Clients that start tools after the message
    "a client that waits": Case(unproven((0, 100), (20, 130), attributes=SERIAL), point(0), (0, 110, 110)),
}


@pytest.fixture(scope="module")
def found() -> dict[str, list[Overlap]]:
    return asked({name: case.spans for name, case in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_hidden_and_exposed(name: str, found: dict[str, list[Overlap]]) -> None:
    (row,) = found[name]
    case = CASES[name]
    assert (hidden(row), exposed(row), (row.parallel_best_ns, row.parallel_upper_ns)) == (case.hidden, case.exposed, case.parallel)


NO_ROWS = {
    "a response without tools": [request(0, 100)],
    "a tool that never came back": [request(0, 100), *tool(20, 20, None)],
    "a tool whose response nobody saw": tool(20, 20, 60),
}


def test_what_is_no_response_with_tools_that_ran_is_no_row() -> None:
    assert not any(asked(NO_ROWS).values())


def test_proof_in_one_session_proves_nothing_of_another() -> None:
    proof = [request(200, 300, attributes=PROVEN, **UNPROVEN)]
    ((row,), _) = asked({"unproven": unproven((0, 100), (20, 60)), "proven": proof}).values()
    assert row.hidden_best_ns is None


def test_a_tool_is_held_against_its_own_response_only() -> None:
    ((row,),) = asked({"two streams": [*measured((0, 100), (100, 180)), request(120, 200, key="req_2")]}).values()
    assert (hidden(row), exposed(row), row.stream_ns, row.tools, row.responses) == (point(0), point(80), 100, 1, 1)


def test_a_sub_agents_tool_hides_under_the_sub_agents_stream() -> None:
    mine = [request(0, 100, key="req_agent", agent_id="a1"), *tool(20, 20, 60, key="toolu_agent", issued_by="req_agent", agent_id="a1")]
    (rows,) = asked({"an agent": [*measured((0, 50), (50, 70)), *mine]}).values()
    assert {(row.request_key, row.agent_id, row.hidden_best_ns) for row in rows} == {
        ("req_1 in an agent", None, 0),
        ("req_agent in an agent", "a1", 40),
    }


# Cut responses -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cut() -> dict[str, list[Overlap]]:
    bounded = request(0, 100, end_slack_ns=60, attributes=CUT | {semconv.LAST_BLOCK_NS: 30})
    with memory_store([request(0, 100, attributes=CUT), *tool(20, 20, 130)]) as store:
        groups = {by: list(overlap(store, by=by)) for by in ("request", "tool", "model", "session")}
    late = request(0, 500, attributes=CUT | {semconv.LAST_BLOCK_NS: 30, semconv.LAST_EVENT_NS: 100})
    return groups | asked({"bounded": [bounded, *tool(20, 20, 130)], "late": [late, *tool(20, 20, 130)]})


@pytest.mark.parametrize("by", ["request", "tool", "model", "session"])
def test_what_hid_under_a_cut_is_told_apart(by: str, cut: dict[str, list[Overlap]]) -> None:
    (row,) = cut[by]
    assert (hidden(row), under_cut(row), exposed(row)) == (point(0), point(80), point(30))
    assert (row.could_hide_best_ns, row.could_hide_upper_ns, row.missed_ns) == (0, 0, 0)


def test_a_cut_whose_last_event_nobody_measured_is_a_range(cut: dict[str, list[Overlap]]) -> None:
    (row,) = cut["bounded"]
    assert (hidden(row), under_cut(row), exposed(row)) == (point(0), (10, None, 80), (30, None, 100))


def test_a_cut_response_ended_at_its_last_event_however_late_its_connection_broke(cut: dict[str, list[Overlap]]) -> None:
    (row,) = cut["late"]
    assert (hidden(row), under_cut(row), exposed(row)) == (point(0), point(80), point(30))


# What stood in the way -----------------------------------------------------------------------------------------------


def hook(start_ns: int, end_ns: int, event: str = "PreToolUse") -> Span:
    return span(Boundary.HOOK_REPLY, f"hook@{start_ns}", start_ns, end_ns, parent_key="toolu_1", attributes={semconv.HOOK_EVENT: event})


def permission(start_ns: int, end_ns: int) -> Span:
    return span(Boundary.PERMISSION_WAIT, "toolu_1", start_ns, end_ns, parent_key="toolu_1")


def late(*blockers: Span, start_ns: int = 70, end_ns: int = 130, ready_ns: int = 20) -> list[Span]:
    """Build a stream of 100 with a block complete at 20, whose tool starts at 70 and runs for 60: 30 of 60 hide."""
    return [request(0, 100), *tool(ready_ns, start_ns, end_ns), *blockers]


class Missed(NamedTuple):
    spans: list[Span]
    could_hide: int | None
    missed: int | None
    permission: int | None = 0
    hook: int | None = 0
    queue: int | None = 0
    dispatch: int | None = 0


MISSED = {
    "nothing in sight is dispatch": Missed(late(), 60, 30, dispatch=30),
    "it started at once": Missed(late(start_ns=20), 80, 0),
    "it started late and hid all the same": Missed(late(end_ns=80), 10, 0),
    "its block was the last": Missed(late(ready_ns=100, start_ns=120, end_ns=180), 0, 0),
    "it was short and started after the stream": Missed(late(permission(20, 120), start_ns=120, end_ns=150), 30, 30, permission=30),
    "what filled the gap counts as far as the stream lasted": Missed(
        late(permission(20, 60), start_ns=120, end_ns=150), 30, 30, permission=15, dispatch=15
    ),
    "a person": Missed(late(permission(20, 70)), 60, 30, permission=30),
    "a hook": Missed(late(hook(20, 70)), 60, 30, hook=30),
    "a person before a hook": Missed(late(permission(20, 70), hook(30, 60)), 60, 30, permission=30),
    "a hook after the tool is not to blame": Missed(late(hook(30, 60, "PostToolUse")), 60, 30, dispatch=30),
    "what ended before the block was complete is not to blame": Missed(late(permission(0, 20)), 60, 30, dispatch=30),
    "what cannot be divided is dispatch": Missed(late(permission(20, 27), hook(27, 34)), 60, 30, 4, 4, 0, 22),
    "an unknown start": Missed(unproven((0, 100), (20, 130)), None, None, None, None, None, None),
    "a client that waits": Missed(unproven((0, 100), (20, 130), attributes=SERIAL), None, None, None, None, None, None),
}


@pytest.fixture(scope="module")
def blocked() -> dict[str, list[Overlap]]:
    return asked({name: case.spans for name, case in MISSED.items()})


@pytest.mark.parametrize("name", MISSED)
def test_missed_time_is_laid_at_the_door_of_what_filled_the_gap(name: str, blocked: dict[str, list[Overlap]]) -> None:
    (row,) = blocked[name]
    causes = (row.missed_permission_ns, row.missed_hook_ns, row.missed_queue_ns, row.missed_dispatch_ns)
    assert (row.could_hide_best_ns, row.missed_ns, *causes) == MISSED[name][1:]
    assert row.missed_ns is None or row.missed_ns == sum(cause or 0 for cause in causes)


def test_every_cause_has_its_share() -> None:
    other = [one._replace(name="Read") for one in tool(45, 45, 65, key="toolu_2")]
    with memory_store(late(permission(20, 40), hook(40, 50), *other)) as store:
        row = next(row for row in overlap(store, by="tool") if row.tool_name == "Bash")
    # Of the gap of 50, permission fills 20, the hook 10, the queue what both left of it, 15; the rest, 5, is dispatch.
    shares = (row.missed_permission_ns, row.missed_hook_ns, row.missed_queue_ns, row.missed_dispatch_ns)
    assert (row.missed_ns, *shares) == (30, 12, 6, 9, 3)


# Groups and scope ----------------------------------------------------------------------------------------------------

TWO = [*measured((0, 100), (20, 60)), request(1000, 1100, key="req_2"), *tool(1020, 1020, 1130, key="toolu_2", issued_by="req_2")]


def test_groups_add_up_their_responses() -> None:
    with memory_store(TWO) as store:
        rows = [row for by in ("session", "model", "tool") for row in overlap(store, by=by)]
    assert [(hidden(row), exposed(row), row.tools, row.responses) for row in rows] == [(point(120), point(30), 2, 2)] * 3
    assert [(row.session_id, row.model, row.tool_name) for row in rows] == [
        ("session", None, None),
        (None, "model", None),
        (None, None, "Bash"),
    ]


def test_by_tool_parallel_calls_are_added() -> None:
    with memory_store(measured((0, 100), (20, 60), (30, 130))) as store:
        (row,) = overlap(store, by="tool")
    assert (hidden(row), exposed(row), row.stream_ns) == (point(110), point(30), None)


def test_a_sum_with_an_unknown_is_unknown_and_its_range_stays() -> None:
    unknown = [one._replace(key=f"{one.key}_2", parent_key=f"{one.parent_key}_2") for one in unproven((1000, 1100), (1020, 1060))]
    with memory_store([*measured((0, 100), (20, 60)), *unknown]) as store:
        (row,) = overlap(store, by="session")
    assert (hidden(row), row.missed_ns) == ((40, None, 80), None)


def test_a_response_counts_by_its_start() -> None:
    bounds: list[tuple[Scope, list[str]]] = [
        (Scope(), ["req_1", "req_2"]),
        (Scope(session_id="session"), ["req_1", "req_2"]),
        (Scope(session_id="another"), []),
        (Scope(since_ns=1000), ["req_2"]),
        (Scope(since_ns=1001), []),
        (Scope(until_ns=1000), ["req_1"]),
    ]
    with memory_store(TWO) as store:
        assert [[row.request_key for row in overlap(store, scope)] for scope, _ in bounds] == [keys for _, keys in bounds]
