"""`tracekit run` as a user meets it: the command's own streams and code, the summary on stderr, one line where something is wrong."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tracekit.capture.listener import Listener
from tracekit.store import open_store

LIMIT = 40.0
TRACEKIT = (sys.executable, "-c", "from tracekit.cli.main import main; main()")
MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "hidden words"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 2},
}
CLIENT = textwrap.dedent(
    """
    import json, os, sys, urllib.request
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "secret words"}]}).encode()
    headers = {"Content-Type": "application/json", "X-Claude-Code-Session-Id": "s1"}
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", body, headers)
    try:
        print(json.load(urllib.request.urlopen(request))["id"])
    except urllib.error.HTTPError as error:
        print(error.code)
        sys.exit(3)
    """
)


@pytest.fixture
def model() -> Generator[str]:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response(MESSAGE, headers={"request-id": "req_1"})

    def application() -> web.Application:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        return app

    with Listener(application) as listening:
        yield listening.url


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "PYTHONPATH", "LANG"}}
    return {**kept, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), **more}


def run(tmp_path: Path, *arguments: str, data: bytes = b"", **more: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*TRACEKIT, "run", *arguments], input=data, capture_output=True, timeout=LIMIT, check=False, env=environment(tmp_path, **more)
    )


def test_a_request_of_the_command_is_told_at_its_end_and_its_words_are_not_kept(tmp_path: Path, model: str) -> None:
    done = run(tmp_path, "--json", "--", sys.executable, "-c", CLIENT, ANTHROPIC_BASE_URL=model)
    assert (done.stdout, done.returncode) == (b"msg_1\n", 0)
    said = json.loads(done.stderr)
    assert said["sessions"] == ["s1"]
    assert (said["exit_code"], said["signal"], said["remarks"], said["failures"]) == (0, None, [], [])
    store = tmp_path / "state" / "tracekit" / "store.duckdb"
    with open_store(str(store)) as opened:
        (request,) = opened.rows("SELECT key, witnesses FROM boundaries WHERE boundary = 'model_request'")
    assert request == {"key": "req_1", "witnesses": "gateway"}
    kept = b"".join(path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file())
    assert b"req_1" in kept
    assert b"secret words" not in kept
    assert b"hidden words" not in kept


def test_words_are_kept_where_they_are_wanted(tmp_path: Path, model: str) -> None:
    run(tmp_path, "--content", "--no-summary", sys.executable, "-c", CLIENT, ANTHROPIC_BASE_URL=model)
    assert b"secret words" in b"".join(path.read_bytes() for path in (tmp_path / "state").rglob("*.spool.jsonl"))


def test_streams_and_exit_code_are_the_commands_and_without_a_summary_stderr_too(tmp_path: Path) -> None:
    done = run(tmp_path, "--no-summary", "--", "sh", "-c", "cat; echo mine >&2; exit 5", data=b"\x00\xffraw")
    assert (done.stdout, done.stderr, done.returncode) == (b"\x00\xffraw", b"mine\n", 5)


def test_options_behind_the_command_are_the_commands_also_without_a_double_dash(tmp_path: Path) -> None:
    done = run(tmp_path, "--no-summary", "echo", "--help", "--json", "--store")
    assert done.stdout == b"--help --json --store\n"


def test_a_command_that_no_witness_saw_is_said_to_be_one(tmp_path: Path) -> None:
    done = run(tmp_path, "--", "true")
    assert done.returncode == 0
    assert b"no model request" in done.stderr


def test_an_upstream_that_is_down_is_named_and_the_command_sees_it_as_such(tmp_path: Path) -> None:
    done = run(tmp_path, "--json", "--", sys.executable, "-c", CLIENT, ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    assert done.returncode == 3
    assert int(done.stdout) >= 500
    (failure,) = json.loads(done.stderr)["failures"]
    assert (failure["family"], failure["kind"]) == ("network", "connect")


@pytest.mark.parametrize(("command", "code", "slug"), [("no-such-program", 127, "command-not-found"), ("/", 126, "command-not-executable")])
def test_a_command_that_does_not_start_is_one_error_and_the_shells_code(tmp_path: Path, command: str, code: int, slug: str) -> None:
    done = run(tmp_path, "--", command)
    assert done.returncode == code
    assert done.stderr.decode().startswith("error: ")
    assert f"tracekit explain {slug}" in done.stderr.decode()


def test_a_command_that_is_killed_is_told_and_its_code_is_the_shells(tmp_path: Path) -> None:
    done = run(tmp_path, "--", "sh", "-c", "kill -KILL $$")
    assert done.returncode == 128 + signal.SIGKILL
    assert b"ended by SIGKILL" in done.stderr


def test_a_signal_reaches_the_command_whose_code_then_is_the_code(tmp_path: Path) -> None:
    command = [*TRACEKIT, "run", "--no-summary", "--", "sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.1; done"]
    with subprocess.Popen(command, env=environment(tmp_path), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 9


def test_a_store_that_cannot_be_loaded_costs_the_summary_and_nothing_else(tmp_path: Path, model: str) -> None:
    (tmp_path / "broken").write_bytes(b"no database" * 1000)
    done = run(tmp_path, "--store", str(tmp_path / "broken"), "--", sys.executable, "-c", CLIENT, ANTHROPIC_BASE_URL=model)
    assert (done.stdout, done.returncode) == (b"msg_1\n", 0)
    assert b"Nothing is lost" in done.stderr


def test_a_spool_that_cannot_be_written_costs_the_record_and_nothing_else(tmp_path: Path, model: str) -> None:
    (tmp_path / "spool").write_text("a file where the folder should be")
    spool = str(tmp_path / "spool")
    done = run(tmp_path, "--", sys.executable, "-c", CLIENT, ANTHROPIC_BASE_URL=model, TRACEKIT_SPOOL=spool)
    assert (done.stdout, done.returncode) == (b"msg_1\n", 0)
    assert b"observations are missing" in done.stderr


def test_stream_json_on_stdout_is_a_witness_and_passes_untouched(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"type": "system", "subtype": "init", "session_id": "s2", "model": "m", "cwd": "/p", "tools": []},
        {
            "type": "assistant",
            "session_id": "s2",
            "message": {"id": "msg_1", "model": "m", "content": [{"type": "text", "text": "secret"}]},
        },
        {"type": "result", "subtype": "success", "session_id": "s2", "is_error": False},
    ]
    data = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    done = run(tmp_path, "--json", "sh", "-c", "cat", "--output-format", "stream-json", data=data)
    assert done.stdout == data
    assert json.loads(done.stderr)["sessions"] == ["s2"]
    assert b"secret" not in b"".join(path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file())


def test_the_transcript_of_the_session_is_read_where_the_command_keeps_it(tmp_path: Path, model: str) -> None:
    entry = '{"type":"user","uuid":"u1","sessionId":"s1","timestamp":"2026-11-30T10:00:00.000Z","message":{"role":"user","content":"go"}}'
    for name in ("s1", "another"):
        path = tmp_path / "config" / "projects" / "-p" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(entry.replace('"s1"', f'"{name}"') + "\n")
    where = ("--no-summary", "--store", str(tmp_path / "store"))
    config = str(tmp_path / "config")
    run(tmp_path, *where, "--", sys.executable, "-c", CLIENT, ANTHROPIC_BASE_URL=model, CLAUDE_CONFIG_DIR=config)
    with open_store(str(tmp_path / "store")) as opened:
        assert {row["session_id"] for row in opened.rows("SELECT session_id FROM spans WHERE source = 'transcript'")} == {"s1"}
