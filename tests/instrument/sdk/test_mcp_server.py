"""The server's side of mcp: what came of a call stands on the SDK's own span, under the name that its client has for it."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import ElicitResult
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode
from pydantic import BaseModel

from tests.instrument.conftest import World
from tests.instrument.sdk.mcp_world import calc, over_http, talk
from tracekit.ingest import import_paths
from tracekit.instrument import current, session, tool_schedule
from tracekit.instrument.runtime import RUNTIME
from tracekit.instrument.sdk.mcp import McpInstrumentor
from tracekit.instrument.sdk.mcp.server import Watching
from tracekit.store import open_store

TOOL_USE_ID = {"claudecode/toolUseId": "toolu_7"}


@pytest.fixture
def mcp(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The SDK's own spans go where the user's other spans go."""
    monkeypatch.setattr("mcp.shared._otel._tracer", world.provider.get_tracer("mcp-python-sdk"))
    instrumentor = McpInstrumentor()
    instrumentor.instrument()
    yield world
    instrumentor.uninstrument()


def ask(tool: str = "add", meta: dict[str, Any] | None = None, **arguments: Any) -> Any:
    async def say(client: Client) -> Any:
        return await client.call_tool(tool, arguments, meta=meta)  # type: ignore[arg-type]

    return say


def served(world: World) -> ReadableSpan:
    (found,) = [span for span in world.spans if span.kind is SpanKind.SERVER and span.name.startswith("tools/call")]
    return found


def said(span: ReadableSpan) -> dict[str, Any]:
    """What a span says; that it went well need not be said."""
    return {"tracekit.status": "ok", **(span.attributes or {})}


def stored(world: World, tmp_path: Path) -> list[dict[str, Any]]:
    store = str(tmp_path / "store.duckdb")
    import_paths([world.spool], store)
    with open_store(store) as opened:
        return opened.rows("SELECT * FROM boundaries WHERE boundary = 'mcp_call' ORDER BY key")


def test_the_sdks_own_span_says_what_came_of_the_call(mcp: World) -> None:
    talk(calc(mcp), ask(a=1, b=2), mode="legacy")
    span = served(mcp)
    assert span.instrumentation_scope is not None
    assert (span.instrumentation_scope.name, span.name) == ("mcp-python-sdk", "tools/call add")
    found = said(span)
    assert {
        name: found[name] for name in found if not name.startswith(("tracekit.key", "tracekit.parent", "tracekit.opened", "session"))
    } == {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2025-11-25",
        "jsonrpc.request.id": "2",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "tracekit.boundary": "mcp_call",
        "tracekit.mcp.server": "calc",
        "tracekit.status": "ok",
        "tracekit.tool.input_size": 13,
        "tracekit.tool.input_digest": "43258cff783fe703",
        "tracekit.tool.result_size": 28,
        "tracekit.tool.result_digest": "df3c1a607fa724ac",
    }


@pytest.mark.parametrize(
    ("tool", "text"), [("boom", "Error executing tool boom"), ("nope", "Unknown tool: nope"), ("add", "Error executing tool add")]
)
def test_a_tool_that_fails_is_an_error_with_its_text(tool: str, text: str, mcp: World) -> None:
    talk(calc(mcp), ask(tool))
    found = said(served(mcp))
    assert (found["error.type"], found["tracekit.status"]) == ("tool_error", "error")
    assert found["tracekit.error.text"].startswith(text)
    assert "a secret" not in found["tracekit.error.text"]
    assert served(mcp).status.status_code is StatusCode.ERROR


def test_a_call_goes_by_the_models_id_of_it(mcp: World) -> None:
    talk(calc(mcp), ask(meta=TOOL_USE_ID, a=1, b=2), mode="legacy")
    assert {row["key"] for row in mcp.closed("mcp_call")} == {"toolu_7"}
    assert said(served(mcp))["gen_ai.tool.call.id"] == "toolu_7"


def test_a_server_that_claude_code_started_works_for_its_session(mcp: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "claudes-session")
    talk(calc(mcp), ask(meta=TOOL_USE_ID, a=1, b=2), mode="legacy")
    attributes = said(served(mcp))
    assert (attributes["session.id"], attributes["tracekit.parent_key"]) == ("claudes-session", "toolu_7")


@pytest.mark.parametrize("how", ["auto", "legacy", "http"])
def test_client_and_server_that_are_both_watched_are_one_boundary_as_the_client_saw_it(
    how: str, mcp: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RUNTIME, "clock", time.time_ns)  # the SDK's server takes its times from there
    if how == "http":
        with over_http(calc(mcp)) as url:
            talk(url, ask(a=1, b=2))
    else:
        talk(calc(mcp), ask(a=1, b=2), mode=how)
    assert len(mcp.closed("mcp_call")) == 2
    (row,) = stored(mcp, tmp_path)
    assert (row["name"], row["status"]) == ("add", "ok")
    assert row["attributes"]["network.transport"] == ("tcp" if how == "http" else "inproc")


@pytest.mark.usefixtures("mcp")
def test_what_a_tool_does_is_part_of_its_call() -> None:
    server: MCPServer[Any] = MCPServer("outer")
    stood: list[str] = []

    @server.tool()
    def look() -> str:
        here = current()
        stood.append(here.boundary if here is not None else "nowhere")
        return "seen"

    talk(server, ask("look"), mode="legacy")
    assert stood == ["mcp_call"]


def test_a_call_in_an_agents_tool_call_keeps_its_id_on_both_sides(mcp: World) -> None:
    async def say(client: Client) -> Any:
        with session("s1"), tool_schedule("mcp__calc__add", "toolu_1"):
            return await client.call_tool("add", {"a": 1, "b": 2})

    talk(calc(mcp), say)
    assert [(row["session_id"], row["key"]) for row in mcp.closed("mcp_call")] == [("s1", "toolu_1")] * 2


def test_what_a_server_asks_of_its_client_is_part_of_the_call_that_waits_for_it(mcp: World) -> None:
    server: MCPServer[Any] = MCPServer("curious")

    class Name(BaseModel):
        name: str

    @server.tool()
    async def greet(ctx: Context[Any, Any]) -> str:
        answer = await ctx.elicit("who are you?", Name)
        return f"hello {answer.action}"

    async def decline(*_: Any) -> ElicitResult:
        mcp.clock.advance(900)
        return ElicitResult(action="decline")

    talk(server, ask("greet", meta=TOOL_USE_ID), mode="legacy", elicitation_callback=decline)
    (row,) = [row for row in mcp.closed("mcp_call") if row["attributes"]["mcp.method.name"] == "elicitation/create"]
    assert (row["parent_key"], row["status"], row["end_ns"] - row["start_ns"]) == ("toolu_7", "ok", 900)
    assert row["attributes"]["tracekit.mcp.server"] == "curious"
    (span,) = [span for span in mcp.spans if span.name == "MCP send elicitation/create"]
    assert span.parent == served(mcp).context


def test_where_the_sdk_makes_no_span_there_is_one_of_ours(mcp: World) -> None:
    server = calc(mcp)
    server.middleware[:] = [one for one in server.middleware if isinstance(one, Watching)]
    talk(server, ask(a=1, b=2))
    span = served(mcp)
    assert span.instrumentation_scope is not None
    assert (span.instrumentation_scope.name, span.kind) == ("tracekit", SpanKind.SERVER)


def test_a_request_that_the_server_refuses_is_an_error_by_its_code(mcp: World) -> None:
    async def say(client: Client) -> Any:
        with pytest.raises(MCPError):
            await client.get_prompt("nope")

    talk(calc(mcp), say)
    (span,) = [span for span in mcp.spans if span.kind is SpanKind.SERVER and span.name == "prompts/get nope"]
    found = said(span)
    assert (found["error.type"], found["tracekit.error.text"]) == ("ValueError", "Unknown prompt: nope")
    assert (found["tracekit.status"], found["tracekit.boundary"]) == ("error", "mcp_call")


def test_lists_pings_and_handshakes_are_left_as_they_are(mcp: World) -> None:
    talk(calc(mcp), lambda client: client.list_tools(), mode="legacy")
    spans = [span for span in mcp.spans if span.kind is SpanKind.SERVER]
    assert {span.name for span in spans} == {"initialize", "notifications/initialized", "tools/list"}
    assert not any(name.startswith("tracekit.") for span in spans for name in span.attributes or {})


def test_an_earlier_server_can_be_watched_too(mcp: World) -> None:
    McpInstrumentor().uninstrument()
    server = calc(mcp)
    before = list(server.middleware)
    McpInstrumentor().instrument()
    assert server.middleware == before
    McpInstrumentor().instrument_server(server)
    McpInstrumentor().instrument_server(server)
    talk(server, ask(a=1, b=2))
    assert said(served(mcp))["tracekit.status"] == "ok"
    McpInstrumentor().uninstrument()
    assert server.middleware == before
    McpInstrumentor().instrument()


def test_what_the_client_gets_is_the_same_when_ours_breaks(mcp: World, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = talk(calc(mcp), ask(a=1, b=2))
    monkeypatch.setenv("TRACEKIT_STRICT", "0")
    monkeypatch.setattr("tracekit.instrument.sdk.mcp.server.Incoming", None)
    assert talk(calc(mcp), ask(a=1, b=2)) == expected
