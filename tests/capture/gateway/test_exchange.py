"""What goes on record of an exchange with a model: attempts, requests, blocks, and who ended what how."""

import asyncio
import contextlib
import json
import time
from itertools import pairwise
from pathlib import Path

import aiohttp
import pytest

from tests.capture.gateway.world import (
    ASKING,
    MESSAGE,
    SESSION,
    Request,
    Row,
    asking,
    attribute,
    block,
    chunked,
    head,
    message_end,
    message_start,
    names,
    run,
    sse,
    tokens,
    whole,
    whole_message,
    world,
)
from tracekit.ingest import import_paths
from tracekit.model import Boundary, Status, semconv
from tracekit.store import open_store

SECOND = 1_000_000_000
OVERLOADED = json.dumps({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}).encode()


def test_a_response_is_an_attempt_a_request_and_its_blocks(tmp_path: Path) -> None:
    stream = [message_start(cache_read_input_tokens=5), sse("ping"), *block(0, "hel", "lo"), *block(1, '{"a":', "1}", kind="tool_use")]
    began_ns = time.time_ns()

    async def test() -> None:
        async with world(tmp_path, chunked(*stream, *message_end("tool_use", 42), pause=0.002)) as here:
            await here.ask(**{"x-client-request-id": "client-1"})
            request, attempt = await here.row("model_request"), await here.row("request_attempt")
            opened, open_attempt = await here.row("model_request", is_open=True), await here.row("request_attempt", is_open=True)
            text, tool = here.closed("stream_event")
        assert (request["key"], request["status"], request["name"], request["session_id"]) == ("req_1", Status.OK, "claude-x", SESSION)
        assert {name: attribute(request, name) for name in (semconv.RESPONSE_ID, semconv.STOP_REASON, semconv.HTTP_STATUS)} == {
            semconv.RESPONSE_ID: "msg_1",
            semconv.STOP_REASON: "tool_use",
            semconv.HTTP_STATUS: "200",
        }
        assert (*tokens(request), attribute(request, semconv.CACHE_READ_TOKENS)) == ("7", "42", "5")
        assert attribute(request, semconv.CLIENT_REQUEST_ID) == "client-1"
        assert (attribute(request, semconv.MESSAGE_COUNT), attribute(request, semconv.MAX_TOKENS)) == ("1", "100")
        times = [semconv.FIRST_BYTE_NS, semconv.LAST_PING_NS, semconv.FIRST_CONTENT_NS, semconv.LAST_BLOCK_NS, semconv.LAST_EVENT_NS]
        seen = [began_ns, request["start_ns"], *(int(request["attributes"][name]) for name in times)]
        assert seen == sorted(seen)
        assert request["end_ns"] == seen[-1]
        assert names(request) == ["message_start", "ping", "message_delta", "message_stop"]
        assert (opened["key"], opened["start_ns"]) == ("req_1", request["start_ns"])

        assert (attempt["key"], attempt["parent_key"], attempt["status"]) == ("req_1", attribute(request, semconv.OPENED_AS), Status.OK)
        assert attribute(attempt, semconv.OPENED_AS) == open_attempt["key"]
        stations = ["connect.start", "connect.end", "request.sent", "response.headers", "response.first_byte", "closed.complete"]
        assert names(attempt) == stations

        assert [(row["key"], row["parent_key"], row["name"], row["status"]) for row in (text, tool)] == [
            ("msg_1#0", "req_1", "text", Status.OK),
            ("msg_1#1", "req_1", "tool_use", Status.OK),
        ]
        assert (attribute(text, semconv.BLOCK_SIZE), attribute(tool, semconv.BLOCK_SIZE)) == ("5", "7")
        assert (attribute(tool, semconv.TOOL_CALL_ID), attribute(tool, semconv.TOOL_NAME)) == ("toolu_1", "Bash")
        assert names(text) == ["content_block_start", "content_block_delta", "content_block_delta", "content_block_stop"]
        deltas = [event for event in json.loads(text["events"]) if event[1] == "content_block_delta"]
        data = stream[3].partition(b"data: ")[2].strip()
        assert deltas[0][2] == {semconv.EVENT_BYTES: len(data)}
        assert text["start_ns"] < deltas[0][0] < deltas[1][0] < text["end_ns"] < tool["start_ns"]

    run(test())


def test_contents_are_kept_only_where_they_are_wanted(tmp_path: Path) -> None:
    async def test(folder: Path, *, content: bool) -> str:
        async with world(folder, whole(whole_message()), content=content) as here:
            await here.ask()
        return json.dumps(here.rows())

    async def both() -> None:
        without, wanted = await test(tmp_path / "a", content=False), await test(tmp_path / "b", content=True)
        assert ("hush" in without, "hello" in without) == (False, False)
        assert ("hush" in wanted, "hello" in wanted) == (True, True)

    run(both())


async def ended(folder: Path, *pieces: bytes, end: bool = True) -> Row:
    async with world(folder, chunked(*pieces, end=end)) as here:
        with contextlib.nullcontext() if end else pytest.raises(aiohttp.ClientPayloadError):
            await here.ask()
        row = await here.row("model_request")
        assert here.gateway.gaps == 0
        return row


def test_a_response_that_ends_without_its_last_event_was_cut_however_tidily(tmp_path: Path) -> None:
    async def test() -> None:
        tidy = await ended(tmp_path / "tidy", message_start(), *block(0, "x"))
        torn = await ended(tmp_path / "torn", message_start(), *block(0, "x"), end=False)
        for row in (tidy, torn):
            assert (row["status"], attribute(row, semconv.STREAM_CUT)) == (Status.ERROR, "upstream")
            assert int(row["attributes"][semconv.LAST_BLOCK_NS]) <= row["end_ns"]

    run(test())


def test_what_follows_the_last_event_changes_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        row = await ended(tmp_path, whole_message(), end=False)
        assert (row["status"], attribute(row, semconv.STREAM_CUT)) == (Status.OK, None)

    run(test())


def test_an_error_event_after_200_is_the_end(tmp_path: Path) -> None:
    error = sse("error", error={"type": "overloaded_error", "message": "Overloaded, sk-ant-api03-abcdefgh is"})

    async def test() -> None:
        row = await ended(tmp_path, message_start(), *block(0, "x")[:2], error)
        assert (row["status"], attribute(row, semconv.STREAM_CUT)) == (Status.ERROR, "error event")
        assert attribute(row, semconv.ERROR_TYPE) == "overloaded_error"
        assert attribute(row, semconv.ERROR_TEXT) == "Overloaded, [secret] is"
        assert names(row)[-1] == "error"

    run(test())


def test_events_that_nobody_knows_pass_and_are_told(tmp_path: Path) -> None:
    odd = [sse("content_block_delta", index=99), sse("content_block_stop", index="x"), sse("sparkle"), b": alive\n\n", b"data: [DONE]\n\n"]

    async def test() -> None:
        row = await ended(tmp_path, message_start(), *odd, *block(0, "x"), *message_end())
        assert row["status"] == Status.OK
        told = ["message_start", "content_block_delta", "content_block_stop", "sparkle", ":", "", "message_delta", "message_stop"]
        assert names(row) == told
        assert semconv.LAST_PING_NS in row["attributes"]

    run(test())


def test_the_largest_of_each_token_count_holds(tmp_path: Path) -> None:
    async def test() -> None:
        less = sse("message_delta", delta={"stop_reason": "end_turn"}, usage={"input_tokens": 3, "output_tokens": 20})
        row = await ended(
            tmp_path, message_start(), *block(0, "x"), less, sse("message_delta", usage={"output_tokens": 19}), sse("message_stop")
        )
        assert tokens(row) == ("7", "20")

    run(test())


def test_an_error_is_a_closed_attempt_and_no_request(tmp_path: Path) -> None:
    limits = {"anthropic_ratelimit_requests_remaining": "0", "retry_after": "1.5"}

    async def test() -> None:
        async with world(tmp_path, whole(OVERLOADED, 529, "application/json", **limits)) as here:
            assert await here.ask() == OVERLOADED
            row = await here.row("request_attempt")
            assert (row["key"], row["status"], row["name"]) == ("req_1", Status.ERROR, "claude-x")
            assert attribute(row, semconv.HTTP_STATUS) == "529"
            assert attribute(row, semconv.ERROR_TYPE) == "overloaded_error"
            assert attribute(row, semconv.RETRY_DELAY_NS) == str(3 * SECOND // 2)
            told = next(said for _, name, said in json.loads(row["events"]) if name == "response.headers")
            assert told == {"anthropic-ratelimit-requests-remaining": "0", "retry-after": "1.5"}
            assert here.rows(boundary=Boundary.MODEL_REQUEST) == []

    run(test())


@pytest.mark.parametrize(
    ("body", "content_type", "status", "expected"),
    [
        (b"<html>log in first</html>", "text/html; charset=utf-8", 200, {semconv.ERROR_TEXT: "<html>log in first</html>"}),
        (b'{"private": "words"}', "application/json", 200, {semconv.ERROR_TYPE: "not a message"}),
        (b"upstream connect error", "text/plain", 503, {semconv.ERROR_TEXT: "upstream connect error"}),
        (
            b'[{"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED"}}]',
            "application/json",
            429,
            {semconv.ERROR_TYPE: "RESOURCE_EXHAUSTED", semconv.ERROR_TEXT: "Quota"},
        ),
        (b'{"message": "Input is too long"}', "application/json", 400, {semconv.ERROR_TEXT: "Input is too long"}),
    ],
)
def test_whatever_comes_in_place_of_a_message_is_a_failed_attempt(
    tmp_path: Path, body: bytes, content_type: str, status: int, expected: dict[str, str]
) -> None:
    async def test() -> None:
        async with world(tmp_path, whole(body, status, content_type)) as here:
            assert await here.ask() == body
            row = await here.row("request_attempt")
            assert row["status"] == Status.ERROR
            found = {name: value for name, value in row["attributes"].items() if name in {semconv.ERROR_TYPE, semconv.ERROR_TEXT}}
            assert found == expected
            assert here.rows(boundary=Boundary.MODEL_REQUEST) == []

    run(test())


def test_a_message_in_one_piece_is_a_request_without_blocks(tmp_path: Path) -> None:
    said = {
        **MESSAGE,
        "content": [{"type": "text", "text": "private"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }

    async def test() -> None:
        async with world(tmp_path, whole(json.dumps(said).encode(), 200, "application/json")) as here:
            await here.ask(body=asking(stream=False))
            row = await here.row("model_request")
            assert (row["key"], row["status"], tokens(row)) == ("req_1", Status.OK, ("3", "4"))
            assert attribute(row, semconv.STOP_REASON) == "end_turn"
            assert here.rows(boundary=Boundary.STREAM_EVENT) == []
            assert "private" not in json.dumps(here.rows())

    run(test())


@pytest.mark.parametrize(
    ("headers", "user_id", "session"),
    [
        ({}, "", SESSION),
        ({"X-Claude-Code-Session-Id": ""}, json.dumps({"device_id": "d", "session_id": "s-json"}), "s-json"),
        ({"X-Claude-Code-Session-Id": ""}, f"user_abc_account__session_{SESSION}", SESSION),
        ({"X-Claude-Code-Session-Id": ""}, "nobody", f"gateway:{time.strftime('%Y-%m-%d', time.gmtime())}"),
    ],
)
def test_a_request_is_told_under_its_session(tmp_path: Path, headers: dict[str, str], user_id: str, session: str) -> None:
    async def test() -> None:
        async with world(tmp_path, whole(whole_message())) as here:
            await here.ask(body=asking(metadata={"user_id": user_id}), **headers, **{"x-claude-code-agent-id": "a1"})
            row = await here.row("model_request")
            assert (row["session_id"], row["agent_id"]) == (session, "a1")

    run(test())


@pytest.mark.parametrize("user_id", [json.dumps({"device_id": "d", "session_id": SESSION}), f"user_a_account__session_{SESSION}"])
def test_a_very_large_request_is_told_with_what_stands_on_its_edges(tmp_path: Path, user_id: str) -> None:
    said = asking(messages=[{"role": "user", "content": 'x"metadata":{"user_id":"nobody"}' * 40_000}], metadata={"user_id": user_id})

    async def test() -> None:
        async with world(tmp_path, whole(whole_message())) as here:
            await here.ask(body=said, **{"X-Claude-Code-Session-Id": ""})
            row = await here.row("model_request")
            assert (row["session_id"], row["name"], row["status"]) == (SESSION, "claude-x", Status.OK)
            assert int(row["attributes"][semconv.REQUEST_SIZE]) > 1_000_000
            assert attribute(row, semconv.MESSAGE_COUNT) is None

    run(test())


def test_attempts_with_the_same_bytes_are_one_request_from_the_first_on(tmp_path: Path) -> None:
    failing = whole(OVERLOADED, 529, "application/json", request_id="req_failed")
    other = whole(OVERLOADED, 500, "application/json", request_id="req_other")

    async def test() -> None:
        async with world(tmp_path, failing, other, failing, whole(whole_message())) as here:
            await here.ask()
            await here.ask(body=asking(max_tokens=1))
            await asyncio.sleep(0.02)
            await here.ask()
            await here.ask()
            request = await here.row("model_request")
            first, apart, second, answered = here.closed("request_attempt")
        chain = request["attributes"][semconv.OPENED_AS]
        assert [row["parent_key"] == chain for row in (first, apart, second, answered)] == [True, False, True, True]
        assert [attribute(row, semconv.ATTEMPT) for row in (first, apart, second, answered)] == ["1", "1", "2", "3"]
        assert request["start_ns"] == first["start_ns"] < second["start_ns"] < answered["start_ns"]
        assert attribute(request, semconv.ATTEMPTS) == "3"

    run(test())


def test_the_store_puts_attempts_under_the_request_that_was_answered(tmp_path: Path) -> None:
    async def test() -> None:
        async with world(tmp_path, whole(OVERLOADED, 529, "application/json", request_id="req_failed"), whole(whole_message())) as here:
            await here.ask()
            await here.ask()

    run(test())
    import_paths([tmp_path / "spool"], str(tmp_path / "store"))
    with open_store(str(tmp_path / "store")) as store:
        rows = store.rows("SELECT boundary, key, parent_key, end_ns IS NULL AS is_open FROM boundaries ORDER BY boundary, start_ns, key")
    assert [tuple(row.values()) for row in rows] == [
        ("model_request", "req_1", None, False),
        ("request_attempt", "req_failed", "req_1", False),
        ("request_attempt", "req_1", "req_1", False),
        ("stream_event", "msg_1#0", "req_1", False),
    ]


def test_a_response_without_a_request_id_is_named_by_its_message(tmp_path: Path) -> None:
    async def play(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + whole_message())
        writer.close()

    async def test() -> None:
        async with world(tmp_path, play) as here:
            assert await here.ask() == whole_message()
            assert (await here.row("model_request"))["key"] == (await here.row("request_attempt"))["key"] == "msg_1"

    run(test())


def test_an_open_request_is_told_again_while_events_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracekit.capture.gateway import exchange

    monkeypatch.setattr(exchange, "_SECOND", SECOND // 50)
    pieces = [message_start(), block(0, "")[0], *[block(0, "x")[1]] * 20, block(0, "")[-1], *message_end()]

    async def test() -> None:
        async with world(tmp_path, chunked(*pieces, pause=0.01)) as here:
            await here.ask()
            await here.row("model_request")
            told = [int(row["attributes"][semconv.LAST_EVENT_NS]) for row in here.rows(boundary=Boundary.MODEL_REQUEST, end_ns=None)]
            assert len(told) >= 3
            assert told == sorted(set(told))

    run(test())


def test_very_many_events_are_told_together_without_losing_a_byte_or_a_pause(tmp_path: Path) -> None:
    delta = block(0, "x")[1]
    size = len(delta.partition(b"data: ")[2].strip())

    async def play(_: Request, writer: asyncio.StreamWriter) -> None:
        many = delta * 6_000
        writer.write(
            head(Content_Length=str(len(message_start() + block(0, "")[0] + many * 2 + block(0, "")[-1] + b"".join(message_end()))))
        )
        writer.write(message_start() + block(0, "")[0] + many)
        await asyncio.sleep(0.7)
        writer.write(many + block(0, "")[-1] + b"".join(message_end()))

    async def test() -> None:
        async with world(tmp_path, play) as here:
            await here.ask()
            row = await here.row("stream_event")
            deltas = [(at_ns, said) for at_ns, name, said in json.loads(row["events"]) if name == "content_block_delta"]
            assert len(deltas) < 4_100
            assert sum(said[semconv.EVENT_BYTES] for _, said in deltas) == 12_000 * size
            assert sum(said.get(semconv.EVENT_COUNT, 1) for _, said in deltas) == 12_000
            assert max(after - before for (before, _), (after, _) in pairwise(deltas)) > SECOND // 4

    run(test())


def test_counting_tokens_is_an_attempt_and_nothing_else(tmp_path: Path) -> None:
    async def test() -> None:
        async with world(tmp_path, whole(b'{"input_tokens": 12}', 200, "application/json")) as here:
            await here.ask("/v1/messages/count_tokens?beta=true")
            row = await here.row("request_attempt")
            assert (row["status"], attribute(row, semconv.OPERATION)) == (Status.OK, "count_tokens")
            assert (row["parent_key"], attribute(row, semconv.ERROR_TYPE)) == (None, None)
            assert here.rows(boundary=Boundary.MODEL_REQUEST) == []
            assert ASKING["x-api-key"] not in json.dumps(here.rows())

    run(test())
