"""Tool calls and calls to MCP servers: queued, allowed, run, and given back."""

import json
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from tracekit.instrument import mcp_call, mcp_connection, model_request, session, tool_schedule, turn
from tracekit.model.digest import digest

if TYPE_CHECKING:
    from tests.instrument.conftest import World


def test_a_call_from_the_completion_of_its_block_to_the_return_of_its_result(world: "World") -> None:
    with session("s"), turn("p"):
        request = model_request("m").start()
        call = tool_schedule("Bash", "toolu_1", request=request, concurrency="exclusive").start()
        world.clock.advance(10)
        with call.permission_wait() as wait:
            world.clock.advance(100)
            wait.decided("accept", source="user")
        world.clock.advance(5)
        with call.execution() as execution:
            world.clock.advance(1_000)
            execution.result("done", exit_code=0)
        world.clock.advance(3)
        call.yielded()
        request.end()
    schedule, permission, run = world.one("tool_schedule"), world.one("permission_wait"), world.one("tool_execution")
    assert [(row["key"], row["name"], row["start_ns"], row["end_ns"], row["status"]) for row in (schedule, permission, run)] == [
        ("toolu_1", "Bash", 1_000, 2_118, "ok"),
        ("toolu_1", "Bash", 1_010, 1_110, "ok"),
        ("toolu_1", "Bash", 1_115, 2_115, "ok"),
    ]
    assert schedule["parent_key"] == world.one("model_request")["key"]
    assert (permission["parent_key"], run["parent_key"]) == ("toolu_1", "toolu_1")
    assert json.loads(schedule["events"]) == [[1115, "executing", {}], [2115, "completed", {}], [2118, "yielded", {}]]
    result = {"tracekit.tool.result_size": "4", "tracekit.tool.result_digest": digest(b"done"), "tracekit.tool.exit_code": "0"}
    assert run["attributes"] == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "Bash",
        "gen_ai.tool.call.id": "toolu_1",
        **result,
    }
    assert schedule["attributes"] == {
        "gen_ai.tool.name": "Bash",
        "gen_ai.tool.call.id": "toolu_1",
        "tracekit.tool.concurrency": "exclusive",
        **result,
    }
    assert permission["attributes"] == {
        "gen_ai.tool.name": "Bash",
        "tracekit.permission.decision": "accept",
        "tracekit.permission.source": "user",
    }


def test_the_spans_of_a_call(world: "World") -> None:
    with turn("p"), model_request("m"), tool_schedule("add", "toolu_1") as call, call.execution():
        pass
    outer, inner = world.span("tool_schedule"), world.span("tool_execution")
    assert (outer.name, outer.kind, outer.parent) == ("tool_schedule add", SpanKind.INTERNAL, world.span("model_request").context)
    assert (inner.name, inner.kind, inner.parent) == ("execute_tool add", SpanKind.INTERNAL, outer.context)
    assert [event.name for event in outer.events] == ["executing", "completed"]
    # Only what runs the tool is its execution by the conventions; readers of both would count it twice.
    assert "gen_ai.operation.name" not in (outer.attributes or {})


def test_a_tool_that_says_that_it_failed(world: "World") -> None:
    with turn("p"), tool_schedule("Bash", "toolu_1") as call, call.execution() as execution:
        execution.result("no such file: token=abcdefgh12345", is_error=True, exit_code=2)
    for row in (world.one("tool_execution"), world.one("tool_schedule")):
        assert row["status"] == "error"
        assert row["attributes"]["error.type"] == "tool_error"
        assert row["attributes"]["tracekit.error.text"] == "no such file: [secret]"
        assert row["attributes"]["tracekit.tool.exit_code"] == "2"
    assert world.span("tool_execution").status.status_code is StatusCode.ERROR


def test_a_tool_that_raises_and_whose_error_is_given_back(world: "World") -> None:
    with turn("p"):
        call = tool_schedule("add", "toolu_1").start()
        with pytest.raises(ZeroDivisionError), call.execution():
            divmod(1, 0)
        call.yielded()
    for row in (world.one("tool_execution"), world.one("tool_schedule")):
        assert (row["status"], row["attributes"]["error.type"]) == ("error", "ZeroDivisionError")


@pytest.mark.parametrize(("by", "kind"), [("sibling", "cancelled"), ("user", "interrupted"), ("budget", "budget")])
def test_a_call_that_was_cancelled_says_by_whom(world: "World", by: str, kind: str) -> None:
    with turn("p"):
        tool_schedule("add", "toolu_1").start().cancelled(by)
    row, span = world.one("tool_schedule"), world.span("tool_schedule")
    assert (row["status"], row["attributes"]["tracekit.tool.denial_kind"]) == ("cancelled", kind)
    # OpenTelemetry's status knows no cancellation, and it is no error.
    assert (span.status.status_code, (span.attributes or {})["tracekit.status"]) == (StatusCode.UNSET, "cancelled")


def test_a_call_that_was_denied(world: "World") -> None:
    with turn("p"):
        call = tool_schedule("Bash", "toolu_1").start()
        with call.permission_wait() as wait:
            wait.decided("reject", source="config")
        call.denied("permission-rule", text="not here", source="config")
    row = world.one("tool_schedule")
    assert row["status"] == "error"
    assert row["attributes"] == {
        "gen_ai.tool.name": "Bash",
        "gen_ai.tool.call.id": "toolu_1",
        "tracekit.tool.denial_kind": "permission-rule",
        "tracekit.permission.decision": "reject",
        "tracekit.permission.source": "config",
        "tracekit.error.text": "not here",
    }
    assert world.closed("tool_execution") == []


def test_equal_arguments_have_equal_digests_and_no_content(world: "World") -> None:
    with turn("p"):
        for key, arguments in (("1", {"path": "a"}), ("2", {"path": "a"}), ("3", {"path": "b"})):
            with tool_schedule("Read", key) as call:
                call.input(arguments)
                with call.execution() as execution:
                    execution.result({"text": "who knows"})
    digests = [row["attributes"]["tracekit.tool.input_digest"] for row in world.closed("tool_execution")]
    assert digests[0] == digests[1] != digests[2]
    assert world.closed("tool_schedule")[0]["attributes"]["tracekit.tool.input_size"] == "12"
    assert "who knows" not in str(world.rows())
    assert '"path"' not in str(world.rows())


@pytest.mark.parametrize("content", [True, False])
def test_with_content_the_call_keeps_its_arguments_and_the_execution_its_result(bare: "World", *, content: bool) -> None:
    bare.instrument(content=content)
    with turn("p"), tool_schedule("Read", "toolu_1") as call:
        call.input({"path": "a", "token": "abcdefghijkl"})
        with call.execution() as execution:
            execution.result("what stands there")
    said = [bare.one(boundary)["attributes"].get("tracekit.content") for boundary in ("tool_schedule", "tool_execution")]
    assert said == (['{"path":"a","[secret]}', "what stands there"] if content else [None, None])


class Arguments:
    def __init__(self, path: str) -> None:
        self.path = path


CIRCLE: dict[str, object] = {}
CIRCLE["self"] = CIRCLE


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ({"path": "a"}, b'{"path":"a"}'),
        (Arguments("a"), b'{"path":"a"}'),
        ([Arguments("a"), {1}], b'[{"path":"a"},"{1}"]'),
        ({("a", 1): 2}, b"{('a', 1): 2}"),
        (CIRCLE, b"{'self': {...}}"),
        ("half \ud83d", "half \ud83d".encode(errors="surrogatepass")),
        (b"bytes", b"\"b'bytes'\""),
    ],
)
def test_a_tool_may_be_called_with_anything(world: "World", arguments: object, kept: bytes) -> None:
    with turn("p"), tool_schedule("Read", "toolu_1") as call:
        call.input(arguments)
    said = world.one("tool_schedule")["attributes"]
    assert (said["tracekit.tool.input_size"], said["tracekit.tool.input_digest"]) == (str(len(kept)), digest(kept))


def test_the_request_of_a_call_may_be_told_by_its_key(world: "World") -> None:
    with turn("p"):
        tool_schedule("add", "toolu_1", request="req_5").start().yielded()
    assert world.one("tool_schedule")["parent_key"] == "req_5"


# MCP -------------------------------------------------------------------------------------------------------------------


def test_an_mcp_call_takes_the_identity_of_the_call_around(world: "World") -> None:
    with turn("p"), tool_schedule("mcp__calc__add", "toolu_1") as call, call.execution(), mcp_call("calc", "add", jsonrpc_id=7) as sent:
        world.clock.advance(9)
        sent.result([{"type": "text", "text": "3"}])
    row, span = world.one("mcp_call"), world.span("mcp_call")
    assert (row["key"], row["parent_key"], row["name"], row["end_ns"], row["status"]) == ("toolu_1", "toolu_1", "add", 1_009, "ok")
    assert row["attributes"] == {
        "mcp.method.name": "tools/call",
        "tracekit.mcp.server": "calc",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.call.id": "toolu_1",
        "jsonrpc.request.id": "7",
        "tracekit.tool.result_size": "28",
        "tracekit.tool.result_digest": digest(b'[{"type":"text","text":"3"}]'),
    }
    assert (span.name, span.kind, span.parent) == ("tools/call add", SpanKind.CLIENT, world.span("tool_execution").context)


def test_an_mcp_call_that_nobody_knows_the_tool_call_of(world: "World") -> None:
    with turn("p"), mcp_call("calc", "add"):
        pass
    row = world.one("mcp_call")
    assert (row["key"].partition(":")[0], row["parent_key"]) == ("mcp_call", "p")
    assert "gen_ai.tool.call.id" not in row["attributes"]


def test_is_error_is_a_failure_that_raises_nothing(world: "World") -> None:
    with mcp_call("calc", "add", tool_use_id="toolu_1") as sent:
        sent.result(is_error=True, text="no such number")
    row = world.one("mcp_call")
    assert (row["key"], row["status"]) == ("toolu_1", "error")
    assert (row["attributes"]["error.type"], row["attributes"]["tracekit.error.text"]) == ("tool_error", "no such number")


def test_a_json_rpc_error_is_told_by_its_code(world: "World") -> None:
    with mcp_call("calc", "add") as sent:
        sent.failed(-32602, "Unknown tool: add")
    said = world.one("mcp_call")["attributes"]
    assert (said["error.type"], said["rpc.response.status_code"], said["tracekit.error.text"]) == ("-32602", "-32602", "Unknown tool: add")


def test_a_connection_goes_through_its_stages_and_each_is_known_at_once(world: "World") -> None:
    with session("s"), turn("p"), mcp_connection("calc", "pipe") as connection:
        for stage in ("spawn", "initialize", "tools/list"):
            connection.stage(stage)
            world.clock.advance(10)
        open_in = [row["attributes"].get("tracekit.mcp.stage") for row in world.opened("mcp_connection")]
    row = world.one("mcp_connection")
    assert open_in == [None, "spawn", "initialize", "tools/list"]
    assert (row["key"], row["parent_key"], row["name"], row["status"]) == ("calc@1030", "s", "calc", "ok")
    assert row["attributes"]["tracekit.mcp.status"] == "connected"
    assert json.loads(row["events"]) == [[1000, "spawn", {}], [1010, "initialize", {}], [1020, "tools/list", {}]]


@pytest.mark.parametrize(("how", "status"), [("failed", "failed"), ("lost", "disconnected")])
def test_a_connection_that_failed_and_one_that_was_lost(world: "World", how: str, status: str) -> None:
    with mcp_connection("calc", "tcp") as connection:
        connection.stage("initialize")
        tell: Any = getattr(connection, how)
        tell(ConnectionRefusedError("nobody there"))
    row = world.one("mcp_connection")
    assert (row["status"], row["attributes"]["tracekit.mcp.status"], row["attributes"]["mcp.method.name"]) == (
        "error",
        status,
        "initialize",
    )
    assert (row["attributes"]["error.type"], row["attributes"]["tracekit.error.text"]) == ("ConnectionRefusedError", "nobody there")


def test_a_connection_that_raises_failed(world: "World") -> None:
    with pytest.raises(TimeoutError), mcp_connection("calc", "tcp"):
        raise TimeoutError
    assert world.one("mcp_connection")["attributes"]["tracekit.mcp.status"] == "failed"
