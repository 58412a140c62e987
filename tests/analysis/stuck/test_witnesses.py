"""The heart of it: whichever witnesses are missing, no wait gets a wrong name."""

from collections.abc import Iterable, Sequence
from itertools import combinations

import pytest

from tests.analysis.stuck.plays import PLAYS, Play
from tests.analysis.stuck.world import WITNESSES, at
from tracekit.analysis.stuck import Certainty, State, Stuck, Verdict, judged, look, says_no_more_than
from tracekit.testing import memory_store

SETS = [frozenset(chosen) for count in range(1, len(WITNESSES) + 1) for chosen in combinations(WITNESSES, count)]
ALL = frozenset(WITNESSES)

Told = dict[tuple[str, frozenset[str]], list[Stuck]]


@pytest.fixture(scope="module")
def told() -> Told:
    """What is said of each play by each choice of witnesses."""
    ids = {(name, chosen): f"{number}" for number, (name, chosen) in enumerate((name, chosen) for name in PLAYS for chosen in SETS)}
    spans = (span for (name, chosen), session in ids.items() for span in PLAYS[name].world.seen_by(chosen, session))
    with memory_store(spans) as store:
        seen = look(store, as_of_ns=at(0), idle=True)
    by_session = {session: case for case, session in ids.items()}
    found: Told = {case: [] for case in ids}
    for scene in seen:
        case = by_session[scene.about["session_id"]]
        world = PLAYS[case[0]].world
        here = {scene.about["session_id"]: world.here} if "process" in case[1] else {}
        found[case] += judged([scene], as_of_ns=at(world.now), here=here)
    return found


def names(rows: Iterable[Stuck]) -> set[Verdict]:
    return {Verdict(row.verdict) for row in rows}


def wrong(row: Stuck, play: Play) -> bool:
    """Whether a row says something that is not true: a name that is not the truth's, nor the broader name of it, nor leaves it open."""
    said = [Verdict(name) for name in row.could_be.split(", ")] if row.verdict == Verdict.UNKNOWN else [Verdict(row.verdict)]
    truths = [name for truth in play.truth for name in (truth, *also(truth))]
    return not any(says_no_more_than(name, truth) for name in said for truth in truths)


def also(truth: Verdict) -> Sequence[Verdict]:
    """What is true as well: a client that lost its wake-up has the next step, and who waits for a background agent is idle."""
    return {Verdict.LOST_WAKE_UP: [Verdict.CLIENT], Verdict.CLIENT: [Verdict.LOST_WAKE_UP]}.get(truth, [])


@pytest.mark.parametrize("name", PLAYS)
def test_all_witnesses_together_name_it_and_say_whether_it_is_stuck(name: str, told: Told) -> None:
    rows = told[name, ALL]
    assert {row.verdict: row.state for row in rows} == PLAYS[name].truth
    assert all(row.certainty in {Certainty.CERTAIN, Certainty.LIKELY} for row in rows)


@pytest.mark.parametrize("name", PLAYS)
@pytest.mark.parametrize("missing", WITNESSES)
def test_with_one_witness_less_it_is_unknown_or_weaker_and_never_wrong(name: str, missing: str, told: Told) -> None:
    rows = told[name, ALL - {missing}]
    assert [row for row in rows if wrong(row, PLAYS[name])] == []


@pytest.mark.parametrize("name", PLAYS)
def test_no_choice_of_witnesses_makes_a_wrong_name(name: str, told: Told) -> None:
    bad = [(sorted(chosen), row) for chosen in SETS for row in told[name, chosen] if wrong(row, PLAYS[name])]
    assert bad == []


@pytest.mark.parametrize("name", [name for name, played in PLAYS.items() if State.STUCK not in played.truth.values()])
def test_who_sees_less_raises_no_alarm_where_nothing_is_stuck(name: str, told: Told) -> None:
    assert [(sorted(chosen), row) for chosen in SETS for row in told[name, chosen] if row.state == State.STUCK] == []


@pytest.mark.parametrize("name", PLAYS)
def test_every_row_says_who_decided_and_an_unsure_one_who_would_make_it_certain(name: str, told: Told) -> None:
    for chosen in SETS:
        for row in told[name, chosen]:
            assert row.because
            assert row.decided_by or row.verdict == Verdict.UNKNOWN
            assert row.certainty == Certainty.CERTAIN or row.would_tell or row.verdict == Verdict.LOST_WAKE_UP
            assert (row.could_be != "") is (row.verdict == Verdict.UNKNOWN)
            assert row.state != State.STUCK or row.todo
