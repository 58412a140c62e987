"""`tracekit watch`: what is open while it is open, as lanes on a terminal and as lines elsewhere, and only what has changed asked anew."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tracekit.analysis.scope import EVERYTHING
from tracekit.analysis.stuck import look
from tracekit.cli import watching
from tracekit.cli.local import processes
from tracekit.cli.main import run as tracekit
from tracekit.cli.watch import lanes
from tracekit.cli.watching import Watch
from tracekit.errors import TracekitError
from tracekit.model import Boundary, Source, Span, semconv
from tracekit.spool import Spool
from tracekit.store.lease import lease

SECOND = 1_000_000_000
LIMIT = 30.0
COMMAND = (sys.executable, "-c", "from tracekit.cli.main import main; main()")
PROMPT = '{"type":"user","uuid":"u1","sessionId":"SESSION","timestamp":"TIME","message":{"role":"user","content":"go"}}\n'
CALL = (
    '{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"SESSION","timestamp":"TIME","requestId":"req_1","message":'
    '{"id":"msg_1","model":"m","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}]}}\n'
)
RESULT = (
    '{"type":"user","uuid":"r1","parentUuid":"a1","sessionId":"SESSION","timestamp":"TIME","message":'
    '{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"done"}]}}\n'
)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home and a state folder in which nothing happens yet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "110")
    for name in ("CLAUDE_CONFIG_DIR", "TRACEKIT_SPOOL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def spool(home: Path) -> Generator[Spool]:
    with Spool(home / "state" / "tracekit" / "spool" / "run-1", "gateway") as writing:
        yield writing


def attempt(session: str, began_ns: int, end_ns: int | None = None, key: str = "exchange:1") -> Span:
    said = {} if end_ns is None else {semconv.OPENED_AS: "exchange:1"}
    return Span(Source.GATEWAY, session, Boundary.REQUEST_ATTEMPT, key, began_ns, end_ns, name="sonnet", attributes=said)


def ago(seconds: float) -> int:
    return time.time_ns() - int(seconds * SECOND)


def written(home: Path, session: str, *lines: str) -> None:
    path = home / ".claude" / "projects" / "-p" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    with path.open("a") as file:
        file.writelines(line.replace("SESSION", session).replace("TIME", now) for line in lines)


def waits(watch: Watch) -> list[tuple[str, str, str]]:
    return [(one.session_id, one.verdict, one.name) for one in watch.look()]


# Looking


def test_what_a_recorder_opens_and_closes_comes_and_goes(home: Path, spool: Spool) -> None:
    watch = Watch(str(home / "store"), None, 0)
    assert waits(watch) == []
    began = ago(3)
    spool.write(attempt("s1", began))
    (one,) = watch.look()
    assert (one.session_id, one.verdict, one.name, one.since_ns) == ("s1", "first byte", "sonnet", began)
    assert 3 * SECOND <= one.age_ns < 60 * SECOND
    spool.write(attempt("s1", began, ago(0), "req_1"))
    assert waits(watch) == []
    assert watch.trouble == ""


def test_transcripts_that_grow_need_no_recorder(home: Path) -> None:
    watch = Watch(str(home / "store"), None, ago(3600))
    written(home, "s1", PROMPT, CALL)
    assert waits(watch) == [("s1", "unknown", "Bash")]
    written(home, "s1", RESULT)
    assert waits(watch) == [("s1", "unknown", "prompt")]


def test_one_session_can_be_watched_also_before_it_begins(home: Path, spool: Spool) -> None:
    watch = Watch(str(home / "store"), "s1", 0)
    spool.write(attempt("other", ago(3)))
    assert waits(watch) == []
    assert "s1" in watch.trouble
    spool.write(attempt("s1-first", ago(2), key="exchange:2"))
    assert waits(watch) == [("s1-first", "first byte", "sonnet")]
    spool.write(attempt("s1-second", ago(1), key="exchange:3"))
    with pytest.raises(TracekitError, match="begin with"):
        watch.look()


def test_the_latest_session_is_whichever_is_the_latest(home: Path, spool: Spool) -> None:
    watch = Watch(str(home / "store"), "latest", 0)
    spool.write(attempt("s1", ago(9)))
    assert waits(watch) == [("s1", "first byte", "sonnet")]
    spool.write(attempt("s2", ago(1), key="exchange:2"))
    assert waits(watch) == [("s2", "first byte", "sonnet")]


def test_what_began_too_long_ago_is_history(home: Path, spool: Spool) -> None:
    spool.write(attempt("s1", ago(7200)))
    assert waits(Watch(str(home / "store"), None, ago(3600))) == []


def test_time_alone_changes_ages_and_verdicts_without_asking_the_store_again(
    home: Path, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []

    def counted(store: Any, scope: Any = EVERYTHING, **more: Any) -> Any:
        asked.append(scope.session_id)
        return look(store, scope, **more)

    monkeypatch.setattr(watching, "look", counted)
    now = [time.time_ns() + 60 * SECOND]  # past the margin of every load
    spool.write(attempt("s1", ago(3)))
    spool.write(attempt("s2", ago(2), key="exchange:2"))
    watch = Watch(str(home / "store"), None, 0, clock=lambda: now[0])
    first = watch.look()
    now[0] += SECOND
    second = watch.look()
    assert asked == [None]
    assert [two.age_ns - one.age_ns for one, two in zip(first, second, strict=True)] == [SECOND] * 2
    now[0] += 600 * SECOND
    assert [one.state for one in watch.look()] == ["stuck", "stuck"]
    assert asked == [None]


def test_what_another_process_loads_is_seen_too(home: Path, spool: Spool) -> None:
    watch = Watch(str(home / "store"), None, 0)
    watch.look()
    spool.write(attempt("s1", ago(3)))
    assert tracekit(["import", str(home / "state" / "tracekit" / "spool"), "--store", str(home / "store")]) == 0
    assert waits(watch) == [("s1", "first byte", "sonnet")]


def test_a_busy_store_leaves_the_last_answer_standing(home: Path, spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEKIT_WAIT", "0")
    watch = Watch(str(home / "store"), None, 0)
    spool.write(attempt("s1", ago(3)))
    assert len(watch.look()) == 1
    with lease(home / "store", exclusive=True, wait=0):
        assert len(watch.look()) == 1
        assert "busy" in watch.trouble
    watch.look()
    assert watch.trouble == ""


# Showing


def test_once_prints_the_state_and_ends_with_1_where_something_is_open(spool: Spool, capsys: pytest.CaptureFixture[str]) -> None:
    assert tracekit(["watch", "--once"]) == 0
    assert "Nothing is open" in capsys.readouterr().out
    spool.write(attempt("s1", ago(3)))
    assert tracekit(["watch", "--once", "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["verdict"], row["key"], row["quiet_ns"]) == ("first byte", "exchange:1", None)


def test_a_lane_is_as_long_as_its_age_beside_the_oldest(home: Path, spool: Spool) -> None:
    now = time.time_ns()
    spool.write(attempt("session-one", now - 40 * SECOND))
    spool.write(attempt("session-two", now - 20 * SECOND, key="exchange:2"))
    found = Watch(str(home / "store"), None, 0, clock=lambda: now).look()
    text = lanes(found, "the store is busy", now_ns=now, width=110, colour=False)
    head, first, why, second, _, trouble = text.splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d  2 open in 2 sessions", head)
    assert re.fullmatch(r"session-  first byte   sonnet +40.0 s  (█+)", first)
    assert first.count("█") == 2 * second.count("█")
    assert "certain: the request was sent" in why
    assert trouble == "the store is busy"
    assert all(len(line) <= 60 for line in lanes(found, "", now_ns=now, width=60, colour=False).splitlines())


def test_below_a_tool_stands_what_runs_of_its_session_here(home: Path) -> None:
    written(home, "session-one", PROMPT, CALL)
    environment = {**os.environ, "CLAUDE_CODE_SESSION_ID": "session-one"}
    with subprocess.Popen(["sh", "-c", "sleep 60; :"], env=environment, start_new_session=True) as shell:
        try:
            until(lambda: [one.name for one in processes({"session-one"})] == ["sleep"])
            (running,) = processes({"session-one"})
            found = Watch(str(home / "store"), None, 0).look()
            text = lanes(found, "", [running], now_ns=running.start_ns + 8 * SECOND, width=110, colour=False)
            assert tracekit(["watch", "--once"]) == 1
        finally:
            os.killpg(shell.pid, signal.SIGKILL)
    assert text.splitlines()[-1] == f"          runs here: sleep (process {running.pid}) for 8.00 s"
    assert running.pid != shell.pid
    assert processes(()) == []


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_away_from_a_terminal_each_change_is_a_line_and_a_signal_is_a_proper_end(spool: Spool) -> None:
    began = ago(3)
    with subprocess.Popen([*COMMAND, "watch"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert "Nothing is open" in process.stdout.readline()
            spool.write(attempt("session-one", began))
            assert re.search(r"session-  first byte, sonnet: for \d", process.stdout.readline())
            spool.write(attempt("session-one", began, ago(0), "req_1"))
            assert "session-  first byte, sonnet: no longer" in process.stdout.readline()
            assert "Nothing is open" in process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (0, "", "")


def test_for_programs_each_change_is_an_object_on_a_line(spool: Spool) -> None:
    with subprocess.Popen([*COMMAND, "watch", "--json"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["rows"] == []
            spool.write(attempt("s1", ago(3)))
            said = json.loads(process.stdout.readline())
        finally:
            process.send_signal(signal.SIGINT)
    assert (said["format"], said["rows"][0]["session_id"], process.returncode) == (1, "s1", 0)


def test_on_a_terminal_the_lanes_are_refreshed_in_place(spool: Spool) -> None:
    pid, screen = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(COMMAND[0], [*COMMAND, "watch"])  # noqa: S606  (a terminal's first process)
    seen = bytearray()

    def shows(text: str) -> bool:
        if select.select([screen], [], [], 0.1)[0]:
            seen.extend(os.read(screen, 65536))
        return text.encode() in seen

    try:
        until(lambda: shows("Nothing is open"))
        spool.write(attempt("session-one", ago(3)))
        until(lambda: shows("1 open in 1 session"))
        ages = re.compile(rb"sonnet +([\d.]+) s")
        until(lambda: shows("sonnet") and len(set(ages.findall(bytes(seen)))) > 1)
        os.write(screen, b"\x03")
        until(lambda: shows("\x1b[?25h"))
        assert b"\x1b[1A" in seen
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        os.close(screen)
