"""The real client: where it is, what it is told, and when each line of its stdout arrived."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any, Final

from tests.lab.home import DemoHome
from tests.lab.script import Scenario
from tests.lab.scripted_api import ScriptedApi

LONGEST_RUN: Final = 90.0


def binary() -> Path | None:
    """Find the client inside the claude-agent-sdk wheel; None when that is not installed."""
    spec = importlib.util.find_spec("claude_agent_sdk")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "_bundled" / "claude"
    return path if path.exists() else None


def version(client: Path) -> str:
    """Ask the client for its version, such as `2.1.332`."""
    said = subprocess.run([client, "--version"], capture_output=True, text=True, check=True, timeout=60)
    return said.stdout.split()[0]


def command(client: Path, scenario: Scenario, home: DemoHome) -> list[str]:
    """Headless, prompts on stdin, every event on stdout."""
    return [
        str(client),
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--verbose",
        "--include-partial-messages",
        "--include-hook-events",
        "--model",
        "claude-sonnet-4-5",
        "--allowedTools",
        scenario.tools,
        *home.options,
        *scenario.options,
    ]


def environment(scenario: Scenario, home: DemoHome, port: int) -> dict[str, str]:
    """Nothing of this machine but the interpreter's folder: model, telemetry and hooks are all on the one port."""
    here = f"http://127.0.0.1:{port}"
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(home.path),
        "TMPDIR": str(home.path / "tmp"),
        "CLAUDE_CODE_TMPDIR": str(home.path / "tmp"),
        "LANG": "C.UTF-8",
        "ANTHROPIC_BASE_URL": here,
        "ANTHROPIC_API_KEY": "sk-scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
        "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1",
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_EXPORTER_OTLP_ENDPOINT": here,
        "OTEL_LOGS_EXPORT_INTERVAL": "1000",
        "OTEL_TRACES_EXPORT_INTERVAL": "1000",
        "OTEL_LOG_TOOL_DETAILS": "1",
        **scenario.environment,
    }


class Run:
    """One process of the client, from its start to its end."""

    def __init__(self, scenario: Scenario, api: ScriptedApi, home: DemoHome) -> None:
        self._scenario = scenario
        self._api = api
        self._home = home
        self._prompts = iter(scenario.prompts)

    def play(self, client: Path, stamped: Path) -> int:
        """Run the client to its end, or to the end that the scenario has for it, and give its exit code."""
        process = subprocess.Popen(
            command(client, self._scenario, self._home),
            env=environment(self._scenario, self._home, self._api.port),
            cwd=self._home.project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        limit = threading.Timer(LONGEST_RUN, process.kill)
        limit.start()
        if self._scenario.killed_after is not None:
            threading.Thread(target=self._kill, args=(process, self._scenario.killed_after), daemon=True).start()
        try:
            self._converse(process, stamped)
            return process.wait()
        finally:
            limit.cancel()
            process.kill()
            process.wait()
            _end_group(process.pid)

    def _converse(self, process: subprocess.Popen[bytes], stamped: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._type_next(process.stdin)
        if self._scenario.interrupted_after is not None:
            threading.Thread(target=self._interrupt, args=(process.stdin, self._scenario.interrupted_after), daemon=True).start()
        with stamped.open("w", encoding="utf-8") as out:
            for line in process.stdout:
                if _stamp(line, out).get("type") == "result":
                    self._type_next(process.stdin)

    def _type_next(self, stdin: IO[bytes]) -> None:
        prompt = next(self._prompts, None)
        if prompt is None:
            stdin.close()
            return
        message = {"type": "user", "message": {"role": "user", "content": prompt}}
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()

    def _interrupt(self, stdin: IO[bytes], after: float) -> None:
        if self._api.last_answer_began.wait(LONGEST_RUN):
            time.sleep(after)
            request = {"type": "control_request", "request_id": "interrupt", "request": {"subtype": "interrupt"}}
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()

    def _kill(self, process: subprocess.Popen[bytes], after: float) -> None:
        if self._api.last_answer_began.wait(LONGEST_RUN):
            time.sleep(after)
            process.kill()


def _stamp(line: bytes, out: IO[str]) -> dict[str, Any]:
    arrival_ns = time.time_ns()
    said: dict[str, Any] = json.loads(line)
    out.write(json.dumps({"arrival_ns": arrival_ns, "line": said}, ensure_ascii=False) + "\n")
    return said


def _end_group(pid: int) -> None:
    """End what a killed client left running; the client leads a process group of its own."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
