"""A client and a server of the `mcp` package, with the tap between them."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.capture.mcp_tap.talk import TAP, closed, rows

pytestmark = pytest.mark.realclient

SERVER = """\
from mcp.server import MCPServer

server = MCPServer("sums")


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


@server.tool()
def boom() -> str:
    raise ValueError("boom")


server.run()
"""


def test_the_package_notices_nothing_and_is_on_record(tmp_path: Path) -> None:
    mcp = pytest.importorskip("mcp", reason="comes with the extra `realclient`")
    (tmp_path / "sums.py").write_text(SERVER)

    async def talk(command: list[str]) -> tuple[list[str], str, bool]:
        server = mcp.StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
        async with mcp.Client(server) as client:
            tools = await client.list_tools()
            added, failed = await client.call_tool("add", {"a": 1, "b": 2}), await client.call_tool("boom")
            return [tool.name for tool in tools.tools], added.content[0].text, failed.is_error

    direct = [sys.executable, str(tmp_path / "sums.py")]
    tapped = asyncio.run(asyncio.wait_for(talk([sys.executable, "-c", TAP, str(tmp_path / "spool"), *direct]), 60))
    assert tapped == asyncio.run(asyncio.wait_for(talk(direct), 60)) == (["add", "boom"], "3", True)
    calls = {row["name"]: row for row in closed(tmp_path / "spool", "mcp_call")}
    assert {name: call["status"] for name, call in calls.items()} == {"add": "ok", "boom": "error"}
    assert calls["boom"]["attributes"]["tracekit.error.text"].startswith("Error executing tool boom")
    connected, left = closed(tmp_path / "spool", "mcp_connection")
    assert (connected["status"], connected["attributes"]["tracekit.mcp.status"]) == ("ok", "connected")
    assert left["attributes"]["tracekit.mcp.status"] == "disconnected"
    assert connected["end_ns"] <= calls["add"]["start_ns"] < calls["add"]["end_ns"] <= left["start_ns"]
    assert len(rows(tmp_path / "spool")) > 4
