"""The SDK itself over a transport of the user's own: what its callers get is unchanged, and all of it is on record."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.instrument.conftest import World
from tracekit.instrument.sdk.claude_agent import ClaudeAgentInstrumentor
from tracekit.instrument.sdk.mcp import McpInstrumentor
from tracekit.instrument.sdk.replacing import own_of

sdk: Any = pytest.importorskip("claude_agent_sdk", reason="the SDK is not here: pip install -e '.[realclient]'")
internal: Any = pytest.importorskip("claude_agent_sdk._internal.query")
one_shot: Any = pytest.importorskip("claude_agent_sdk._internal.client")
subprocess_cli: Any = pytest.importorskip("claude_agent_sdk._internal.transport.subprocess_cli")

Line = dict[str, Any]
S1 = "session-1"
CALL = "toolu_1"
DONE: Line = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "num_turns": 1,
    "duration_ms": 5,
    "duration_api_ms": 4,
    "session_id": S1,
}
INIT: Line = {"type": "system", "subtype": "init", "session_id": S1, "cwd": "/p", "claude_code_version": "2.1.332"}


class Scripted(sdk.Transport):  # type: ignore[misc]
    """A client that says its lines when it is prompted, and asks in between."""

    def __init__(self, *script: Line, error: Exception | None = None, answers: bool = True) -> None:
        self.script = [*script]
        self.error = error
        self.answers = answers
        self.written: list[Line] = []
        self.closed = 0
        self.label = "mine"
        self._lines: asyncio.Queue[Line | None] = asyncio.Queue()
        self._answered: dict[str, asyncio.Event] = {}

    async def connect(self) -> None:
        """Nothing is to be connected."""

    async def write(self, data: str) -> None:
        line = json.loads(data)
        self.written.append(line)
        if line["type"] == "control_request" and self.answers:
            self._lines.put_nowait(
                {"type": "control_response", "response": {"subtype": "success", "request_id": line["request_id"], "response": {}}}
            )
        if line["type"] == "control_response":
            self._answered.setdefault(line["response"]["request_id"], asyncio.Event()).set()
        if line["type"] == "user":
            asyncio.get_running_loop().create_task(self._play())

    async def _play(self) -> None:
        for line in self.script:
            self._lines.put_nowait(line)
            if line["type"] == "control_request":
                await self._answered.setdefault(line["request_id"], asyncio.Event()).wait()
        self._lines.put_nowait(DONE)
        if self.error is not None:
            self._lines.put_nowait(None)

    async def read_messages(self) -> AsyncIterator[Line]:
        while (line := await self._lines.get()) is not None:
            yield line
        if self.error is not None:
            raise self.error

    async def close(self) -> None:
        self.closed += 1
        self._lines.put_nowait(None)

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        if self.error is None:
            self._lines.put_nowait(None)


@pytest.fixture
def agent(world: World) -> Iterator[World]:
    # The SDK may lie on the path without having been installed.
    ClaudeAgentInstrumentor().instrument(skip_dep_check=True)
    yield world
    ClaudeAgentInstrumentor().uninstrument()


def ask(transport: Scripted, **options: Any) -> list[Any]:
    async def asking() -> list[Any]:
        return [message async for message in sdk.query(prompt="do it", options=sdk.ClaudeAgentOptions(**options), transport=transport)]

    return asyncio.run(asyncio.wait_for(asking(), 20))


def hook(callback: str = "hook_0") -> Line:
    given: Line = {"session_id": S1, "hook_event_name": "PreToolUse", "prompt_id": "prompt-1", "tool_name": "Bash", "tool_input": {}}
    return {
        "type": "control_request",
        "request_id": "h1",
        "request": {"subtype": "hook_callback", "callback_id": callback, "input": given, "tool_use_id": CALL},
    }


def mcp(request_id: str, method: str, number: int, **params: Any) -> Line:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return {
        "type": "control_request",
        "request_id": request_id,
        "request": {"subtype": "mcp_message", "server_name": "calc", "message": message},
    }


def hooked(callback: Any) -> dict[str, Any]:
    return {"PreToolUse": [sdk.HookMatcher(hooks=[callback])]}


def told(row: Line, *names: str) -> tuple[Any, ...]:
    return tuple(row["attributes"].get(f"tracekit.{name}") for name in names)


def test_a_one_shot_query(agent: World) -> None:
    got = ask(Scripted(INIT))
    assert [type(message).__name__ for message in got] == ["SystemMessage", "ResultMessage"]
    assert [(row["key"], row["status"]) for row in agent.closed("turn")] == [(f"turn:{S1}#1", "ok")]
    assert agent.one("session")["attributes"]["tracekit.project"] == "/p"


def test_a_client_that_stays(agent: World) -> None:
    async def talking() -> list[list[str]]:
        got: list[list[str]] = []
        async with sdk.ClaudeSDKClient(transport=Scripted(INIT)) as client:
            for _ in range(2):
                await client.query("do it")
                got.append([type(message).__name__ async for message in client.receive_response()])
        return got

    assert asyncio.run(asyncio.wait_for(talking(), 20)) == [["SystemMessage", "ResultMessage"]] * 2
    assert [row["key"] for row in agent.closed("turn")] == [f"turn:{S1}#1", f"turn:{S1}#2"]
    assert agent.one("session")["status"] == "ok"


@pytest.mark.usefixtures("agent")
def test_a_users_transport_stays_what_it_is() -> None:
    transport = Scripted(INIT)
    client = sdk.ClaudeSDKClient(transport=transport)
    assert isinstance(client._custom_transport, sdk.Transport)
    assert client._custom_transport.label == "mine"
    ask(transport)
    assert transport.closed == 1
    assert [line["type"] for line in transport.written] == ["control_request", "user"]


def test_a_hook_runs_in_its_own_span_and_says_what_it_decided(agent: World) -> None:
    from opentelemetry import trace

    seen: list[int] = []

    async def refuse(*_: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        seen.append(trace.get_current_span().get_span_context().span_id)
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no"}}

    ask(Scripted(INIT, hook()), hooks=hooked(refuse))
    assert told(agent.one("hook_reply"), "hook.transport", "hook.decision", "hook.outcome") == ("ok", "deny", "blocking")
    context = agent.span("hook_reply").context
    assert context is not None
    assert seen == [context.span_id]
    assert agent.one("turn")["key"] == "prompt-1"


@pytest.mark.parametrize(
    ("callback", "transport", "text"),
    [("hook_0", "error", "it exploded"), ("hook_7", "unknown_callback", "No hook callback found for ID: hook_7")],
)
def test_a_hook_that_gives_no_reply(callback: str, transport: str, text: str, agent: World) -> None:
    async def explode(*_: Any) -> dict[str, Any]:
        message = "it exploded"
        raise RuntimeError(message)

    ask(Scripted(INIT, hook(callback)), hooks=hooked(explode))
    assert told(agent.one("hook_reply"), "hook.transport", "hook.outcome", "error.text") == (transport, "error", text)


def test_a_permission_callback_is_a_wait(agent: World) -> None:
    async def allow(*_: Any) -> Any:
        agent.clock.advance(400)
        return sdk.PermissionResultAllow()

    request: Line = {"subtype": "can_use_tool", "tool_name": "Write", "input": {}, "tool_use_id": CALL}
    ask(Scripted(INIT, {"type": "control_request", "request_id": "p1", "request": request}), can_use_tool=allow)
    row = agent.one("permission_wait")
    assert (row["key"], row["end_ns"] - row["start_ns"], *told(row, "permission.decision")) == (CALL, 400, "accept")


def calc() -> Any:
    @sdk.tool("add", "adds", {"a": int, "b": int})  # type: ignore[untyped-decorator]
    async def add(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}

    @sdk.tool("boom", "fails", {})  # type: ignore[untyped-decorator]
    async def boom(_: dict[str, Any]) -> dict[str, Any]:
        message = "the handler failed"
        raise ValueError(message)

    return sdk.create_sdk_mcp_server("calc", tools=[add, boom])


GREETING: Line = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.mark.parametrize(
    ("tool", "arguments", "kind", "text"),
    [
        ("add", {"a": 1, "b": 2}, None, None),
        ("add", {"a": "x"}, "tool_error", "Input validation error"),
        ("nope", {}, "tool_error", "nope"),
        ("boom", {}, "tool_error", "the handler failed"),
    ],
)
def test_a_tool_in_the_process(tool: str, arguments: Line, kind: str | None, text: str | None, agent: World) -> None:
    call = mcp("m2", "tools/call", 2, name=tool, arguments=arguments, _meta={"claudecode/toolUseId": CALL})
    ask(Scripted(mcp("m1", "initialize", 1, **GREETING), INIT, call), mcp_servers={"calc": calc()})
    row = agent.one("mcp_call")
    assert (row["key"], row["name"], row["status"]) == (CALL, tool, "ok" if kind is None else "error")
    assert row["attributes"].get("error.type") == kind
    assert (text or "") in (row["attributes"].get("tracekit.error.text") or "")
    assert agent.one("mcp_connection")["attributes"]["tracekit.mcp.stage"] == "initialize"


def test_a_server_that_the_host_does_not_have(agent: World) -> None:
    ask(Scripted(INIT, mcp("m2", "tools/call", 2, name="add", arguments={})))
    row = agent.one("mcp_call")
    assert row["attributes"]["error.type"] == "-32601"


def test_the_servers_own_side_is_the_same_call_in_the_same_session(agent: World) -> None:
    McpInstrumentor().instrument()
    try:
        call = mcp("m2", "tools/call", 2, name="add", arguments={"a": 1, "b": 2}, _meta={"claudecode/toolUseId": CALL})
        ask(Scripted(mcp("m1", "initialize", 1, **GREETING), INIT, call), mcp_servers={"calc": calc()})
    finally:
        McpInstrumentor().uninstrument()
    assert [(row["session_id"], row["key"]) for row in agent.closed("mcp_call")] == [(S1, CALL)] * 2
    (ours,) = [span for span in agent.spans if span.name == "tools/call add" and span.kind.name == "CLIENT"]
    (theirs,) = [span for span in agent.spans if span.name == "tools/call add" and span.kind.name == "SERVER"]
    assert (ours.attributes or {})["tracekit.key"] == (theirs.attributes or {})["tracekit.key"] == CALL


def test_what_is_asked_of_the_client_is_marked(agent: World) -> None:
    async def talking() -> None:
        async with sdk.ClaudeSDKClient(transport=Scripted(INIT)) as client:
            await client.query("do it")
            _ = [message async for message in client.receive_response()]
            await client.set_permission_mode("plan")

    asyncio.run(asyncio.wait_for(talking(), 20))
    events = [name for _, name, _ in json.loads(agent.one("session")["events"])]
    assert events == ["set_permission_mode request", "set_permission_mode response"]


def test_a_client_that_does_not_answer_in_time(agent: World) -> None:
    async def talking() -> None:
        transport = Scripted(INIT)
        async with sdk.ClaudeSDKClient(transport=transport) as client:
            await client.query("do it")
            _ = [message async for message in client.receive_response()]
            transport.answers = False
            await client._query._send_control_request({"subtype": "interrupt"}, timeout=0.05)

    with pytest.raises(Exception, match="Control request timeout: interrupt"):
        asyncio.run(asyncio.wait_for(talking(), 20))
    assert told(agent.one("session"), "error.text", "result.is_error") == ("Control request timeout: interrupt", "true")


def test_what_breaks_is_what_the_host_gets(agent: World) -> None:
    with pytest.raises(sdk.ProcessError, match="exit code 3"):
        ask(Scripted(INIT, error=sdk.ProcessError("Command failed with exit code 3", exit_code=3)))
    assert agent.one("session")["attributes"]["error.type"] == "ProcessError"


def test_a_client_that_cannot_be_found(agent: World, tmp_path: Any) -> None:
    async def asking() -> None:
        async for _ in sdk.query(prompt="x", options=sdk.ClaudeAgentOptions(cli_path=str(tmp_path / "claude"), cwd=str(tmp_path))):
            pass

    with pytest.raises(sdk.CLINotFoundError):
        asyncio.run(asking())
    assert agent.one("session")["attributes"]["error.type"] == "CLINotFoundError"


# Both ways

OWNERS = [sdk.ClaudeSDKClient, one_shot.InternalClient, internal.Query, subprocess_cli.SubprocessCLITransport]


def test_instrumenting_and_taking_it_back_are_inverses(world: World) -> None:
    before = [own_of(owner) for owner in OWNERS]
    for _ in range(2):
        ClaudeAgentInstrumentor().instrument(skip_dep_check=True)
        changed = [name for owner, own in zip(OWNERS, before, strict=True) for name in own if own_of(owner)[name] is not own[name]]
        assert sorted(changed) == ["__init__", "_send_control_request", "close", "connect", "process_query", "read_messages", "write"]
        ClaudeAgentInstrumentor().uninstrument()
        assert all(own_of(owner)[name] is own[name] for owner, own in zip(OWNERS, before, strict=True) for name in own)
    ask(Scripted(INIT))
    assert world.rows() == []


def test_a_client_that_was_made_before_it_was_taken_back_goes_on(agent: World) -> None:
    client = sdk.ClaudeSDKClient(transport=Scripted(INIT))
    ClaudeAgentInstrumentor().uninstrument()

    async def talking() -> list[str]:
        async with client:
            await client.query("do it")
            return [type(message).__name__ async for message in client.receive_response()]

    assert asyncio.run(asyncio.wait_for(talking(), 20)) == ["SystemMessage", "ResultMessage"]
    assert agent.rows() == []
    ClaudeAgentInstrumentor().instrument(skip_dep_check=True)


def test_the_host_gets_the_same_with_and_without(world: World) -> None:
    plain = ask(Scripted(INIT))
    ClaudeAgentInstrumentor().instrument(skip_dep_check=True)
    try:
        assert ask(Scripted(INIT)) == plain
    finally:
        ClaudeAgentInstrumentor().uninstrument()
    assert len(world.closed("turn")) == 1


def test_a_spool_that_takes_nothing_harms_nobody(bare: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEKIT_STRICT", "0")
    bare.spool.write_text("a file", encoding="utf-8")
    bare.instrument()
    ClaudeAgentInstrumentor().instrument(skip_dep_check=True)
    try:
        assert [type(message).__name__ for message in ask(Scripted(INIT))] == ["SystemMessage", "ResultMessage"]
    finally:
        ClaudeAgentInstrumentor().uninstrument()
