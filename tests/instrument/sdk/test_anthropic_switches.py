"""Putting the instrumentor of anthropic in and taking it out: what was there is there again, and others who stand there are left alone."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic import Middleware
from anthropic._base_client import AsyncAPIClient, BaseClient, SyncAPIClient
from anthropic._streaming import AsyncStream, Stream

from tests.instrument.conftest import World
from tests.instrument.sdk.anthropic_ways import BOTH, NATIVE, Way, instrumented, recorded
from tests.instrument.sdk.messages_api import (
    ASKED,
    MESSAGE,
    START,
    STOP,
    MessagesApi,
    Reply,
    block_start,
    block_stop,
    text_delta,
)
from tracekit.instrument import uninstrument
from tracekit.instrument.requests import ModelRequest
from tracekit.instrument.sdk.anthropic import AnthropicInstrumentor
from tracekit.instrument.sdk.anthropic.middleware import EXCHANGE
from tracekit.model import semconv

TOUCHED: tuple[type, ...] = (SyncAPIClient, AsyncAPIClient, BaseClient, Stream, AsyncStream, anthropic.Anthropic, anthropic.AsyncAnthropic)
ROOT = Path(__file__).parents[3]
WHOLE = Reply(body=MESSAGE | {"stop_reason": "end_turn"})


@pytest.fixture
def world(bare: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with instrumented(bare, monkeypatch):
        yield bare


def ask(way: Way, client: Any) -> Any:
    return way.get(client.messages.create(**ASKED))


def handlers(client: Any) -> list[object]:
    """The middleware of a client that is its user's."""
    return [one for one in client.middleware if one is not EXCHANGE]


class Named(Middleware):
    """Writes down when it is entered and left."""

    def __init__(self, name: str, said: list[str]) -> None:
        self._name = name
        self._said = said

    def handle(self, request: Any, call_next: Callable[[Any], Any]) -> Any:
        self._said.append(f"{self._name} in")
        response = call_next(request)
        self._said.append(f"{self._name} out")
        return response

    async def handle_async(self, request: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        self._said.append(f"{self._name} in")
        response = await call_next(request)
        self._said.append(f"{self._name} out")
        return response


# In and out -----------------------------------------------------------------------------------------------------------


def test_taking_it_out_leaves_the_very_objects_that_were_there(bare: World) -> None:
    before = [dict(vars(owner)) for owner in TOUCHED]
    bare.instrument(libraries=("anthropic",))
    during = [dict(vars(owner)) for owner in TOUCHED]
    uninstrument()
    assert during != before
    after = [dict(vars(owner)) for owner in TOUCHED]
    assert [list(one) for one in after] == [list(one) for one in before]
    assert all(one[name] is value for one, then in zip(after, before, strict=True) for name, value in then.items())


@BOTH
def test_clients_that_were_there_before_are_recorded_and_are_as_they_were_after_it(
    bare: World, monkeypatch: pytest.MonkeyPatch, *, is_async: bool
) -> None:
    way = Way(is_async=is_async)
    with MessagesApi(WHOLE, WHOLE, WHOLE) as api:
        plain, own = way.client(api, bare), way.client(api, bare, middleware=[Named("own", [])])
        before = [(client.middleware, client._middleware_chain is None) for client in (plain, own)]
        with instrumented(bare, monkeypatch):
            ask(way, plain)
            ask(way, own)
            assert len(bare.closed("model_request")) == len(bare.closed("request_attempt")) == 2
        assert [(client.middleware, client._middleware_chain is None) for client in (plain, own)] == before
        ask(way, plain)
    assert len(bare.closed("model_request")) == 2


@BOTH
def test_clients_that_were_made_meanwhile_are_plain_after_it(bare: World, monkeypatch: pytest.MonkeyPatch, *, is_async: bool) -> None:
    way = Way(is_async=is_async)
    with MessagesApi(WHOLE, WHOLE, WHOLE) as api:
        with instrumented(bare, monkeypatch):
            client = way.client(api, bare)
            ask(way, client)
            copy = client.with_options(max_retries=0)
            ask(way, copy)
            assert len(bare.closed("request_attempt")) == 2
        ask(way, client)
        assert (client.middleware, client._middleware_chain, copy.middleware) == ((), None, ())
    assert len(bare.closed("model_request")) == 2


def test_a_stream_that_is_read_after_it_was_taken_out_is_the_programs_as_ever(bare: World, monkeypatch: pytest.MonkeyPatch) -> None:
    way = Way(is_async=False)
    with MessagesApi(Reply()) as api:
        with instrumented(bare, monkeypatch):
            stream = way.client(api, bare).messages.create(stream=True, **ASKED)
        sent = api.stream()
        sent.send(START, STOP)
        sent.end()
        assert [event.type for event in stream] == ["message_start", "message_stop"]


def test_whoever_stands_around_ours_is_left_there(bare: World, monkeypatch: pytest.MonkeyPatch) -> None:
    way = Way(is_async=False)
    theirs = SyncAPIClient.request
    with MessagesApi(WHOLE) as api:
        bare.instrument(libraries=("anthropic",))
        ours: Any = SyncAPIClient.request

        def around(*args: Any, **kwargs: Any) -> Any:
            return ours(*args, **kwargs)

        monkeypatch.setattr(SyncAPIClient, "request", around)
        uninstrument()
        assert vars(SyncAPIClient)["request"] is around
        ask(way, way.client(api, bare))
    assert bare.rows() == []
    monkeypatch.setattr(SyncAPIClient, "request", theirs)


def test_it_can_be_put_in_again(bare: World, monkeypatch: pytest.MonkeyPatch) -> None:
    way = Way(is_async=False)
    with MessagesApi(WHOLE, WHOLE) as api:
        client = way.client(api, bare)
        for _ in range(2):
            with instrumented(bare, monkeypatch):
                ask(way, client)
    assert len(bare.closed("model_request")) == 2


def test_opentelemetry_finds_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["entry-points"]["opentelemetry_instrumentor"]["tracekit_anthropic"].partition(":")
    assert getattr(import_module(module), name) is AnthropicInstrumentor


def test_opentelemetry_can_put_it_in_alone(bare: World) -> None:
    way = Way(is_async=False, is_native=False)
    bare.instrument()
    instrumentor = AnthropicInstrumentor()
    instrumentor.instrument()
    instrumentor.instrument()
    with MessagesApi(WHOLE, WHOLE) as api:
        ask(way, way.client(api, bare))
        instrumentor.uninstrument()
        ask(way, way.client(api, bare))
    assert len(bare.closed("model_request")) == 1


BOTH_WAYS = """
import sys
import tracekit.instrument
from tracekit.instrument.sdk.anthropic import AnthropicInstrumentor

tracekit.instrument.instrument()
assert "anthropic" not in sys.modules
AnthropicInstrumentor().instrument()
from anthropic._base_client import SyncAPIClient

ours = SyncAPIClient.request
assert not hasattr(ours.__wrapped__, "__wrapped__")
tracekit.instrument.uninstrument()
assert SyncAPIClient.request is ours.__wrapped__
"""


def test_two_who_put_it_in_at_once_put_it_in_once(tmp_path: Path) -> None:
    environment = {"TRACEKIT_SPOOL": str(tmp_path), "TRACEKIT_STRICT": "1", "PYTHONPATH": ":".join(sys.path), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", BOTH_WAYS], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


# Clients and their middleware -----------------------------------------------------------------------------------------


@NATIVE
@BOTH
def test_the_users_middleware_is_kept_in_its_order_and_attempts_are_what_is_sent_behind_it(
    world: World, *, is_async: bool, is_native: bool
) -> None:
    way = Way(is_async=is_async, is_native=is_native)
    said: list[str] = []
    first, second, third = (Named(name, said) for name in ("first", "second", "third"))
    with MessagesApi(WHOLE, WHOLE, WHOLE) as api:
        client = way.client(api, world, middleware=[first, second])
        ask(way, client)
        assert said == ["first in", "second in", "second out", "first out"]
        assert handlers(client) == [first, second]
        more = client.with_middleware(third)
        ask(way, more)
        assert handlers(more) == [first, second, third]
        assert more.middleware[-1] is EXCHANGE
        other = more.with_options(middleware=[third])
        ask(way, other)
        assert handlers(other) == [third]
    assert len(world.closed("model_request")) == len(world.closed("request_attempt")) == 3


class Again(Middleware):
    """Sends a request twice, and hands on the second answer."""

    def handle(self, request: Any, call_next: Callable[[Any], Any]) -> Any:
        call_next(request)
        return call_next(request)

    async def handle_async(self, request: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        await call_next(request)
        return await call_next(request)


class Cache(Middleware):
    """Answers by itself."""

    def handle(self, request: Any, call_next: Callable[[Any], Any]) -> Any:  # noqa: ARG002  (of the interface)
        return anthropic.types.Message.model_validate(MESSAGE)

    async def handle_async(self, request: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        return self.handle(request, call_next)


class Refuses(Middleware):
    """Raises an error of its own once the answer is there."""

    def handle(self, request: Any, call_next: Callable[[Any], Any]) -> Any:
        call_next(request)
        message = "not this one"
        raise LookupError(message)

    async def handle_async(self, request: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        await call_next(request)
        return self.handle(request, lambda _: None)


@NATIVE
@BOTH
def test_a_middleware_that_sends_twice_makes_two_attempts_of_one_request(world: World, *, is_async: bool, is_native: bool) -> None:
    way = Way(is_async=is_async, is_native=is_native)
    with MessagesApi(Reply(), Reply()) as api:
        stream = way.get(way.client(api, world, middleware=[Again()]).messages.create(stream=True, **ASKED))
        api.stream().leave()
        sent = api.stream()
        sent.send(START, STOP)
        sent.end()
        while way.next(stream) is not None:
            pass
    request, attempts, _, _ = recorded(world)
    assert (request["key"], request["status"]) == ("req_2", "ok")
    assert [attempt["key"] for attempt in attempts] == ["req_1", "req_2"]


@BOTH
def test_what_a_middleware_answers_by_itself_is_no_request(world: World, *, is_async: bool) -> None:
    way = Way(is_async=is_async, is_native=False)
    with MessagesApi() as api:
        assert ask(way, way.client(api, world, middleware=[Cache()])).id == "msg_1"
    assert world.rows() == []


@BOTH
def test_of_what_a_middleware_answers_by_itself_the_sdks_own_span_stands_without_an_attempt(world: World, *, is_async: bool) -> None:
    way = Way(is_async=is_async)
    with MessagesApi() as api:
        assert ask(way, way.client(api, world, middleware=[Cache()])).id == "msg_1"
    assert [(row["boundary"], row["status"]) for row in world.rows()] == [("model_request", "unset"), ("model_request", "ok")]


class Spans(Middleware):
    """Starts a span of its own around each attempt."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer

    def handle(self, request: Any, call_next: Callable[[Any], Any]) -> Any:
        with self._tracer.start_as_current_span("theirs"):
            return call_next(request)

    async def handle_async(self, request: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        with self._tracer.start_as_current_span("theirs"):
            return await call_next(request)


@NATIVE
@BOTH
def test_a_span_that_a_middleware_starts_is_its_own(world: World, *, is_async: bool, is_native: bool) -> None:
    way = Way(is_async=is_async, is_native=is_native)
    with MessagesApi(WHOLE) as api:
        ask(way, way.client(api, world, middleware=[Spans(world.provider.get_tracer("somebody"))]))
    (theirs,) = [span for span in world.spans if span.name == "theirs"]
    assert theirs.attributes == {}
    assert [row["boundary"] for row in world.rows() if row["end_ns"] is None] == ["model_request", "request_attempt"]
    assert [span.name for span in world.spans if semconv.BOUNDARY in (span.attributes or {})] == [
        "anthropic.messages.create" if is_native else "chat claude-test"
    ]


class Counts(Middleware):
    """Has another client of the SDK count tokens before each attempt."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def handle(self, request: Any, call_next: Callable[[Any], Any]) -> Any:
        self._client.messages.count_tokens(model="claude-test", messages=ASKED["messages"])
        return call_next(request)

    async def handle_async(self, request: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        await self._client.messages.count_tokens(model="claude-test", messages=ASKED["messages"])
        return await call_next(request)


@BOTH
def test_another_span_of_the_sdk_within_a_call_is_not_the_calls(world: World, *, is_async: bool) -> None:
    way, traced = Way(is_async=is_async, is_native=False), Way(is_async=is_async)
    with MessagesApi(Reply(body={"input_tokens": 3}), WHOLE) as api:
        ask(way, way.client(api, world, middleware=[Counts(traced.client(api, world))]))
    traced.finish()
    assert [span.name for span in world.spans] == ["anthropic.messages.count_tokens", "chat claude-test"]
    assert world.one("model_request")["status"] == "ok"
    assert semconv.BOUNDARY not in (world.spans[0].attributes or {})


@NATIVE
@BOTH
def test_an_error_of_a_middleware_is_the_requests_and_passes_untouched(world: World, *, is_async: bool, is_native: bool) -> None:
    way = Way(is_async=is_async, is_native=is_native)
    with MessagesApi(WHOLE) as api, pytest.raises(LookupError, match=r"^not this one$"):
        ask(way, way.client(api, world, middleware=[Refuses()]))
    request, (attempt,), _, _ = recorded(world)
    assert (request["status"], request["attributes"]["tracekit.error.text"], attempt["status"]) == ("error", "not this one", "ok")


# Content --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [True, False])
@NATIVE
@BOTH
def test_what_is_asked_and_answered_is_kept_only_with_content(bare: World, *, is_async: bool, is_native: bool, content: bool) -> None:
    bare.instrument(libraries=("anthropic",), content=content)
    way, answer = Way(is_async=is_async, is_native=is_native), [{"type": "text", "text": "done"}]
    with MessagesApi(Reply(), Reply(body=MESSAGE | {"content": answer})) as api:
        client = way.client(api, bare)
        stream = way.get(client.messages.create(stream=True, **ASKED))
        sent = api.stream()
        sent.send(START, block_start(0, type="text", text=""), text_delta(0, "Grüß "), text_delta(0, "Gott"), block_stop(0), STOP)
        sent.end()
        while way.next(stream) is not None:
            pass
        ask(way, client)
    said = [row["attributes"].get("tracekit.content") for row in bare.closed("stream_event") + bare.closed("model_request")]
    newest = ASKED["messages"][-1]
    assert [None if one is None or one == "Grüß Gott" else json.loads(one) for one in said] == (
        [None, {"input": newest}, {"input": newest, "output": answer}] if content else [None] * 3
    )
    assert said[0] == ("Grüß Gott" if content else None)
    assert bare.one("stream_event")["attributes"]["tracekit.block.size"] == "9"


# The host is not harmed -----------------------------------------------------------------------------------------------


def breaks(*_: object, **__: object) -> None:
    message = "broken by the test"
    raise OSError(message)


@NATIVE
@BOTH
@pytest.mark.parametrize("method", ["event", "response", "first_byte", "attempt", "_finish", "say"])
def test_an_error_of_ours_is_not_felt(
    world: World, monkeypatch: pytest.MonkeyPatch, *, is_async: bool, is_native: bool, method: str
) -> None:
    monkeypatch.setenv("TRACEKIT_STRICT", "0")
    monkeypatch.setattr(ModelRequest, method, breaks)
    way = Way(is_async=is_async, is_native=is_native)
    with MessagesApi(Reply(), WHOLE) as api:
        client = way.client(api, world)
        stream = way.get(client.messages.create(stream=True, **ASKED))
        sent = api.stream()
        sent.send(START, STOP)
        sent.end()
        assert (way.next(stream).type, way.next(stream).type, way.next(stream)) == ("message_start", "message_stop", None)
        assert ask(way, client).id == "msg_1"
    if is_native:
        assert [span.name for span in world.spans if span.name.startswith("anthropic")] == ["anthropic.messages.create"] * 2


@BOTH
def test_a_clock_that_breaks_is_not_felt(bare: World, monkeypatch: pytest.MonkeyPatch, *, is_async: bool) -> None:
    monkeypatch.setenv("TRACEKIT_STRICT", "0")
    bare.instrument(libraries=("anthropic",), clock=breaks)
    way = Way(is_async=is_async)
    with MessagesApi(Reply()) as api:
        stream = way.get(way.client(api, bare).messages.create(stream=True, **ASKED))
        sent = api.stream()
        sent.send(START, STOP)
        sent.end()
        assert (way.next(stream).type, way.next(stream).type, way.next(stream)) == ("message_start", "message_stop", None)


def test_under_pytest_an_error_of_ours_is_raised(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelRequest, "response", breaks)
    way = Way(is_async=False, is_native=False)
    with MessagesApi(WHOLE) as api, pytest.raises(OSError, match=r"^broken by the test$"):
        ask(way, way.client(api, world))


def test_a_sample_that_leaves_the_span_out_leaves_out_the_record(world: World) -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

    way = Way(is_async=False)
    world.provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    with MessagesApi(WHOLE) as api:
        assert ask(way, way.client(api, world)).id == "msg_1"
    assert world.rows() == []


# The program's own set-up ---------------------------------------------------------------------------------------------

PROGRAM = """
import sys

WHERE = sys.argv[2]
OWN = []
if WHERE != "none":
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

    class Mine(SpanExporter):
        def export(self, spans):
            OWN.extend(span.name for span in spans)
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(Mine()))
if WHERE == "before":
    trace.set_tracer_provider(provider)
import tracekit.instrument

tracekit.instrument.instrument()
if WHERE == "after":
    trace.set_tracer_provider(provider)
import anthropic

client = anthropic.Anthropic(api_key="x", base_url=sys.argv[1])
asked = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]}
assert client.messages.create(**asked).id == "msg_1"
with tracekit.instrument.turn("p"):
    assert client.messages.create(**asked).id == "msg_1"
print(*OWN, sep="\\n")
"""
EXPORTED = ["anthropic.messages.create", "anthropic.messages.create", "invoke_agent"]


@pytest.mark.parametrize(
    ("where", "exported"),
    [("before", EXPORTED), ("after", EXPORTED), ("none", [])],
)
def test_it_works_with_the_programs_provider_and_with_none(tmp_path: Path, where: str, exported: list[str]) -> None:
    with MessagesApi(WHOLE, WHOLE) as api:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, api.url, where],
            env={"TRACEKIT_SPOOL": str(tmp_path), "TRACEKIT_STRICT": "1", "PYTHONPATH": ":".join(sys.path), "PATH": ""},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.stderr, done.stdout.split("\n")[:-1]) == ("", exported or [""])
    rows = [json.loads(line) for file in tmp_path.iterdir() for line in file.read_text().splitlines()]
    ended = [(row["boundary"], row["key"], row["status"]) for row in rows if row["end_ns"] is not None]
    requests = [(boundary, key, "ok") for key in ("req_1", "req_2") for boundary in ("request_attempt", "model_request")]
    assert ended == [*requests, ("turn", "p", "ok")]
