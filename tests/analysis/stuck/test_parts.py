"""The parts of the decision by themselves: loops, timers, limits, the order of the steps, and what ends a session."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.stuck.plays import PLAYS
from tests.analysis.stuck.world import SECOND, WITNESSES, World, at
from tracekit.analysis.scope import Scope
from tracekit.analysis.stuck import DEFAULTS, STEPS, Here, Limits, State, Stuck, Verdict, limits_of, stuck, timers
from tracekit.analysis.stuck.loops import find_loop
from tracekit.analysis.stuck.scene import Repeat
from tracekit.model import Boundary, Span, Status
from tracekit.testing import memory_store, span


def judged(name: str, *, now: float | None = None, limits: Limits = DEFAULTS, **more: Any) -> Sequence[Stuck]:
    world = PLAYS[name].world
    with memory_store(world.seen_by(WITNESSES, "s")) as store:
        return stuck(store, Scope("s"), as_of_ns=at(world.now if now is None else now), limits=limits, here={"s": world.here}, **more)


# The steps


def test_there_are_fourteen_steps_and_each_name_is_decided_by_one_of_them() -> None:
    assert len(STEPS) == 14
    decided = [verdict for step in STEPS for verdict in step.decides]
    refined = {Verdict.THINKING, Verdict.TOOL_TIMEOUT, Verdict.TERMINAL, Verdict.LOST_WAKE_UP, Verdict.UNKNOWN}
    assert set(decided) | refined == set(Verdict)
    assert [verdict for verdict in decided if decided.count(verdict) > 1] == [Verdict.CLIENT] * 2


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("a turn that was answered", 1),
        ("an agent in the background", 2),
        ("a person who is asked", 3),
        ("a hook before a tool", 4),
        ("a tool that runs", 5),
        ("a server that does not answer a call", 6),
        ("a call that was never dispatched", 7),
        ("a result after which nothing comes", 8),
        ("a sleep before the next attempt", 9),
        ("a request without a byte", 10),
        ("a response that fell silent", 11),
        ("a compaction", 12),
        ("the same call again and again", 13),
    ],
)
def test_each_cause_is_decided_by_its_own_step(name: str, step: int) -> None:
    assert step in {row.step for row in judged(name, idle=True)}


# Limits


@pytest.mark.parametrize(
    ("name", "setting", "seconds"),
    [
        ("a request without a byte", "first_byte", 10),
        ("a fetch that takes its time", "tool", 10),
        ("a person who is asked", "permission", 10),
        ("a hook before a tool", "hook", 10),
        ("a server that does not answer a call", "mcp_call", 10),
        ("a sleep before the next attempt", "retry_wait", 10),
        ("a compaction", "compaction", 10),
        ("a result after which nothing has come yet", "client", 1),
        ("a server that thinks and pings", "thinking", 10),
        ("an agent at work", "subagent", 10),
    ],
)
def test_a_wait_is_stuck_when_it_is_longer_than_its_limit(name: str, setting: str, seconds: float) -> None:
    shorter, longer = (judged(name, limits=limits_of({setting: limit})) for limit in (seconds, 100_000))
    assert State.STUCK in {row.state for row in shorter}
    assert State.STUCK not in {row.state for row in longer}


def test_a_command_that_asks_for_no_timeout_is_held_to_the_default_one() -> None:
    (row,) = judged("a tool that runs", now=130)
    assert (row.verdict, row.state, row.until_ns) == (Verdict.TOOL_TIMEOUT, State.STUCK, at(123.2))
    (row,) = judged("a tool that runs", now=130, limits=replace(DEFAULTS, bash_timeout=600))
    assert (row.verdict, row.state) == (Verdict.TOOL, State.WAITING)


def test_settings_are_thresholds_above_zero_and_counts_are_whole() -> None:
    assert limits_of({"tool": 5, "hook": 0.5, "loop_repeats": 3}) == replace(DEFAULTS, tool=5, hook=0.5, loop_repeats=3)
    for settings in ({"tools": 5}, {"tool": 0}, {"tool": "5"}, {"tool": True}, {"loop_repeats": 2.5}, {"loop_cycle": -1}):
        with pytest.raises(ValueError, match=next(iter(settings))) as caught:
            limits_of(settings)
        assert caught.value.args[1] in settings
    assert {field.name for field in fields(Limits)} >= {"first_byte", "loop_repeats"}


# Ended sessions


def test_what_was_open_at_the_end_is_judged_as_of_the_end() -> None:
    world = World(50_000)
    world.prompt(0)
    world.request(1, 2, 3)
    world.call("toolu_1", "Bash", 3, decided=3.2)
    world.ended(20)
    with memory_store(world.seen_by(WITNESSES, "s")) as store:
        (row,) = stuck(store, Scope("s"), as_of_ns=at(50_000))
        assert list(stuck(store, as_of_ns=at(50_000))) == []
        assert len(stuck(store, as_of_ns=at(50_000), ended=True)) == 1
    assert (row.verdict, row.state, row.ended_ns, row.age_ns) == (Verdict.TOOL, State.WAITING, at(20), round(16.8 * SECOND))


def test_a_session_of_which_nothing_was_seen_for_a_day_is_over_unless_its_client_runs() -> None:
    world = PLAYS["a person who never answers"].world
    with memory_store(world.seen_by(WITNESSES, "s")) as store:
        gone, alive = (stuck(store, as_of_ns=at(200_000), here=here) for here in ({}, {"s": Here(1)}))
    assert (list(gone), [row.state for row in alive]) == ([], [State.STUCK])


# Loops


def repeats(*calls: str) -> list[Repeat]:
    return [Repeat(str(number), "Bash", number, call, f"result of {call}", 0) for number, call in enumerate(calls)]


@given(
    before=st.lists(st.sampled_from("xyz"), max_size=5),
    cycle=st.lists(st.sampled_from("abcde"), min_size=1, max_size=5, unique=True),
    times=st.integers(1, 8),
)
def test_a_cycle_is_found_where_it_was_run_often_enough_and_nowhere_else(before: list[str], cycle: list[str], times: int) -> None:
    loop = find_loop(repeats(*before, *cycle * times), DEFAULTS)
    if times < DEFAULTS.loop_repeats:
        assert loop is None
    else:
        assert loop is not None
        assert (loop.period, loop.times, loop.since_ns) == (len(cycle), times, len(before))


def test_calls_that_give_other_results_or_none_that_is_known_are_no_loop() -> None:
    same = repeats(*"aaaaaa")
    assert find_loop(same, DEFAULTS) is not None
    assert find_loop([call._replace(result=str(number)) for number, call in enumerate(same)], DEFAULTS) is None
    assert find_loop([call._replace(result=None) for call in same], DEFAULTS) is None
    assert find_loop(repeats(*"abcdef" * 6), DEFAULTS) is None  # longer than any cycle that is looked for


# Timers


def failed(session: str, number: int, seconds: float) -> Span:
    begin = at(1_000 * number)
    broken = span(Boundary.REQUEST_ATTEMPT, f"{session}-{number}", begin, begin + round(seconds * SECOND), name="sonnet")
    return broken._replace(session_id=session, status=Status.ERROR)


def test_equal_gaps_across_sessions_are_a_timer_and_varied_ones_are_none() -> None:
    equal = [failed(f"s{number % 3}", number, 899.05 + number / 100) for number in range(12)]
    varied = [failed("v", 100 + number, 100 + 7.3 * number) for number in range(30)]
    with memory_store([*equal, *varied]) as store:
        (timer,) = timers(store)
    assert (timer.kind, timer.name, timer.count, timer.sessions) == ("failed attempt", "sonnet", 12, 3)
    assert abs(timer.duration_ns - 899.11 * SECOND) < SECOND // 10
    assert timer.spread_ns == round(0.11 * SECOND)
    assert "API_TIMEOUT_MS=900000" in timer.meaning


def test_few_short_or_uncertain_gaps_are_no_timer() -> None:
    few = [failed("s", number, 180) for number in range(2)]
    short = [failed("s", 10 + number, 5) for number in range(9)]
    vague = [failed("s", 30 + number, 300)._replace(start_slack_ns=60 * SECOND) for number in range(9)]
    with memory_store([*few, *short, *vague]) as store:
        assert list(timers(store)) == []
        assert len(timers(store, limits=replace(DEFAULTS, timer_count=2))) == 1
