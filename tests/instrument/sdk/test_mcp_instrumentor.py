"""Instrumenting mcp and taking it back are exact inverses."""

from typing import Any

import pytest
from mcp import Client, ClientSession
from mcp.client import stdio
from mcp.client.streamable_http import StreamableHTTPTransport
from mcp.server import MCPServer, Server
from mcp.shared import jsonrpc_dispatcher
from mcp.shared.direct_dispatcher import DirectDispatcher
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

from tests.instrument.conftest import World
from tests.instrument.sdk.mcp_world import calc, talk
from tracekit.instrument.sdk.mcp import McpInstrumentor
from tracekit.instrument.sdk.replacing import own_of

OWNERS: list[Any] = [
    Client,
    ClientSession,
    stdio,
    StreamableHTTPTransport,
    Server,
    jsonrpc_dispatcher,
    DirectDispatcher,
    JSONRPCDispatcher,
]


def state() -> list[dict[str, Any]]:
    return [own_of(owner) for owner in OWNERS]


def replaced(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> int:
    return sum(one[name] is not other.get(name) for one, other in zip(before, after, strict=True) for name in one)


@pytest.mark.usefixtures("world")
def test_what_was_replaced_is_put_back() -> None:
    before = state()
    for _ in range(2):
        McpInstrumentor().instrument()
        assert replaced(before, state()) == 13
        McpInstrumentor().uninstrument()
        assert replaced(before, state()) == 0


@pytest.mark.usefixtures("world")
def test_instrumenting_twice_changes_nothing_more() -> None:
    McpInstrumentor().instrument()
    once = state()
    McpInstrumentor().instrument()
    assert replaced(once, state()) == 0
    McpInstrumentor().uninstrument()


def test_after_it_is_taken_back_nothing_is_recorded(world: World) -> None:
    McpInstrumentor().instrument()
    server = calc(world)
    McpInstrumentor().uninstrument()
    talk(server, lambda client: client.call_tool("add", {"a": 1, "b": 2}))
    assert world.closed("mcp_call") == []
    assert len(server.middleware) == len(MCPServer("plain").middleware)


def test_a_wrapper_of_somebody_elses_over_ours_stays_and_ours_only_passes_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    McpInstrumentor().instrument()
    ours = Client.__aenter__

    async def theirs(self: Any) -> Any:
        return await ours(self)

    monkeypatch.setattr(Client, "__aenter__", theirs)
    McpInstrumentor().uninstrument()
    assert own_of(Client)["__aenter__"] is theirs
    talk(calc(world), lambda client: client.call_tool("add", {"a": 1, "b": 2}))
    assert world.rows() == []
    McpInstrumentor().instrument()
    talk(calc(world), lambda client: client.call_tool("add", {"a": 1, "b": 2}))
    assert len(world.closed("mcp_connection")) == 3
    McpInstrumentor().uninstrument()


@pytest.mark.usefixtures("world")
def test_a_library_that_has_changed_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ClientSession, "adopt")
    before = state()
    with pytest.raises(KeyError):
        McpInstrumentor().instrument()
    assert replaced(before, state()) == 0
    assert not McpInstrumentor().is_instrumented_by_opentelemetry


def test_a_part_of_the_librarys_own_that_has_gone_is_done_without(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(stdio, "_create_platform_compatible_process")
    McpInstrumentor().instrument()
    talk(calc(world), lambda client: client.call_tool("add", {"a": 1, "b": 2}))
    McpInstrumentor().uninstrument()
    assert world.closed("mcp_call")


@pytest.mark.usefixtures("world")
def test_the_signatures_stay() -> None:
    before = Client.__aenter__.__qualname__, JSONRPCDispatcher.send_raw_request.__doc__
    McpInstrumentor().instrument()
    assert (Client.__aenter__.__qualname__, JSONRPCDispatcher.send_raw_request.__doc__) == before
    McpInstrumentor().uninstrument()
