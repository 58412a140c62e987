"""Model requests: attempts, waits, streams, and what a response was."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from tracekit.instrument import model_request, session, turn

if TYPE_CHECKING:
    from tests.instrument.conftest import World

START: dict[str, Any] = {
    "type": "message_start",
    "message": {"id": "msg_1", "model": "claude-x-1", "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1}},
}
OPEN_TEXT: dict[str, Any] = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
DELTA: dict[str, Any] = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}}
CLOSE: dict[str, Any] = {"type": "content_block_stop", "index": 0}
REASON: dict[str, Any] = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}
STOP: dict[str, Any] = {"type": "message_stop"}
WHOLE = (START, OPEN_TEXT, DELTA, {"type": "ping"}, DELTA, CLOSE, REASON, STOP)
SECOND = 1_000_000_000


def ticking(world: "World", events: tuple[dict[str, Any], ...], step_ns: int = 100) -> Iterator[dict[str, Any]]:
    for event in events:
        world.clock.advance(step_ns)
        yield event


def test_a_streamed_response_from_the_request_to_message_stop(world: "World") -> None:
    with session("s"), turn("p"), model_request("claude-x", stream=True) as request:
        received = list(request.stream(ticking(world, WHOLE)))
        world.clock.advance(5_000)  # what the agent does before it leaves the block is not the response's
    assert received == list(WHOLE)
    row = world.one("model_request")
    assert (row["key"], row["parent_key"], row["name"], row["start_ns"], row["end_ns"], row["status"]) == (
        "msg_1",
        "p",
        "claude-x",
        1_000,
        1_800,
        "ok",
    )
    assert row["attributes"] == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-x",
        "gen_ai.request.stream": "true",
        "gen_ai.response.id": "msg_1",
        "gen_ai.response.model": "claude-x-1",
        "gen_ai.response.finish_reasons": "end_turn",
        "gen_ai.usage.cache_read.input_tokens": "5",
        "gen_ai.usage.output_tokens": "9",
        "tracekit.usage.input_tokens": "10",
        "tracekit.response.first_byte_ns": "1100",
        "tracekit.response.first_content_ns": "1200",
        "tracekit.response.last_block_ns": "1600",
        "tracekit.response.last_event_ns": "1800",
        "tracekit.response.last_ping_ns": "1400",
        "tracekit.opened_as": row["attributes"]["tracekit.opened_as"],
    }
    assert json.loads(row["events"]) == [[1100, "message_start", {}], [1700, "message_delta", {}], [1800, "message_stop", {}]]


def test_the_span_of_a_request_follows_the_conventions(world: "World") -> None:
    with turn("p"), model_request("claude-x") as request:
        world.clock.advance(2_000_000)
        request.first_byte()
        request.response(
            id="msg_1", request_id="req_1", stop_reason="tool_use", usage={"input_tokens": 3, "cache_creation_input_tokens": 4}
        )
    span = world.span("model_request")
    said = span.attributes or {}
    assert (span.name, span.kind, span.parent) == ("chat claude-x", SpanKind.CLIENT, world.span("turn").context)
    assert said["gen_ai.usage.input_tokens"] == 7
    assert said["tracekit.usage.input_tokens"] == 3
    assert said["gen_ai.response.time_to_first_chunk"] == 0.002
    assert said["gen_ai.response.finish_reasons"] == ("tool_use",)
    assert said["tracekit.key"] == "req_1"
    assert "gen_ai.request.stream" not in said
    assert "gen_ai.response.time_to_first_chunk" not in world.one("model_request")["attributes"]


def test_a_block_is_a_boundary_with_the_arrival_of_each_event(world: "World") -> None:
    call: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}}
    events = (START, {"type": "content_block_start", "index": 2, "content_block": call}, DELTA | {"index": 2}, CLOSE | {"index": 2}, STOP)
    with turn("p"), model_request("m") as request:
        list(request.stream(ticking(world, events)))
    row = world.one("stream_event")
    assert (row["key"], row["name"], row["start_ns"], row["end_ns"], row["status"]) == ("msg_1#2", "tool_use", 1_200, 1_400, "ok")
    assert row["parent_key"] == world.one("model_request")["attributes"]["tracekit.opened_as"]
    assert row["attributes"] == {
        "tracekit.block.index": "2",
        "tracekit.block.type": "tool_use",
        "tracekit.block.size": "5",
        "gen_ai.tool.call.id": "toolu_1",
        "gen_ai.tool.name": "add",
    }
    assert json.loads(row["events"]) == [
        [1200, "content_block_start", {}],
        [1300, "content_block_delta", {"bytes": 5}],
        [1400, "content_block_stop", {}],
    ]
    assert world.span("stream_event").parent == world.span("model_request").context
    assert world.span("stream_event").name == "stream_event tool_use"


def test_of_a_very_long_block_the_first_events_are_kept_one_by_one_and_the_others_counted(world: "World") -> None:
    with model_request("m") as request:
        request.event("content_block_start", 0, block_type="text")
        for _ in range(5_000):
            request.event("content_block_delta", 0, 2)
        request.event("content_block_stop", 0)
        request.event("message_stop")
    row = world.one("stream_event")
    assert row["attributes"]["tracekit.block.size"] == "10000"
    assert [name for _, name, _ in json.loads(row["events"])].count("content_block_delta") == 3_999 + 1
    assert json.loads(row["events"])[-1] == [1_000, "content_block_delta", {"count": 1_002}]


def test_a_stream_that_ends_without_message_stop_was_cut_though_nothing_is_raised(world: "World") -> None:
    with turn("p"), model_request("m") as request:
        list(request.stream(ticking(world, (START, OPEN_TEXT, DELTA))))
    row, block = world.one("model_request"), world.one("stream_event")
    assert (row["status"], row["attributes"]["tracekit.response.cut"], row["end_ns"]) == ("error", "upstream", 1_300)
    assert (block["status"], block["attributes"]["tracekit.response.cut"], block["end_ns"]) == ("error", "upstream", 1_300)
    assert world.span("model_request").status.status_code is StatusCode.ERROR


def test_a_stream_that_the_agent_leaves_was_cut_by_the_client(world: "World") -> None:
    with turn("p"), model_request("m") as request:
        for event in request.stream(ticking(world, WHOLE)):
            if event is DELTA:
                break
        world.clock.advance(1_000)
    row, block = world.one("model_request"), world.one("stream_event")
    assert (row["status"], row["attributes"]["tracekit.response.cut"]) == ("cancelled", "client")
    assert (block["status"], block["end_ns"]) == ("cancelled", row["end_ns"])


def test_a_stream_that_is_left_after_message_stop_was_whole(world: "World") -> None:
    with model_request("m") as request:
        for event in request.stream(ticking(world, WHOLE)):
            if event is STOP:
                break
    assert world.one("model_request")["status"] == "ok"
    assert "tracekit.response.cut" not in world.one("model_request")["attributes"]


def test_an_error_event_says_what_the_server_could_not_do(world: "World") -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with model_request("m") as request:
        list(request.stream(ticking(world, (START, error))))
    row = world.one("model_request")
    assert (row["status"], row["end_ns"]) == ("error", 1_200)
    assert row["attributes"]["tracekit.response.cut"] == "error event"
    assert (row["attributes"]["error.type"], row["attributes"]["tracekit.error.text"]) == ("overloaded_error", "Overloaded")


def test_a_stream_that_breaks_off_raises_what_it_raised_and_says_so(world: "World") -> None:
    class ReadError(Exception):
        pass

    def breaking() -> Iterator[dict[str, Any]]:
        yield START
        message = "peer closed connection with sk-ant-secret-secret"
        raise ReadError(message)

    with pytest.raises(ReadError), model_request("m") as request:
        list(request.stream(breaking()))
    row = world.one("model_request")
    assert (row["status"], row["attributes"]["tracekit.response.cut"]) == ("error", "upstream")
    assert (row["attributes"]["error.type"], row["attributes"]["tracekit.error.text"]) == (
        "ReadError",
        "peer closed connection with [secret]",
    )
    assert world.span("model_request").status.description == "peer closed connection with [secret]"
    assert not world.span("model_request").events


def test_a_request_that_no_block_holds_ends_with_its_stream(world: "World") -> None:
    request = model_request("m").start()
    stream = request.stream(ticking(world, WHOLE))
    for _ in stream:
        assert request.is_open
    assert not request.is_open
    assert world.one("model_request")["end_ns"] == 1_800


def test_a_stream_that_is_awaited(world: "World") -> None:
    import asyncio

    async def main() -> list[dict[str, Any]]:
        async def events() -> AsyncIterator[dict[str, Any]]:
            for event in ticking(world, WHOLE):
                await asyncio.sleep(0)
                yield event

        async with model_request("m") as request:
            return [event async for event in request.astream(events())]

    assert asyncio.run(main()) == list(WHOLE)
    assert (world.one("model_request")["status"], world.one("model_request")["end_ns"]) == ("ok", 1_800)


def test_a_stream_of_another_make_is_read_by_a_function_and_owes_no_message_stop(world: "World") -> None:
    with model_request("m", "openai") as request:
        given = list(request.stream(["a", "bc"], read=lambda asked, chunk: asked.event("chunk", size=len(chunk))))
    row = world.one("model_request")
    assert given == ["a", "bc"]
    assert (row["status"], row["attributes"]["gen_ai.provider.name"]) == ("ok", "openai")
    assert json.loads(row["events"]) == [[1000, "chunk", {"bytes": 1}], [1000, "chunk", {"bytes": 2}]]


def test_what_a_stream_offers_beside_its_events_is_still_there(world: "World") -> None:
    class Source:
        request_id = "req_7"
        closed = False

        def __iter__(self) -> Iterator[dict[str, Any]]:
            return iter(WHOLE)

        def close(self) -> None:
            self.closed = True

    source = Source()
    with model_request("m") as request:
        stream = request.stream(source)
        next(stream)
        assert stream.request_id == "req_7"
        stream.close()
    assert source.closed
    assert world.one("model_request")["status"] == "cancelled"


# Attempts --------------------------------------------------------------------------------------------------------------


def test_attempts_and_the_wait_between_them(world: "World") -> None:
    with turn("p"), model_request("m") as request:
        with request.attempt() as first:
            world.clock.advance(10)
            first.answered(529, {"Request-Id": "req_a", "x-api-key": "nobody's business"})
        world.clock.advance(100)
        with request.attempt() as second:
            second.answered(200, {"request-id": "req_b"})
            world.clock.advance(20)
            request.response(id="msg_1")
    one, two = world.closed("request_attempt")
    wait, row = world.one("retry_wait"), world.one("model_request")
    assert (one["key"], one["status"], one["start_ns"], one["end_ns"]) == ("req_a", "error", 1_000, 1_010)
    assert (two["key"], two["status"], two["start_ns"], two["end_ns"]) == ("req_b", "ok", 1_110, 1_130)
    assert (wait["key"], wait["start_ns"], wait["end_ns"]) == ("req_a", 1_010, 1_110)
    assert wait["attributes"] == {"tracekit.request.attempt": "1", "tracekit.request.retry_delay_ns": "100"}
    assert (row["key"], row["attributes"]["tracekit.request.attempts"], row["attributes"]["tracekit.request.id"]) == ("req_b", "2", "req_b")
    assert {child["parent_key"] for child in (one, two, wait)} == {row["attributes"]["tracekit.opened_as"]}
    assert "nobody" not in str(world.rows())
    spans = [span for span in world.spans if (span.attributes or {})["tracekit.boundary"] == "request_attempt"]
    assert [(span.name, span.kind, (span.attributes or {}).get("http.request.resend_count")) for span in spans] == [
        ("attempt 1", SpanKind.CLIENT, None),
        ("attempt 2", SpanKind.CLIENT, 1),
    ]


def test_a_wait_that_is_known_beforehand_is_open_while_it_lasts(world: "World") -> None:
    with model_request("m") as request:
        attempt = request.attempt().start()
        attempt.failed(ConnectionError("refused"))
        wait = request.retry_wait(delay_ns=2 * SECOND).start()
        (opened,) = world.opened("retry_wait")
        world.clock.advance(SECOND)
        request.attempt().start()
        assert not wait.is_open
    row = world.one("retry_wait")
    assert opened["attributes"] == {"tracekit.request.attempt": "1", "tracekit.request.retry_delay_ns": "2000000000"}
    assert (row["start_ns"], row["end_ns"]) == (1_000, 1_000 + SECOND)
    first, last = world.closed("request_attempt")
    assert (first["status"], first["attributes"]["error.type"], first["attributes"]["tracekit.error.text"]) == (
        "error",
        "ConnectionError",
        "refused",
    )
    assert last["status"] == "ok"


def test_an_attempt_that_was_not_ended_ends_with_its_request(world: "World") -> None:
    request = model_request("m").start()
    request.attempt().start()
    request.end(TimeoutError())
    assert world.one("request_attempt")["status"] == "error"
    assert world.one("request_attempt")["attributes"]["error.type"] == "TimeoutError"


def test_that_an_answer_broke_off_is_told_by_the_request_and_not_by_its_attempt(world: "World") -> None:
    request = model_request("m").start()
    request.attempt().start().answered(200)
    request.event("message_start")
    request.end(ConnectionError())
    assert world.one("request_attempt")["status"] == "ok"
    assert world.one("model_request")["status"] == "error"


def test_the_status_that_an_sdks_error_carries_is_kept(world: "World") -> None:
    class RateLimitError(Exception):
        status_code = 429

    with pytest.raises(RateLimitError), model_request("m"):
        raise RateLimitError
    assert world.one("model_request")["attributes"]["http.response.status_code"] == "429"


# What is known while it is open ----------------------------------------------------------------------------------------


def test_the_first_byte_is_known_before_the_end(world: "World") -> None:
    with model_request("m") as request:
        world.clock.advance(30)
        request.first_byte()
        request.first_byte()
        before, after = world.opened("model_request")
    assert "tracekit.response.first_byte_ns" not in before["attributes"]
    assert after["attributes"]["tracekit.response.first_byte_ns"] == "1030"


def test_an_open_stream_says_once_a_second_when_its_last_event_came(world: "World") -> None:
    with model_request("m") as request:
        request.event("message_start")
        request.event("content_block_start", 0, block_type="text")
        for _ in range(10):
            world.clock.advance(SECOND // 4)
            request.event("content_block_delta", 0, 1)
        told = [row["attributes"].get("tracekit.response.last_event_ns") for row in world.opened("model_request")]
        request.event("message_stop")
    assert told == [None, None, str(1_000 + SECOND), str(1_000 + 2 * SECOND)]


def test_of_token_counts_the_largest_holds(world: "World") -> None:
    class Usage:
        input_tokens = 7
        output_tokens = 1

    with model_request("m") as request:
        request.response(usage=Usage())
        request.response(usage={"input_tokens": 0, "output_tokens": 20, "cache_read_input_tokens": None})
    said = world.one("model_request")["attributes"]
    assert (said["tracekit.usage.input_tokens"], said["gen_ai.usage.output_tokens"]) == ("7", "20")
    assert "gen_ai.usage.cache_read.input_tokens" not in said


def test_which_tier_of_the_cache_was_written_to_is_told_where_one_was(world: "World") -> None:
    tiers = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 30}
    with model_request("m") as request:
        request.response(usage={"input_tokens": 1, "cache_creation_input_tokens": 30, "cache_creation": tiers})
    said = world.one("model_request")["attributes"]
    assert (said["gen_ai.usage.cache_write.input_tokens"], said["tracekit.usage.cache_write_1h_tokens"]) == ("30", "30")
    assert "tracekit.usage.cache_write_5m_tokens" not in said


@pytest.mark.parametrize("content", [True, False])
def test_with_content_the_words_of_a_prompt_a_request_and_its_blocks_are_kept_without_secrets(bare: "World", *, content: bool) -> None:
    bare.instrument(content=content)
    key = "sk-ant-" + "a" * 20
    asked, read = {"role": "user", "content": f"use {key}"}, "tracekit.content"
    with turn("p") as prompted, model_request("m", stream=True) as request:
        prompted.prompt("do it")
        request.input(asked)
        split = (
            {**DELTA, "delta": {"type": "text_delta", "text": f" {key[:9]}"}},
            {**DELTA, "delta": {"type": "text_delta", "text": key[9:]}},
        )
        for _ in request.stream(iter((START, OPEN_TEXT, DELTA, *split, CLOSE, STOP))):
            pass
    with model_request("m") as whole:
        whole.output([{"type": "text", "text": "done"}])
    rows = bare.closed("turn") + bare.closed("model_request") + bare.closed("stream_event")
    assert [row["attributes"].get(read) for row in rows] == (
        [
            "do it",
            '{"input":{"role":"user","content":"use [secret]"}}',
            '{"output":[{"type":"text","text":"done"}]}',
            "hello [secret]",
        ]
        if content
        else [None] * 4
    )
    assert bare.one("stream_event")["attributes"]["tracekit.block.size"] == str(len("hello ") + len(key))
    assert key not in "".join(json.dumps(row) for row in bare.rows())


def test_what_is_said_in_any_script_is_kept_and_half_a_character_too(world: "World") -> None:
    for text in ("überfüllt 満員", "half \ud83d of one"):
        model_request("m").start().end(ValueError(text))
    assert [row["attributes"]["tracekit.error.text"] for row in world.closed("model_request")] == ["überfüllt 満員", "half \ud83d of one"]
