"""The real client with hooks and a tapped MCP server: what they record, beside what the client's own telemetry says."""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.lab import client
from tests.lab.home import PROJECT, DemoHome
from tests.lab.script import Scenario, answer, bash, text, tool
from tests.lab.scripted_api import ScriptedApi
from tracekit.capture.hooks import add_routes
from tracekit.capture.hooks.entries import EVENTS, command_hooks, http_hooks, is_ours
from tracekit.capture.listener import Listener
from tracekit.capture.settings import install
from tracekit.ingest import import_paths
from tracekit.spool import Spool
from tracekit.store import open_store

pytestmark = pytest.mark.realclient

MS = 1_000_000
SCENARIO = Scenario(
    "A command, one that fails, a Write that is not allowed, and a call to a server.",
    (
        answer(bash("a", 0.5), bash("bad", 0.1, exit_code=3), tool("Write", file_path=f"{PROJECT}/new.txt", content="hi")),
        answer(tool("mcp__demo__add", a=1, b=2)),
        answer(text("all done", at_once=2)),
    ),
    tools="Bash mcp__demo__add",
    mcp="works",
)
RUN = "import sys; sys.path[:0] = {path!r}; from {module} import main; main()"

Row = dict[str, Any]


def script(path: Path, module: str) -> str:
    """A console script, also where tracekit is not installed."""
    path.write_text(f"#!{sys.executable}\n{RUN.format(path=sys.path, module=module)}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture(scope="module", params=["command", "http"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with hooks of one type: its spool, its telemetry, its transcript."""
    binary = client.binary()
    if binary is None:
        pytest.skip("the client is not here: pip install -e '.[realclient]'")
    out = tmp_path_factory.mktemp(request.param)
    (out / "otlp").mkdir()
    home, spool = DemoHome(out / "root"), out / "spool"
    scenario = replace(SCENARIO, environment={"TRACEKIT_SPOOL": str(spool)})

    def serve() -> web.Application:
        app = web.Application()
        add_routes(app, spool=Spool(spool, "hooks"))
        return app

    with ScriptedApi(scenario, out, localize=home.here) as api, Listener(serve) as listener:
        home.furnish(scenario, api.port)
        command = script(out / "tracekit-hook", "tracekit.capture.hook_main")
        url = f"{listener.url}/hook"
        hooks = command_hooks(EVENTS, command=command) if request.param == "command" else http_hooks(EVENTS, url, command=command)
        install(home.path / ".claude" / "settings.json", hooks, is_ours)
        tapped(home, script(out / "tracekit", "tracekit.cli.main"))
        assert client.Run(scenario, api, home).play(binary, out / "stream.jsonl") == 0
        time.sleep(1)
    import_paths([spool, out / "otlp", home.path / ".claude" / "projects"], str(out / "store"))
    return out


def tapped(home: DemoHome, tracekit: str) -> None:
    """Put the tap before the server in the client's configuration."""
    path = home.path / "mcp-config.json"
    servers = json.loads(path.read_text())
    server = servers["mcpServers"]["demo"]
    servers["mcpServers"]["demo"] = {"command": tracekit, "args": ["mcp-tap", "--name", "demo", "--", server["command"], *server["args"]]}
    path.write_text(json.dumps(servers))


def ask(folder: Path, sql: str) -> list[Row]:
    with open_store(str(folder / "store")) as store:
        return store.rows(sql)


def test_every_witness_tells_of_one_session(folder: Path) -> None:
    found = ask(folder, "SELECT DISTINCT source, session_id FROM spans ORDER BY source")
    assert [row["source"] for row in found if row["source"] != "gateway"] == ["hooks", "mcp_tap", "otel", "transcript"]
    assert len({row["session_id"] for row in found}) == 1


def test_what_hooks_say_of_a_tool_holds_what_telemetry_measured(folder: Path) -> None:
    found = ask(folder, "SELECT * FROM boundaries WHERE boundary = 'tool_execution' ORDER BY start_ns")
    assert [(row["name"], row["status"]) for row in found] == [("Bash", "ok"), ("Bash", "error"), ("mcp__demo__add", "ok")]
    for row in found:
        assert row["witnesses"] == "otel,hooks,transcript"
        # Telemetry has milliseconds.
        assert max(row["start_disagreement_ns"], row["end_disagreement_ns"]) <= 2 * MS


def test_turn_and_session_have_their_beginning_and_their_end(folder: Path) -> None:
    found = ask(folder, "SELECT boundary, start_ns, end_ns, start_slack_ns FROM spans WHERE source = 'hooks' AND end_ns IS NOT NULL")
    ended = {row["boundary"]: row for row in found if row["boundary"] in {"turn", "session"}}
    assert set(ended) == {"turn", "session"}
    assert ended["session"]["start_ns"] < ended["turn"]["start_ns"] < ended["turn"]["end_ns"] <= ended["session"]["end_ns"]
    assert all(row["start_slack_ns"] <= 3_000 * MS for row in ended.values())


def test_a_question_and_its_refusal_are_on_record_and_nothing_is_left_open(folder: Path) -> None:
    (wait,) = ask(folder, "SELECT * FROM boundaries WHERE boundary = 'permission_wait' AND name = 'Write'")
    assert "hooks" in wait["witnesses"]
    assert wait["end_ns"] is not None
    (call,) = ask(folder, "SELECT * FROM boundaries WHERE boundary = 'tool_schedule' AND name = 'Write'")
    assert (call["key"], "hooks" in call["witnesses"], call["end_ns"] is None) == (wait["key"], True, False)
    assert ask(folder, "SELECT boundary, key FROM boundaries WHERE end_ns IS NULL") == []


def test_the_tap_and_the_client_mean_the_same_call(folder: Path) -> None:
    (call,) = ask(folder, "SELECT * FROM boundaries WHERE boundary = 'mcp_call'")
    assert call["key"].startswith("toolu_")
    assert (call["witnesses"].split(",")[0], call["start_source"], call["status"]) == ("mcp_tap", "mcp_tap", "ok")
    (tool_run,) = ask(folder, "SELECT * FROM boundaries WHERE boundary = 'tool_execution' AND name LIKE 'mcp%'")
    assert tool_run["start_ns"] - 2 * MS <= call["start_ns"] <= call["end_ns"] <= tool_run["end_ns"] + 2 * MS
    connections = ask(folder, "SELECT * FROM spans WHERE boundary = 'mcp_connection' AND source = 'mcp_tap' AND end_ns IS NOT NULL")
    assert sorted(row["attributes"]["tracekit.mcp.status"] for row in connections) == ["connected", "disconnected"]
    assert call["session_id"] == connections[0]["session_id"]


def test_nothing_that_was_said_is_on_record(folder: Path) -> None:
    recorded = "".join(path.read_text() for path in (folder / "spool").iterdir())
    assert recorded
    assert not [words for words in ("please do it", "all done", "stamp.sh", "new.txt") if words in recorded]
