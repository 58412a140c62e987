"""Running a tapped server and talking to it."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tracekit.spool import SUFFIX

SERVER: Final = [sys.executable, str(Path(__file__).with_name("server.py"))]
TAP: Final = """\
import os, sys
from pathlib import Path
from tracekit.capture.mcp_tap import tap
from tracekit.capture.mcp_tap.calls import Server
from tracekit.spool import Spool
sys.exit(tap(sys.argv[2:], server=Server("demo", "s1"), spool=Spool(Path(sys.argv[1]), "mcp")))
"""
"""The tap without its command line, which takes longer to start."""
TIMEOUT: Final = 30.0

Json = dict[str, Any]

INITIALIZE: Final[Json] = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}},
}
INITIALIZED: Final[Json] = {"jsonrpc": "2.0", "method": "notifications/initialized"}
TOOLS: Final[Json] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
GREETING: Final[tuple[Json, ...]] = (INITIALIZE, INITIALIZED, TOOLS)


def tool(number: object, name: str, tool_use_id: str | None = None, **arguments: Any) -> Json:
    """A request to call a tool."""
    params: Json = {"name": name, "arguments": arguments}
    if tool_use_id is not None:
        params["_meta"] = {"claudecode/toolUseId": tool_use_id}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def written(*messages: object) -> bytes:
    """Messages as lines."""
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


class Tapped:
    """A server under the tap, with its client's ends of the pipes."""

    def __init__(self, spool: Path, command: Sequence[str] = SERVER) -> None:
        words = [sys.executable, "-c", TAP, str(spool), *command]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)

    def send(self, *messages: object) -> None:
        """Write messages to the server."""
        assert self.process.stdin is not None
        self.process.stdin.write(written(*messages))

    def hear(self) -> Any:
        """Read one message of the server."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def greet(self) -> None:
        """Do what clients do first."""
        self.send(*GREETING)
        assert [self.hear()["id"], self.hear()["id"]] == [0, 1]

    def end(self) -> int:
        """Close the server's stdin, and give the exit code of the tap."""
        self.process.communicate(timeout=TIMEOUT)
        return self.process.returncode


def run(spool: Path, sent: bytes, command: Sequence[str] = SERVER, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Send something, end, and give what came."""
    settings = {**os.environ, **environment}
    words = [sys.executable, "-c", TAP, str(spool), *command]
    return subprocess.run(words, input=sent, capture_output=True, check=False, timeout=TIMEOUT, env=settings)


def rows(spool: Path) -> list[dict[str, Any]]:
    """Everything that was recorded, in order."""
    return [json.loads(line) for path in sorted(spool.glob(f"*{SUFFIX}")) for line in path.read_text().splitlines()]


def closed(spool: Path, boundary: str) -> list[dict[str, Any]]:
    """The ended observations of a kind."""
    return [row for row in rows(spool) if row["boundary"] == boundary and row["end_ns"] is not None]
