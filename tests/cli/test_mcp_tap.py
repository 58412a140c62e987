"""`tracekit mcp-tap`: the command line around a server."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tracekit.cli.main import run
from tracekit.spool import SUFFIX

TRACEKIT = [sys.executable, "-c", "from tracekit.cli.main import main; main()"]


def tapped(
    spool: Path, *arguments: str, sent: bytes = b"", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    inherited = {name: value for name, value in os.environ.items() if name != "CLAUDE_CODE_SESSION_ID"}
    settings = {**inherited, "TRACEKIT_SPOOL": str(spool), **(environment or {})}
    return subprocess.run([*TRACEKIT, "mcp-tap", *arguments], input=sent, capture_output=True, check=False, timeout=60, env=settings)


def rows(spool: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(spool.glob(f"*{SUFFIX}")) for line in path.read_text().splitlines()]


def test_bytes_and_the_exit_code_are_the_servers(tmp_path: Path) -> None:
    done = tapped(tmp_path, "--", "sh", "-c", "cat; echo oops >&2; exit 5", sent=b"\x00bytes\xff")
    assert (done.returncode, done.stdout, done.stderr) == (5, b"\x00bytes\xff", b"oops\n")


@pytest.mark.parametrize(
    ("arguments", "environment", "name", "session_id"),
    [
        (["--name", "demo", "--", "cat"], {"CLAUDE_CODE_SESSION_ID": "s1"}, "demo", "s1"),
        (["--", "cat", "-u"], {}, "cat", "mcp:cat"),
        # Without `--` too, what follows the program is the program's.
        (["--name=demo", "cat", "-u"], {}, "demo", "mcp:demo"),
    ],
)
def test_a_server_has_a_name_and_a_session(
    tmp_path: Path, arguments: list[str], environment: dict[str, str], name: str, session_id: str
) -> None:
    assert tapped(tmp_path, *arguments, environment=environment).returncode == 0
    assert {(row["name"], row["session_id"]) for row in rows(tmp_path)} == {(name, session_id)}


def test_a_server_that_is_not_there_is_an_error_with_a_page(tmp_path: Path) -> None:
    done = tapped(tmp_path, "--", "/nowhere/server")
    assert (done.returncode, done.stdout) == (127, b"")
    assert b"cannot start /nowhere/server" in done.stderr
    assert b"tracekit explain server-not-started" in done.stderr


def test_without_a_server_there_is_nothing_to_tap(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["mcp-tap"]) == 2
    assert "Missing argument" in capsys.readouterr().err
