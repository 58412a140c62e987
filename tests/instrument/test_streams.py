"""The watched stream: three hooks, nothing held back, nothing changed."""

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self

import pytest

from tracekit.instrument import AsyncStream, Stream


class Hooks:
    """Writes down what the hooks were told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def watch(self, source: Any) -> Stream[Any]:
        return Stream(source, **self._hooks)

    def awatch(self, source: Any) -> AsyncStream[Any]:
        return AsyncStream(source, **self._hooks)

    @property
    def _hooks(self) -> dict[str, Any]:
        return {
            "chunk": self.told.append,
            "end": lambda: self.told.append("end"),
            "error": self._broke,
        }

    def _broke(self, error: BaseException) -> None:
        self.told.append(type(error).__name__)


class Counting:
    """A source that knows how far it was read, and whether it was closed."""

    def __init__(self, *items: object, error: Exception | None = None) -> None:
        self.items = list(items)
        self.error = error
        self.given = 0
        self.closed = 0

    def __iter__(self) -> Iterator[object]:
        return self

    def __next__(self) -> object:
        if self.given == len(self.items):
            raise self.error or StopIteration
        self.given += 1
        return self.items[self.given - 1]

    def close(self) -> None:
        self.closed += 1


class AsyncCounting:
    """As `Counting`, for one that is awaited."""

    def __init__(self, *items: object, error: Exception | None = None) -> None:
        self._source = Counting(*items, error=error)
        self.closed = 0

    def __aiter__(self) -> AsyncIterator[object]:
        return self

    async def __anext__(self) -> object:
        await asyncio.sleep(0)
        try:
            return next(self._source)
        except StopIteration:
            raise StopAsyncIteration from None

    async def close(self) -> None:
        self.closed += 1


def test_each_item_is_told_before_it_is_handed_on_and_none_is_taken_ahead() -> None:
    hooks, source = Hooks(), Counting("a", "b")
    stream = hooks.watch(source)
    assert (source.given, hooks.told) == (0, [])
    assert next(stream) == "a"
    assert (source.given, hooks.told) == (1, ["a"])
    assert list(stream) == ["b"]
    assert list(stream) == []
    assert hooks.told == ["a", "b", "end"]


def test_an_error_passes_as_it_is_and_is_told_once() -> None:
    hooks, error = Hooks(), OSError("gone")
    stream = hooks.watch(Counting("a", error=error))
    with pytest.raises(OSError, match="gone") as raised:
        list(stream)
    assert raised.value is error
    with pytest.raises(OSError, match="gone"):
        next(stream)
    assert hooks.told == ["a", "OSError"]


def test_a_consumer_that_leaves_closes_the_source_and_is_told() -> None:
    hooks, source = Hooks(), Counting("a", "b")
    with hooks.watch(source) as stream:
        assert next(stream) == "a"
    assert (source.closed, hooks.told) == (1, ["a", "GeneratorExit"])


def test_a_consumer_that_fails_is_one_who_leaves_and_an_error_of_the_stream_is_its_own() -> None:
    consumers, streams = Hooks(), Hooks()
    with pytest.raises(KeyError), consumers.watch(Counting("a")):
        raise KeyError
    with pytest.raises(OSError, match="gone"), streams.watch(Counting(error=OSError("gone"))) as stream:
        next(stream)
    assert (consumers.told, streams.told) == (["GeneratorExit"], ["OSError"])


def test_a_stream_that_is_left_and_forgotten_is_told() -> None:
    hooks = Hooks()
    for _ in hooks.watch(Counting("a", "b")):
        break
    gc.collect()
    assert hooks.told == ["a", "GeneratorExit"]


def test_a_source_with_a_block_of_its_own_is_entered_and_left() -> None:
    class Source(Counting):
        entered = 0

        def __enter__(self) -> Self:
            self.entered += 1
            return self

        def __exit__(self, *_: object) -> bool:
            return True

    hooks, source = Hooks(), Source("a")
    stream = hooks.watch(source)
    with stream:
        assert source.entered == 1
    # What its own block answers, whether an error is swallowed, is answered.
    assert stream.__exit__(ValueError, ValueError(), None) is True
    assert (source.closed, hooks.told) == (0, ["GeneratorExit"])


def test_a_hook_that_raises_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEKIT_STRICT", "0")

    def broken(*_: object) -> None:
        raise RuntimeError

    assert list(Stream(["a", "b"], chunk=broken, end=broken, error=broken)) == ["a", "b"]
    with pytest.raises(OSError, match="gone"):
        list(Stream(Counting(error=OSError("gone")), chunk=broken, end=broken, error=broken))


def test_a_stream_that_is_awaited_is_watched_alike() -> None:
    async def whole(hooks: Hooks) -> list[object]:
        return [item async for item in hooks.awatch(AsyncCounting("a", "b"))]

    async def broken(hooks: Hooks) -> None:
        with pytest.raises(OSError, match="gone"):
            await anext(hooks.awatch(AsyncCounting(error=OSError("gone"))))

    async def left(hooks: Hooks) -> int:
        source = AsyncCounting("a", "b")
        async with hooks.awatch(source) as stream:
            await anext(stream)
        return source.closed

    hooks = [Hooks(), Hooks(), Hooks()]
    assert asyncio.run(whole(hooks[0])) == ["a", "b"]
    asyncio.run(broken(hooks[1]))
    assert asyncio.run(left(hooks[2])) == 1
    assert [one.told for one in hooks] == [["a", "b", "end"], ["OSError"], ["a", "GeneratorExit"]]


def test_a_task_that_is_cancelled_while_it_waits_for_an_item_says_so() -> None:
    hooks = Hooks()

    async def slow() -> AsyncIterator[str]:
        yield "a"
        await asyncio.sleep(60)

    async def main() -> None:
        async def read() -> None:
            async for _ in hooks.awatch(slow()):
                pass

        task = asyncio.create_task(read())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert hooks.told == ["a", "CancelledError"]
