"""What the end waited for: chains by example, what must hold of any chain, and walls that would have been."""

from collections.abc import Iterable
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.analysis.account import CATEGORIES
from tracekit.analysis.critical_path import GROUPS, TITLES, CriticalPath, WhatIf, critical_path, what_if
from tracekit.analysis.critical_path_chain import chain
from tracekit.analysis.critical_path_pieces import Piece
from tracekit.analysis.critical_path_what_if import lasted
from tracekit.analysis.scope import Scope
from tracekit.errors import TracekitError
from tracekit.model import Boundary, Span, semconv
from tracekit.testing import memory_store, request, span, tool, turn

Short = list[tuple[str, str, int]]


def path(*spans: Span, by: str = "segment", scope: Scope | None = None) -> list[CriticalPath]:
    with memory_store(spans) as store:
        return list(critical_path(store, scope or Scope(), by=by))


def short(rows: Iterable[CriticalPath]) -> Short:
    return [(row.category, row.name, row.duration_ns) for row in rows]


def otherwise(*spans: Span, by: str = "session", **factors: float) -> WhatIf:
    with memory_store(spans) as store:
        (row,) = what_if(store, factors=factors or None, by=by)
    return row


# Chains --------------------------------------------------------------------------------------------------------------


def test_what_a_tool_hid_of_the_stream_is_on_no_critical_path() -> None:
    spans = [turn(0, 20), request(1, 10, attributes={semconv.FIRST_BYTE_NS: 2}), *tool(4, 5, 14), request(15, 19, key="req_2")]
    expected = [("client", "", 1), ("model_wait", "model", 1), ("streaming", "model", 2), ("client", "", 1), ("tool", "Bash", 9)]
    assert short(path(*spans)) == [*expected, ("client", "", 1), ("model_wait", "model", 4), ("client", "", 1)]


def test_a_tool_that_ended_under_the_stream_is_on_no_critical_path() -> None:
    spans = [turn(0, 20), request(0, 10, attributes={semconv.FIRST_BYTE_NS: 2}), *tool(4, 5, 8), request(10, 20, key="req_2")]
    assert short(path(*spans)) == [("model_wait", "model", 2), ("streaming", "model", 8), ("model_wait", "model", 10)]


def test_of_parallel_tools_the_longest_counts_and_a_queue_is_followed() -> None:
    parallel = [turn(0, 20), request(0, 5), *tool(5, 5, 18), *tool(5, 6, 12, key="toolu_2", name="Read"), request(18, 20, key="req_2")]
    assert short(path(*parallel)) == [("model_wait", "model", 5), ("tool", "Bash", 13), ("model_wait", "model", 2)]
    queued = [turn(0, 20), request(0, 5), *tool(5, 5, 12), *tool(5, 12, 18, key="toolu_2", name="Edit"), request(18, 20, key="req_2")]
    assert short(path(*queued))[1:3] == [("tool", "Bash", 7), ("tool", "Edit", 6)]


def test_permission_and_hooks_before_a_tool_are_what_it_waited_for() -> None:
    hook = {semconv.HOOK_EVENT: "PreToolUse"}
    spans = [
        *(turn(0, 20), request(0, 10)),
        *tool(4, 9, 18),
        span(Boundary.HOOK_REPLY, "run", 4, 5, parent_key="toolu_1", name="PreToolUse:Bash", attributes=hook),
        span(Boundary.PERMISSION_WAIT, "toolu_1", 5, 9, parent_key="toolu_1", name="Bash"),
    ]
    expected = [("model_wait", "model", 4), ("hook", "PreToolUse:Bash", 1), ("permission", "Bash", 4), ("tool", "Bash", 9)]
    assert short(path(*spans)) == [*expected, ("client", "", 2)]


def test_a_request_is_split_into_its_attempts_waits_and_stream() -> None:
    wait = span(Boundary.RETRY_WAIT, "req_1~1", 3, 7, parent_key="req_1")
    spans = [turn(0, 12), request(0, 12, attributes={semconv.FIRST_BYTE_NS: 9}), wait]
    expected = [("model_wait", "model", 3), ("retry_wait", "model", 4), ("model_wait", "model", 2), ("streaming", "model", 3)]
    assert short(path(*spans)) == expected


def test_a_wait_for_a_request_that_nobody_saw_stands_for_itself() -> None:
    wait = span(Boundary.RETRY_WAIT, "req_9~1", 3, 7, parent_key="req_9", name="backoff")
    assert short(path(turn(0, 10), wait)) == [("client", "", 3), ("retry_wait", "backoff", 4), ("client", "", 3)]


def test_the_path_goes_on_inside_a_sub_agent() -> None:
    agent = {"agent_id": "a1"}
    spans = [
        *(turn(0, 30), request(0, 5)),
        *tool(5, 6, 26, name="Agent"),
        span(Boundary.SUBAGENT, "a1", 6, 26, parent_key="toolu_1", name="Explore", **agent),
        turn(7, 25, key="turn a1", parent_key="a1", **agent),
        request(8, 12, key="req_a", parent_key="turn a1", **agent),
        *tool(12, 12, 20, key="toolu_a", issued_by="req_a", name="Grep", **agent),
        request(20, 25, key="req_b", parent_key="turn a1", **agent),
        request(27, 30, key="req_2"),
    ]
    found = path(*spans)
    assert [(row.agent_id, row.category, row.duration_ns) for row in found] == [
        *((None, "model_wait", 5), (None, "client", 1)),
        *(("a1", "client", 2), ("a1", "model_wait", 4), ("a1", "tool", 8), ("a1", "model_wait", 5), ("a1", "client", 1)),
        *((None, "client", 1), (None, "model_wait", 3)),
    ]


def test_sums_tell_sub_agents_apart_from_the_main_agent_and_not_from_each_other() -> None:
    spans = [turn(0, 20), request(0, 2)]
    for number, start in ((1, 2), (2, 10)):
        spans += tool(2, start, start + 8, key=f"toolu_{number}", name="Agent")
        spans.append(span(Boundary.SUBAGENT, f"a{number}", start, start + 8, parent_key=f"toolu_{number}", agent_id=f"a{number}"))
        spans.append(request(start, start + 8, key=f"req_a{number}", parent_key=f"a{number}", agent_id=f"a{number}"))
    rows = path(*spans, by="turn")
    assert {(row.title, row.agent_id, row.duration_ns) for row in rows} == {
        *(("sub-agent: model: first byte", None, 16), ("model: first byte", None, 2), ("client itself", None, 2)),
    }


def test_what_is_open_lasts_to_the_end_of_what_was_seen_and_the_rest_is_unobserved() -> None:
    rows = path(turn(0, None, attributes={semconv.LAST_SEEN_NS: 9}), request(0, 5), *tool(5, 5, None))
    assert short(rows) == [("model_wait", "model", 5), ("tool", "Bash", 4)]
    rows = path(turn(0, None, attributes={semconv.LAST_SEEN_NS: 9}), request(0, 5))
    assert short(rows) == [("model_wait", "model", 5), ("unobserved", "", 4)]
    assert short(path(turn(0, 9))) == [("unobserved", "", 9)]


def test_a_range_says_how_far_a_segment_can_be_trusted() -> None:
    spans = [turn(0, 20), request(0, 5), *tool(5, 5, 15, start_slack_ns=4, end_slack_ns=1), request(15, 20, key="req_2")]
    row = next(row for row in path(*spans) if row.category == "tool")
    assert (row.time_lower_ns, row.time_best_ns, row.time_upper_ns) == (5, None, 10)
    (measured,) = path(turn(0, 9), span(Boundary.COMPACTION, "c", 0, 9, name="compact"))
    assert (measured.time_lower_ns, measured.time_best_ns, measured.time_upper_ns) == (9, 9, 9)


def test_a_hook_whose_end_nobody_saw_does_not_take_the_tools_time() -> None:
    hook = {semconv.HOOK_EVENT: "PreToolUse"}
    second = 1_000_000_000
    spans = [
        *(turn(0, 20 * second), request(0, 5 * second)),
        *tool(5 * second, 6 * second, 20 * second),
        span(Boundary.HOOK_REPLY, "run", 5 * second, 20 * second, end_slack_ns=15 * second, parent_key="toolu_1", attributes=hook),
    ]
    assert short(path(*spans)) == [("model_wait", "model", 5 * second), ("hook", "", second), ("tool", "Bash", 14 * second)]


# Groups --------------------------------------------------------------------------------------------------------------

SESSION = [
    *(turn(0, 10), request(0, 4), *tool(4, 4, 10)),
    *(turn(15, 25, key="turn 2"), request(15, 17, key="req_2", parent_key="turn 2"), *tool(17, 17, 25, key="toolu_2", issued_by="req_2")),
]


def test_a_session_is_its_turns_and_the_users_time_between_them() -> None:
    rows = path(*SESSION, by="session")
    assert {(row.category, row.duration_ns, row.segments) for row in rows} == {
        *(("tool", 14, 2), ("model_wait", 6, 2), ("user_idle", 5, 1)),
    }
    assert {(row.wall_ns, row.turn_key, row.start_ns) for row in rows} == {(25, None, 0)}
    assert sum(row.share for row in rows) == pytest.approx(1)


def test_a_turn_sums_what_is_alike_and_a_scope_bounds_turns() -> None:
    assert [(row.turn_key, row.category, row.duration_ns, row.key) for row in path(*SESSION, by="turn", scope=Scope(since_ns=11))] == [
        *(("turn 2", "tool", 8, None), ("turn 2", "model_wait", 2, None)),
    ]


def test_of_turns_that_overlap_each_moment_counts_once() -> None:
    rows = path(turn(0, 10), request(0, 10), turn(6, 14, key="turn 2"), request(10, 14, key="req_2", parent_key="turn 2"), by="session")
    assert short(rows) == [("model_wait", "model", 14)]


def test_every_category_of_the_account_but_the_hidden_one_has_a_title() -> None:
    assert set(TITLES) == set(CATEGORIES) - {"streaming_hidden"}


def test_nothing_has_no_path() -> None:
    assert [path(request(0, 5), by=by) for by in GROUPS] == [[], [], []]


# What if -------------------------------------------------------------------------------------------------------------


def test_a_tool_that_takes_half_shortens_the_wall_as_far_as_it_was_waited_for() -> None:
    spans = [turn(0, 30), request(0, 10), *tool(4, 4, 24), request(24, 30, key="req_2")]
    assert otherwise(*spans, Bash=0.5).wall_if_best_ns == 20
    # Under 0.3 it would end before the stream does, and the stream is what is waited for.
    assert otherwise(*spans, Bash=0.1).wall_if_best_ns == 16
    assert otherwise(*spans, Bash=0.1).saved_best_ns == 14


def test_all_that_could_hide_hides_when_tools_begin_with_their_block() -> None:
    serial = [turn(0, 30), request(0, 10), *tool(4, 10, 20), request(20, 30, key="req_2")]
    row = otherwise(*serial)
    assert (row.change, row.wall_if_best_ns, row.saved_best_ns) == ("all that could hide had hidden", 24, 6)


def test_permission_retries_hooks_and_the_model_can_be_named_too() -> None:
    spans = [
        *(turn(0, 30), request(0, 10), span(Boundary.RETRY_WAIT, "req_1~1", 2, 6, parent_key="req_1")),
        *(*tool(8, 20, 25), span(Boundary.PERMISSION_WAIT, "toolu_1", 9, 20, parent_key="toolu_1"), request(25, 30, key="req_2")),
    ]
    assert otherwise(*spans, permission_wait=0).wall_if_best_ns == 20
    assert otherwise(*spans, retry_wait=0).wall_if_best_ns == 26
    assert otherwise(*spans, model_request=0.5).wall_if_best_ns == 26


def test_a_what_if_reaches_into_sub_agents() -> None:
    agent = {"agent_id": "a1"}
    spans = [
        *(turn(0, 20), request(0, 5), *tool(5, 5, 15, name="Agent"), request(15, 20, key="req_2")),
        span(Boundary.SUBAGENT, "a1", 5, 15, parent_key="toolu_1", **agent),
        request(5, 7, key="req_a", parent_key="a1", **agent),
        *tool(7, 7, 15, key="toolu_a", issued_by="req_a", name="Grep", **agent),
    ]
    assert otherwise(*spans, Grep=0.5).wall_if_best_ns == 16
    assert otherwise(*spans, Agent=0.5).wall_if_best_ns == 15


def test_a_range_of_walls_where_starts_are_not_measured() -> None:
    row = otherwise(turn(0, 20), request(0, 5), *tool(5, 5, 15, start_slack_ns=8), request(15, 20, key="req_2"), Bash=0.5)
    assert (row.wall_if_lower_ns, row.wall_if_best_ns, row.wall_if_upper_ns) == (15, None, 19)
    assert (row.saved_lower_ns, row.saved_best_ns, row.saved_upper_ns) == (1, None, 5)


def test_sessions_add_their_turns_and_turns_stand_alone() -> None:
    assert (otherwise(*SESSION, Bash=0.5).wall_ns, otherwise(*SESSION, Bash=0.5).wall_if_best_ns) == (20, 13)
    with memory_store(SESSION) as store:
        assert [(row.turn_key, row.wall_if_best_ns) for row in what_if(store, factors={"Bash": 0.5}, by="turn")] == [
            ("turn", 7),
            ("turn 2", 6),
        ]


@pytest.mark.parametrize(("name", "factor"), [("bash", 0.5), ("Bash", -1.0), ("Bash", float("nan")), ("Bash", float("inf"))])
def test_a_name_that_nothing_has_and_a_factor_that_is_none_are_refused(name: str, factor: float) -> None:
    with memory_store(SESSION) as store, pytest.raises(TracekitError) as refused:
        what_if(store, factors={name: factor})
    assert refused.value.slug == "what-if-unknown"
    assert "Bash" in str(refused.value)


# What holds of any pieces --------------------------------------------------------------------------------------------

BOUNDARIES = (
    Boundary.MODEL_REQUEST,
    Boundary.TOOL_EXECUTION,
    Boundary.PERMISSION_WAIT,
    Boundary.HOOK_REPLY,
    Boundary.COMPACTION,
)
WALL = 40
moments = st.integers(0, WALL)
factors = st.sampled_from([0.0, 0.3, 0.5, 1.0])


@st.composite
def piece(draw: st.DrawFn, number: int, *, deep: bool) -> Piece:
    start, end = sorted((draw(moments), draw(moments)))
    sure = sorted((draw(st.integers(start, end)), draw(st.integers(start, end))))
    boundary = draw(st.sampled_from(BOUNDARIES))
    is_request = boundary is Boundary.MODEL_REQUEST
    retries = sorted((draw(st.integers(start, end)), draw(st.integers(start, end))))
    inner = (
        [draw(piece(10 + number * 10 + inside, deep=False)) for inside in range(draw(st.integers(0, 2)))] if deep and not is_request else []
    )
    kept = [one for one in inner if start <= one.start and one.end <= end]
    return Piece(
        boundary=boundary,
        key=f"piece_{number}",
        name=draw(st.sampled_from(["Bash", "Read"])),
        agent_id=None,
        start=start,
        end=end,
        sure=(sure[0], sure[1]),
        possible=(start, end),
        ready=draw(st.one_of(st.none(), st.integers(0, start))) if not is_request else None,
        request=f"piece_{draw(st.integers(0, 5))}",
        streaming_from=draw(st.one_of(st.none(), moments)),
        first_byte_known=draw(st.booleans()),
        retries=((retries[0], retries[1]),) if is_request and retries[0] < retries[1] else (),
        inner=tuple(sorted(kept, key=lambda one: one.order)),
    )


@st.composite
def windows(draw: st.DrawFn) -> tuple[Piece, ...]:
    found = [draw(piece(number, deep=True)) for number in range(draw(st.integers(0, 6)))]
    return tuple(sorted(found, key=lambda one: one.order))


@given(windows(), st.booleans())
def test_a_chain_has_neither_gap_nor_overlap(pieces: tuple[Piece, ...], is_open: bool) -> None:  # noqa: FBT001
    links = chain(pieces, 0, WALL, is_open=is_open)
    moment = 0
    for link in links:
        assert link.start == moment < link.end
        assert 0 <= link.lower <= link.end - link.start <= link.upper
        moment = link.end
    assert moment == WALL


@given(windows())
def test_a_link_lies_within_its_boundary(pieces: tuple[Piece, ...]) -> None:
    known = {one.key: one for outer in pieces for one in (outer, *outer.inner)}
    for link in chain(pieces, 0, WALL):
        assert link.key is None or known[link.key].start <= link.start < link.end <= known[link.key].end


names = st.sampled_from(["Bash", "Read", *BOUNDARIES])


@given(windows(), names)
def test_what_takes_as_long_as_it_took_leaves_the_wall_as_it_was(pieces: tuple[Piece, ...], name: str) -> None:
    assert lasted(pieces, 0, WALL, {name: 1.0}) == (WALL, WALL)


@given(windows(), names, factors, factors)
def test_whoever_is_faster_never_makes_the_whole_slower(pieces: tuple[Piece, ...], name: str, one: float, other: float) -> None:
    (least, most), (slower_least, slower_most) = (lasted(pieces, 0, WALL, {name: factor}) for factor in sorted((one, other)))
    assert 0 <= least <= most <= WALL
    assert (least <= slower_least, most <= slower_most) == (True, True)


@given(windows())
def test_tools_that_begin_earlier_never_make_the_whole_longer(pieces: tuple[Piece, ...]) -> None:
    least, most = lasted(pieces, 0, WALL, {}, eager=True)
    assert 0 <= least <= most <= WALL


# What holds of turns whose truth is known ----------------------------------------------------------------------------


class Call(NamedTuple):
    """A request or a tool, as it truly was, and how far off its witness may be: earlier and later, at both ends."""

    number: int
    start: int
    end: int
    slack: tuple[int, int, int, int]
    ready: int | None
    request: int

    def seen(self, *, truly: bool) -> Piece:
        """The piece, with its true edges or with the bounds around them."""
        before, late, early, after = (0, 0, 0, 0) if truly else self.slack
        floor = 0 if self.ready is None else self.ready
        first, last = max(floor, self.start - before), self.end + after
        sure = (min(self.start + late, last), max(self.end - early, first))
        is_tool = self.ready is not None
        boundary, name = (Boundary.TOOL_EXECUTION, "Bash") if is_tool else (Boundary.MODEL_REQUEST, "model")
        return Piece(boundary, str(self.number), name, None, first, last, sure, (first, last), self.ready, str(self.request))


@st.composite
def turns(draw: st.DrawFn) -> tuple[list[Call], int]:
    """Requests one after another, each with tools that begin when their block is complete, or wait for each other, or for long."""
    calls: list[Call] = []
    slacks = st.tuples(*[st.integers(0, 3)] * 3, st.just(0))
    moment = 0
    for _ in range(draw(st.integers(1, 3))):
        start = moment + draw(st.integers(0, 2))
        stop = start + draw(st.integers(2, 12))
        calls.append(Call(len(calls), start, stop, draw(st.one_of(st.just((0, 0, 0, 0)), slacks)), None, len(calls)))
        asked, moment, queue = calls[-1].number, stop, start
        for _ in range(draw(st.integers(0, 3))):
            ready = draw(st.integers(start + 1, stop))
            begins = max(ready, queue if draw(st.booleans()) else ready) + draw(st.integers(0, 3))
            queue = begins + draw(st.integers(0, 12))
            # A transcript knows the result and the block, and nothing between.
            unseen = (begins - ready, queue - begins, 0, 0)
            calls.append(Call(len(calls), begins, queue, draw(st.one_of(st.just(unseen), slacks)), ready, asked))
            moment = max(moment, queue)
    return calls, moment + draw(st.integers(0, 2))


@settings(max_examples=300)
@given(turns(), st.sampled_from([{"Bash": 0.0}, {"Bash": 0.5}, {"Bash": 2.0}, {"model_request": 0.5}, {}]))
def test_a_range_of_walls_holds_the_one_of_the_true_edges(case: tuple[list[Call], int], changed: dict[str, float]) -> None:
    calls, wall = case
    true, seen = (tuple(sorted((call.seen(truly=truly) for call in calls), key=lambda one: one.order)) for truly in (True, False))
    truth = lasted(true, 0, wall, changed, eager=not changed)
    least, most = lasted(seen, 0, wall, changed, eager=not changed)
    assert truth[0] == truth[1]
    assert least <= truth[0] <= most
