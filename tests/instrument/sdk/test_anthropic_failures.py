"""Requests by the anthropic SDK that fail: each becomes the failure that it is, and the program gets the SDK's own error, untouched."""

import asyncio
import gc
import json
import socket
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import anthropic
import httpx2
import pytest
from opentelemetry.trace import StatusCode

from tests.instrument.conftest import World
from tests.instrument.sdk.anthropic_ways import BOTH, NATIVE, Way, edges, facts, instrumented, recorded
from tests.instrument.sdk.messages_api import (
    ASKED,
    MESSAGE,
    OVERLOADED,
    START,
    STOP,
    MessagesApi,
    Reply,
    block_start,
    block_stop,
    text_delta,
)
from tracekit.analysis.failures import Evidence, classify

BUSY = Reply(529, OVERLOADED | {"request_id": "req_1"}, {"retry-after-ms": "250"})
TOO_LONG = Reply(
    400,
    {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 250000 tokens > 200000 maximum"}},
)
BEGUN = (START, block_start(0, type="text", text=""), text_delta(0, "Hello"))


@pytest.fixture
def world(bare: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with instrumented(bare, monkeypatch):
        yield bare


@pytest.fixture
def _sleeps_by_the_clock(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK's sleep between attempts takes no time, and moves the clock."""

    def sleep(seconds: float) -> None:
        world.clock.advance(round(seconds * 1_000_000_000))

    async def asleep(seconds: float) -> None:
        await asyncio.sleep(0)
        sleep(seconds)

    monkeypatch.setattr("anthropic._base_client.time", SimpleNamespace(sleep=sleep, time=time.time, time_ns=time.time_ns))
    monkeypatch.setattr("anthropic._base_client.anyio.sleep", asleep)


def kind_of(row: dict[str, Any]) -> str:
    """What the rules call it."""
    verdict = classify(Evidence.from_attributes(row["boundary"], row["status"], row["name"], row["attributes"]))
    return f"{verdict.family}/{verdict.kind}"


def said(row: dict[str, Any], *names: str) -> dict[str, str]:
    return {name: value for name, value in facts(row).items() if name in names}


# Attempts that are refused --------------------------------------------------------------------------------------------


@NATIVE
@BOTH
@pytest.mark.parametrize("is_stream", [True, False], ids=["stream", "whole"])
@pytest.mark.usefixtures("_sleeps_by_the_clock")
def test_a_request_that_is_tried_again(world: World, *, is_async: bool, is_native: bool, is_stream: bool) -> None:
    way = Way(is_async=is_async, is_native=is_native)
    slow = BUSY._replace(before=lambda: world.clock.advance(100))
    answer = Reply() if is_stream else Reply(body=MESSAGE | {"stop_reason": "end_turn"})
    with MessagesApi(slow, answer) as api:
        stream = way.get(way.client(api, world).messages.create(stream=is_stream, **ASKED))
        if is_stream:
            sent = api.stream()
            sent.send(START, STOP)
            sent.end()
            while way.next(stream) is not None:
                pass
        assert [headers["x-stainless-retry-count"] for headers in api.headers] == ["0", "1"]
    request, (first, second), (wait,), _ = recorded(world)
    opened = request["attributes"]["tracekit.opened_as"]
    assert (request["key"], edges(request)) == ("req_2", (1_000, 250_001_100, "ok"))
    assert request["attributes"]["tracekit.request.attempts"] == "2"
    assert (first["key"], first["parent_key"], edges(first)) == ("req_1", opened, (1_000, 1_100, "error"))
    # The SDK reads no body of a stream that it is going to ask for again.
    told = {"error.type": "529"} if is_stream else {"error.type": "overloaded_error", "tracekit.error.text": "Overloaded"}
    assert said(first, "error.type", "tracekit.error.text") == told
    assert kind_of(first) == "network/overloaded"
    assert (wait["key"], wait["parent_key"], edges(wait)) == ("req_1", opened, (1_100, 250_001_100, "ok"))
    assert facts(wait) == {"tracekit.request.attempt": "1", "tracekit.request.retry_delay_ns": "250000000"}
    assert (second["key"], second["parent_key"], edges(second)) == ("req_2", opened, (250_001_100, 250_001_100, "ok"))
    assert said(second, "tracekit.request.attempt", "http.request.resend_count") == {
        "tracekit.request.attempt": "2",
        "http.request.resend_count": "1",
    }


@NATIVE
@BOTH
@pytest.mark.parametrize("is_stream", [True, False], ids=["stream", "whole"])
@pytest.mark.usefixtures("_sleeps_by_the_clock")
def test_a_request_whose_every_attempt_is_refused(world: World, *, is_async: bool, is_native: bool, is_stream: bool) -> None:
    way = Way(is_async=is_async, is_native=is_native)
    with MessagesApi(BUSY, BUSY, BUSY) as api, pytest.raises(anthropic.InternalServerError) as raised:
        way.get(way.client(api, world).messages.create(stream=is_stream, **ASKED))
    assert raised.value.type == "overloaded_error"
    request, attempts, waits, _ = recorded(world)
    assert [edges(one) for one in attempts] == [(at_ns, at_ns, "error") for at_ns in (1_000, 250_001_000, 500_001_000)]
    assert [edges(one) for one in waits] == [(1_000, 250_001_000, "ok"), (250_001_000, 500_001_000, "ok")]
    assert (request["key"], edges(request)) == ("req_3", (1_000, 500_001_000, "error"))
    told = {"error.type": "overloaded_error", "tracekit.error.text": "Overloaded", "http.response.status_code": "529"}
    assert said(request, *told) == said(attempts[-1], *told) == told
    assert request["attributes"]["tracekit.request.attempts"] == "3"
    assert kind_of(request) == kind_of(attempts[-1]) == "network/overloaded"
    assert world.span("model_request").status.status_code is StatusCode.ERROR


@NATIVE
@BOTH
def test_a_prompt_that_is_too_long(world: World, *, is_async: bool, is_native: bool) -> None:
    way = Way(is_async=is_async, is_native=is_native)
    with MessagesApi(TOO_LONG) as api, pytest.raises(anthropic.BadRequestError):
        way.get(way.client(api, world).messages.create(stream=True, **ASKED))
    request, (attempt,), waits, _ = recorded(world)
    assert (request["status"], attempt["status"], waits) == ("error", "error", [])
    assert kind_of(request) == kind_of(attempt) == "prompt_too_long/prompt_too_long"


# No answer ------------------------------------------------------------------------------------------------------------


@NATIVE
@BOTH
def test_nobody_listens(world: World, *, is_async: bool, is_native: bool) -> None:
    way = Way(is_async=is_async, is_native=is_native)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        api: Any = SimpleNamespace(url=f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(anthropic.APIConnectionError, match=r"^Connection error\.$"):
            way.get(way.client(api, world, max_retries=0).messages.create(stream=True, **ASKED))
    request, (attempt,), _, _ = recorded(world)
    assert attempt["key"] == attempt["attributes"].get("tracekit.opened_as", attempt["key"])
    assert (attempt["status"], request["status"]) == ("error", "error")
    assert said(attempt, "error.type", "tracekit.error.code") == {"error.type": "APIConnectionError", "tracekit.error.code": "ECONNREFUSED"}
    assert kind_of(request) == kind_of(attempt) == "network/connect"


@NATIVE
@BOTH
def test_the_connection_ends_without_an_answer(world: World, *, is_async: bool, is_native: bool) -> None:
    way = Way(is_async=is_async, is_native=is_native)
    with MessagesApi(Reply(0)) as api, pytest.raises(anthropic.APIConnectionError):
        way.get(way.client(api, world, max_retries=0).messages.create(stream=True, **ASKED))
    request, (attempt,), _, _ = recorded(world)
    assert kind_of(request) == kind_of(attempt) == "network/reset"


@NATIVE
@BOTH
def test_no_answer_comes_in_time(world: World, *, is_async: bool, is_native: bool) -> None:
    way = Way(is_async=is_async, is_native=is_native)
    with MessagesApi(Reply(before=lambda: time.sleep(0.5))) as api, pytest.raises(anthropic.APITimeoutError):
        way.get(way.client(api, world, max_retries=0, timeout=0.1).messages.create(stream=True, **ASKED))
    request, (attempt,), _, _ = recorded(world)
    assert said(attempt, "error.type") == {"error.type": "APITimeoutError"}
    assert kind_of(request) == kind_of(attempt) == "network/timeout"


# Streams that break ---------------------------------------------------------------------------------------------------


def broken(world: World, way: Way, break_off: str, **options: Any) -> BaseException | None:
    """Read a stream that begins at 1,100 and is broken off at 1,200; gives what its reader got for it."""
    with MessagesApi(Reply()) as api:
        stream = way.get(way.client(api, world, **options).messages.create(stream=True, **ASKED))
        sent = api.stream()
        world.clock.advance(100)
        sent.send(*BEGUN)
        for _ in BEGUN:
            way.next(stream)
        world.clock.advance(100)
        try:
            if break_off == "error event":
                sent.send(OVERLOADED)
            elif break_off != "stall":
                getattr(sent, break_off)()
            assert way.next(stream) is None
        except Exception as error:  # noqa: BLE001  (it is what is looked at)
            return error
        finally:
            sent.leave()
    return None


@NATIVE
@BOTH
@pytest.mark.parametrize(
    ("break_off", "raised", "cut", "kind"),
    [
        pytest.param("cut", httpx2.ReadError, "upstream", "network/stream_cut", id="the connection is torn"),
        pytest.param("close", httpx2.RemoteProtocolError, "upstream", "network/stream_cut", id="the connection is closed"),
        pytest.param("stall", httpx2.ReadTimeout, "upstream", "network/stream_stall", id="nothing comes any more"),
        pytest.param("error event", anthropic.APIStatusError, "error event", "network/stream_error", id="an error event"),
        pytest.param("end", None, "upstream", "network/stream_cut", id="it ends without message_stop"),
    ],
)
def test_a_stream_that_breaks(
    world: World, *, is_async: bool, is_native: bool, break_off: str, raised: type[BaseException] | None, cut: str, kind: str
) -> None:
    way = Way(is_async=is_async, is_native=is_native)
    error = broken(world, way, break_off, timeout=0.3 if break_off == "stall" else 5.0)
    assert type(error) is (raised or type(None))
    request, (attempt,), _, (block,) = recorded(world)
    assert (request["key"], edges(request)) == ("req_1", (1_000, 1_200, "error"))
    assert said(request, "tracekit.response.cut", "http.response.status_code", "tracekit.response.last_event_ns") == {
        "tracekit.response.cut": cut,
        "http.response.status_code": "200",
        "tracekit.response.last_event_ns": "1200" if break_off == "error event" else "1100",
    }
    assert kind_of(request) == kind
    # That its answer broke off is not the attempt's failure, but the response's.
    assert edges(attempt) == (1_000, 1_200, "ok")
    assert (block["key"], edges(block)) == ("msg_1#0", (1_100, 1_200, "error"))
    assert facts(block)["tracekit.response.cut"] == cut
    span = world.span("model_request")
    assert (span.status.status_code, span.end_time) == (StatusCode.ERROR, 1_200)


@NATIVE
@BOTH
def test_a_stream_without_any_event_is_cut(world: World, *, is_async: bool, is_native: bool) -> None:
    way = Way(is_async=is_async, is_native=is_native)
    with MessagesApi(Reply()) as api:
        stream = way.get(way.client(api, world).messages.create(stream=True, **ASKED))
        api.stream().end()
        assert way.next(stream) is None
    request = world.one("model_request")
    assert (request["status"], request["attributes"]["tracekit.response.cut"]) == ("error", "upstream")


def test_the_details_of_an_error_event(world: World) -> None:
    error = broken(world, Way(is_async=False, is_native=False), "error event")
    assert isinstance(error, anthropic.APIStatusError)
    assert error.status_code == 200
    told = {"error.type": "overloaded_error", "tracekit.error.text": "Overloaded"}
    assert said(world.one("model_request"), *told) == told


def test_a_connection_that_was_torn_is_known_by_its_code(world: World) -> None:
    assert broken(world, Way(is_async=False), "cut") is not None
    assert world.one("model_request")["attributes"]["tracekit.error.code"] == "ECONNRESET"


# Programs that leave --------------------------------------------------------------------------------------------------


def begun(world: World, way: Way, api: MessagesApi) -> Any:
    """A stream of which the beginning was read."""
    stream = way.get(way.client(api, world).messages.create(stream=True, **ASKED))
    sent = api.stream()
    sent.send(*BEGUN)
    sent.leave()
    for _ in BEGUN:
        way.next(stream)
    world.clock.advance(300)
    return stream


def check_left(world: World) -> None:
    request, (attempt,), _, (block,) = recorded(world)
    assert edges(request) == (1_000, 1_300, "cancelled")
    assert said(request, "tracekit.response.cut", "error.type") == {"tracekit.response.cut": "client"}
    assert (edges(attempt), edges(block)) == ((1_000, 1_300, "ok"), (1_000, 1_300, "cancelled"))


@NATIVE
@BOTH
def test_a_stream_that_the_program_closes(world: World, *, is_async: bool, is_native: bool) -> None:
    way = Way(is_async=is_async, is_native=is_native)
    with MessagesApi(Reply()) as api:
        way.close(begun(world, way, api))
    check_left(world)


@NATIVE
def test_a_stream_that_the_program_closes_while_it_handles_an_error_of_its_own(world: World, *, is_native: bool) -> None:
    way = Way(is_async=False, is_native=is_native)
    with MessagesApi(Reply()) as api, pytest.raises(ZeroDivisionError), begun(world, way, api):
        raise ZeroDivisionError
    check_left(world)


@NATIVE
def test_a_stream_that_the_program_drops(world: World, *, is_native: bool) -> None:
    way = Way(is_async=False, is_native=is_native)
    with MessagesApi(Reply()) as api:
        begun(world, way, api)
        gc.collect()
    check_left(world)


@NATIVE
def test_a_task_that_is_cancelled_while_it_reads(world: World, *, is_native: bool) -> None:
    way = Way(is_async=True, is_native=is_native)

    async def read(client: anthropic.AsyncAnthropic, api: MessagesApi) -> None:
        stream = await client.messages.create(stream=True, **ASKED)
        sent = api.stream()
        sent.send(*BEGUN)
        reading = asyncio.ensure_future(anext(stream))
        for _ in BEGUN:
            await reading
            reading = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        world.clock.advance(300)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        sent.leave()

    with MessagesApi(Reply()) as api:
        way.get(read(way.client(api, world), api))
    request = world.one("model_request")
    assert (edges(request), request["attributes"]["tracekit.response.cut"]) == ((1_000, 1_300, "cancelled"), "client")


@NATIVE
def test_a_task_that_is_cancelled_before_it_tries_again(world: World, *, is_native: bool) -> None:
    way = Way(is_async=True, is_native=is_native)

    async def ask(client: anthropic.AsyncAnthropic) -> None:
        async def create() -> None:
            await client.messages.create(**ASKED)

        asking = asyncio.ensure_future(create())
        while not world.opened("retry_wait"):  # noqa: ASYNC110  (it is another library's task that is waited for)
            await asyncio.sleep(0.01)
        world.clock.advance(700)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    with MessagesApi(BUSY._replace(headers={"retry-after": "30"})) as api:
        way.get(ask(way.client(api, world)))
    request, (attempt,), (wait,), _ = recorded(world)
    assert (edges(request), edges(attempt), edges(wait)) == (
        (1_000, 1_700, "cancelled"),
        (1_000, 1_000, "error"),
        (1_000, 1_700, "cancelled"),
    )
    assert wait["attributes"]["tracekit.request.retry_delay_ns"] == "30000000000"


# Crashes --------------------------------------------------------------------------------------------------------------


@NATIVE
def test_what_is_open_is_in_the_spool(world: World, *, is_native: bool) -> None:
    way = Way(is_async=False, is_native=is_native)
    with MessagesApi(Reply()) as api:
        stream = begun(world, way, api)
        opened = {row["boundary"]: row for row in world.rows()}
        assert all(row["end_ns"] is None for row in opened.values())
        assert set(opened) == {"model_request", "request_attempt", "stream_event"}
        assert json.loads(json.dumps(opened["model_request"]["attributes"]))["tracekit.response.first_byte_ns"] == "1000"
        stream.close()


def test_a_block_that_was_complete_stays_complete_when_the_stream_breaks(world: World) -> None:
    way = Way(is_async=False)
    with MessagesApi(Reply()) as api:
        stream = way.get(way.client(api, world).messages.create(stream=True, **ASKED))
        sent = api.stream()
        sent.send(*BEGUN, block_stop(0))
        for _ in range(4):
            way.next(stream)
        sent.cut()
        with pytest.raises(httpx2.ReadError):
            way.next(stream)
    request, _, _, (block,) = recorded(world)
    assert (request["status"], block["status"]) == ("error", "ok")
    assert "tracekit.response.cut" not in block["attributes"]
