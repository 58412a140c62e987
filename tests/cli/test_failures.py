"""`tracekit failures` and `tracekit outcome`: what is printed, and what the exit code says."""

import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.cli.main import run

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
Ask = Callable[..., tuple[int, str]]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Import captures into a store of their own, and run a command on it."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TRACEKIT_STORE", str(tmp_path / "store.duckdb"))

    def command(*arguments: str, of: str) -> tuple[int, str]:
        assert run(["import", str(CAPTURES / of)]) == 0
        capsys.readouterr()
        return run(list(arguments)), capsys.readouterr().out

    return command


def answer(printed: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed)
    return found


def test_what_was_got_over_is_listed_and_ends_with_0(ask: Ask) -> None:
    code, printed = ask("failures", of="tool_timeout")
    assert code == 0
    assert re.search(r"tool +timeout +yes +Bash", printed)
    assert "1 failures (tool 1); 0 not recovered" in printed


def test_what_was_not_got_over_ends_with_1(ask: Ask) -> None:
    code, printed = ask("failures", "--json", of="server_error_exhausted")
    assert code == 1
    (failure,) = answer(printed)["rows"]
    assert (failure["kind"], failure["recovered"], failure["counted"]) == ("server_error", False, True)
    assert failure["attempts"] > 1
    assert failure["waited_ns"] > 0


def test_what_waits_cost_and_retries_could_not_bring_is_said(ask: Ask) -> None:
    _, printed = ask("failures", of="server_error_exhausted")
    assert re.search(r"^Waits between attempts took \d", printed, re.MULTILINE)
    assert "could not help" not in printed


def test_calls_that_may_have_run_and_contradictions_stand_below(ask: Ask) -> None:
    code, printed = ask("failures", of="stuck_tool")
    assert code == 0
    assert "What may have run although nothing says so" in printed
    assert "the client was not seen again while it ran" in printed
    _, printed = ask("failures", of="cut_mid_stream")
    assert "What contradicts itself or another witness" in printed
    assert re.search(r"outcome +model_request .* otel +stream_json", printed)


def test_programs_get_all_three(ask: Ask) -> None:
    _, printed = ask("failures", "--json", of="stuck_tool")
    found = answer(printed)
    assert [effect["tool"] for effect in found["side_effects"]] == ["Bash"]
    assert (found["rows"], found["disagreements"]) == ([], [])


@pytest.mark.parametrize(("by", "group"), [("kind", "tool/timeout"), ("tool", "Bash"), ("day", r"\d{4}-\d\d-\d\d")])
def test_failures_are_counted_by_what_is_asked(by: str, group: str, ask: Ask) -> None:
    _, printed = ask("failures", "--by", by, "--json", of="tool_timeout")
    (row,) = answer(printed)["rows"]
    assert re.fullmatch(group, row["group"])
    assert row["failures"] == 1


@pytest.mark.parametrize(("by", "of", "group"), [("server", "mcp", "demo"), ("model", "overloaded_retry", "claude-sonnet-4-5")])
def test_servers_and_models_are_counted_too(by: str, of: str, group: str, ask: Ask) -> None:
    _, printed = ask("failures", "--by", by, "--json", of=of)
    (row,) = answer(printed)["rows"]
    assert (row["group"], row["failures"]) == (group, 1)


def test_only_what_can_be_counted_by_is_taken(ask: Ask) -> None:
    code, _ = ask("failures", "--by", "mood", of="tool_timeout")
    assert code == 2


@pytest.mark.parametrize(
    ("of", "end", "code"),
    [
        ("cut_mid_stream", "finished", 0),
        ("stuck_tool", "exited mid-task", 1),
        ("stalled_stream", "lost", 1),
        ("server_error_exhausted", "lost", 1),
        ("prompt_too_long", "lost", 1),
        ("max_tokens", "finished", 0),
        ("tool_failures", "finished", 0),
        ("subagent", "finished", 0),
    ],
)
def test_the_end_of_each_run_of_the_real_client(of: str, end: str, code: int, ask: Ask) -> None:
    ended, printed = ask("outcome", "--json", of=of)
    (row,) = answer(printed)["rows"]
    assert (row["end"], ended) == (end, code), row["why"]


def test_the_layers_stand_beside_the_end(ask: Ask) -> None:
    _, printed = ask("outcome", of="tool_timeout")
    assert re.search(r"finished +stop reason end_turn +whole +conformed +mended +closed +unknown", printed)


def test_what_a_person_stopped_is_no_reason_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = CAPTURES.parent / "transcripts" / "entire" / "ec-38b74f08e3-3.jsonl.xz"
    (tmp_path / "session.jsonl").write_bytes(lzma.decompress(packed.read_bytes()))
    monkeypatch.setenv("TRACEKIT_STORE", str(tmp_path / "store.duckdb"))
    assert run(["import", str(tmp_path / "session.jsonl")]) == 0
    capsys.readouterr()
    assert run(["failures", "--json"]) == 0
    stopped = [row for row in answer(capsys.readouterr().out)["rows"] if not row["recovered"]]
    assert {row["counted"] for row in stopped} == {False}
