"""`tracekit check`: what crosses a gate ends with 1, what cannot be judged is said, and a check of nothing is an error."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.exporters.test_junit import SCHEMA, etree
from tests.exporters.world import HOSTILE, SECOND, at, session
from tracekit.cli.main import run
from tracekit.ingest.parse import span_line
from tracekit.model import Source, Span
from tracekit.store import Batch, LedgerEntry, open_store
from tracekit.testing import request, tool, turn


def fill(path: Path, spans: list[Span]) -> None:
    segment = path.with_suffix(".jsonl")
    segment.write_bytes(b"".join(span_line(one, 1) for one in spans))
    with open_store(str(path), write=True) as opened:
        entry = LedgerEntry(1, "spans", "spans", 0, 0, 0, "", 0, 1, 0, 1, 0, 0, 0)
        opened.load(Batch(segments=[segment], problems=[], entries=[entry]))


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without settings, and a store of a session that failed and one of which little is known."""
    vague: dict[str, Any] = {"source": Source.TRANSCRIPT}
    call = tool(at(4), at(4), at(14), start_slack_ns=10 * SECOND, **vague)
    little = [turn(at(0), at(20), **vague), request(at(1), at(10), **vague), *call]
    fill(
        tmp_path / "store.duckdb",
        [
            *session("failed"),
            *(one._replace(session_id="vague", key=f"v{one.key}", parent_key=one.parent_key and f"v{one.parent_key}") for one in little),
        ],
    )
    monkeypatch.setenv("TRACEKIT_STORE", str(tmp_path / "store.duckdb"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _json(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_a_crossed_gate_is_told_with_how_far_and_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--fail-on", "mcp > 0", "--fail-on", "wall > 40s"]) == 1
    lines = capsys.readouterr().out.splitlines()
    crossed = [line.split() for line in lines if "crossed" in line and "gates" not in line]
    assert crossed == [
        ["failed", "mcp", ">", "0", "crossed", "1", "1"],
        ["failed", "wall", ">", "40s", "crossed", "50.0", "s", "10.0", "s"],
    ]
    assert lines[-1] == "4 gates in 2 sessions: 2 crossed, 2 held; 2 fail the check"


def test_gates_that_hold_end_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--fail-on", "prompt_too_long", "--fail-on", "wall > 2m"]) == 0
    assert capsys.readouterr().out == "4 gates in 2 sessions: 4 held; the check is passed\n"


def test_a_range_fails_only_where_strictness_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["check", "vague", "--fail-on", "hidden_share < 20%", "--fail-on", "cost > 1"]
    assert run(arguments) == 0
    assert "possibly crossed" in capsys.readouterr().out
    assert run([*arguments, "--json"]) == 0
    found = _json(capsys)
    assert (found["failed"], [row["verdict"] for row in found["rows"]]) == (0, ["possibly crossed", "unknown"])
    assert run([*arguments, "--strict"]) == 1


def test_gates_of_the_project_hold_for_all_who_work_in_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "pyproject.toml").write_text("[tool.tracekit.check]\nfail_on = ['mcp > 0']\n")
    below = place / "src"
    below.mkdir()
    monkeypatch.chdir(below)
    assert run(["check"]) == 1
    assert run(["check", "vague"]) == 0
    assert run(["check", "--fail-on", "wall > 2m"]) == 0  # those of the command line count alone
    (below / "tracekit.toml").write_text("[check]\nfail_on = ['cost > 1']\nstrict = true\n")
    assert run(["check", "vague"]) == 1


def test_limits_of_the_project_decide_what_is_stuck(place: Path) -> None:
    open_one = [turn(at(0), None), request(at(1), at(2)), *tool(at(2), at(2), None)]
    fill(place / "open.duckdb", open_one)
    arguments = ["check", "--store", str(place / "open.duckdb"), "--fail-on", "stuck"]
    (place / "tracekit.toml").write_text("[stuck]\ntool = 1\nbash_timeout = 1\ngone = 1e9\n".replace("1e9", "1000000000"))
    assert run(arguments) == 1
    (place / "tracekit.toml").write_text("[stuck]\ntool = 1000000000\nbash_timeout = 1000000000\n")
    assert run(arguments) == 0


@pytest.mark.parametrize(
    ("text", "said", "slug"),
    [
        ("[check]\nfail_on = 'network'\n", "line 2: fail_on is to be a list", "configuration-invalid"),
        ("[check]\nfail_on = [1]\n", "line 2: fail_on is to be a list", "configuration-invalid"),
        ("[check]\nfail_on = []\nstrict = 1\n", "line 3: strict is to be true or false", "configuration-invalid"),
        ("[check]\nfailon = []\n", "line 2: 'failon' is no setting of [check]; there are fail_on, strict", "configuration-invalid"),
        ("[check]\nfail_on = ['netwrok']\n", "tracekit.toml: 'netwrok' is no measure", "measure-unknown"),
        ("[check]\n", "tracekit.toml has none either", "no-gates"),
        ("", "tracekit.toml has none either", "no-gates"),
        ("[stuck]\ntool = -1\n[check]\nfail_on = ['stuck']", "line 2: 'tool' is to be", "configuration-invalid"),
    ],
)
def test_what_is_wrong_in_the_settings_is_told_with_its_place(
    text: str, said: str, slug: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "tracekit.toml").write_text(text)
    assert run(["check"]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert said in error
    assert f"tracekit explain {slug}" in error


def test_a_check_of_nothing_is_an_error(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check"]) == 2
    assert "tracekit explain no-gates" in capsys.readouterr().err
    assert run(["check", "--fail-on", "stuck", "--project", "nowhere"]) == 2
    assert "tracekit explain nothing-to-check" in capsys.readouterr().err
    fill(place / "empty.duckdb", [])
    assert run(["check", "--fail-on", "stuck", "--store", str(place / "empty.duckdb")]) == 2


def test_junit_has_a_case_a_gate_and_a_session(place: Path) -> None:
    gates = ["mcp > 0", "hidden_share < 20%", "cost > 1", "wall > 2m"]
    assert run(["check", "--junit", "report.xml", *(word for gate in gates for word in ("--fail-on", gate))]) == 1
    root = etree.fromstring((place / "report.xml").read_bytes())
    SCHEMA.assertValid(root)
    outcomes = {(suite.get("name"), case.get("name")): [element.tag for element in case] for suite in root for case in suite}
    assert outcomes == {
        ("failed", "mcp > 0"): ["failure"],
        ("failed", "hidden_share < 20%"): ["system-out"],
        ("failed", "cost > 1"): ["skipped"],
        ("failed", "wall > 2m"): ["system-out"],
        ("vague", "mcp > 0"): ["system-out"],
        ("vague", "hidden_share < 20%"): ["skipped"],
        ("vague", "cost > 1"): ["skipped"],
        ("vague", "wall > 2m"): ["system-out"],
    }
    (failure,) = root.iter("failure")
    assert failure.get("message") == "crossed: mcp is 1, beyond the gate by 1"
    assert run(["check", "--junit", "none/report.xml", "--fail-on", "stuck"]) == 2


def test_the_measures_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--measures", "--json"]) == 0
    found = {row["measure"]: row for row in _json(capsys)["rows"]}
    assert found["hidden_share"] == {
        "measure": "hidden_share",
        "unit": "ratio",
        "better": "more",
        "meaning": found["hidden_share"]["meaning"],
    }
    assert {"network", "network/stream_cut", "stuck", "permission_time"} <= found.keys()


@pytest.mark.parametrize("text", HOSTILE[:9] + HOSTILE[12:13], ids=range(10))
def test_hostile_names_are_inert_in_the_terminal_and_in_junit(text: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = [one._replace(session_id=f"s{text}", name=text) for one in session()]
    _fill_anew(place, hostile)
    assert run(["check", "--fail-on", "failures > 0", "--junit", "report.xml"]) == 1
    out, _ = capsys.readouterr()
    assert not set(out) & {"\x1b", "\x9b", "\x07", "\x00", "\u202e", "\r"}
    root = etree.fromstring((place / "report.xml").read_bytes())
    SCHEMA.assertValid(root)
    assert len(list(root.iter("failure"))) == 1


def _fill_anew(place: Path, spans: list[Span]) -> None:
    (place / "store.duckdb").unlink()
    fill(place / "store.duckdb", spans)
