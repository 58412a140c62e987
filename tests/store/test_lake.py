"""A lake is written where it was said and nowhere else, and the store stays as it is."""

from pathlib import Path

import duckdb
import pytest

from tracekit.errors import TracekitError
from tracekit.store import open_store


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = str(tmp_path / "store.duckdb")
    with open_store(path, write=True) as opened:
        for number in range(3):
            day = number * 86_400_000_000_000
            opened.rows(
                "INSERT INTO spans SELECT 1, 0, 'otel', $session, NULL, 'turn', $session, NULL, '', $at, 0, $at + 5, 0, 'ok',"
                " MAP {'kept': 'a', 'left': 'b'}, NULL",
                session=f"s{number % 2}",
                at=1_796_000_000_000_000_000 + day,
            )
    return path


def test_files_are_given_as_they_are_written(store: str, tmp_path: Path) -> None:
    lake = tmp_path / "it's a lake"
    lake.mkdir()
    with open_store(store, lake=lake) as opened:
        found = list(opened.write_lake(lake, ["spans"], without=["left"]))
    assert [(file.path.relative_to(lake).as_posix(), file.rows, file.number, file.of) for file in found] == [
        (f"spans/day=2026-{day}/part-0.parquet", 1, number, 3) for number, day in enumerate(("11-30", "12-01", "12-02"), start=1)
    ]
    rows = duckdb.read_parquet([str(file.path) for file in found]).fetchall()
    assert [row[14] for row in rows] == [{"kept": "a"}] * 3


def test_only_the_sessions_that_are_wanted_are_written(store: str, tmp_path: Path) -> None:
    with open_store(store, lake=tmp_path) as opened:
        found = list(opened.write_lake(tmp_path, ["boundaries", "spans"], sessions=["s1"]))
    assert [file.rows for file in found] == [1, 1]


def test_nothing_else_can_be_written_or_read(store: str, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with open_store(store, lake=lake) as opened:
        for sql in (
            f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
            f"COPY (SELECT 1) TO '{lake}/../out.csv'",
            f"SELECT * FROM read_csv('{tmp_path}/secret.csv')",  # noqa: S608
            f"ATTACH '{tmp_path}/other.duckdb'",
            "SET enable_external_access = true",
            "SET allowed_directories = ['/']",
            "DELETE FROM spans",
        ):
            with pytest.raises(TracekitError):
                opened.rows(sql)
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("store")) == ["lake", "secret.csv"]


def test_a_store_that_was_not_opened_for_it_writes_none(store: str, tmp_path: Path) -> None:
    with open_store(store) as opened, pytest.raises(TracekitError):
        list(opened.write_lake(tmp_path, ["spans"]))


def test_rows_are_streamed_while_others_are_asked_for(store: str) -> None:
    with open_store(store) as opened:
        streamed = opened.stream("SELECT session_id, key FROM spans ORDER BY start_ns")
        first = next(streamed)
        assert opened.rows("SELECT COUNT(*) AS n FROM spans") == [{"n": 3}]
        assert [first, *streamed] == [{"session_id": name, "key": name} for name in ("s0", "s1", "s0")]
        assert list(opened.stream("SELECT key FROM spans WHERE session_id = $session_id", session_id="s1")) == [{"key": "s1"}]
        with pytest.raises(TracekitError) as caught:
            next(opened.stream("SELECT nothing FROM nowhere"))
    assert caught.value.slug == "bad-sql"
