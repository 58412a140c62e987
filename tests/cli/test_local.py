"""What of a session runs on this machine: who started it, whether it works, what it reads, and where its client is."""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tracekit.analysis.stuck.here import HARNESS, TOOL, Here
from tracekit.cli.blocked import INPUT, TERMINAL, read_by
from tracekit.cli.local import local, processes, table

LIMIT = 30.0
linux = pytest.mark.skipif(not Path("/proc/self/syscall").exists(), reason="only Linux tells what a process is blocked in")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return tmp_path


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def running(*command: str, session: str, kind: str = "agent", client: int | None = None) -> Generator[int]:
    """A process as a client starts it; with those that it starts it ends with the block."""
    environment = {
        **os.environ,
        "CLAUDE_CODE_SESSION_ID": session,
        "AI_AGENT": f"claude-code_2-1-332_{kind}",
        "CLAUDE_PID": str(os.getpid() if client is None else client),
    }
    process = subprocess.Popen(command, env=environment, start_new_session=True, stdin=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def here(session: str) -> Here:
    return local({session}).get(session, Here())


def test_tools_and_hooks_are_told_apart_and_their_client_is_known() -> None:
    with running("sleep", "60", session="s1") as tool, running("sleep", "60", session="s1", kind="harness") as hook:
        until(lambda: len(here("s1").processes) == 2)
        found = here("s1")
    assert found.client == os.getpid()
    assert {one.pid: (one.kind, one.name, one.top, one.bottom) for one in found.processes} == {
        tool: (TOOL, "sleep", True, True),
        hook: (HARNESS, "sleep", True, True),
    }
    assert [one.pid for one in found.begun(0, HARNESS)] == [hook]


def test_what_a_process_has_started_stands_below_it() -> None:
    with running("sh", "-c", "sleep 60; :", session="s2") as shell:
        until(lambda: [one.name for one in processes({"s2"})] == ["sleep"])
        found = {one.pid: one for one in here("s2").processes}
    (below,) = found.keys() - {shell}
    assert (found[shell].top, found[shell].bottom) == (True, False)
    assert (found[below].top, found[below].bottom) == (False, True)


def test_who_works_is_told_from_who_sleeps() -> None:
    with running("sleep", "60", session="s3"), running("sh", "-c", "while :; do :; done", session="s3"):
        until(lambda: {one.name: one.busy for one in here("s3").processes} == {"sleep": False, "sh": True})


@linux
def test_who_reads_a_terminal_is_told() -> None:
    with running(sys.executable, "-c", "import pty; pty.spawn(['cat'])", session="s4"):
        until(lambda: [one.reads for one in here("s4").processes if one.bottom] == [TERMINAL])
    with running("sleep", "60", session="s4") as sleeping:
        assert read_by(sleeping) == ""


@linux
def test_who_reads_what_nobody_will_write_is_told_from_who_has_a_writer(home: Path) -> None:
    fifo = home / "pipe"
    os.mkfifo(fifo)
    read = f"import os; os.read(os.open({str(fifo)!r}, os.O_RDWR), 1)"  # it could write itself, and nobody else could
    with running(sys.executable, "-c", read, session="s5") as reader:
        until(lambda: [one.reads for one in here("s5").processes if one.bottom] == [INPUT])
        writer = os.open(fifo, os.O_RDWR)
        assert read_by(reader) == ""
        os.close(writer)


def test_a_client_is_known_by_the_file_that_it_keeps_and_its_connections_are_counted(home: Path) -> None:
    folder = home / ".claude" / "sessions"
    folder.mkdir(parents=True)
    (folder / f"{os.getpid()}.json").write_text(json.dumps({"pid": os.getpid(), "sessionId": "s6"}))
    (folder / "1.json").write_text("no JSON")
    (folder / "2.json").write_text(json.dumps({"pid": "x", "sessionId": "s6"}))
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        found = here("s6")
    assert found.client == os.getpid()
    assert found.processes == ()
    assert found.sockets is not None
    assert found.sockets["ESTABLISHED"] >= 1
    assert found.is_connected is True


def test_a_file_of_a_client_that_is_no_more_is_not_believed(home: Path) -> None:
    folder = home / ".claude" / "sessions"
    folder.mkdir(parents=True)
    path = folder / "old.json"
    path.write_text(json.dumps({"pid": os.getpid(), "sessionId": "s7"}))
    os.utime(path, (1, 1))
    assert table({"s7"}).clients == {}
    assert local({"s7"}) == {}


def test_nobody_is_looked_for_where_no_session_is_open() -> None:
    assert (table(()).found, local(()), processes(())) == ({}, {}, [])


def test_what_reads_nothing_is_nothing() -> None:
    pid, screen = pty.fork()
    if pid == 0:
        os.execvp("sleep", ["sleep", "60"])  # noqa: S606
    try:
        assert read_by(pid) == ""
        assert read_by(2**22 + 1) == ""
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(screen)
