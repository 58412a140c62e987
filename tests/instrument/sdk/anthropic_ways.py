"""The ways to call anthropic, each led step by step: synchronous or not, with the SDK's own span or without."""

import asyncio
import contextlib
from collections.abc import Generator
from typing import Any, NamedTuple

import anthropic
import pytest

from tests.instrument.conftest import World
from tests.instrument.sdk.messages_api import MessagesApi
from tracekit.instrument import uninstrument
from tracekit.model import semconv

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
NATIVE = pytest.mark.parametrize("is_native", [True, False], ids=["span of the SDK", "span of ours"])


class Way:
    """One way to call."""

    def __init__(self, *, is_async: bool, is_native: bool = True) -> None:
        self.is_async = is_async
        self.is_native = is_native
        self._loop = asyncio.new_event_loop()

    def client(self, api: MessagesApi, world: World, **options: Any) -> Any:
        """A client of the API, whose retries and timeouts are those that tests can wait for."""
        kind: Any = anthropic.AsyncAnthropic if self.is_async else anthropic.Anthropic
        options = {"api_key": "sk-ant-test-key", "base_url": api.url, "timeout": 5.0, "max_retries": 2} | options
        return kind(open_telemetry={"tracer_provider": world.provider} if self.is_native else False, **options)

    def get(self, value: Any) -> Any:
        """A result, which is to be awaited or not."""
        return self._loop.run_until_complete(value) if self.is_async else value

    def next(self, stream: Any) -> Any:
        """The next event of a stream; None at its end."""
        if not self.is_async:
            return next(stream, None)
        return self._loop.run_until_complete(anext(stream, None))

    def close(self, stream: Any) -> None:
        """Leave a stream early."""
        self.get(stream.close())

    def enter(self, manager: Any) -> Any:
        """Begin what `stream()` gives."""
        return self._loop.run_until_complete(manager.__aenter__()) if self.is_async else manager.__enter__()

    def leave(self, manager: Any) -> None:
        """End it."""
        nothing = (None, None, None)
        if self.is_async:
            self._loop.run_until_complete(manager.__aexit__(*nothing))
        else:
            manager.__exit__(*nothing)

    def finish(self) -> None:
        """Let go of what was left open."""
        with contextlib.suppress(Exception):
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


class Recorded(NamedTuple):
    """What one request left behind, as it ended, in order."""

    request: dict[str, Any]
    attempts: list[dict[str, Any]]
    waits: list[dict[str, Any]]
    blocks: list[dict[str, Any]]


def recorded(world: World) -> Recorded:
    """What was written of the only request."""
    kinds = ("request_attempt", "retry_wait", "stream_event")
    return Recorded(world.one("model_request"), *(world.closed(kind) for kind in kinds))


def facts(row: dict[str, Any]) -> dict[str, Any]:
    """Attributes of a row, without the name under which it was opened, which nobody can know."""
    return {name: value for name, value in row["attributes"].items() if name != semconv.OPENED_AS}


def edges(row: dict[str, Any]) -> tuple[int, int, str]:
    """When it began and ended, and how."""
    return row["start_ns"], row["end_ns"], row["status"]


@contextlib.contextmanager
def instrumented(world: World, monkeypatch: pytest.MonkeyPatch) -> Generator[World]:
    """A process whose SDKs look at the test's clock, too."""
    monkeypatch.setattr("opentelemetry.sdk.trace.time_ns", world.clock)
    world.instrument(libraries=("anthropic",))
    yield world
    uninstrument()
