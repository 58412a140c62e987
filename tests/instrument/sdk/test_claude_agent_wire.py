"""One client as its transport sees it, without the SDK: what its lines and its host's answers tell, and at which times."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from tests.instrument.conftest import World
from tracekit.analysis.stuck import stuck
from tracekit.ingest import import_paths
from tracekit.instrument import current
from tracekit.instrument.sdk.claude_agent.wire import Wire
from tracekit.store import open_store

Line = dict[str, Any]
S1 = "session-1"
CALL = "toolu_1"


def system(subtype: str, **fields: Any) -> Line:
    return {"type": "system", "subtype": subtype, "session_id": S1, **fields}


def result(**fields: Any) -> Line:
    told = {"subtype": "success", "is_error": False, "terminal_reason": "completed", "total_cost_usd": 0.25, "result": "done"}
    return {"type": "result", "session_id": S1, **told, **fields}


def hook(request_id: str, *, callback: str = "hook_0", event: str = "PreToolUse", **given: Any) -> Line:
    told = {"session_id": S1, "hook_event_name": event, "prompt_id": "prompt-1", "tool_name": "Bash", **given}
    request = {"subtype": "hook_callback", "callback_id": callback, "input": told, "tool_use_id": CALL}
    return {"type": "control_request", "request_id": request_id, "request": request}


def may_use(request_id: str, **fields: Any) -> Line:
    request = {"subtype": "can_use_tool", "tool_name": "Write", "input": {"content": "secret plans"}, "tool_use_id": CALL, **fields}
    return {"type": "control_request", "request_id": request_id, "request": request}


def mcp(request_id: str, method: str, number: int | None = 1, **params: Any) -> Line:
    message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
    request = {"subtype": "mcp_message", "server_name": "calc", "message": message}
    return {"type": "control_request", "request_id": request_id, "request": request}


def tool_call(request_id: str, name: str = "add") -> Line:
    return mcp(request_id, "tools/call", name=name, arguments={"a": 1}, _meta={"claudecode/toolUseId": CALL})


class Client:
    """A client that says its lines at given times, and a host that answers in between."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._steps: list[tuple[int, Line | Exception | Callable[[], None]]] = []
        self.wire = Wire(world.clock())

    def says(self, line: Line, *, after: int = 10) -> "Client":
        self._steps.append((after, line))
        return self

    def breaks(self, error: Exception) -> "Client":
        self._steps.append((10, error))
        return self

    def does(self, step: Callable[[], None], *, after: int = 10) -> "Client":
        self._steps.append((after, step))
        return self

    def host(self, line: Line, *, after: int = 10) -> "Client":
        return self.does(lambda: self.wire.writing(json.dumps(line) + "\n"), after=after)

    def prompt(self, words: str = "do it", *, after: int = 10) -> "Client":
        return self.host({"type": "user", "message": {"role": "user", "content": words}, "session_id": "default"}, after=after)

    def answer(self, request_id: str, reply: Line | None = None, *, error: str | None = None, after: int = 10) -> "Client":
        told = {"subtype": "success", "response": reply} if error is None else {"subtype": "error", "error": error}
        return self.host({"type": "control_response", "response": {"request_id": request_id, **told}}, after=after)

    async def _lines(self) -> AsyncIterator[Line]:
        for after, step in self._steps:
            self._world.clock.advance(after)
            if isinstance(step, Exception):
                raise step
            if callable(step):
                step()
            else:
                yield step

    def run(self, *, close: bool = True, each: Callable[[Line], None] = lambda _: None) -> list[Line]:
        got: list[Line] = []

        async def reading() -> None:
            async for line in self.wire.reading(self._lines()):
                got.append(line)
                each(line)

        asyncio.run(reading())
        if close:
            self.wire.closed()
        return got


@pytest.fixture
def client(world: World) -> Client:
    return Client(world)


def turns(world: World) -> list[tuple[str, int, int, str]]:
    return [(row["key"], row["start_ns"], row["end_ns"], row["status"]) for row in world.closed("turn")]


def lines(world: World) -> list[Line]:
    (file,) = world.spool.glob("claude-agent-*.spool.jsonl")
    return [json.loads(line) for line in file.read_text(encoding="ascii").splitlines()]


# Lines


def test_every_line_passes_as_it_is_and_is_kept_with_its_arrival(world: World, client: Client) -> None:
    unknown = {"type": "tool_use_summary", "session_id": S1, "extra": 7, "summary": "secret plans"}
    said = [system("init", cwd="/p", claude_code_version="2.1.332"), unknown, result(ttft_ms=210)]
    for line in said:
        client.says(line)
    got = client.run()
    assert all(one is other for one, other in zip(got, said, strict=True))
    assert [line["arrival_ns"] for line in lines(world)] == [1_010, 1_020, 1_030]
    assert lines(world)[0]["line"] == said[0]
    assert lines(world)[1]["line"]["extra"] == 7
    assert lines(world)[2]["line"]["ttft_ms"] == 210
    assert "secret plans" not in json.dumps(lines(world))


def test_what_passes_on_the_control_channel_is_not_among_the_lines(world: World, client: Client) -> None:
    client.says(system("init")).says({"type": "control_response", "response": {"request_id": "1", "response": {"secret": "plans"}}})
    client.says(hook("h1", tool_input={"command": "plans"})).says(may_use("p1")).run()
    kept = [line["line"] for line in lines(world)]
    assert [line["type"] for line in kept] == ["system", "control_request", "control_request"]
    assert "plans" not in json.dumps(kept)


def test_a_line_that_lay_unread_while_the_host_was_busy_says_for_how_long_at_most(world: World, client: Client) -> None:
    def busy(line: Line) -> None:
        if line.get("slow"):
            world.clock.advance(3_000_000_000)

    for after, slow in ((10, False), (10, True), (1_000, False), (1_000, False), (50_000_000, False), (1_000, False)):
        client.says(system("status", slow=slow), after=after)
    client.run(each=busy)
    assert [line.get("waited_ns") for line in lines(world)] == [None, None, 3_000_001_000, 3_000_002_000, None, None]


def test_without_anybody_who_records_no_line_is_kept(bare: World) -> None:
    Client(bare).says(system("init")).says(result()).run()
    assert not bare.spool.exists()


def test_what_breaks_the_transport_reaches_the_host_as_it_is(client: Client) -> None:
    error = ValueError("exit code 1")
    client.says(system("init")).breaks(error)
    with pytest.raises(ValueError, match="exit code 1") as caught:
        client.run()
    assert caught.value is error


def test_a_host_that_stops_reading_closes_the_transports_own_iterator(client: Client) -> None:
    closed: list[bool] = []

    async def forever() -> AsyncIterator[Line]:
        try:
            while True:
                yield system("init")
        finally:
            closed.append(True)

    async def reading() -> None:
        got = client.wire.reading(forever())
        await anext(got)
        await got.aclose()

    asyncio.run(reading())
    assert closed == [True]


def test_an_error_of_ours_is_not_the_hosts(world: World, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEKIT_STRICT", "0")
    monkeypatch.setattr("tracekit.instrument.sdk.claude_agent.wire.kept", None)
    monkeypatch.setattr("tracekit.instrument.sdk.claude_agent.questions.HookCallback", None)
    client.prompt().says(system("init")).says(hook("h1")).answer("h1", {}).says(result())
    assert len(client.run()) == 3
    assert turns(world) == [("prompt-1", 1_010, 1_050, "ok")]


# Responses


def test_a_response_lasts_from_its_prompt_to_its_first_result(world: World, client: Client) -> None:
    client.prompt().says(system("init", cwd="/p", claude_code_version="2.1.332")).says(result()).run()
    row = world.one("turn")
    assert (row["key"], row["parent_key"], row["session_id"], row["name"]) == (f"turn:{S1}#1", S1, S1, "claude-code")
    assert (row["start_ns"], row["end_ns"], row["status"]) == (1_010, 1_030, "ok")
    assert row["attributes"] == {
        "gen_ai.agent.name": "claude-code",
        "gen_ai.operation.name": "invoke_agent",
        "tracekit.client.version": "2.1.332",
        "tracekit.project": "/p",
        "tracekit.result.is_error": "false",
        "tracekit.result.subtype": "success",
        "tracekit.result.terminal_reason": "completed",
        "tracekit.turn.kind": "prompt",
    }
    span = world.span("turn")
    assert (span.name, span.parent) == ("invoke_agent claude-code", world.span("session").context)


def test_a_complete_response_says_nothing_of_the_work(world: World, client: Client) -> None:
    client.prompt().says(result()).run()
    assert not any("verified" in name for name in world.one("turn")["attributes"] | world.one("session")["attributes"])


def test_a_line_after_the_result_is_the_next_responses(world: World, client: Client) -> None:
    client.prompt().says(system("init")).says(result()).prompt()
    client.says(system("session_state_changed", state="idle")).says(system("init")).says(result(is_error=True)).run()
    assert turns(world) == [(f"turn:{S1}#1", 1_010, 1_030, "ok"), (f"turn:{S1}#2", 1_040, 1_070, "error")]


def test_a_prompt_that_is_written_meanwhile_begins_when_the_one_before_is_over(world: World, client: Client) -> None:
    client.prompt().says(system("init")).prompt().says(result()).says(system("init")).says(result()).run()
    assert turns(world) == [(f"turn:{S1}#1", 1_010, 1_040, "ok"), (f"turn:{S1}#2", 1_040, 1_060, "ok")]


def test_a_prompt_that_the_client_took_into_the_running_turn_is_no_response(world: World, client: Client) -> None:
    client.prompt().says(system("init")).prompt().says(result()).says(system("session_state_changed", state="idle"))
    client.prompt(after=100).says(system("init")).says(result()).run()
    assert turns(world) == [(f"turn:{S1}#1", 1_010, 1_040, "ok"), (f"turn:{S1}#2", 1_150, 1_170, "ok")]


def test_a_response_that_nobody_asked_for_begins_with_its_first_line(world: World, client: Client) -> None:
    client.prompt().says(result()).says(system("task_notification")).says(system("init")).says(result()).run()
    assert turns(world)[1] == (f"turn:{S1}#2", 1_040, 1_050, "ok")
    assert [row["attributes"]["tracekit.turn.kind"] for row in world.closed("turn")] == ["prompt", "notification"]


def test_a_sub_agents_lines_begin_no_response(world: World, client: Client) -> None:
    client.prompt().says(result()).says({"type": "assistant", "session_id": S1, "parent_tool_use_id": CALL, "message": {}}).run()
    assert len(turns(world)) == 1


@pytest.mark.parametrize(
    ("told", "status", "kept"),
    [
        ({"subtype": "error_max_turns", "is_error": True, "errors": ["Reached maximum"]}, "error", "Reached maximum"),
        ({"is_error": True, "result": "API Error: 500 token=sk-ant-abcdefghijkl"}, "error", "API Error: 500 [secret]"),
        ({"is_error": True, "result": "x", "terminal_reason": "aborted_streaming"}, "cancelled", "x"),
    ],
)
def test_a_result_that_went_wrong_says_how(told: Line, status: str, kept: str, world: World, client: Client) -> None:
    client.prompt().says(result(**told)).run()
    row = world.one("turn")
    assert (row["status"], row["attributes"]["tracekit.error.text"]) == (status, kept)
    assert row["attributes"]["tracekit.result.is_error"] == "true"


def test_a_slash_command_is_one(world: World, client: Client) -> None:
    client.prompt("/compact").says(result()).run()
    assert world.one("turn")["attributes"]["tracekit.turn.kind"] == "command"


def test_a_client_that_dies_leaves_its_response_as_an_error(world: World, client: Client) -> None:
    client.prompt().says(system("init")).breaks(OSError("Command failed with exit code 137"))
    with pytest.raises(OSError, match="137"):
        client.run()
    row = world.one("turn")
    assert (row["status"], row["end_ns"]) == ("error", 1_030)
    assert row["attributes"]["tracekit.error.text"] == "Command failed with exit code 137"
    assert world.one("session")["status"] == "error"


def test_a_host_that_leaves_ends_its_response_as_cancelled(world: World, client: Client) -> None:
    client.prompt().says(system("init")).run()
    assert world.one("turn")["status"] == "cancelled"


@pytest.mark.parametrize(
    ("asked", "verdict", "name"),
    [
        (hook("h1"), "hook", "PreToolUse:Bash"),
        (may_use("p1"), "permission", "Write"),
        (tool_call("m1"), "mcp call", "add"),
    ],
    ids=["hook", "permission", "tool in the host"],
)
def test_a_host_that_is_killed_leaves_everything_open_and_stuck_names_it(
    asked: Line, verdict: str, name: str, world: World, client: Client, tmp_path: Path
) -> None:
    client.prompt().says(system("init")).says(asked).run(close=False)
    assert [row for row in world.rows() if row["end_ns"] is not None] == []
    store = str(tmp_path / "store.duckdb")
    import_paths([world.spool], store)
    with open_store(store) as opened:
        (found,) = stuck(opened, as_of_ns=60_000_000_000)
    assert (found.session_id, found.verdict, found.name) == (S1, verdict, name)


# Sessions


def test_a_session_lasts_from_the_start_of_its_client_to_its_end(world: World, client: Client) -> None:
    client.prompt().says(system("init", cwd="/p", claude_code_version="2")).says(result()).does(lambda: None, after=70).run()
    row = world.one("session")
    assert (row["key"], row["start_ns"], row["end_ns"], row["status"]) == (S1, 1_000, 1_100, "ok")
    assert row["attributes"] == {"tracekit.client.version": "2", "tracekit.cost.usd": "0.25", "tracekit.project": "/p"}


def test_another_session_of_the_same_client_is_another(world: World, client: Client) -> None:
    client.prompt().says(system("init")).says(result()).says(system("init") | {"session_id": "session-2"}).run()
    assert [(row["key"], row["start_ns"], row["end_ns"]) for row in world.closed("session")] == [
        (S1, 1_000, 1_040),
        ("session-2", 1_040, 1_040),
    ]


def test_a_client_that_cannot_be_started_is_on_record(world: World, client: Client) -> None:
    client.wire.not_connected(FileNotFoundError("Claude Code not found"))
    row = world.one("session")
    assert (row["status"], row["attributes"]["tracekit.error.text"]) == ("error", "Claude Code not found")
    assert row["attributes"]["tracekit.result.is_error"] == "true"


# Hooks


def registered(client: Client) -> Client:
    hooks = {"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["hook_0"]}]}
    return client.host({"type": "control_request", "request_id": "i", "request": {"subtype": "initialize", "hooks": hooks}})


def test_a_hook_lasts_from_the_question_to_the_answer(world: World, client: Client) -> None:
    reply = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
    registered(client).prompt().says(system("init")).says(hook("h1")).answer("h1", reply, after=300).says(result()).run()
    row = world.one("hook_reply")
    assert (row["key"], row["parent_key"], row["name"], row["session_id"]) == ("h1", CALL, "PreToolUse:Bash", S1)
    assert (row["start_ns"], row["end_ns"], row["status"]) == (1_040, 1_340, "ok")
    assert row["attributes"] == {
        "tracekit.hook.count": "1",
        "tracekit.hook.decision": "allow",
        "tracekit.hook.event": "PreToolUse",
        "tracekit.hook.name": "PreToolUse:Bash",
        "tracekit.hook.outcome": "success",
        "tracekit.hook.tool_use_id": CALL,
        "tracekit.hook.transport": "ok",
    }
    assert world.span("hook_reply").parent == world.span("turn").context


@pytest.mark.parametrize(
    ("reply", "decision", "outcome", "text"),
    [
        ({}, "none", "success", None),
        ({"continue": True, "suppressOutput": True}, "none", "success", None),
        ({"decision": "block", "reason": "not on a Friday"}, "block", "blocking", "not on a Friday"),
        ({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}, "deny", "blocking", "no"),
        ({"hookSpecificOutput": {"permissionDecision": "ask"}}, "ask", "success", None),
        ({"continue": False, "stopReason": "enough"}, "stop", "success", "enough"),
    ],
)
def test_whether_a_reply_came_and_what_it_says_are_two_facts(
    reply: Line, decision: str, outcome: str, text: str | None, world: World, client: Client
) -> None:
    registered(client).prompt().says(system("init")).says(hook("h1")).answer("h1", reply).says(result()).run()
    row = world.one("hook_reply")
    told = row["attributes"]
    assert (told["tracekit.hook.transport"], told["tracekit.hook.decision"], told["tracekit.hook.outcome"]) == ("ok", decision, outcome)
    assert (told.get("tracekit.error.text"), row["status"]) == (text, "ok")


def test_a_hook_that_raises_gave_no_reply(world: World, client: Client) -> None:
    registered(client).prompt().says(system("init")).says(hook("h1")).answer("h1", error="it exploded").says(result()).run()
    row = world.one("hook_reply")
    told = row["attributes"]
    assert (row["status"], told["tracekit.hook.transport"], told["tracekit.hook.outcome"]) == ("error", "error", "error")
    assert told["tracekit.error.text"] == "it exploded"
    assert "tracekit.hook.decision" not in told
    assert world.span("hook_reply").status.status_code is StatusCode.ERROR


def test_a_callback_that_the_host_does_not_know_is_that(world: World, client: Client) -> None:
    registered(client).prompt().says(system("init")).says(hook("h1", callback="hook_9"))
    client.answer("h1", error="No hook callback found for ID: hook_9").says(result()).run()
    told = world.one("hook_reply")["attributes"]
    assert (told["tracekit.hook.transport"], told["tracekit.hook.outcome"]) == ("unknown_callback", "error")
    assert told["tracekit.error.text"] == "No hook callback found for ID: hook_9"


def test_a_hook_that_the_client_waits_for_no_longer_is_cancelled(world: World, client: Client) -> None:
    registered(client).prompt().says(system("init")).says(hook("h1")).says({"type": "control_cancel_request", "request_id": "h1"}).run()
    row = world.one("hook_reply")
    assert (row["status"], row["attributes"]["tracekit.hook.outcome"]) == ("cancelled", "cancelled")


def test_what_a_hook_does_is_part_of_it(client: Client) -> None:
    stood: list[Any] = []

    def look(line: Line) -> None:
        here = current()
        stood.append((line["type"], here.key if here is not None else None, trace.get_current_span().get_span_context().is_valid))

    client.prompt().says(system("init")).says(hook("h1")).says(system("status")).answer("h1", {}).says(result()).run(each=look)
    assert stood == [
        ("system", None, False),
        ("control_request", "h1", True),
        ("system", None, False),
        ("result", None, False),
    ]


def test_a_hook_tells_the_prompts_id_which_names_the_response(world: World, client: Client) -> None:
    client.prompt().says(system("init")).says(hook("h1", agent_id="agent-7", prompt_id="not-this")).answer("h1", {})
    client.says(hook("h2")).answer("h2", {}).says(result()).run()
    row = world.one("turn")
    assert (row["key"], row["attributes"]["tracekit.opened_as"]) == ("prompt-1", f"turn:{S1}#1")
    assert row["attributes"]["tracekit.prompt.id"] == "prompt-1"
    assert [hook["agent_id"] for hook in world.closed("hook_reply")] == ["agent-7", None]


def test_a_hook_between_two_responses_belongs_to_the_session(world: World, client: Client) -> None:
    ended = hook("h1", event="SessionEnd")
    del ended["request"]["input"]["tool_name"]
    ended["request"]["tool_use_id"] = None
    client.prompt().says(result()).says(ended).answer("h1", {}).run()
    row = world.one("hook_reply")
    assert (row["parent_key"], row["name"]) == (S1, "SessionEnd")


# Permission


@pytest.mark.parametrize(
    ("reply", "decision"), [({"behavior": "allow", "updatedInput": {}}, "accept"), ({"behavior": "deny", "message": "no"}, "reject")]
)
def test_a_tool_waits_for_permission_until_the_host_decides(reply: Line, decision: str, world: World, client: Client) -> None:
    client.prompt().says(system("init")).says(may_use("p1", agent_id="agent-7")).answer("p1", reply, after=200).says(result()).run()
    row = world.one("permission_wait")
    assert (row["key"], row["parent_key"], row["name"], row["agent_id"]) == (CALL, CALL, "Write", "agent-7")
    assert (row["start_ns"], row["end_ns"], row["status"]) == (1_030, 1_230, "ok")
    assert row["attributes"] == {
        "gen_ai.tool.call.id": CALL,
        "gen_ai.tool.name": "Write",
        "tracekit.permission.decision": decision,
        "tracekit.permission.source": "can_use_tool",
        "tracekit.tool.input_digest": row["attributes"]["tracekit.tool.input_digest"],
        "tracekit.tool.input_size": "26",
    }


def test_a_permission_callback_that_raises_decides_nothing(world: World, client: Client) -> None:
    client.prompt().says(system("init")).says(may_use("p1")).answer("p1", error="no such user").says(result()).run()
    row = world.one("permission_wait")
    assert (row["status"], row["attributes"]["tracekit.error.text"]) == ("error", "no such user")
    assert "tracekit.permission.decision" not in row["attributes"]


def test_a_person_who_never_answers_leaves_the_wait_open(world: World, client: Client) -> None:
    client.prompt().says(system("init")).says(may_use("p1")).run(close=False)
    assert world.opened("permission_wait")[-1]["key"] == CALL
    assert world.closed("permission_wait") == []


# Servers in the host


def said(row: Line, *names: str) -> tuple[Any, ...]:
    return tuple(row["attributes"].get(name) for name in names)


def test_a_call_to_a_tool_in_the_host(world: World, client: Client) -> None:
    reply = {"mcp_response": {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "3"}], "isError": False}}}
    client.prompt().says(system("init")).says(tool_call("m1")).answer("m1", reply, after=40).says(result()).run()
    row = world.one("mcp_call")
    assert (row["key"], row["parent_key"], row["name"], row["status"]) == (CALL, CALL, "add", "ok")
    assert (row["start_ns"], row["end_ns"]) == (1_030, 1_070)
    assert said(row, "tracekit.mcp.server", "mcp.method.name", "network.transport", "jsonrpc.request.id") == (
        "calc",
        "tools/call",
        "inproc",
        "1",
    )
    assert row["attributes"]["tracekit.tool.result_size"] == "28"


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        ({"result": {"content": [{"type": "text", "text": "Unknown tool: add"}], "isError": True}}, "tool_error", "Unknown tool: add"),
        ({"error": {"code": -32601, "message": "Server 'calc' not found"}}, "-32601", "Server 'calc' not found"),
        ({"error": {"code": -32603, "message": "session closed"}}, "-32603", "session closed"),
    ],
)
def test_a_call_that_fails_in_the_host(answer: Line, kind: str, text: str, world: World, client: Client) -> None:
    client.prompt().says(system("init")).says(tool_call("m1")).answer("m1", {"mcp_response": {"id": 1, **answer}}).says(result()).run()
    row = world.one("mcp_call")
    assert (row["status"], *said(row, "error.type", "tracekit.error.text")) == ("error", kind, text)


def test_a_message_that_cannot_be_delivered_is_a_failed_call(world: World, client: Client) -> None:
    client.prompt().says(system("init")).says(tool_call("m1")).answer("m1", error="Missing server_name").says(result()).run()
    assert world.one("mcp_call")["attributes"]["tracekit.error.text"] == "Missing server_name"


def test_what_came_before_the_session_was_known_is_told_with_its_own_times(world: World, client: Client) -> None:
    client.says(mcp("m1", "initialize", 0)).answer("m1", {"mcp_response": {"result": {"protocolVersion": "2025-11-25"}}}, after=5)
    client.says(mcp("m2", "notifications/initialized", None)).answer("m2", {}).says(system("init")).says(mcp("m3", "tools/list"))
    client.answer("m3", {"mcp_response": {"error": {"code": -32603, "message": "no list"}}}).run()
    greeted, listed = world.closed("mcp_connection")
    assert (greeted["session_id"], greeted["start_ns"], greeted["end_ns"], greeted["key"]) == (S1, 1_010, 1_015, "calc@1015")
    assert said(greeted, "tracekit.mcp.stage", "tracekit.mcp.status", "mcp.protocol.version") == ("initialize", "connected", "2025-11-25")
    assert (listed["status"], *said(listed, "tracekit.mcp.stage", "tracekit.mcp.status")) == ("error", "tools/list", "failed")


# What the host asks of its client


def marks(row: Line) -> list[tuple[int, str]]:
    return [(time_ns, name) for time_ns, name, _ in json.loads(row["events"])]


def test_an_interrupt_is_marked_and_makes_the_response_one_that_was(world: World, client: Client) -> None:
    client.prompt().says(system("init")).does(lambda: client.wire.commanded("interrupt")).does(lambda: client.wire.obeyed("interrupt"))
    client.says(result(subtype="error_during_execution", terminal_reason="aborted_tools")).run()
    row = world.one("turn")
    assert marks(row) == [(1_030, "interrupt request"), (1_040, "interrupt response")]
    assert (row["status"], *said(row, "tracekit.turn.interrupts", "tracekit.turn.interrupted")) == ("cancelled", "1", "tool")


def test_what_a_client_does_not_do_in_time_is_the_sessions_failure(world: World, client: Client) -> None:
    def late() -> None:
        error = Exception("Control request timeout: set_model")
        error.__cause__ = TimeoutError()
        client.wire.disobeyed("set_model", error)

    client.prompt().says(system("init")).does(lambda: client.wire.commanded("set_model")).does(late).says(result()).run()
    assert marks(world.one("turn"))[-1] == (1_040, "set_model timeout")
    row = world.one("session")
    assert said(row, "tracekit.result.is_error", "tracekit.error.text") == ("true", "Control request timeout: set_model")


def test_what_a_client_refuses_is_marked_and_no_failure(world: World, client: Client) -> None:
    client.prompt().says(system("init")).does(lambda: client.wire.disobeyed("set_model", Exception("no such model"))).says(result()).run()
    assert marks(world.one("turn")) == [(1_030, "set_model error")]
    assert "tracekit.error.text" not in world.one("session")["attributes"]


def test_a_client_that_does_not_even_initialize_is_on_record(world: World, client: Client) -> None:
    error = Exception("Control request timeout: initialize")
    error.__cause__ = TimeoutError()
    client.wire.disobeyed("initialize", error)
    client.wire.closed()
    assert world.one("session")["attributes"]["tracekit.error.text"] == "Control request timeout: initialize"
