"""`tracekit doctor`: what is in order, what is not, and the way out."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from tracekit.cli import doctor
from tracekit.cli.doctor import Check, Verdict
from tracekit.cli.main import run
from tracekit.store import open_store


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = tmp_path / "store.duckdb"
    with open_store(str(path), write=True) as opened:
        opened.rows("INSERT INTO spans SELECT 1, 0, 'transcript', 'a', NULL, 'session', 'a', NULL, '', 5, 0, 8, 0, 'ok', MAP {}, NULL")
        opened.rows("INSERT INTO files SELECT 1, 'a.jsonl', 'transcript', 9, 0, 1, '', 9, 2, 0, 1, 0, 1, 1796052723187000000")
        opened.rows("INSERT INTO problems VALUES (1, 3, 40, 'not JSON', ''), (1, 4, 50, 'not JSON', ''), (1, 5, 60, 'it''s torn', '')")
    return str(path)


def found(checks: list[Check], name: str) -> Check:
    (check,) = (check for check in checks if check.check == name)
    return check


def test_a_store_in_order_says_what_it_holds(store: str) -> None:
    checks = list(doctor.the_store(store))
    assert found(checks, "store").verdict is Verdict.OK
    assert found(checks, "store folder").verdict is Verdict.OK
    assert found(checks, "schema").found.startswith("version ")
    assert found(checks, "sessions").found == "1 with 1 spans from 1 files"
    assert found(checks, "last import").found.startswith("2026-")


def test_problems_are_counted_by_reason_and_shown_how_to_look_at(store: str) -> None:
    problems = [check for check in doctor.the_store(store) if check.check == "problems"]
    assert [(check.verdict, check.found) for check in problems] == [(Verdict.WARN, "2 × not JSON"), (Verdict.WARN, "1 × it's torn")]
    query = (problems[1].fix or "").removeprefix('tracekit sql "').removesuffix('"')
    with open_store(store) as opened:
        assert opened.rows(query) == [{"path": "a.jsonl", "line": 5, "detail": ""}]


def test_no_store_yet_is_no_failure(tmp_path: Path) -> None:
    check = found(list(doctor.the_store(str(tmp_path / "deep" / "down" / "store.duckdb"))), "store")
    assert (check.verdict, check.fix) == (Verdict.WARN, "tracekit import")


def test_an_empty_store_asks_for_an_import(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "store.duckdb"), write=True):
        pass
    checks = list(doctor.the_store(str(tmp_path / "store.duckdb")))
    assert found(checks, "sessions").fix == "tracekit import"
    assert found(checks, "problems").verdict is Verdict.OK


@pytest.mark.parametrize(("content", "url"), [("no database", "{}"), ("", "odbc://{}")])
def test_a_store_that_cannot_be_read_is_a_failure_with_a_page(tmp_path: Path, content: str, url: str) -> None:
    path = tmp_path / "store.duckdb"
    path.write_text(content)
    check = found(list(doctor.the_store(url.format(path))), "store")
    assert check.verdict is Verdict.FAIL
    assert (check.fix or "").startswith("tracekit explain store-")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    assert found(list(doctor.the_store(str(closed / "store.duckdb"))), "store folder").verdict is Verdict.FAIL


def test_a_disk_with_little_room_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_LITTLE_ROOM", 10**18)
    check = found(list(doctor.the_store(str(tmp_path / "store.duckdb"))), "store folder")
    assert (check.verdict, "free some space" in (check.fix or "")) == (Verdict.WARN, True)


def test_transcripts_are_counted_or_missed(tmp_path: Path) -> None:
    (missed,) = doctor.transcripts([tmp_path / "claude" / "projects"])
    assert missed.verdict is Verdict.WARN
    folder = tmp_path / "claude" / "projects" / "-home"
    folder.mkdir(parents=True)
    (empty,) = doctor.transcripts([folder.parent])
    assert empty.found.startswith("none in ")
    (folder / "a.jsonl").touch()
    (there,) = doctor.transcripts([folder.parent])
    assert (there.verdict, there.found) == (Verdict.OK, f"1 files in {folder.parent}")


def test_a_package_must_be_there_and_new_enough() -> None:
    assert doctor.package("typer", "0.29").verdict is Verdict.OK
    assert doctor.package("typer", "999").fix == "pip install 'typer>=999'"
    assert doctor.package("no-such-package-anywhere", "1").found == "not installed"


def test_every_requirement_is_looked_at() -> None:
    checks = list(doctor.installation())
    assert [check.check for check in checks][:2] == ["Python", "tracekit"]
    assert {"duckdb", "polars", "plotly", "rich", "typer"} <= {check.check for check in checks if check.verdict is Verdict.OK}


def test_a_terminal_without_utf8_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with (tmp_path / "out").open("w", encoding="latin-1") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        (check,) = doctor.terminal()
    assert (check.verdict, check.found) == (Verdict.WARN, "latin-1: pictures are drawn in ASCII")


def test_the_report_has_a_line_a_check_and_the_fix_below(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--store", store]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"\nOK    schema +version ", printed)
    assert re.search(r"\nWARN  problems +2 × not JSON\n +fix: tracekit sql ", printed)


def test_something_that_does_not_work_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "store.duckdb").write_text("no database")
    assert run(["doctor", "--store", str(tmp_path / "store.duckdb"), "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["verdict"] for row in rows if row["check"] == "store"} == {"FAIL"}


def test_verdicts_are_coloured_where_there_is_colour() -> None:
    assert doctor.lines([Check(Verdict.FAIL, "store", "gone", "look")], colour=True) == (
        "\x1b[1;31mFAIL\x1b[0m  store  gone\n             fix: look"
    )
