"""`tracekit critical-path`: a group a session or turn, its chain, and the walls that would have been."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.cli.main import run
from tracekit.ingest import import_paths

RECORDING = Path(__file__).parents[2] / "tracekit" / "cli" / "recording"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    store = str(tmp_path_factory.mktemp("critical-path") / "store.duckdb")
    import_paths([RECORDING], store)
    return store


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.parametrize("by", ["session", "segment"])
def test_what_is_printed(by: str, recorded: str, capsys: pytest.CaptureFixture[str], golden: Callable[[str, str], None]) -> None:
    assert run(["critical-path", "--by", by, "--what-if", "Bash=0.5", "--what-if", "Edit=0", "--store", recorded]) == 0
    golden(f"critical_path_{by}.txt", capsys.readouterr().out)


@pytest.mark.parametrize("by", ["session", "turn", "segment"])
def test_programs_get_segments_that_sum_to_the_wall(by: str, recorded: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["critical-path", "--by", by, "--json", "--store", recorded]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {row["wall_ns"] for row in answer["rows"]} == {sum(row["duration_ns"] for row in answer["rows"])}
    (hidden,) = answer["what_if"]
    assert hidden["wall_if_lower_ns"] <= hidden["wall_if_upper_ns"] <= hidden["wall_ns"]


@pytest.mark.parametrize("text", ["Bash", "=0.5", "Bash=half"])
def test_a_what_if_has_a_name_and_a_factor(text: str, recorded: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["critical-path", "--what-if", text, "--store", recorded]) == 2
    assert "Bash=0.5" in capsys.readouterr().err


def test_a_name_that_nothing_has_is_refused(recorded: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["critical-path", "--what-if", "bash=0.5", "--store", recorded]) == 2
    assert "tracekit explain what-if-unknown" in capsys.readouterr().err


def test_all_sessions_of_no_project_have_no_turns(recorded: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["critical-path", "--all", "--project", "nowhere", "--store", recorded]) == 0
    assert capsys.readouterr().out == "No turns in this scope.\n"
