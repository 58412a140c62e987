"""`tracekit compare`: sets by what they have in common, by ids, by where they lie; a gate where something got worse."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_check import fill
from tests.exporters.world import SECOND, at
from tracekit.cli.compare import written
from tracekit.cli.main import run
from tracekit.model import Boundary, Span, semconv
from tracekit.testing import request, span, turn

CAPTURES = Path(__file__).parents[1] / "data" / "captures"


def _session(name: str, seconds: float, version: str, model: str, project: str) -> list[Span]:
    about = {semconv.CLIENT_VERSION: version, semconv.PROJECT: project}
    asked = {semconv.OUTPUT_TOKENS: 10, semconv.INPUT_TOKENS: 10, semconv.FIRST_BYTE_NS: at(2)}
    spans = [
        span(Boundary.SESSION, name, at(0), at(seconds), attributes=about),
        turn(at(0), at(seconds), key=f"turn-{name}", attributes=about),
        request(at(1), at(seconds), key=f"req-{name}", parent_key=f"turn-{name}", name=model, attributes=asked),
    ]
    return [one._replace(session_id=name) for one in spans]


def _sets() -> list[Span]:
    slow = [_session(f"slow-{number}", 60 + number, "2.1.30", "opus", "/new") for number in range(6)]
    fast = [_session(f"fast-{number}", 20 + number, "2.1.29", "sonnet", "/old") for number in range(6)]
    return [one for spans in (*slow, *fast) for one in spans]


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six sessions of an old version, and six of a new one that take three times as long."""
    path = tmp_path / "store.duckdb"
    fill(path, _sets())
    monkeypatch.setenv("TRACEKIT_STORE", str(path))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    return path


def _rows(capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    found = json.loads(capsys.readouterr().out)
    return found, {row["measure"]: row for row in found["rows"]}


@pytest.mark.parametrize(
    ("base", "head"),
    [
        ("version=2.1.29", "version=2.1.3*"),
        ("model=sonnet", "model=opus"),
        ("project=/old", "project=/new"),
        (",".join(f"fast-{number}" for number in range(6)), ",".join(f"slow-{number}" for number in range(6))),
    ],
)
def test_a_set_is_named_by_what_its_sessions_have_in_common(base: str, head: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", base, head, "--json"]) == 0
    whole, rows = _rows(capsys)
    assert (whole["base"], whole["head"], whole["base_sessions"], whole["head_sessions"]) == (base, head, 6, 6)
    assert (rows["wall"]["verdict"], rows["wall"]["difference_lower"]) == ("worse", 40 * SECOND)
    assert rows["ttft"]["verdict"] == "no evidence"


def test_a_gate_fails_on_what_got_worse_only(capsys: pytest.CaptureFixture[str]) -> None:
    worse, better = ["version=2.1.29", "version=2.1.30"], ["version=2.1.30", "version=2.1.29"]
    assert run(["compare", *worse]) == 0
    assert run(["compare", *worse, "--fail-on-worse"]) == 1
    assert run(["compare", *better, "--fail-on-worse"]) == 0
    assert run(["compare", *worse, "--fail-on-worse", "--measure", "ttft"]) == 0
    assert "wall" in capsys.readouterr().out


def test_the_answer_for_eyes_has_means_difference_and_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "version=2.1.29", "version=2.1.30", "--measure", "wall", "--measure", "ttft"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    (wall,) = [line for line in lines if line[:1] == ["wall"]]
    assert wall[1:3] == ["22.5", "s"]
    assert wall[-1] == "worse"
    assert ["6", "sessions", "against", "6;", "1", "worse,", "1", "no", "evidence"] in lines
    assert any("the means are equal" in " ".join(line) for line in lines)


def test_a_set_may_be_a_store_or_transcripts(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = store.with_name("other.duckdb")
    fill(other, [one for number in range(5) for one in _session(f"other-{number}", 5, "2.1.31", "opus", "/other")])
    assert run(["compare", "version=2.1.29", str(other), "--json"]) == 0
    _, rows = _rows(capsys)
    assert (rows["wall"]["verdict"], rows["wall"]["head_sessions"]) == ("better", 5)
    assert run(["compare", "version=2.1.29", str(CAPTURES / "overlap" / "transcript"), "--json"]) == 0
    whole, rows = _rows(capsys)
    assert whole["head_sessions"] == 1
    assert "fewer than" in rows["wall"]["because"]


@pytest.mark.parametrize(
    ("base", "head", "slug"),
    [
        ("version=1.*", "version=2.1.30", "nothing-to-check"),
        ("fast-1,slow-1", "version=2.1.30", "sets-overlap"),
        ("nobody", "version=2.1.30", "session-unknown"),
        ("fast", "version=2.1.30", "session-ambiguous"),
    ],
)
def test_a_set_that_cannot_be_had_is_an_error(base: str, head: str, slug: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", base, head]) == 2
    assert f"tracekit explain {slug}" in capsys.readouterr().err


def test_an_unknown_measure_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "version=2.1.29", "version=2.1.30", "--measure", "speed"]) == 2
    assert "tracekit explain measure-unknown" in capsys.readouterr().err


def test_measures_that_are_equal_are_shown_only_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    looked_for = {"wall", "streaming_time", "ttft", "network"}
    for arguments, shown in (([], {"wall", "streaming_time"}), (["--all"], looked_for)):
        assert run(["compare", "version=2.1.29", "version=2.1.30", *arguments]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert {line.split()[0] for line in lines if line[:1].isalpha()} & looked_for == shown


@pytest.mark.parametrize(
    ("lower", "upper", "unit", "expected"),
    [
        (0.34, 0.34, "count", "0.3"),
        (-0.01, 2.0, "count", "0 – 2"),
        (-1234.5, 99.94, "tokens", "-1,234 – 99.9"),
        (-26.5e9, 24e6, "ns", "-26.5 s – 24 ms"),
        (None, None, "usd", "–"),
        (0.1, 0.25, "ratio", "10.0 % – 25.0 %"),
    ],
)
def test_means_and_differences_are_written_for_eyes(lower: float | None, upper: float | None, unit: str, expected: str) -> None:
    assert written(lower, upper, unit) == expected
