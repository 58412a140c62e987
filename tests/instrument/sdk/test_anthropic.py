"""Requests by the anthropic SDK that go well: names, attributes, parents, order and times, whichever way they are made."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from tests.instrument.conftest import World
from tests.instrument.sdk.anthropic_ways import BOTH, NATIVE, Way, edges, facts, instrumented, recorded
from tests.instrument.sdk.messages_api import (
    ASKED,
    MESSAGE,
    PING,
    START,
    STOP,
    MessagesApi,
    Reply,
    block_start,
    block_stop,
    delta,
    message_delta,
    text_delta,
)
from tracekit.instrument import current, session, tool_schedule, turn

TEXT = {"type": "text", "text": ""}
CALL: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
SCRIPT: tuple[tuple[dict[str, Any], ...], ...] = (
    (START,),
    (block_start(0, **TEXT),),
    (PING, text_delta(0, "Grüß ")),
    (text_delta(0, "Gott"),),
    (block_stop(0),),
    (block_start(1, **CALL),),
    (delta(1, type="input_json_delta", partial_json='{"at": 1}'),),
    (block_stop(1),),
    (message_delta("tool_use", 9),),
    (STOP,),
)
"""What is sent at 1,200, 1,300, … by the clock; the request goes out at 1,000, and its head comes at 1,100."""
REQUEST = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "anthropic",
    "gen_ai.request.model": "claude-test",
    "gen_ai.request.max_tokens": "64",
    "gen_ai.request.stream": "true",
    "gen_ai.response.id": "msg_1",
    "gen_ai.response.model": "claude-test-1",
    "gen_ai.response.finish_reasons": "tool_use",
    "gen_ai.usage.output_tokens": "9",
    "gen_ai.usage.cache_read.input_tokens": "20",
    "gen_ai.usage.cache_write.input_tokens": "3",
    "http.response.status_code": "200",
    "tracekit.usage.input_tokens": "7",
    "tracekit.request.id": "req_1",
    "tracekit.request.messages": "1",
    "tracekit.request.tools": "1",
    "tracekit.response.first_byte_ns": "1200",
    "tracekit.response.first_content_ns": "1300",
    "tracekit.response.last_ping_ns": "1400",
    "tracekit.response.last_block_ns": "1900",
    "tracekit.response.last_event_ns": "2100",
}


@pytest.fixture
def world(bare: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with instrumented(bare, monkeypatch):
        yield bare


def play(api: MessagesApi, world: World, way: Way, stream: Any) -> list[str]:
    """Have a stream sent and read in lockstep; gives the events that the program got."""
    sent = api.stream()
    got: list[str] = []
    for events in SCRIPT:
        world.clock.advance(100)
        sent.send(*events)
        got.append(way.next(stream).type)
    # What the program does with a message that it has whole is not the response's time.
    world.clock.advance(5_000)
    sent.end()
    assert way.next(stream) is None
    return got


def stream_of(way: Way, client: Any, call: str) -> Any:
    messages = client.beta.messages if call.startswith("beta") else client.messages
    if call.endswith("raw response"):
        return way.get(messages.with_raw_response.create(stream=True, **ASKED)).parse()
    return way.get(messages.create(stream=True, **ASKED))


def slow_head(world: World) -> Reply:
    return Reply(before=lambda: world.clock.advance(100))


@NATIVE
@BOTH
@pytest.mark.parametrize("call", ["messages", "beta", "messages, raw response", "beta, raw response"])
def test_a_stream_from_the_first_attempt_to_message_stop(world: World, *, is_async: bool, is_native: bool, call: str) -> None:
    way = Way(is_async=is_async, is_native=is_native)
    with MessagesApi(slow_head(world)) as api, session("s"), turn("p"):
        stream = stream_of(way, way.client(api, world), call)
        if is_async and call.endswith("raw response"):
            stream = way.get(stream)
        got = play(api, world, way, stream)
    assert got == [events[-1]["type"] for events in SCRIPT]
    request, (attempt,), waits, (first, second) = recorded(world)
    size = attempt["attributes"]["tracekit.request.size"]
    assert (request["key"], request["parent_key"], request["name"], request["session_id"]) == ("req_1", "p", "claude-test", "s")
    assert edges(request) == (1_000, 2_100, "ok")
    received = sum(len(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n") for events in SCRIPT for one in events)
    assert facts(request) == REQUEST | {"tracekit.request.size": size, "tracekit.response.size": str(received)}
    assert [name for _, name, _ in json.loads(request["events"])] == ["message_start", "message_delta", "message_stop"]
    assert (attempt["key"], attempt["parent_key"]) == ("req_1", request["attributes"]["tracekit.opened_as"])
    assert edges(attempt) == (1_000, 2_100, "ok")
    assert facts(attempt) == {
        "gen_ai.request.model": "claude-test",
        "http.response.status_code": "200",
        "tracekit.request.attempt": "1",
        "tracekit.request.id": "req_1",
        "tracekit.request.size": size,
    }
    assert waits == []
    assert (first["key"], first["parent_key"], first["name"]) == ("msg_1#0", request["attributes"]["tracekit.opened_as"], "text")
    assert edges(first) == (1_300, 1_600, "ok")
    assert facts(first) == {"tracekit.block.index": "0", "tracekit.block.type": "text", "tracekit.block.size": "9"}
    assert (second["key"], edges(second)) == ("msg_1#1", (1_700, 1_900, "ok"))
    assert facts(second) == {
        "tracekit.block.index": "1",
        "tracekit.block.type": "tool_use",
        "tracekit.block.size": "9",
        "gen_ai.tool.call.id": "toolu_1",
        "gen_ai.tool.name": "look",
    }
    assert [(at_ns, name) for at_ns, name, _ in json.loads(first["events"])] == [
        (1_300, "content_block_start"),
        (1_400, "content_block_delta"),
        (1_500, "content_block_delta"),
        (1_600, "content_block_stop"),
    ]


@BOTH
def test_the_span_of_the_sdk_is_enriched_and_not_doubled(world: World, *, is_async: bool) -> None:
    way = Way(is_async=is_async)
    with MessagesApi(Reply()) as api:
        play(api, world, way, stream_of(way, way.client(api, world), "messages"))
    assert [span.name for span in world.spans] == ["stream_event text", "stream_event tool_use", "anthropic.messages.create"]
    *parts, own = world.spans
    said = own.attributes or {}
    assert own.instrumentation_scope is not None
    assert own.instrumentation_scope.name == "com.anthropic.sdk.python"
    assert (own.kind, own.status.status_code, own.end_time) == (SpanKind.CLIENT, StatusCode.OK, 2_000)
    assert [part.parent for part in parts] == [own.context] * 2
    # What the SDK says stands beside what is added, and both agree.
    assert said["anthropic.request.id"] == said["tracekit.request.id"] == said["tracekit.key"] == "req_1"
    assert said["anthropic.message.stop_reason"] == "tool_use"
    assert said["gen_ai.response.finish_reasons"] == ("tool_use",)
    assert said["gen_ai.usage.input_tokens"] == 30
    assert said["tracekit.usage.input_tokens"] == 7
    # Where both know something else by the same name, it is the SDK's: what it counts to is its first content, and not the first byte.
    assert said["gen_ai.response.time_to_first_chunk"] != (1_100 - 1_000) / 1_000_000_000


@BOTH
def test_where_the_sdk_traces_nothing_there_is_a_span_of_ours(world: World, *, is_async: bool) -> None:
    way = Way(is_async=is_async, is_native=False)
    with MessagesApi(Reply()) as api:
        play(api, world, way, stream_of(way, way.client(api, world), "messages"))
    assert [span.name for span in world.spans] == ["stream_event text", "stream_event tool_use", "chat claude-test"]
    assert world.spans[-1].kind is SpanKind.CLIENT


@NATIVE
@BOTH
@pytest.mark.parametrize("is_beta", [False, True], ids=["messages", "beta"])
def test_a_stream_by_the_helper(world: World, *, is_async: bool, is_native: bool, is_beta: bool) -> None:
    way = Way(is_async=is_async, is_native=is_native)
    with MessagesApi(slow_head(world)) as api:
        client = way.client(api, world)
        manager = (client.beta.messages if is_beta else client.messages).stream(**ASKED)
        assert world.rows() == []  # nothing is asked before the block is entered
        stream, sent = way.enter(manager), api.stream()
        for events in SCRIPT:
            world.clock.advance(100)
            sent.send(*events)
        sent.end()
        message = way.get(stream.get_final_message())
        way.leave(manager)
    assert message.content[0].text == "Grüß Gott"
    request, attempts, _, blocks = recorded(world)
    assert edges(request) == (1_000, 2_100, "ok")
    assert [block["key"] for block in blocks] == ["msg_1#0", "msg_1#1"]
    assert len(attempts) == 1


@NATIVE
@BOTH
def test_an_answer_in_one_piece(world: World, *, is_async: bool, is_native: bool) -> None:
    way = Way(is_async=is_async, is_native=is_native)
    whole = MESSAGE | {"content": [CALL | {"input": {"at": 1}}], "stop_reason": "tool_use"}
    reply = Reply(body=whole, before=lambda: world.clock.advance(700))
    with MessagesApi(reply) as api, session("s"), turn("p"):
        message = way.get(way.client(api, world).messages.create(**ASKED))
        world.clock.advance(100)
        with tool_schedule("look", "toolu_1"):
            pass
    assert message._request_id == "req_1"
    request, (attempt,), _, blocks = recorded(world)
    size = attempt["attributes"]["tracekit.request.size"]
    assert (request["key"], edges(request), blocks) == ("req_1", (1_000, 1_700, "ok"), [])
    times = ("first_byte", "first_content", "last_ping", "last_block", "last_event")
    unknown = {f"tracekit.response.{time}_ns" for time in times} | {"gen_ai.request.stream"}
    expected = {name: value for name, value in REQUEST.items() if name not in unknown}
    sizes = {"tracekit.request.size": size, "tracekit.response.size": str(len(json.dumps(whole)))}
    assert facts(request) == expected | {"gen_ai.usage.output_tokens": "1"} | sizes
    assert edges(attempt) == (1_000, 1_700, "ok")
    assert world.one("tool_schedule")["parent_key"] == request["attributes"]["tracekit.opened_as"]


@BOTH
def test_a_tool_call_that_is_run_under_the_stream_knows_which_response_asked_for_it(world: World, *, is_async: bool) -> None:
    way = Way(is_async=is_async)
    with MessagesApi(Reply(), Reply()) as api, session("s"), turn("p"):
        client = way.client(api, world)
        stream, sent = stream_of(way, client, "messages"), api.stream()
        sent.send(START, block_start(0, **CALL), block_stop(0))
        for _ in range(3):
            way.next(stream)
        world.clock.advance(50)
        with tool_schedule("look", "toolu_1") as call, call.execution():
            world.clock.advance(100)
        sent.send(message_delta("tool_use", 9), STOP)
        sent.end()
        while way.next(stream) is not None:
            pass
    request = world.one("model_request")
    scheduled = world.one("tool_schedule")
    assert scheduled["parent_key"] == request["attributes"]["tracekit.opened_as"]
    assert edges(scheduled) == (1_050, 1_150, "ok")
    assert world.span("tool_schedule").parent == world.span("model_request").context


@BOTH
def test_events_that_nobody_knows_yet_pass(world: World, *, is_async: bool) -> None:
    way = Way(is_async=is_async)
    odd: tuple[dict[str, Any], ...] = (
        delta(0, type="citations_delta", citation={"type": "char_location", "cited_text": "x"}),
        delta(0, type="of_next_year", what=[1, 2]),
        delta(7, type="text_delta", text="of no block"),
        {"type": "content_block_delta"},
        {"type": "of_next_year", "index": {"odd": True}},
    )
    with MessagesApi(Reply()) as api:
        stream = stream_of(way, way.client(api, world), "messages")
        sent = api.stream()
        sent.send(START, block_start(0, **TEXT), *odd, text_delta(0, "ab"), block_stop(0), STOP)
        sent.end()
        got = 0
        while way.next(stream) is not None:
            got += 1
    assert got == len(odd) + 5
    request, _, _, (block,) = recorded(world)
    assert (request["status"], block["status"], block["attributes"]["tracekit.block.size"]) == ("ok", "ok", "2")


@NATIVE
def test_what_is_asked_of_the_api_beside_messages_is_left_alone(world: World, *, is_native: bool) -> None:
    way = Way(is_async=False, is_native=is_native)
    with MessagesApi(Reply(body={"input_tokens": 12})) as api:
        client = way.client(api, world)
        asked = {name: value for name, value in ASKED.items() if name != "max_tokens"}
        assert client.messages.count_tokens(**asked).input_tokens == 12
    assert world.rows() == []
    assert [span.name for span in world.spans] == (["anthropic.messages.count_tokens"] if is_native else [])


@BOTH
def test_a_body_that_the_program_reads_itself_is_called_unread(world: World, *, is_async: bool) -> None:
    way = Way(is_async=is_async)
    with MessagesApi(Reply()) as api:
        manager = way.client(api, world).messages.with_streaming_response.create(stream=True, **ASKED)
        response, sent = way.enter(manager), api.stream()
        for events in SCRIPT:
            sent.send(*events)
        sent.end()
        body = way.get(response.read())
        way.leave(manager)
    assert body.endswith(b'data: {"type": "message_stop"}\n\n')
    request, _, _, blocks = recorded(world)
    assert (request["status"], request["key"], blocks) == ("ok", "req_1", [])
    assert request["attributes"]["tracekit.response.unread"] == "read by the program itself, not as events"
    assert request["attributes"]["tracekit.response.size"] == str(len(body))


def test_requests_at_once_are_told_apart(world: World) -> None:
    way = Way(is_async=True)
    with MessagesApi(Reply(), Reply()) as api, session("s"):
        client = way.client(api, world)
        streams = [stream_of(way, client, "messages") for _ in range(2)]
        sent = [api.stream() for _ in streams]
        for number, one in enumerate(sent):
            message = {"type": "message_start", "message": MESSAGE | {"id": f"msg_{number}"}}
            one.send(message, block_start(0, **TEXT), text_delta(0, "x" * (number + 1)), block_stop(0), message_delta("end_turn", 2), STOP)
            one.end()
        for _ in range(7):
            for stream in reversed(streams):
                way.next(stream)
    requests = {row["attributes"]["gen_ai.response.id"]: row for row in world.closed("model_request")}
    assert {name: row["key"] for name, row in requests.items()} == {"msg_0": "req_1", "msg_1": "req_2"}
    blocks = {row["key"]: (row["parent_key"], row["attributes"]["tracekit.block.size"]) for row in world.closed("stream_event")}
    opened = {name: row["attributes"]["tracekit.opened_as"] for name, row in requests.items()}
    assert blocks == {"msg_0#0": (opened["msg_0"], "1"), "msg_1#0": (opened["msg_1"], "2")}
    assert current() is None
