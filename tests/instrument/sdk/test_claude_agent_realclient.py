"""The real client under the SDK, against the scripted API: what the instrumentor records, beside what the server knows to be true."""

import asyncio
import time
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from tests.lab import client as lab
from tests.lab import judge
from tests.lab.home import PROJECT, DemoHome
from tests.lab.script import Ending, Scenario, answer, bash, tail, text, tool
from tests.lab.scripted_api import ScriptedApi
from tracekit.analysis.sessions import sessions
from tracekit.analysis.stuck import stuck
from tracekit.ingest import import_paths
from tracekit.instrument import instrument, uninstrument
from tracekit.instrument.sdk.claude_agent import ClaudeAgentInstrumentor
from tracekit.store import open_store

pytestmark = pytest.mark.realclient
sdk: Any = pytest.importorskip("claude_agent_sdk", reason="the SDK is not here: pip install -e '.[realclient]'")

MS = 1_000_000
S = 1_000 * MS
SCENARIO = Scenario(
    "A tool under its stream, two tools of the host, a Write that the host does not allow; then another prompt.",
    (
        answer(
            text("look at it"),
            bash("a", 0.5),
            tool("mcp__calc__add", a=1, b=2),
            tool("mcp__calc__boom"),
            tool("Write", file_path=f"{PROJECT}/new.txt", content="hi"),
            tail(1.0),
        ),
        answer(text("all done")),
        answer(text("a second answer")),
    ),
    prompts=("please do it", "and more"),
)

Row = dict[str, Any]


def calc() -> Any:
    @sdk.tool("add", "adds", {"a": int, "b": int})  # type: ignore[untyped-decorator]
    async def add(arguments: Row) -> Row:
        return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}

    @sdk.tool("boom", "fails", {})  # type: ignore[untyped-decorator]
    async def boom(_: Row) -> Row:
        message = "the handler failed"
        raise ValueError(message)

    return sdk.create_sdk_mcp_server("calc", tools=[add, boom])


def options(home: DemoHome, port: int) -> Any:
    async def before(asked: Row, *_: Any) -> Row:
        await asyncio.sleep(0.1)
        return (
            {} if asked["tool_name"] != "Bash" else {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
        )

    async def after(*_: Any) -> Row:
        message = "the hook exploded"
        raise RuntimeError(message)

    async def may_use(name: str, *_: Any) -> Any:
        await asyncio.sleep(0.2)
        return sdk.PermissionResultDeny(message="no writing") if name == "Write" else sdk.PermissionResultAllow()

    return sdk.ClaudeAgentOptions(
        cwd=str(home.project),
        env=lab.environment(SCENARIO, home, port),
        model="claude-sonnet-4-5",
        include_partial_messages=True,
        mcp_servers={"calc": calc()},
        can_use_tool=may_use,
        hooks={"PreToolUse": [sdk.HookMatcher(hooks=[before])], "PostToolUse": [sdk.HookMatcher(matcher="Bash", hooks=[after])]},
        setting_sources=[],
    )


async def converse(settings: Any) -> int:
    count = 0
    async with sdk.ClaudeSDKClient(settings) as client:
        for prompt in SCENARIO.prompts:
            await client.query(prompt)
            async for _ in client.receive_response():
                count += 1
        await client.set_permission_mode("acceptEdits")
    return count


async def ask_once(settings: Any) -> int:
    async def prompts() -> AsyncIterator[Row]:
        yield {"type": "user", "message": {"role": "user", "content": SCENARIO.prompts[0]}, "parent_tool_use_id": None}

    return len([message async for message in sdk.query(prompt=prompts(), options=settings)])


@pytest.fixture(scope="module", params=[converse, ask_once], ids=["client", "query"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run: its spool, and the server's truth."""
    if lab.binary() is None:
        pytest.skip("the client is not here: pip install -e '.[realclient]'")
    out = tmp_path_factory.mktemp(request.param.__name__)
    (out / "otlp").mkdir()
    home = DemoHome(out / "root")
    instrument(spool=out / "spool", libraries=(), tracer_provider=TracerProvider(shutdown_on_exit=False))
    ClaudeAgentInstrumentor().instrument(skip_dep_check=True)
    try:
        with ScriptedApi(SCENARIO, out, localize=home.here) as api:
            home.furnish(SCENARIO, api.port)
            settings = options(home, api.port)
            (out / "messages").write_text(str(asyncio.run(asyncio.wait_for(request.param(settings), 80))))
    finally:
        ClaudeAgentInstrumentor().uninstrument()
        uninstrument()
    import_paths([out / "spool"], str(out / "store.duckdb"))
    return out


def seen(run: Path, sql: str) -> list[Row]:
    with open_store(str(run / "store.duckdb")) as store:
        return store.rows(sql)


def own(run: Path, boundary: str) -> list[Row]:
    return seen(run, f"SELECT * FROM boundaries WHERE boundary = '{boundary}' ORDER BY start_ns, key")  # noqa: S608  (a name of ours)


def is_client(run: Path) -> bool:
    return run.name.startswith("converse")


def test_all_witnesses_are_one_session(run: Path) -> None:
    with open_store(str(run / "store.duckdb")) as store:
        (found,) = sessions(store)
        assert list(stuck(store, as_of_ns=time.time_ns())) == []
    assert found.witnesses == "instrument,stream_json"
    assert (found.turns, found.tool_calls, found.tool_errors) == (2 if is_client(run) else 1, 4, 2)
    assert (found.verified, found.messages) == (None, 3 if is_client(run) else 2)


def test_each_response_is_one_turn_for_both_witnesses(run: Path) -> None:
    turns = own(run, "turn")
    assert [turn["witnesses"] for turn in turns] == ["instrument,stream_json"] * len(turns)
    # A client that still connects reads its prompt later than it was written.
    assert all(turn["start_disagreement_ns"] < 1 * S for turn in turns)
    assert all(turn["end_disagreement_ns"] == 0 for turn in turns)
    assert [turn["status"] for turn in turns] == ["ok"] * len(turns)
    assert all(turn["end_ns"] <= later["start_ns"] for turn, later in pairwise(turns))
    # A hook told the id of the first prompt.
    assert turns[0]["key"] == turns[0]["attributes"]["tracekit.prompt.id"]
    requests = {turn["key"]: 0 for turn in turns}
    for request in own(run, "model_request"):
        requests[request["parent_key"]] += 1
    assert list(requests.values()) == ([2, 1] if is_client(run) else [2])


def test_requests_are_those_that_the_server_read(run: Path) -> None:
    truth = judge.truth(run)["requests"]
    found = own(run, "model_request")
    assert [request["key"] for request in found] == [request["request_id"] for request in truth]
    for request, true in zip(found, truth, strict=True):
        assert abs(request["start_ns"] - true["read_ns"]) < 1 * S
        assert abs(request["end_ns"] - true["message_stop_ns"]) < 1 * S


def test_hooks_are_what_the_host_answered(run: Path) -> None:
    found = [
        (hook["name"], *(hook["attributes"].get(f"tracekit.hook.{part}") for part in ("transport", "decision", "outcome")))
        for hook in own(run, "hook_reply")
    ]
    assert sorted(found, key=str) == [
        ("PostToolUse:Bash", "error", None, "error"),
        ("PreToolUse:Bash", "ok", "allow", "success"),
        ("PreToolUse:Write", "ok", "none", "success"),
        ("PreToolUse:mcp__calc__add", "ok", "none", "success"),
        ("PreToolUse:mcp__calc__boom", "ok", "none", "success"),
    ]
    assert all(hook["end_ns"] - hook["start_ns"] >= 100 * MS for hook in own(run, "hook_reply") if hook["name"].startswith("Pre"))
    calls = {call["key"] for call in own(run, "tool_schedule")}
    assert {hook["parent_key"] for hook in own(run, "hook_reply")} <= calls


def test_permission_is_waited_for_as_long_as_the_host_takes(run: Path) -> None:
    waits = {wait["name"]: wait for wait in own(run, "permission_wait")}
    assert {name: wait["attributes"]["tracekit.permission.decision"] for name, wait in waits.items()} == {
        "Write": "reject",
        "mcp__calc__add": "accept",
        "mcp__calc__boom": "accept",
    }
    assert all(200 * MS <= wait["end_ns"] - wait["start_ns"] < 2 * S for wait in waits.values())


def test_tools_of_the_host_are_called_inside_their_execution(run: Path) -> None:
    calls = {call["name"]: call for call in own(run, "mcp_call")}
    assert {name: (call["status"], call["witnesses"]) for name, call in calls.items()} == {
        "add": ("ok", "instrument,stream_json"),
        "boom": ("error", "instrument,stream_json"),
    }
    assert calls["boom"]["attributes"]["tracekit.error.text"] == "the handler failed"
    executions = {execution["key"]: execution for execution in own(run, "tool_execution")}
    for call in calls.values():
        execution = executions[call["key"]]
        assert execution["start_ns"] <= call["start_ns"] <= call["end_ns"] <= execution["end_ns"]
        # What the host itself ran is measured.
        assert (execution["start_source"], execution["start_slack_ns"]) == ("instrument", 0)


def test_the_servers_of_the_host_are_greeted_and_asked_for_their_tools(run: Path) -> None:
    found = [
        (one["attributes"]["tracekit.mcp.stage"], one["attributes"]["tracekit.mcp.status"], one["status"])
        for one in own(run, "mcp_connection")
    ]
    assert found == [("initialize", "connected", "ok"), ("tools/list", "connected", "ok")]


def test_nothing_that_was_said_is_kept(run: Path) -> None:
    kept = "".join(file.read_text(encoding="ascii") for file in (run / "spool").iterdir())
    said = (*SCENARIO.prompts, "look at it", "all done", "a second answer", "new.txt", "sh stamp.sh")
    assert [words for words in said if words in kept] == []
    assert "no writing" in kept  # an error's own text is


def test_an_interrupt_of_the_host_ends_its_response(tmp_path: Path) -> None:
    if lab.binary() is None:
        pytest.skip("the client is not here: pip install -e '.[realclient]'")
    scenario = Scenario("The model falls silent.", (answer(text("let me think about it"), ending=Ending.SILENCE),))
    (tmp_path / "otlp").mkdir()
    home = DemoHome(tmp_path / "root")

    async def interrupting(settings: Any) -> None:
        async with sdk.ClaudeSDKClient(settings) as client:
            await client.query("please do it")
            async for message in client.receive_response():
                if isinstance(message, sdk.StreamEvent) and message.event["type"] == "content_block_delta":
                    await client.interrupt()

    instrument(spool=tmp_path / "spool", libraries=(), tracer_provider=TracerProvider(shutdown_on_exit=False))
    ClaudeAgentInstrumentor().instrument(skip_dep_check=True)
    try:
        with ScriptedApi(scenario, tmp_path, localize=home.here) as api:
            home.furnish(scenario, api.port)
            asyncio.run(asyncio.wait_for(interrupting(options(home, api.port)), 60))
    finally:
        ClaudeAgentInstrumentor().uninstrument()
        uninstrument()
    import_paths([tmp_path / "spool"], str(tmp_path / "store.duckdb"))
    (turn,) = own(tmp_path, "turn")
    assert (turn["status"], turn["witnesses"]) == ("cancelled", "instrument,stream_json")
    assert turn["attributes"]["tracekit.turn.interrupted"] == "streaming"
    assert int(turn["attributes"]["tracekit.turn.interrupts"]) >= 1
    events = seen(tmp_path, "SELECT events FROM spans WHERE boundary = 'turn' AND source = 'instrument' AND end_ns IS NOT NULL")
    assert '"interrupt request"' in events[0]["events"]
    assert '"interrupt response"' in events[0]["events"]
