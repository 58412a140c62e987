"""`tracekit sql`: answers, and changes nothing."""

import io
import json
import sys
from pathlib import Path

import pytest

from tracekit.cli.columns import MEANINGS
from tracekit.cli.main import run
from tracekit.cli.sql import describe
from tracekit.store import open_store


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "store.duckdb"
    with open_store(str(path), write=True) as opened:
        opened.rows(
            "INSERT INTO spans SELECT 1, 0, 'transcript', 'a', NULL, 'session', 'a', NULL, '', 5, 0, 8, 0, 'ok', MAP {'x': 'y'}, NULL"
        )
    monkeypatch.setenv("TRACEKIT_STORE", str(path))
    monkeypatch.setenv("COLUMNS", "80")
    return path


@pytest.mark.usefixtures("store")
def test_a_query_is_answered_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", "SELECT session_id, end_ns, parent_key FROM spans"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [lines[0].split(), lines[2].split()] == [["session_id", "end_ns", "parent_key"], ["a", "8"]]


@pytest.mark.usefixtures("store")
def test_json_has_numbers_nulls_and_maps(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", "--json", "SELECT end_ns, parent_key, attributes FROM spans"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == [{"end_ns": 8, "parent_key": None, "attributes": {"x": "y"}}]


def test_csv(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", "SELECT key, end_ns, parent_key FROM boundaries", "--csv", "--store", str(store)]) == 0
    assert capsys.readouterr().out == "key,end_ns,parent_key\na,8,\n"


@pytest.mark.usefixtures("store")
def test_a_query_may_come_from_stdin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT 40 + 2 AS answer"))
    assert run(["sql", "--csv"]) == 0
    assert capsys.readouterr().out == "answer\n42\n"


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("query", ["", "SELEC 1", "SELECT nothing FROM spans"])
def test_what_is_no_query_is_an_error(query: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", query]) == 2
    assert capsys.readouterr().err.endswith("(tracekit explain bad-sql)\n")


@pytest.mark.parametrize("query", ["DELETE FROM spans", "CREATE TABLE mine (a INT)", "INSERT INTO meta VALUES ('a', 'b')"])
def test_nothing_can_be_changed(query: str, store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(store.parent)
    before = sorted(store.parent.iterdir())
    assert run(["sql", query]) == 2
    assert "explain bad-sql" in capsys.readouterr().err
    assert sorted(store.parent.iterdir()) == before


def test_an_empty_store_path_is_an_error_with_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", "SELECT 1", "--store", str(tmp_path / "none.duckdb")]) == 2
    assert "explain no-store" in capsys.readouterr().err


def test_json_and_csv_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", "SELECT 1", "--json", "--csv"]) == 2
    assert "exclude each other" in capsys.readouterr().err


def test_every_column_of_the_store_is_explained_and_no_other() -> None:
    columns = describe()
    assert [f"{column.table}.{column.column}" for column in columns if not column.meaning] == []
    names = {column.column for column in columns} | {f"{column.table}.{column.column}" for column in columns}
    assert set(MEANINGS) - names == set()


def test_the_schema_needs_no_store(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", "--schema"]) == 0
    printed = capsys.readouterr().out
    assert all(f"\n{table}\n" in f"\n{printed}" for table in ("boundaries", "files", "problems", "spans"))
    assert run(["sql", "--schema", "--json"]) == 0
    assert {"table", "column", "type", "meaning"} == set(json.loads(capsys.readouterr().out)["rows"][0])
