"""A tapped server is a server: its bytes, its stderr, its signals, its end. And what happened to it is on record."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final

import pytest

from tests.capture.mcp_tap.talk import GREETING, SERVER, TAP, TIMEOUT, Tapped, closed, rows, run, tool, written
from tracekit.capture.mcp_tap import server_name
from tracekit.ingest import import_paths
from tracekit.store import open_store

CAT: Final = ["cat"]
BYTES: Final = [b"", b"\x00\xff\n\r\n\xc3", b"no end of line", os.urandom(3_000_000), b"x" * 20_000_000 + b"\n{}\n"]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that must come."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_client_and_a_server_understand_each_other_and_are_on_record(tmp_path: Path) -> None:
    tapped = Tapped(tmp_path / "spool")
    tapped.greet()
    tapped.send(tool(2, "echo", "toolu_1", text="hello"), tool(3, "fail", "toolu_2"))
    assert tapped.hear()["result"]["content"][0]["text"] == "hello"
    assert tapped.hear()["result"]["isError"] is True
    assert tapped.end() == 0
    import_paths([tmp_path / "spool"], str(tmp_path / "store"))
    with open_store(str(tmp_path / "store")) as store:
        found = store.rows("SELECT boundary, name, status, end_ns IS NULL AS is_open, witnesses FROM boundaries ORDER BY start_ns, key")
        texts = store.rows("SELECT attributes['tracekit.error.text'] AS words FROM boundaries WHERE status = 'error'")
    assert sorted(tuple(row.values()) for row in found) == [
        ("mcp_call", "echo", "ok", False, "mcp_tap"),
        ("mcp_call", "fail", "error", False, "mcp_tap"),
        ("mcp_connection", "demo", "ok", False, "mcp_tap"),
        ("mcp_connection", "demo", "unset", False, "mcp_tap"),
    ]
    assert texts == [{"words": "boom, [secret]"}]


@pytest.mark.parametrize("data", BYTES, ids=len)
def test_any_bytes_pass_as_they_are_both_ways(tmp_path: Path, data: bytes) -> None:
    done = run(tmp_path, data, CAT)
    assert (done.returncode, done.stderr) == (0, b"")
    assert hashlib.sha256(done.stdout).hexdigest() == hashlib.sha256(data).hexdigest()


def test_a_very_large_message_passes_as_it_is(tmp_path: Path) -> None:
    size = 200_000_000
    known, seen = hashlib.sha256(), hashlib.sha256()
    talk = ["sh", "-c", f"head -c {size} /dev/zero | tr '\\0' x; echo"]
    words = [sys.executable, "-c", TAP, str(tmp_path / "spool"), *talk]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as tapped:
        assert tapped.stdout is not None
        while piece := tapped.stdout.read(1 << 20):
            seen.update(piece)
    for _ in range(200):
        known.update(b"x" * 1_000_000)
    known.update(b"\n")
    assert seen.hexdigest() == known.hexdigest()
    assert tapped.returncode == 0


def test_a_message_passes_before_the_next_one_comes(tmp_path: Path) -> None:
    tapped = Tapped(tmp_path, CAT)
    assert tapped.process.stdin is not None
    assert tapped.process.stdout is not None
    for piece in (b"half a l", b"ine\n", b"\xf0\x9f"):
        tapped.process.stdin.write(piece)
        assert tapped.process.stdout.read(len(piece)) == piece
    assert tapped.end() == 0


def test_stderr_and_the_environment_are_the_servers(tmp_path: Path) -> None:
    done = run(tmp_path, written(*GREETING), [*SERVER, "stderr"])
    assert done.stderr == b"to whom it may concern\n"
    told = run(tmp_path, b"", ["sh", "-c", 'printf "%s" "$OF_THE_CLIENT"; pwd >&2'], OF_THE_CLIENT="mine")
    assert (told.stdout, told.stderr.decode().strip()) == (b"mine", str(Path.cwd()))


@pytest.mark.parametrize("code", [0, 3, 255])
def test_the_exit_code_is_the_servers(tmp_path: Path, code: int) -> None:
    tapped = Tapped(tmp_path)
    tapped.greet()
    tapped.send(tool(2, "exit", "toolu_1", code=code))
    assert tapped.process.wait(TIMEOUT) == code
    (call,) = closed(tmp_path, "mcp_call")
    words = f"connection closed: the server exited with code {code} before it answered"
    assert (call["key"], call["status"], call["attributes"]["tracekit.error.text"]) == ("toolu_1", "error", words)
    assert closed(tmp_path, "mcp_connection")[-1]["status"] == "error"
    tapped.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGINT])
def test_a_server_that_a_signal_ended_is_told_as_one(tmp_path: Path, number: signal.Signals) -> None:
    tapped = Tapped(tmp_path)
    tapped.greet()
    tapped.send(tool(2, "kill", "toolu_1", signal=number))
    assert tapped.process.wait(TIMEOUT) == -number
    (call,) = closed(tmp_path, "mcp_call")
    assert call["status"] == "error"
    assert f"was ended by {number.name} before it answered" in call["attributes"]["tracekit.error.text"]
    tapped.process.communicate()


def test_signals_go_to_the_server_and_it_decides(tmp_path: Path) -> None:
    tapped = Tapped(tmp_path, [*SERVER, "tell-signals"])
    pid = tapped.hear()["pid"]
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        tapped.process.send_signal(number)
        assert tapped.hear() == {"signal": number}
    assert tapped.process.poll() is None
    os.kill(pid, signal.SIGKILL)
    assert tapped.process.wait(TIMEOUT) == -signal.SIGKILL
    tapped.process.communicate()


def test_a_server_that_its_client_ends_has_not_failed(tmp_path: Path) -> None:
    tapped = Tapped(tmp_path)
    tapped.greet()
    tapped.send(tool(2, "hang", "toolu_1"))
    until(lambda: any(row["boundary"] == "mcp_call" for row in rows(tmp_path)))
    tapped.process.terminate()
    assert tapped.process.wait(TIMEOUT) == -signal.SIGTERM
    (call,) = closed(tmp_path, "mcp_call")
    assert (call["status"], closed(tmp_path, "mcp_connection")[-1]["status"]) == ("cancelled", "unset")
    assert "the client left, and the server was ended by SIGTERM" in call["attributes"]["tracekit.error.text"]
    tapped.process.communicate()


def test_a_tap_that_is_killed_takes_its_server_with_it(tmp_path: Path) -> None:
    tapped = Tapped(tmp_path, [*SERVER, "tell-signals"])
    pid = tapped.hear()["pid"]
    assert is_alive(pid)
    tapped.process.kill()
    assert tapped.process.wait(TIMEOUT) == -signal.SIGKILL
    until(lambda: not is_alive(pid))
    # What was open is open: that is what is known.
    assert [row["end_ns"] for row in rows(tmp_path)] == [None]
    tapped.process.communicate()


def test_what_is_open_can_be_seen_while_it_is(tmp_path: Path) -> None:
    tapped = Tapped(tmp_path)
    tapped.greet()
    tapped.send(tool(2, "hang", "toolu_1"))
    until(lambda: [row["key"] for row in rows(tmp_path) if row["boundary"] == "mcp_call"] == ["toolu_1"])
    assert closed(tmp_path, "mcp_call") == []
    tapped.process.kill()
    tapped.process.communicate()


def test_a_client_that_stops_listening_is_felt_by_the_server(tmp_path: Path) -> None:
    tapped = Tapped(tmp_path, ["yes"])
    assert tapped.process.stdout is not None
    tapped.process.stdout.read(10)
    tapped.process.stdout.close()
    assert tapped.process.wait(TIMEOUT) == -signal.SIGPIPE
    assert tapped.process.stdin is not None
    tapped.process.stdin.close()


def write_until(deadline: float, stdin: IO[bytes]) -> None:
    while time.monotonic() < deadline:
        stdin.write(b"x\n")
        time.sleep(0.01)


def test_a_server_that_stops_listening_is_felt_by_the_client(tmp_path: Path) -> None:
    tapped = Tapped(tmp_path, ["sh", "-c", "exec <&-; sleep 20"])
    assert tapped.process.stdin is not None
    deadline = time.monotonic() + TIMEOUT
    with pytest.raises(BrokenPipeError):
        write_until(deadline, tapped.process.stdin)
    tapped.process.terminate()
    assert tapped.process.wait(TIMEOUT) == -signal.SIGTERM


def test_a_client_that_takes_nothing_for_a_while_gets_all_of_it(tmp_path: Path) -> None:
    tapped = Tapped(tmp_path, ["head", "-c", "1000000", "/dev/zero"])
    assert tapped.process.stdout is not None
    time.sleep(2.5)
    assert tapped.process.poll() is None
    assert len(b"".join(iter(tapped.process.stdout.read, b""))) == 1_000_000
    assert tapped.end() == 0


def test_a_child_that_outlives_the_server_is_not_waited_for(tmp_path: Path) -> None:
    tapped = Tapped(tmp_path)
    tapped.greet()
    tapped.send(tool(2, "child", seconds=15))
    began = time.monotonic()
    assert tapped.process.wait(TIMEOUT) == 0
    assert time.monotonic() - began < 10
    assert tapped.process.stdin is not None
    tapped.process.stdin.close()


@pytest.mark.parametrize(("program", "code", "name"), [("none", 127, "ENOENT"), ("text", 126, "EACCES")])
def test_a_server_that_cannot_be_started_is_an_error_and_on_record(tmp_path: Path, program: str, code: int, name: str) -> None:
    (tmp_path / "text").write_text("no program")
    program = str(tmp_path / program)
    script = TAP.replace("sys.exit(tap", "from tracekit.errors import TracekitError\ntry: tap").replace('"mcp")))', '"mcp"))')
    script += "except TracekitError as error: print(error, error.slug, file=sys.stderr); sys.exit(error.exit_code)"
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path), program], capture_output=True, check=False, timeout=TIMEOUT)
    assert done.returncode == code
    assert f"cannot start {program}" in done.stderr.decode()
    assert b"server-not-started" in done.stderr
    (failed,) = rows(tmp_path)
    assert (failed["boundary"], failed["status"], failed["attributes"]["tracekit.mcp.status"]) == ("mcp_connection", "error", "failed")
    assert failed["attributes"]["tracekit.error.code"] == name


def test_a_server_that_talks_before_it_dies_says_so_on_record(tmp_path: Path) -> None:
    tapped = Tapped(tmp_path, [*SERVER, "noise"])
    assert tapped.process.wait(TIMEOUT) == 3
    assert tapped.process.communicate()[0] == b"Server is starting!\n"
    failed = closed(tmp_path, "mcp_connection")[-1]
    assert (failed["status"], failed["attributes"]["tracekit.mcp.status"]) == ("error", "failed")
    words = "connection closed: the server exited with code 3 before it was ready; it wrote 1 lines that are no JSON-RPC"
    assert failed["attributes"]["tracekit.error.text"] == words


def test_a_record_that_cannot_be_kept_is_told_at_the_end_and_felt_by_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(tmp_path / "file" / "spool", written(*GREETING))
    assert done.returncode == 0
    assert done.stdout.count(b"\n") == 2
    assert b"observations of demo are missing in the record; its traffic was not touched by it" in done.stderr


def test_many_calls_at_once_are_paired(tmp_path: Path) -> None:
    tapped = Tapped(tmp_path)
    tapped.greet()
    calls = [tool(number, "echo", f"toolu_{number}", text="x" * 1_000) for number in range(2, 402)]
    sender = threading.Thread(target=tapped.send, args=calls)
    sender.start()
    assert [tapped.hear()["id"] for _ in calls] == [call["id"] for call in calls]
    sender.join()
    assert tapped.end() == 0
    assert {row["key"] for row in closed(tmp_path, "mcp_call")} == {f"toolu_{call['id']}" for call in calls}
    assert all(row["start_ns"] < row["end_ns"] for row in closed(tmp_path, "mcp_call"))


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv"], "server-filesystem"),
        (["npx", "mcp-remote@latest", "https://x"], "mcp-remote"),
        (["uvx", "mcp-server-git"], "mcp-server-git"),
        (["uv", "run", "--quiet", "weather.py"], "weather"),
        (["/usr/bin/python3.11", "-u", "/srv/weather.py"], "weather"),
        (["docker", "run", "-i", "mcp/github"], "github"),
        (["/opt/bin/gopls-mcp"], "gopls-mcp"),
        (["python"], "python"),
    ],
)
def test_a_server_is_called_by_what_it_runs(command: list[str], name: str) -> None:
    assert server_name(command) == name
