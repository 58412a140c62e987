"""What a client asks its host and what a host asks its client: who answered what, and how long it took."""

import json
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from tests.instrument.conftest import World
from tests.instrument.sdk.client_world import CALL, S1, Client, Line, hook, may_use, mcp, result, system, tool_call
from tracekit.instrument import current


@pytest.fixture
def client(world: World) -> Client:
    return Client(world)


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


def test_a_tool_in_the_host_runs_for_as_long_as_its_call(world: World, client: Client) -> None:
    failed = {"mcp_response": {"id": 1, "result": {"content": [{"type": "text", "text": "it broke"}], "isError": True}}}
    client.prompt().says(system("init")).says(tool_call("m1")).answer("m1", failed, after=40).says(result()).run()
    row = world.one("tool_execution")
    assert (row["key"], row["parent_key"], row["name"], row["session_id"]) == (CALL, CALL, "mcp__calc__add", S1)
    assert (row["start_ns"], row["end_ns"], row["status"]) == (1_030, 1_070, "error")
    assert said(row, "gen_ai.operation.name", "error.type", "tracekit.error.text") == ("execute_tool", "tool_error", "it broke")
    assert world.span("mcp_call").parent == world.span("tool_execution").context
    assert world.span("tool_execution").parent == world.span("turn").context


def test_a_call_without_the_models_id_is_a_call_and_no_tools_run(world: World, client: Client) -> None:
    client.prompt().says(system("init")).says(mcp("m1", "tools/call", name="add", arguments={})).answer("m1", {}).says(result()).run()
    assert len(world.closed("mcp_call")) == 1
    assert world.closed("tool_execution") == []


def test_a_call_that_the_client_gives_up_is_cancelled_with_its_tool(world: World, client: Client) -> None:
    client.prompt().says(system("init")).says(tool_call("m1")).says({"type": "control_cancel_request", "request_id": "m1"}).run()
    assert (world.one("mcp_call")["status"], world.one("tool_execution")["status"]) == ("cancelled", "cancelled")


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
