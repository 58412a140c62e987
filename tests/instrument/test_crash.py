"""An agent that is killed at any boundary: all that was open is in the spool, and `stuck` names it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from tracekit.analysis.stuck import stuck
from tracekit.ingest import import_paths
from tracekit.store import open_store

ROOT: Final = Path(__file__).parents[2]
AGENT: Final = """
import os, pathlib, signal, sys
import tracekit
from tracekit.instrument import *

tracekit.instrument(spool=pathlib.Path(sys.argv[1]), libraries=())
at = sys.argv[2]

def here(name):
    if at == name:
        os.kill(os.getpid(), signal.SIGKILL)

with session("s"):
    with mcp_connection("calc", "pipe") as connection:
        connection.stage("initialize")
        here("mcp_connection")
    with turn("p"):
        here("turn")
        with compaction("auto") as made:
            made.stage("summarize")
            here("compaction")
        with model_request("m", stream=True) as request:
            with request.attempt() as attempt:
                here("request_attempt")
                attempt.answered(529)
            with request.retry_wait(delay_ns=2_000_000_000):
                here("retry_wait")
            request.attempt().start().answered(200, {"request-id": "req_1"})
            request.first_byte()
            here("model_request")
            request.response(id="msg_1")
            request.event("message_start")
            request.event("content_block_start", 0, block_type="tool_use", tool_use_id="toolu_1", tool_name="mcp__calc__add")
            here("stream_event")
            request.event("content_block_stop", 0)
            request.event("message_stop")
        with tool_schedule("mcp__calc__add", "toolu_1", request=request) as call:
            with hook_reply("PreToolUse", "guard"):
                here("hook_reply")
            here("tool_schedule")
            with call.permission_wait() as wait:
                here("permission_wait")
                wait.decided("accept")
            with call.execution():
                here("tool_execution")
                with mcp_call("calc", "add"):
                    here("mcp_call")
        with tool_schedule("Task", "toolu_2") as call, call.execution(), subagent("a1", "explorer"):
            here("subagent")
            with model_request("m"):
                here("request of subagent")
"""

FORKING: Final = """
import os, pathlib, sys
import tracekit
from tracekit.instrument import *

tracekit.instrument(spool=pathlib.Path(sys.argv[1]), libraries=())
with session("s"), turn("p"):
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            with model_request("m"):
                pass
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
"""


OPEN: Final = {
    "mcp_connection": ({"session", "mcp_connection"}, "mcp initialize"),
    "compaction": ({"session", "turn", "compaction"}, "compaction"),
    "request_attempt": ({"session", "turn", "model_request", "request_attempt"}, "first byte"),
    "retry_wait": ({"session", "turn", "model_request", "retry_wait"}, "retry wait"),
    "model_request": ({"session", "turn", "model_request", "request_attempt"}, "mid-stream"),
    "stream_event": ({"session", "turn", "model_request", "request_attempt", "stream_event"}, "mid-stream"),
    "hook_reply": ({"session", "turn", "tool_schedule", "hook_reply"}, "hook"),
    "tool_schedule": ({"session", "turn", "tool_schedule"}, "unknown"),
    "permission_wait": ({"session", "turn", "tool_schedule", "permission_wait"}, "permission"),
    "tool_execution": ({"session", "turn", "tool_schedule", "tool_execution"}, "mcp"),
    "mcp_call": ({"session", "turn", "tool_schedule", "tool_execution", "mcp_call"}, "mcp call"),
    "request of subagent": (
        {"session", "turn", "tool_schedule", "tool_execution", "subagent", "model_request"},
        "first byte",
    ),
}
"""Where it is killed: what is open then, and what `stuck` says that it waits for."""


@pytest.mark.parametrize("at", OPEN)
def test_what_was_open_when_the_agent_was_killed_is_known_and_named(at: str, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    command = [sys.executable, "-c", AGENT, str(spool), at]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")
    store_path = str(tmp_path / "store.duckdb")
    import_paths([spool], store_path)
    with open_store(store_path) as store:
        left = {row["boundary"] for row in store.rows("SELECT DISTINCT boundary FROM boundaries WHERE end_ns IS NULL")}
        waits = stuck(store, as_of_ns=time.time_ns() + 3_600_000_000_000)
    expected, named = OPEN[at]
    assert left == expected
    assert named in {wait.verdict for wait in waits}, [(wait.verdict, wait.could_be, wait.boundary, wait.because) for wait in waits]
    assert {wait.witnesses for wait in waits} == {"instrument"}
    # Where nothing but the call is open, whoever runs it has the next step, and a person or a server of it may have been asked unseen.
    assert all(wait.boundary == "tool_schedule" and "client" in wait.could_be for wait in waits if wait.verdict == "unknown")


def test_processes_that_an_agent_forks_are_told_apart(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    subprocess.run([sys.executable, "-c", FORKING, str(spool)], cwd=ROOT, check=True, timeout=60)
    assert len(list(spool.iterdir())) == 4
    store_path = str(tmp_path / "store.duckdb")
    import_paths([spool], store_path)
    with open_store(store_path) as store:
        rows = store.rows("SELECT key, parent_key, end_ns FROM boundaries WHERE boundary = 'model_request'")
    assert len({row["key"] for row in rows}) == 3
    assert all(row["parent_key"] == "p" and row["end_ns"] is not None for row in rows)
