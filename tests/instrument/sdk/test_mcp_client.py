"""The client's side of mcp: every call on one span, with what came of it; every connection with the stage that it reached."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client, ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from tests.instrument.conftest import World
from tests.instrument.sdk.mcp_world import STDIO, calc, over_http, talk
from tracekit.instrument import session, tool_schedule, turn
from tracekit.instrument.sdk.mcp import McpInstrumentor
from tracekit.instrument.sdk.mcp.connections import cause_of
from tracekit.instrument.sdk.mcp.requests import Request

TOOL_INPUT = {"tracekit.tool.input_size": 13, "tracekit.tool.input_digest": "43258cff783fe703"}


@pytest.fixture
def mcp(world: World) -> Iterator[World]:
    instrumentor = McpInstrumentor()
    instrumentor.instrument()
    yield world
    instrumentor.uninstrument()


async def add(client: Client) -> Any:
    return await client.call_tool("add", {"a": 1, "b": 2})


async def nothing(_: Client) -> None:
    """Say nothing."""


def named(world: World, name: str) -> ReadableSpan:
    (found,) = [span for span in world.spans if span.name == name and span.kind is SpanKind.CLIENT]
    return found


def said(span: ReadableSpan) -> dict[str, Any]:
    """What a span says; that it went well need not be said."""
    return {"tracekit.status": "ok", **(span.attributes or {})}


def key_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"span:{span.context.span_id:016x}"


def the_call(world: World) -> dict[str, Any]:
    return world.one("mcp_call")


def connections(world: World) -> list[tuple[str, str, str | None]]:
    rows = world.closed("mcp_connection")
    return [(row["attributes"]["tracekit.mcp.status"], row["status"], row["attributes"].get("tracekit.mcp.stage")) for row in rows]


# Calls


def test_a_call_over_stdio_is_on_the_sdks_own_span_which_is_not_doubled(mcp: World) -> None:
    async def say(client: Client) -> None:
        mcp.clock.advance(10)
        await add(client)

    talk(STDIO, say)
    span = named(mcp, "MCP send tools/call add")
    assert span.instrumentation_scope is not None
    assert (span.instrumentation_scope.name, span.kind) == ("mcp-python-sdk", SpanKind.CLIENT)
    assert [other.name for other in mcp.spans if "call" in other.name] == ["MCP send tools/call add"]
    assert (span.start_time, span.end_time) == (1_010, 1_010)
    assert span.status.status_code is StatusCode.UNSET
    session_id = the_call(mcp)["session_id"]
    assert said(span) == {
        "mcp.method.name": "tools/call",
        "jsonrpc.request.id": "3",
        "tracekit.boundary": "mcp_call",
        "tracekit.key": key_of(span),
        "tracekit.parent_key": session_id,
        "session.id": session_id,
        "tracekit.status": "ok",
        "tracekit.mcp.server": "demo",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "network.transport": "pipe",
        "mcp.protocol.version": "2025-11-25",
        "tracekit.tool.result_size": 28,
        "tracekit.tool.result_digest": "5ce16b885ccbc6a7",
        **TOOL_INPUT,
    }


def test_a_call_in_the_process_has_a_span_of_ours_and_lasts_as_long_as_the_tool(mcp: World) -> None:
    talk(calc(mcp), add)
    span = named(mcp, "tools/call add")
    assert span.instrumentation_scope is not None
    assert (span.instrumentation_scope.name, span.kind) == ("tracekit", SpanKind.CLIENT)
    assert (span.start_time, span.end_time) == (1_000, 1_500)
    assert {name: said(span)[name] for name in ("tracekit.mcp.server", "network.transport", "mcp.protocol.version")} == {
        "tracekit.mcp.server": "calc",
        "network.transport": "inproc",
        "mcp.protocol.version": "2026-07-28",
    }


@pytest.mark.parametrize("how", ["inproc", "pipe"])
def test_a_call_belongs_to_the_tool_call_that_it_is_made_in(how: str, mcp: World) -> None:
    async def say(client: Client) -> None:
        with session("s1"), turn("p1"), tool_schedule("mcp__calc__add", "toolu_1") as scheduled, scheduled.execution() as execution:
            execution.result(str(await add(client)))

    talk(calc(mcp) if how == "inproc" else STDIO, say)
    row = [row for row in mcp.closed("mcp_call") if row["attributes"].get("network.transport") == how][-1]
    assert (row["session_id"], row["key"], row["parent_key"]) == ("s1", "toolu_1", "toolu_1")
    assert row["attributes"]["gen_ai.tool.call.id"] == "toolu_1"
    span = named(mcp, "tools/call add" if how == "inproc" else "MCP send tools/call add")
    assert span.parent == mcp.span("tool_execution").context


@pytest.mark.parametrize(
    ("server", "tool", "arguments", "text"),
    [
        ("stdio", "fail", {}, "boom in tool"),
        ("inproc", "boom", {}, "Error executing tool boom"),
        ("inproc", "nope", {}, "Unknown tool: nope"),
    ],
)
def test_a_tool_that_fails_raises_nothing_and_is_an_error(server: str, tool: str, arguments: dict[str, Any], text: str, mcp: World) -> None:
    result = talk(STDIO if server == "stdio" else calc(mcp), lambda client: client.call_tool(tool, arguments))
    assert result.is_error
    span = [span for span in mcp.spans if span.kind is SpanKind.CLIENT and span.name.endswith(f"tools/call {tool}")][-1]
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, text)
    found = said(span)
    assert (found["error.type"], found["tracekit.error.text"], found["tracekit.status"]) == ("tool_error", text, "error")
    assert "rpc.response.status_code" not in found


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_call_that_takes_too_long_is_a_timeout(mode: str, mcp: World) -> None:
    async def say(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("hang", {}, read_timeout_seconds=0.2)
        assert caught.value.error.code == -32001

    talk(calc(mcp), say, mode=mode)
    name = "tools/call hang" if mode == "auto" else "MCP send tools/call hang"
    span = [span for span in mcp.spans if span.name == name and span.kind is SpanKind.CLIENT][-1]
    assert (span.start_time, span.end_time) == (1_000, 1_070)
    found = said(span)
    assert (found["error.type"], found["rpc.response.status_code"], found["tracekit.status"]) == ("-32001", "-32001", "error")
    assert span.status.status_code is StatusCode.ERROR


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_call_that_its_caller_gives_up_is_cancelled_and_no_error(mode: str, mcp: World) -> None:
    async def say(client: Client) -> None:
        call = asyncio.create_task(client.call_tool("hang", {}))
        await asyncio.sleep(0.2)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    talk(calc(mcp), say, mode=mode)
    name = "tools/call hang" if mode == "auto" else "MCP send tools/call hang"
    span = [span for span in mcp.spans if span.name == name and span.kind is SpanKind.CLIENT][-1]
    assert said(span)["tracekit.status"] == "cancelled"
    assert span.status.status_code is StatusCode.UNSET


def test_a_server_that_dies_fails_the_call_and_is_lost_once(mcp: World) -> None:
    async def say(client: Client) -> None:
        for _ in range(2):
            with pytest.raises(MCPError):
                await client.call_tool("crash", {})

    talk(STDIO, say)
    assert [row["attributes"]["error.type"] for row in mcp.closed("mcp_call")] == ["-32000", "-32000"]
    assert connections(mcp) == [("connected", "ok", "initialize"), ("disconnected", "error", None)]
    lost = mcp.closed("mcp_connection")[-1]
    assert lost["start_ns"] == lost["end_ns"]
    assert lost["parent_key"] == lost["session_id"]


def test_a_call_that_never_ends_is_on_record_while_it_lasts(mcp: World) -> None:
    async def say(client: Client) -> None:
        call = asyncio.create_task(client.call_tool("slow", {"seconds": 20}))
        await asyncio.sleep(0.3)
        row = mcp.opened("mcp_call")[-1]
        assert (row["name"], row["attributes"]["tracekit.mcp.server"]) == ("slow", "demo")
        assert mcp.closed("mcp_call") == []
        call.cancel()

    talk(STDIO, say)


def test_two_calls_at_once_are_two(mcp: World) -> None:
    async def say(client: Client) -> None:
        await asyncio.gather(*(client.call_tool("add", {"a": number, "b": 0}) for number in range(5)))

    talk(STDIO, say)
    rows = mcp.closed("mcp_call")
    assert len({row["key"] for row in rows}) == 5
    assert len({row["attributes"]["tracekit.tool.input_digest"] for row in rows}) == 5
    assert {row["status"] for row in rows} == {"ok"}


def test_a_request_that_is_no_tools_call_is_called_by_its_method(mcp: World) -> None:
    async def say(client: Client) -> None:
        with pytest.raises(MCPError):
            await client.get_prompt("nope")

    talk(calc(mcp), say)
    row = [row for row in mcp.closed("mcp_call") if row["attributes"].get("network.transport")][-1]
    assert row["attributes"]["mcp.method.name"] == "prompts/get"
    assert "gen_ai.tool.name" not in row["attributes"]
    assert row["status"] == "error"


# Connections


def test_a_connection_lasts_from_the_spawn_to_the_handshake(mcp: World) -> None:
    talk(STDIO, nothing)
    assert connections(mcp) == [("connected", "ok", "initialize"), ("disconnected", "unset", None)]
    row = mcp.closed("mcp_connection")[0]
    assert (row["key"], row["name"]) == ("demo@1000", "demo")
    assert row["attributes"]["tracekit.opened_as"].startswith("mcp_connection:")
    span = mcp.spans[-2]
    assert [event.name for event in span.events] == ["spawn", "server/discover", "initialize"]
    stages = [row["attributes"].get("tracekit.mcp.stage") for row in mcp.opened("mcp_connection")[:4]]
    assert stages == [None, "spawn", "server/discover", "initialize"]
    assert mcp.opened("mcp_connection")[0]["name"] == "mcp_server"


def test_what_is_asked_while_connecting_is_part_of_it(mcp: World) -> None:
    talk(STDIO, nothing)
    connecting = next(span for span in mcp.spans if span.name.startswith("mcp_connection"))
    assert named(mcp, "MCP send initialize").parent == connecting.context
    assert said(named(mcp, "MCP send initialize"))["tracekit.mcp.server"] == "mcp_server"
    assert "tracekit.boundary" not in said(named(mcp, "MCP send initialize"))


def test_a_list_of_tools_is_a_stage_of_its_own(mcp: World) -> None:
    talk(STDIO, lambda client: client.list_tools())
    assert connections(mcp) == [
        ("connected", "ok", "initialize"),
        ("connected", "ok", "tools/list"),
        ("disconnected", "unset", None),
    ]
    span = named(mcp, "MCP send tools/list")
    assert said(span)["tracekit.boundary"] == "mcp_connection"


@pytest.mark.parametrize(
    ("what", "stage", "kind", "code"),
    [
        (StdioServerParameters(command="/nonexistent/weather"), "spawn", "FileNotFoundError", "ENOENT"),
        (StdioServerParameters(command="false"), "initialize", "-32000", None),
        ("http://127.0.0.1:9/mcp", "server/discover", "ConnectError", None),
    ],
)
def test_a_connection_that_does_not_come_about_names_its_stage(what: Any, stage: str, kind: str, code: str | None, mcp: World) -> None:
    with pytest.raises((OSError, ExceptionGroup)):
        talk(what, nothing)
    row = mcp.one("mcp_connection")
    assert (row["status"], row["attributes"]["tracekit.mcp.status"]) == ("error", "failed")
    assert (row["attributes"]["tracekit.mcp.stage"], row["attributes"]["error.type"]) == (stage, kind)
    assert row["attributes"].get("tracekit.error.code") == code
    assert row["attributes"]["tracekit.error.text"]


def test_a_session_of_ones_own_is_a_connection_too(mcp: World) -> None:
    async def talking() -> None:
        async with stdio_client(STDIO) as (read, write), ClientSession(read, write) as own:
            mcp.clock.advance(25)
            await own.initialize()
            await own.call_tool("add", {"a": 1, "b": 2})

    asyncio.run(talking())
    assert connections(mcp)[0] == ("connected", "ok", "initialize")
    assert connections(mcp)[-1] == ("disconnected", "unset", None)
    first = mcp.closed("mcp_connection")[0]
    assert (first["start_ns"], first["end_ns"], first["key"]) == (1_000, 1_025, "demo@1025")
    assert the_call(mcp)["attributes"]["network.transport"] == "pipe"


def test_a_client_that_is_given_a_transport_learns_what_it_is(mcp: World) -> None:
    talk(stdio_client(STDIO), add)
    assert [row["name"] for row in mcp.opened("mcp_connection")[:4]] == ["unknown", "unknown", "mcp_server", "mcp_server"]
    assert connections(mcp)[0] == ("connected", "ok", "initialize")
    assert {row["attributes"]["network.transport"] for row in mcp.closed("mcp_connection")} == {"pipe"}
    assert the_call(mcp)["attributes"]["network.transport"] == "pipe"


def test_a_server_that_cannot_be_spawned_for_a_session_of_ones_own_is_on_record(mcp: World) -> None:
    async def talking() -> None:
        async with stdio_client(StdioServerParameters(command="/nonexistent/weather")):
            pass

    with pytest.raises(FileNotFoundError):
        asyncio.run(talking())
    row = mcp.one("mcp_connection")
    assert (row["name"], row["attributes"]["tracekit.mcp.stage"]) == ("weather", "spawn")


def test_over_http_a_call_says_its_session(mcp: World) -> None:
    with over_http(calc(mcp)) as url:
        talk(url, add, mode="legacy")
    row = [row for row in mcp.closed("mcp_call") if row["attributes"].get("network.transport") == "tcp"][-1]
    assert row["end_ns"] - row["start_ns"] == 500
    assert len(row["attributes"]["mcp.session.id"]) > 10


def test_a_session_that_the_server_forgot_is_lost(mcp: World) -> None:
    from mcp.client.streamable_http import StreamableHTTPTransport

    made: list[Any] = []
    init = StreamableHTTPTransport.__init__

    def keep(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        made.append(self)

    async def say(client: Client) -> None:
        made[-1].session_id = "forgotten"
        with pytest.raises(MCPError):
            await add(client)

    with pytest.MonkeyPatch.context() as patch, over_http(calc(mcp)) as url:
        patch.setattr(StreamableHTTPTransport, "__init__", keep)
        talk(url, say, mode="legacy")
    row = [row for row in mcp.closed("mcp_call") if row["attributes"].get("network.transport") == "tcp"][-1]
    assert row["attributes"]["tracekit.error.text"] == "Session not found"
    lost = mcp.closed("mcp_connection")[-1]
    assert (lost["status"], lost["attributes"]["tracekit.mcp.status"]) == ("error", "disconnected")


# Content


@pytest.mark.parametrize("content", [False, True])
def test_arguments_and_results_are_kept_only_where_content_is_asked_for(content: bool, bare: World) -> None:  # noqa: FBT001
    bare.instrument(content=content)
    McpInstrumentor().instrument()
    try:
        talk(STDIO, lambda client: client.call_tool("slow", {"seconds": 0, "note": "the plans"}))
    finally:
        McpInstrumentor().uninstrument()
    row = bare.one("mcp_call")
    assert ("tracekit.content" in row["attributes"]) is content
    assert ("the plans" in str(row)) is False or content


# Harm


class Broken(Request):
    def __init__(self, *_: Any) -> None:
        message = "an error of ours"
        raise RuntimeError(message)


def test_what_the_agents_code_gets_is_the_same(mcp: World, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = talk(calc(mcp), add)
    McpInstrumentor().uninstrument()
    plain = talk(calc(mcp), add)
    McpInstrumentor().instrument()
    assert watched == plain
    monkeypatch.setenv("TRACEKIT_STRICT", "0")
    monkeypatch.setattr("tracekit.instrument.sdk.mcp.outgoing.Request", Broken)
    assert talk(calc(mcp), add) == plain


def test_an_error_of_ours_is_raised_under_pytest(mcp: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracekit.instrument.sdk.mcp.outgoing.Request", Broken)
    with pytest.raises(ExceptionGroup) as caught:
        talk(calc(mcp), add)
    assert "of ours" in str(cause_of(caught.value))


def test_where_nobody_sees_the_sdks_span_there_is_one_of_ours_on_record(bare: World) -> None:
    bare.instrument(tracer_provider=None)
    McpInstrumentor().instrument()
    try:
        talk(STDIO, add)
    finally:
        McpInstrumentor().uninstrument()
    row = bare.one("mcp_call")
    assert (row["name"], row["status"], row["key"].partition(":")[0]) == ("add", "ok", "mcp_call")
