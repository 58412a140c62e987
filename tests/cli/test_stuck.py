"""`tracekit stuck`: what is waited for, which of it is stuck, what to do; once, or as it begins and ends."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tracekit.analysis.stuck import Verdict
from tracekit.cli.explain import topics
from tracekit.cli.main import run as tracekit
from tracekit.cli.waits import blocks, how_sure
from tracekit.model import Boundary, Source, Span, Status, semconv
from tracekit.spool import Spool

SECOND = 1_000_000_000
LIMIT = 30.0
ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "from tracekit.cli.main import main; main()")

Row = dict[str, Any]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home, a state folder and a working directory in which nothing happens yet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TRACEKIT_STORE", str(tmp_path / "store"))
    for name in ("CLAUDE_CONFIG_DIR", "TRACEKIT_SPOOL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def spool(home: Path) -> Generator[Spool]:
    with Spool(home / "state" / "tracekit" / "spool" / "run-1", "gateway") as writing:
        yield writing


def ago(seconds: float) -> int:
    return time.time_ns() - int(seconds * SECOND)


def attempt(session: str, began: float, ended: float | None = None) -> Span:
    key, said = f"exchange:{session}", {semconv.OPENED_AS: f"exchange:{session}"}
    span = Span(Source.GATEWAY, session, Boundary.REQUEST_ATTEMPT, key, ago(began), None, name="sonnet")
    over = span._replace(key=f"req_{session}", end_ns=None if ended is None else ago(ended), attributes=said, status=Status.OK)
    return span if ended is None else over


def load(spool: Spool, *spans: Span) -> None:
    for span in spans:
        spool.write(span)
    assert tracekit(["import", str(spool.folder)]) == 0


def rows(capsys: pytest.CaptureFixture[str]) -> list[Row]:
    found: list[Row] = json.loads(capsys.readouterr().out)["rows"]
    return found


# Once


def test_it_ends_with_1_where_something_is_stuck_and_with_0_where_it_only_waits(spool: Spool, capsys: pytest.CaptureFixture[str]) -> None:
    load(spool, attempt("waits", 3), attempt("stuck", 1_000))
    capsys.readouterr()
    assert tracekit(["stuck", "--json"]) == 1
    assert {row["session_id"]: row["state"] for row in rows(capsys)} == {"waits": "waiting", "stuck": "stuck"}
    assert tracekit(["stuck", "waits"]) == 0
    assert tracekit(["stuck", "--since", "1m"]) == 0


def test_for_eyes_each_wait_says_why_how_sure_by_whom_and_what_to_do(spool: Spool, capsys: pytest.CaptureFixture[str]) -> None:
    load(spool, attempt("session-one", 1_000))
    capsys.readouterr()
    assert tracekit(["stuck"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("stuck     first byte, sonnet, for 16 m")
    assert re.findall(r"^ {10}([a-z ]+):", said, flags=re.MULTILINE) == ["session", "because", "seen by", "do"]
    assert "certain: the request was sent; nothing came back" in said
    assert max(map(len, said.splitlines())) <= 100


def test_thresholds_are_the_projects_own(home: Path, spool: Spool, capsys: pytest.CaptureFixture[str]) -> None:
    load(spool, attempt("session-one", 100))
    assert tracekit(["stuck"]) == 0
    (home / "tracekit.toml").write_text("[stuck]\nfirst_byte = 60\n")
    assert tracekit(["stuck"]) == 1
    (home / "tracekit.toml").write_text("[stuck]\nfirst_bite = 60\n")
    capsys.readouterr()
    assert tracekit(["stuck"]) == 2
    said = capsys.readouterr().err
    assert "tracekit.toml, line 2" in said
    assert "'first_bite' is no threshold" in said


def test_who_waits_for_nothing_is_told_where_a_session_is_named_or_all_are_asked_for(
    spool: Spool, capsys: pytest.CaptureFixture[str]
) -> None:
    done = Span(Source.STREAM_JSON, "done", Boundary.TURN, "turn", ago(60), ago(50), name="prompt")
    load(spool, done)
    capsys.readouterr()
    assert tracekit(["stuck"]) == 0
    assert "Nothing is open" in capsys.readouterr().out
    for asked in (["stuck", "done", "--json"], ["stuck", "--all", "--json"]):
        assert tracekit(asked) == 0
        assert [(row["verdict"], row["state"]) for row in rows(capsys)] == [("idle", "idle")]


def test_what_was_open_when_its_session_ended_is_no_alarm_and_is_told_where_it_is_asked_for(
    spool: Spool, capsys: pytest.CaptureFixture[str]
) -> None:
    load(spool, attempt("old", 200_000))
    capsys.readouterr()
    assert tracekit(["stuck", "--json"]) == 0
    assert rows(capsys) == []
    assert tracekit(["stuck", "old", "--json"]) == 0
    (row,) = rows(capsys)
    assert (row["verdict"], row["age_ns"], row["todo"]) == ("first byte", 0, "nothing: the session has ended")
    assert row["ended_ns"] == row["last_seen_ns"]


def test_gaps_of_one_length_are_somebodys_timer(spool: Spool, capsys: pytest.CaptureFixture[str]) -> None:
    lengths = [180.0, 180.1, 180.2, 180.3, 100.0]
    attempts = (attempt(f"s{number}", 5_000, 5_000 - length) for number, length in enumerate(lengths))
    load(spool, *(one._replace(status=Status.ERROR, attributes={}) for one in attempts))
    capsys.readouterr()
    assert tracekit(["stuck", "--timers", "--json"]) == 0
    (row,) = rows(capsys)
    assert (row["kind"], row["count"], row["sessions"]) == ("failed attempt", 4, 4)
    assert "watchdog" in row["meaning"]


# As it begins and ends


@pytest.mark.parametrize("as_json", [False, True], ids=["lines", "objects"])
def test_an_episode_is_told_once_and_so_is_its_end(*, as_json: bool, spool: Spool) -> None:
    command = [*COMMAND, "stuck", "--watch", *(["--json"] if as_json else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            spool.write(attempt("waits", 3))
            began = attempt("session-one", 1_000)
            spool.write(began)
            first = process.stdout.readline()
            spool.write(attempt("session-one", 1_000, 0))
            following = [process.stdout.readline()]
            while not as_json and following[-1] and "no longer" not in following[-1]:
                following.append(process.stdout.readline())
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (0, "", "")
    if as_json:
        told = [json.loads(line) for line in (first, *following)]
        assert [(one["episode"], one["rows"][0]["session_id"]) for one in told] == [("began", "session-one"), ("over", "session-one")]
    else:
        assert re.search(r"session-  stuck +first byte, sonnet, for 16 m", first)
        assert [line for line in following if "first byte, sonnet" in line] == [following[-1]]


# What the rows say


def test_every_name_has_a_page() -> None:
    known = {topic.topic: topic for topic in topics() if topic.about == "wait"}
    assert known.keys() == {verdict.replace(" ", "-") for verdict in Verdict}
    for topic in known.values():
        assert re.findall(r"^## (.+)$", topic.text, flags=re.MULTILINE) == ["What it means", "Evidence", "What to do"]


def test_every_threshold_stands_on_its_page_with_its_default() -> None:
    from dataclasses import fields

    from tracekit.analysis.stuck import DEFAULTS

    (page,) = (topic for topic in topics() if topic.topic == "thresholds")
    told = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", page.text, flags=re.MULTILINE))
    assert told == {field.name: f"{getattr(DEFAULTS, field.name):g}" for field in fields(DEFAULTS)}


def test_a_wait_that_can_be_several_things_names_them() -> None:
    from tracekit.analysis.stuck import stuck
    from tracekit.testing import memory_store

    turn = Span(Source.TRANSCRIPT, "s", Boundary.TURN, "turn", 1, None, name="prompt")
    call = Span(Source.TRANSCRIPT, "s", Boundary.TOOL_SCHEDULE, "toolu_1", 2, None, name="Bash")
    with memory_store([turn, call]) as store:
        (one,) = stuck(store, as_of_ns=60 * SECOND)
    assert how_sure(one) == "permission, hook, tool or client"
    said = blocks([one], width=100, colour=False)
    assert "would be certain with:" in said
