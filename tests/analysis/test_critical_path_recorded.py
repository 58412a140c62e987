"""Critical paths of recorded and of real sessions: they sum to the wall that the account gives, whatever was seen."""

import lzma
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

from tracekit.analysis.account import account
from tracekit.analysis.critical_path import critical_path, what_if
from tracekit.ingest import import_paths
from tracekit.store import SpanStore, open_store

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module", params=["captures", "transcripts"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[SpanStore]:
    folder = tmp_path_factory.mktemp("critical-path")
    for packed in (DATA / "transcripts").rglob("*.jsonl.xz") if request.param == "transcripts" else ():
        unpacked = folder / packed.relative_to(DATA).with_suffix("")
        unpacked.parent.mkdir(parents=True, exist_ok=True)
        unpacked.write_bytes(lzma.decompress(packed.read_bytes()))
    database = str(folder / "store.duckdb")
    import_paths([DATA / "captures" if request.param == "captures" else folder], database)
    with open_store(database) as opened:
        yield opened


def test_a_turn_s_path_is_as_long_as_its_account(store: SpanStore) -> None:
    walls = {(line.session_id, line.turn_key): line.wall_ns for line in account(store) if line.agent_id is None}
    reached: dict[tuple[str, str | None], int] = {}
    lengths: dict[tuple[str, str | None], int] = defaultdict(int)
    for row in critical_path(store, by="segment"):
        turn = row.session_id, row.turn_key
        assert reached.setdefault(turn, row.start_ns) == row.start_ns
        assert 0 <= row.time_lower_ns <= row.duration_ns <= row.time_upper_ns
        reached[turn] = row.start_ns + row.duration_ns
        lengths[turn] += row.duration_ns
    assert len(lengths) > 10
    assert dict(lengths) == {turn: wall for turn, wall in walls.items() if wall}


@pytest.mark.parametrize("by", ["turn", "session"])
def test_sums_are_as_long_as_their_wall(by: str, store: SpanStore) -> None:
    left: dict[tuple[str, str | None], int] = {}
    for row in critical_path(store, by=by):
        left[row.session_id, row.turn_key] = left.get((row.session_id, row.turn_key), row.wall_ns) - row.duration_ns
    assert left
    assert set(left.values()) == {0}


def test_a_world_in_which_nothing_changed_is_this_one(store: SpanStore) -> None:
    for row in what_if(store, factors={"Bash": 1.0, "model_request": 1.0}, by="turn"):
        assert row.wall_if_lower_ns == row.wall_if_best_ns == row.wall_if_upper_ns == row.wall_ns


def test_less_of_it_saves_more_and_never_less_than_nothing(store: SpanStore) -> None:
    half, none = (what_if(store, factors={"Bash": factor}) for factor in (0.5, 0.0))
    for row, rest in zip(half, none, strict=True):
        assert 0 <= row.saved_lower_ns <= row.saved_upper_ns <= row.wall_ns
        assert row.saved_upper_ns <= rest.saved_upper_ns
        assert rest.wall_if_lower_ns <= row.wall_if_lower_ns
