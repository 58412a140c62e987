"""MCP servers over HTTP: requests and responses paired by id, sessions lost and found, and whose calls they are."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.capture.gateway.world import (
    SESSION,
    Play,
    Request,
    Row,
    Server,
    World,
    attribute,
    block,
    chunk,
    chunked,
    gateway_before,
    head,
    message_end,
    message_start,
    run,
    silence,
    until,
    whole,
)
from tracekit.capture.gateway import Upstream
from tracekit.model import Boundary, Status, semconv

URL = "/mcp/demo"
WITH_SESSION = {"Mcp-Session-Id": "sess-1"}


def call(rpc_id: object = 2, tool: str = "add", use_id: str | None = "toolu_1", **arguments: object) -> dict[str, Any]:
    meta = {"claudecode/toolUseId": use_id} if use_id else {}
    return {"jsonrpc": "2.0", "id": rpc_id, "method": "tools/call", "params": {"name": tool, "arguments": arguments, "_meta": meta}}


def result(rpc_id: object = 2, *, is_error: bool = False, text: str = "3") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": rpc_id, "result": {"content": [{"type": "text", "text": text}], "isError": is_error}}


def failed(rpc_id: object, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": rpc_id, "error": {"code": code, "message": message}}


def answered(said: object, status: int = 200, **headers: str) -> Play:
    return whole(json.dumps(said).encode(), status, "application/json", **headers)


def event(said: object, name: str = "message", more: str = "") -> bytes:
    return f"event: {name}\n{more}data: {said if isinstance(said, str) else json.dumps(said)}\n\n".encode()


@asynccontextmanager
async def mcp(folder: Path, *plays: Play, path: str = "/mcp", content: bool = False, model: Play | None = None) -> AsyncGenerator[World]:
    """A gateway before a model and an MCP server that is called `demo`."""
    server, models = Server(*plays), Server(model or silence)
    async with server.listening() as port, models.listening() as model_port:
        upstream = Upstream(f"http://127.0.0.1:{model_port}", environment={})
        async with gateway_before(upstream, folder, content=content, mcp={"demo": f"http://127.0.0.1:{port}{path}"}) as here:
            here.requests = server.requests
            yield here


async def one(here: World, boundary: Boundary = Boundary.MCP_CALL) -> Row:
    row = await here.row(boundary)
    assert here.gateway.gaps == 0
    return row


def test_a_call_is_told_by_its_tool_use_from_request_to_response(tmp_path: Path) -> None:
    async def test() -> None:
        async with mcp(tmp_path, answered(result(), Mcp_Session_Id="sess-1")) as here:
            assert json.loads(await here.ask(URL, call(a=1, b=2), **WITH_SESSION)) == result()
            row = await one(here)
            opened = await here.row("mcp_call", is_open=True)
            assert (row["source"], row["key"], row["parent_key"], row["name"], row["status"]) == (
                "mcp_tap",
                "toolu_1",
                "toolu_1",
                "add",
                Status.OK,
            )
            assert row["attributes"] == {
                semconv.MCP_SERVER: "demo",
                semconv.MCP_METHOD: "tools/call",
                semconv.MCP_TRANSPORT: "tcp",
                semconv.MCP_SESSION: "sess-1",
                semconv.JSONRPC_ID: "2",
                semconv.TOOL_NAME: "mcp__demo__add",
                semconv.TOOL_CALL_ID: "toolu_1",
                semconv.TOOL_INPUT_SIZE: "13",
                semconv.TOOL_RESULT_SIZE: row["attributes"][semconv.TOOL_RESULT_SIZE],
                semconv.HTTP_STATUS: "200",
            }
            assert (opened["key"], opened["start_ns"]) == ("toolu_1", row["start_ns"])
            assert here.requests[0].target == "/mcp"

    run(test())


def test_a_call_without_a_tool_use_is_told_by_server_id_and_time(tmp_path: Path) -> None:
    async def test() -> None:
        async with mcp(tmp_path, answered(result("a-7"))) as here:
            await here.ask(URL, call("a-7", use_id=None))
            row = await one(here)
            assert row["key"] == f"demo/a-7@{row['start_ns']}"
            assert (await here.row("mcp_call", is_open=True))["key"] == attribute(row, semconv.OPENED_AS)

    run(test())


@pytest.mark.parametrize(
    ("said", "status", "kind", "words"),
    [
        (result(is_error=True, text="no such file, token=abcdefgh"), Status.ERROR, "tool_error", "no such file, [secret]"),
        (failed(2, -32602, "bad arguments"), Status.ERROR, "-32602", "bad arguments"),
    ],
)
def test_how_a_call_failed_is_told(tmp_path: Path, said: object, status: str, kind: str, words: str) -> None:
    async def test() -> None:
        async with mcp(tmp_path, answered(said)) as here:
            await here.ask(URL, call())
            row = await one(here)
            assert (row["status"], attribute(row, semconv.ERROR_TYPE), attribute(row, semconv.ERROR_TEXT)) == (status, kind, words)
            assert attribute(row, semconv.RPC_STATUS) == ("-32602" if kind == "-32602" else None)

    run(test())


def test_arguments_and_results_are_kept_only_where_they_are_wanted(tmp_path: Path) -> None:
    async def test() -> None:
        for content in (False, True):
            async with mcp(tmp_path / str(content), answered(result(text="the sum")), content=content) as here:
                await here.ask(URL, call(word="hush"))
                await one(here)
            assert ("hush" in json.dumps(here.rows()), "the sum" in json.dumps(here.rows())) == (content, content)

    run(test())


def test_a_response_is_found_in_a_stream_among_other_messages(tmp_path: Path) -> None:
    asked_back: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "elicitation/create", "params": {}}
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 2}}

    async def test() -> None:
        async with mcp(tmp_path, chunked(event(progress), event(asked_back), event(result()), pause=0.01)) as here:
            await here.ask(URL, call())
            assert (await one(here))["status"] == Status.OK

    run(test())


def test_a_stream_without_a_response_leaves_the_call_broken(tmp_path: Path) -> None:
    async def test() -> None:
        async with mcp(tmp_path, chunked(event({"jsonrpc": "2.0", "method": "notifications/message"}))) as here:
            await here.ask(URL, call())
            row = await one(here)
            assert (row["status"], attribute(row, semconv.STREAM_CUT)) == (Status.ERROR, "upstream")

    run(test())


def test_a_response_may_come_in_the_stream_that_resumes_a_broken_one(tmp_path: Path) -> None:
    broken = chunked(event("{}", more="id: 7\n"))

    async def test() -> None:
        async with mcp(tmp_path, broken, chunked(event(result()))) as here:
            await here.ask(URL, call(), **WITH_SESSION)
            assert here.closed("mcp_call") == []
            async with here.client.get(here.url + URL, headers={**WITH_SESSION, "Last-Event-ID": "7"}) as answer:
                await answer.read()
            row = await one(here)
            assert (row["status"], row["end_ns"] > row["start_ns"]) == (Status.OK, True)

    run(test())


def test_a_session_that_is_lost_ends_the_call_with_404(tmp_path: Path) -> None:
    async def test() -> None:
        async with mcp(tmp_path, answered(failed("server-error", -32600, "Session not found"), 404)) as here:
            await here.ask(URL, call(), **WITH_SESSION)
            row = await one(here)
            assert (row["status"], attribute(row, semconv.HTTP_STATUS), attribute(row, semconv.MCP_SESSION)) == (
                Status.ERROR,
                "404",
                "sess-1",
            )
            assert (attribute(row, semconv.RPC_STATUS), attribute(row, semconv.ERROR_TEXT)) == ("-32600", "Session not found")

    run(test())


def test_connecting_is_told_station_by_station(tmp_path: Path) -> None:
    def asked(rpc_id: object, method: str) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": rpc_id, "method": method, "params": {}}

    async def test() -> None:
        plays = [
            answered(failed("probe", -32601, "Method not found")),
            answered(result(0), Mcp_Session_Id="sess-1"),
            whole(b"", 202),
            answered(failed(1, -32603, "the list is broken")),
        ]
        async with mcp(tmp_path, *plays) as here:
            await here.ask(URL, asked("probe", "server/discover"))
            await here.ask(URL, asked(0, "initialize"))
            await here.ask(URL, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **WITH_SESSION)
            await here.ask(URL, asked(1, "tools/list"), **WITH_SESSION)
            await until(lambda: len(here.closed("mcp_connection")) == 3)
            probe, first, listing = here.closed("mcp_connection")
        assert [(row["key"], row["name"], row["source"]) for row in (probe, first, listing)] == [
            (f"demo@{row['end_ns']}", "demo", "mcp_tap") for row in (probe, first, listing)
        ]
        assert [attribute(row, semconv.MCP_METHOD) for row in (probe, first, listing)] == ["server/discover", "initialize", "tools/list"]
        assert [attribute(row, semconv.MCP_STATUS) for row in (probe, first, listing)] == [None, "connected", "failed"]
        assert [attribute(row, semconv.MCP_SESSION) for row in (probe, first, listing)] == [None, "sess-1", "sess-1"]
        assert here.rows(boundary=Boundary.MCP_CALL) == []

    run(test())


def test_a_server_that_is_not_there_is_a_failed_connection(tmp_path: Path) -> None:
    async def test() -> None:
        upstream = Upstream("http://127.0.0.1:9", environment={})
        async with gateway_before(upstream, tmp_path, mcp={"demo": "http://127.0.0.1:9/mcp"}) as here:
            assert b"ECONNREFUSED" in await here.ask(URL, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})
            row = await one(here, Boundary.MCP_CONNECTION)
            assert (row["status"], attribute(row, semconv.MCP_STATUS)) == (Status.ERROR, "failed")
            assert attribute(row, semconv.ERROR_CODE) == "ECONNREFUSED"

    run(test())


def test_a_call_that_hangs_is_open_until_the_client_gives_it_up(tmp_path: Path) -> None:
    given_up = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}

    async def test() -> None:
        async with mcp(tmp_path, silence, whole(b"", 202)) as here:
            hanging = asyncio.ensure_future(here.ask(URL, call(), **WITH_SESSION))
            assert (await here.row("mcp_call", is_open=True))["key"] == "toolu_1"
            assert here.closed("mcp_call") == []
            await here.ask(URL, given_up, **WITH_SESSION)
            assert (await one(here))["status"] == Status.CANCELLED
            hanging.cancel()
            await asyncio.sleep(0.1)
            assert len(here.closed("mcp_call")) == 1

    run(test())


def test_a_client_that_leaves_ends_its_call(tmp_path: Path) -> None:
    async def test() -> None:
        async with mcp(tmp_path, silence) as here:
            hanging = asyncio.ensure_future(here.ask(URL, call()))
            await here.row("mcp_call", is_open=True)
            hanging.cancel()
            row = await one(here)
            assert (row["status"], attribute(row, semconv.STREAM_CUT)) == (Status.CANCELLED, "client")

    run(test())


def test_a_call_is_told_under_the_session_whose_model_asked_for_it(tmp_path: Path) -> None:
    stream = chunked(message_start(), *block(0, "{}", kind="tool_use"), *message_end("tool_use"))

    async def test() -> None:
        async with mcp(tmp_path, answered(result()), model=stream) as here:
            await here.ask()
            for _ in range(2):
                async with here.client.post(here.url + URL, json=call(), headers=WITH_SESSION) as answer:
                    await answer.read()
            listing = {"jsonrpc": "2.0", "id": 2, "method": "resources/list"}
            async with here.client.post(here.url + URL, json=listing, headers=WITH_SESSION) as answer:
                await answer.read()
            await here.row("mcp_connection")
            assert {row["session_id"] for row in here.rows(source="mcp_tap")} == {SESSION}

    run(test())


def test_a_call_of_nobody_known_is_told_under_its_day(tmp_path: Path) -> None:
    async def test() -> None:
        async with mcp(tmp_path, answered(result())) as here, here.client.post(here.url + URL, json=call()) as answer:
            await answer.read()
            assert (await one(here))["session_id"].startswith("gateway:2")

    run(test())


def test_a_batch_is_answered_in_any_order(tmp_path: Path) -> None:
    async def test() -> None:
        async with mcp(tmp_path, answered([result(3), result(2, is_error=True)])) as here:
            await here.ask(URL, [call(2, use_id="toolu_a"), call(3, use_id="toolu_b"), {"jsonrpc": "2.0", "method": "ping"}])
            await until(lambda: len(here.closed("mcp_call")) == 2)
            assert {row["key"]: row["status"] for row in here.closed("mcp_call")} == {"toolu_a": Status.ERROR, "toolu_b": Status.OK}

    run(test())


@pytest.mark.parametrize("ends", [False, True])
def test_the_older_transport_answers_in_a_stream_of_its_own(tmp_path: Path, *, ends: bool) -> None:
    asked = asyncio.Event()

    async def stream(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head(Transfer_Encoding="chunked") + chunk(event("/messages/?session_id=abc", "endpoint")))
        await asked.wait()
        writer.write(b"0\r\n\r\n" if ends else chunk(event(result())))
        await writer.drain()
        await asyncio.sleep(0.3)

    async def accept(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head(202, "text/plain", Content_Length="8") + b"Accepted")
        asked.set()

    async def test() -> None:
        async with mcp(tmp_path, stream, accept, path="/sse") as here, here.client.get(here.url + URL) as answer:
            await answer.content.readuntil(b"session_id=abc\n\n")
            assert await here.ask("/messages/?session_id=abc", call()) == b"Accepted"
            row = await one(here)
            assert (row["key"], attribute(row, semconv.MCP_SESSION)) == ("toolu_1", "/messages/?session_id=abc")
            assert (row["status"], attribute(row, semconv.STREAM_CUT)) == ((Status.ERROR, "upstream") if ends else (Status.OK, None))
            assert [request.target for request in here.requests] == ["/sse", "/messages/?session_id=abc"]

    run(test())


@pytest.mark.parametrize("greedy", ["/v1/messages", "/v1/files?x=1", "/api/oauth/token?x=1", "/anything", "http://evil.example/?x=1"])
def test_no_server_draws_other_traffic_to_itself(tmp_path: Path, greedy: str) -> None:
    async def test() -> None:
        mine = whole(b"the model's", 404, "text/plain")
        async with mcp(tmp_path, chunked(event(greedy, "endpoint")), model=mine) as here:
            async with here.client.get(here.url + URL) as answer:
                await answer.read()
            if greedy.startswith("/"):
                assert await here.ask(greedy) == b"the model's"
            assert len(here.requests) == 1

    run(test())


def test_addresses_below_a_server_go_to_it_and_similar_names_do_not(tmp_path: Path) -> None:
    async def test() -> None:
        async with mcp(tmp_path, answered({}), model=whole(b"the model's", 404, "text/plain")) as here:
            await here.ask("/mcp/demo/register?x=1", {})
            assert await here.ask("/mcp/demolition", {}) == b"the model's"
            assert [request.target for request in here.requests] == ["/mcp/register?x=1"]

    run(test())
