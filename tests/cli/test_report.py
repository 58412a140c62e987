"""`tracekit report` as a user meets it."""

import json
from pathlib import Path

import pytest

from tests.page.worlds import ordinary
from tracekit.cli.main import run as tracekit
from tracekit.spool import Spool

SESSION = ordinary()[0].session_id
OTHERS = [f"{number}0000000-0000-4000-8000-00000000000{number}" for number in range(1, 7)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    with Spool(folder / "spool", "test") as spool:
        for session_id in (SESSION, *OTHERS):
            for one in ordinary(session_id):
                spool.write(one)
    path = str(folder / "store.duckdb")
    assert tracekit(["import", "--store", path, str(folder / "spool")]) == 0
    return path


def test_a_report_is_a_page_on_stdout_or_in_a_file(store: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "report.html"
    assert tracekit(["report", SESSION, "--store", store, "--output", str(path)]) == 0
    assert f"wrote {path} (" in capfdbinary.readouterr().err.decode()
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert tracekit(["report", SESSION[:8], "--store", store]) == 0
    assert capfdbinary.readouterr().out.decode().count("<article") == 1


@pytest.mark.parametrize(("arguments", "count"), [([SESSION, OTHERS[0]], 2), (["--all"], 7), ([], 1)])
def test_sessions_are_named_or_all_of_them(store: str, arguments: list[str], count: int, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert tracekit(["report", *arguments, "--json", "--store", store]) == 0
    assert len(json.loads(capfdbinary.readouterr().out)["rows"]) == count


def test_what_is_asked_for_many_at_once_is_what_is_asked_for_each(store: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert tracekit(["report", "--all", "--json", "--store", store]) == 0
    together = {row["session"]["session_id"]: row for row in json.loads(capfdbinary.readouterr().out)["rows"]}
    for session_id in (SESSION, OTHERS[3]):
        assert tracekit(["report", session_id, "--json", "--store", store]) == 0
        (alone,) = json.loads(capfdbinary.readouterr().out)["rows"]
        for waits in (alone["stuck"], together[session_id]["stuck"]):
            for one in waits:
                del one["age_ns"]
        assert alone == together[session_id]


def test_the_summary_of_a_step_is_appended(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "summary.md"
    path.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    assert tracekit(["report", SESSION, "--github", "--store", store]) == 0
    assert path.read_text(encoding="utf-8").startswith(f"before\n## tracekit: session `{SESSION}`\n")
    assert capfdbinary.readouterr().out == b""


def test_a_step_can_keep_the_page_too(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    assert tracekit(["report", SESSION, "--github", "--output", str(tmp_path / "report.html"), "--store", store]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "summary.md"]


def test_outside_a_step_there_is_no_summary(store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert tracekit(["report", SESSION, "--github", "--store", store]) == 2
    assert "tracekit explain no-step-summary" in capsys.readouterr().err


def test_the_schema_needs_no_store(capsys: pytest.CaptureFixture[str]) -> None:
    assert tracekit(["report", "--schema", "--store", "/nowhere/at/all"]) == 0
    assert json.loads(capsys.readouterr().out)["$id"] == "urn:tracekit:report:1"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "session-unknown"),
        (["--format", "pdf"], "is not one of html, markdown, json"),
        ([SESSION, "--all"], "name sessions, or give --all"),
        ([SESSION, "--output", "/nowhere/report.html"], "output-unwritable"),
        ([SESSION, "--since", "2040-01-01"], "session-unknown"),
    ],
)
def test_what_cannot_be_done_is_said(store: str, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tracekit(["report", *arguments, "--store", store]) == 2
    assert words in " ".join(capsys.readouterr().err.replace("│", " ").split())
