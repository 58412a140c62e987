"""`tracekit mark`: whether work was verified is unknown until somebody says so, and it moves nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracekit.cli.main import run
from tracekit.model import Source, Span
from tracekit.spool import Spool
from tracekit.testing import request, turn

SESSION = "4f1c0000"


def spans(session_id: str = SESSION) -> list[Span]:
    return [turn(1_000, 9_000, session_id=session_id), request(2_000, 3_000, session_id=session_id)]


@pytest.fixture(autouse=True)
def _a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEKIT_SPOOL", str(tmp_path / "spool"))
    monkeypatch.setenv("TRACEKIT_STORE", str(tmp_path / "store.duckdb"))
    monkeypatch.setenv("COLUMNS", "200")
    recorded(tmp_path, *spans())


def recorded(tmp_path: Path, *seen: Span) -> None:
    with Spool(tmp_path / "recorded", "test") as spool:
        for span in seen:
            spool.write(span)
    assert run(["import", str(tmp_path / "recorded")]) == 0


def mark(*arguments: str) -> int:
    return run(["mark", *arguments])


def sessions(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert run(["sessions", "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["rows"]
    return found


def verified(capsys: pytest.CaptureFixture[str]) -> tuple[str | None, str | None]:
    (row,) = sessions(capsys)
    return row["verified"], row["verified_evidence"]


def test_a_session_says_nothing_of_its_work(capsys: pytest.CaptureFixture[str]) -> None:
    assert verified(capsys) == (None, None)


@pytest.mark.parametrize("verdict", ["pass", "fail"])
def test_a_verdict_is_kept_with_its_evidence(verdict: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert mark("4f1c", "--verified", verdict, "--evidence", " make test: 12 ran ") == 0
    assert f"{SESSION}: verified {verdict}" in capsys.readouterr().out
    assert verified(capsys) == (verdict, "make test: 12 ran")


def test_the_last_word_counts_and_can_be_taken_back(capsys: pytest.CaptureFixture[str]) -> None:
    mark("latest", "--verified", "pass", "--evidence", "it compiles")
    mark("latest", "--verified", "fail", "--evidence", "it does not run")
    assert verified(capsys) == ("fail", "it does not run")
    assert mark("latest", "--clear") == 0
    assert verified(capsys) == (None, None)


def test_a_mark_moves_no_edge_and_makes_no_session_the_latest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sessions(capsys)[0]
    mark("4f1c", "--verified", "pass", "--evidence", "ci")
    after = sessions(capsys)[0]
    assert {name: value for name, value in after.items() if not name.startswith("verified")} == {
        name: value for name, value in before.items() if not name.startswith("verified")
    }
    recorded(tmp_path, *[span._replace(start_ns=span.start_ns + 10**6, end_ns=10**7) for span in spans("younger")])
    mark("latest", "--verified", "fail", "--evidence", "ci")
    assert {row["session_id"]: row["verified"] for row in sessions(capsys)} == {SESSION: "pass", "younger": "fail"}


def test_evidence_loses_its_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    mark("4f1c", "--verified", "pass", "--evidence", "curl -H 'token: sk-ant-abcdefghijkl'")
    assert "sk-ant" not in str(verified(capsys)[1])


def test_programs_get_the_session(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert mark("4f1c", "--verified", "pass", "--evidence", "ci", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["session_id"], row["verified"], row["verified_evidence"]) == (SESSION, "pass", "ci")
    assert isinstance(row["verified_ns"], int)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "pass or fail"),
        (["--verified", "maybe", "--evidence", "x"], "'maybe'"),
        (["--verified", "pass"], "name the check"),
        (["--verified", "pass", "--evidence", "  "], "name the check"),
        (["--evidence", "x"], "pass or fail"),
        (["--clear", "--verified", "pass"], "give it alone"),
        (["--clear", "--evidence", "x"], "give it alone"),
    ],
)
def test_half_a_word_is_refused_and_nothing_is_recorded(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert mark("4f1c", *arguments) == 2
    assert said in capsys.readouterr().err
    assert verified(capsys) == (None, None)


def test_a_session_that_is_not_there_is_not_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert mark("9999", "--verified", "pass", "--evidence", "x") == 2
    assert "session-unknown" in capsys.readouterr().err
    assert not (tmp_path / "spool").exists()


def test_a_spool_that_takes_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spool").write_text("a file", encoding="utf-8")
    assert mark("4f1c", "--verified", "pass", "--evidence", "x") == 2
    assert "mark-not-written" in capsys.readouterr().err
    assert verified(capsys) == (None, None)


def test_what_is_marked_is_loaded_with_the_spool_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mark("4f1c", "--verified", "pass", "--evidence", "ci")
    monkeypatch.setenv("TRACEKIT_STORE", str(tmp_path / "other.duckdb"))
    assert run(["import", str(tmp_path / "recorded"), str(tmp_path / "spool")]) == 0
    assert verified(capsys) == ("pass", "ci")
    assert Source.MARKS not in sessions(capsys)[0]["witnesses"]
