"""`tracekit serve` and `tracekit env`: one server for whoever comes by, found again by what it says of itself."""

import contextlib
import http.client
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tracekit.cli.main import run as tracekit
from tracekit.cli.serve import demanded
from tracekit.cli.serving import Address, Variable, announced, running, spelt, state_path, variables
from tracekit.store import open_store
from tracekit.store.lease import lease

LIMIT = 30.0
COMMAND = (sys.executable, "-c", "from tracekit.cli.main import main; main()")
HOOK = {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "secret words", "cwd": "/p"}


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A state folder, and an environment that leads nowhere."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "OTEL_", "TRACEKIT_", "CLAUDE_")):
            monkeypatch.delenv(name)
    return tmp_path / "state"


class Serving:
    """A server in a process of its own, as it told of itself."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or lines[-1] != "}\n":
            line = process.stdout.readline()
            assert line, process.stderr.read() if process.stderr else ""
            lines.append(line)
        self.said: dict[str, Any] = json.loads("".join(lines))
        self.url: str = self.said["url"]
        self.variables: dict[str, str] = {row["name"]: row["value"] for row in self.said["rows"]}

    def end(self) -> tuple[int, str]:
        """End it as a service manager does; gives its exit code and what it said on stderr."""
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, said


@contextmanager
def serving(*arguments: str) -> Generator[Serving]:
    command = [*COMMAND, "serve", "--json", *(() if "--port" in arguments else ("--port", "0")), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield Serving(process)
        finally:
            process.kill()


def post(url: str, body: dict[str, Any], **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **named})  # noqa: S310  (our own)
    try:
        with urllib.request.urlopen(request, timeout=LIMIT) as response:  # noqa: S310  (our own)
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def eventually(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def sessions(store: Path) -> set[str]:
    if not store.exists():
        return set()
    with open_store(str(store), wait=LIMIT) as opened:
        return {row["session_id"] for row in opened.rows("SELECT session_id FROM spans")}


# Serve


def test_what_comes_by_is_in_the_store_while_the_server_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with serving("--store", str(store), "--upstream", "http://127.0.0.1:9") as server:
        assert server.variables["ANTHROPIC_BASE_URL"] == server.variables["OTEL_EXPORTER_OTLP_ENDPOINT"] == server.url
        assert post(f"{server.url}/hook", HOOK) == 200
        eventually(lambda: sessions(store) == {"s1"})
        assert post(f"{server.url}/hook", HOOK | {"session_id": "s2"}) == 200
        assert post(f"{server.url}/v1/messages", {"model": "m", "messages": []}, X_Claude_Code_Session_Id="s3") >= 500
        assert server.end() == (0, "")
        assert sessions(store) >= {"s1", "s2", "s3"}
    assert not state_path().exists()


def test_a_busy_store_is_tried_again_and_nothing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEKIT_WAIT", "0.2")
    store = tmp_path / "store"
    with serving("--store", str(store)) as server:
        with lease(store, exclusive=True, wait=1):
            assert post(f"{server.url}/hook", HOOK) == 200
            time.sleep(2.5)
        eventually(lambda: sessions(store) == {"s1"})
        assert server.end() == (0, "")


def test_what_a_killed_server_has_acknowledged_is_loaded_by_the_next_import(tmp_path: Path) -> None:
    with serving("--store", str(tmp_path / "store")) as server:
        for number in range(20):
            assert post(f"{server.url}/hook", HOOK | {"session_id": f"s{number}"}) == 200
        time.sleep(0.5)
        server.process.kill()
        server.process.wait(LIMIT)
    assert running() is None
    spool = tmp_path / "state" / "tracekit" / "spool"
    assert tracekit(["import", str(spool), "--store", str(tmp_path / "store")]) == 0
    assert sessions(tmp_path / "store") == {f"s{number}" for number in range(20)}


@pytest.mark.parametrize("seed", [1, 2])
def test_kill_at_any_moment_under_load_loses_nothing_that_was_acknowledged(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  (moments, no secret)
    store = tmp_path / "store"
    acknowledged: set[str] = set()
    numbers = itertools.count()

    def send(url: str) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            while True:
                name = f"s{next(numbers)}"
                if post(f"{url}/hook", HOOK | {"session_id": name}) == 200:
                    acknowledged.add(name)

    for _ in range(4):
        # What was killed while it loaded the store is in the way of nobody.
        with serving("--store", str(store)) as server:
            before = len(acknowledged)
            senders = [threading.Thread(target=send, args=(server.url,), daemon=True) for _ in range(4)]
            for sender in senders:
                sender.start()
            eventually(lambda: len(acknowledged) > before)  # noqa: B023  (called at once)
            time.sleep(chance.uniform(0, 1.5))
            server.process.kill()
            server.process.wait(LIMIT)
            for sender in senders:
                sender.join(LIMIT)
    assert tracekit(["import", str(tmp_path / "state" / "tracekit" / "spool"), "--store", str(store)]) == 0
    with open_store(str(store)) as opened:
        told = [row["session_id"] for row in opened.rows("SELECT session_id FROM spans WHERE boundary = 'turn'")]
    assert acknowledged - set(told) == set()
    assert len(told) == len(set(told))


def test_a_token_is_demanded_and_told() -> None:
    with serving("--token", "quince-jam") as server:
        assert server.variables["TRACEKIT_TOKEN"] == "quince-jam"
        assert "quince-jam" in server.variables["ANTHROPIC_CUSTOM_HEADERS"]
        assert post(f"{server.url}/hook", HOOK) == 401
        assert post(f"{server.url}/hook", HOOK, X_Tracekit_Token="quince-jam") == 200  # noqa: S106  (the same)


def test_beyond_this_machine_a_token_is_made_up_where_none_is_given() -> None:
    made_up = {demanded("10.0.0.1", None), demanded("10.0.0.1", None)}
    assert len(made_up) == 2
    assert all(token is not None and len(token) > 20 for token in made_up)
    assert demanded("10.0.0.1", "mine") == "mine"
    assert demanded("localhost", None) is None


def test_on_this_machine_none_is_demanded() -> None:
    with serving() as server:
        assert "TRACEKIT_TOKEN" not in server.variables


def test_a_port_that_is_taken_is_one_error(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert tracekit(["serve", "--port", str(taken.getsockname()[1])]) == 2
    said = capsys.readouterr()
    assert "is taken by another program" in said.err
    assert "explain port-taken" in said.err
    assert said.out == ""


def test_a_server_that_is_started_in_a_shell_of_another_asks_what_is_behind_that() -> None:
    with serving("--upstream", "http://127.0.0.1:9/first") as first:
        environment = {**os.environ, **first.variables}
        command = [*COMMAND, "serve", "--json", "--port", "0"]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert Serving(process).said["upstream"] == "http://127.0.0.1:9/first"
            finally:
                process.kill()


# Env


def test_the_running_server_is_found_and_its_variables_are_the_ones_that_it_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with serving("--upstream", "http://127.0.0.1:9") as server:
        assert tracekit(["env", "--shell", "json"]) == 0
        assert json.loads(capsys.readouterr().out) == server.variables
        assert tracekit(["env", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["rows"] == server.said["rows"]


def test_a_shell_that_takes_the_lines_has_the_variables() -> None:
    address = Address("http://127.0.0.1:4000", upstream="http://up stream/it's", token="t")  # noqa: S106  (a test's own)
    found = variables(address, {})
    wanted = {one.name: one.value for one in found}
    printed = subprocess.run(["sh", "-c", f"{spelt(found, 'sh')}\nenv -0"], capture_output=True, text=True, check=True).stdout
    seen = dict(pair.split("=", 1) for pair in printed.split("\0") if "=" in pair)
    assert {name: seen[name] for name in wanted} == wanted


def test_fish_takes_other_lines() -> None:
    assert spelt([Variable("NAME", r"it's a \ here")], "fish") == r"set -gx NAME 'it\'s a \\ here'"


def test_a_server_elsewhere_is_given_by_its_url(capsys: pytest.CaptureFixture[str]) -> None:
    assert tracekit(["env", "http://traces:4318/", "--token", "t"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "export ANTHROPIC_BASE_URL=http://traces:4318" in lines
    assert "export OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20t" in lines


def test_without_a_server_the_way_to_one_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert tracekit(["env"]) == 2
    assert "explain no-server" in capsys.readouterr().err


def test_what_a_dead_server_has_left_is_not_believed() -> None:
    with subprocess.Popen(["true"]) as dead:
        pass
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with announced(Address(url, pid=os.getpid())):
            assert running() == Address(url, pid=os.getpid())
            assert state_path().stat().st_mode & 0o077 == 0
        with announced(Address(url, pid=dead.pid)):
            assert running() is None
    with announced(Address(url, pid=os.getpid())):
        assert running() is None
    state_path().write_text("half a")
    assert running() is None


def test_a_server_does_not_take_back_what_another_has_said() -> None:
    with announced(Address("http://127.0.0.1:1", pid=1)), announced(Address("http://127.0.0.1:2", pid=2)):
        pass
    assert not state_path().exists()
    with announced(Address("http://127.0.0.1:1", pid=1)):
        state_path().write_text('{"url": "http://127.0.0.1:2", "pid": 2}')
    assert json.loads(state_path().read_text())["pid"] == 2
