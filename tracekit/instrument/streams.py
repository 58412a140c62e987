"""A stream that is watched: what comes is handed on as it came, with three hooks beside it (chunk, end, error) and no buffer."""

from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from tracekit.instrument.guard import blame

T = TypeVar("T")


class _Watch:
    """The three hooks, each called once at most but the first; what they raise is ours."""

    def __init__(self, chunk: Callable[[Any], object], end: Callable[[], object], error: Callable[[BaseException], object]) -> None:
        self.chunk = chunk
        self._end = end
        self._error = error
        self._is_over = False

    def end(self) -> None:
        if not self._is_over:
            self._is_over = True
            try:
                self._end()
            except Exception as mine:  # noqa: BLE001  (whatever it is, it is ours)
                blame(mine)

    def error(self, error: BaseException) -> None:
        if not self._is_over:
            self._is_over = True
            try:
                self._error(error)
            except Exception as mine:  # noqa: BLE001  (whatever it is, it is ours)
                blame(mine)


class Stream(Generic[T]):
    """A synchronous stream that is watched. All that is not iteration goes to the stream itself.

    Args:
        source: What is watched.
        chunk: Told of each item, before its consumer gets it.
        end: Told when there are no more.
        error: Told of what broke it off; a consumer that leaves early is a `GeneratorExit`.
    """

    def __init__(
        self, source: Any, *, chunk: Callable[[T], object], end: Callable[[], object], error: Callable[[BaseException], object]
    ) -> None:
        self._source = source
        self._items: Iterator[T] = iter(source)
        self._watch = _Watch(chunk, end, error)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        try:
            item = next(self._items)
        except StopIteration:
            self._watch.end()
            raise
        except BaseException as error:
            self._watch.error(error)
            raise
        try:
            self._watch.chunk(item)
        except Exception as mine:  # noqa: BLE001  (whatever it is, it is ours)
            blame(mine)
        return item

    def close(self) -> None:
        """Leave it early."""
        try:
            if (close := getattr(self._source, "close", None)) is not None:
                close()
        finally:
            self._watch.error(GeneratorExit())

    def __enter__(self) -> Self:
        if (enter := getattr(self._source, "__enter__", None)) is not None:
            enter()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> Any:
        try:
            leave = getattr(self._source, "__exit__", None)
            return leave(kind, error, trace) if leave is not None else self.close()
        finally:
            # Whatever its consumer failed of, to the stream it is one who leaves; an error of its own was told before.
            self._watch.error(GeneratorExit())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def __del__(self) -> None:
        # Of a stream that was left with `break` nothing else tells.
        if (watch := self.__dict__.get("_watch")) is not None:
            watch.error(GeneratorExit())


class AsyncStream(Generic[T]):
    """As `Stream`, for a stream that is awaited."""

    def __init__(
        self, source: Any, *, chunk: Callable[[T], object], end: Callable[[], object], error: Callable[[BaseException], object]
    ) -> None:
        self._source = source
        self._items: AsyncIterator[T] = aiter(source)
        self._watch = _Watch(chunk, end, error)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        try:
            item = await anext(self._items)
        except StopAsyncIteration:
            self._watch.end()
            raise
        except BaseException as error:
            self._watch.error(error)
            raise
        try:
            self._watch.chunk(item)
        except Exception as mine:  # noqa: BLE001  (whatever it is, it is ours)
            blame(mine)
        return item

    async def aclose(self) -> None:
        """Leave it early."""
        try:
            close = getattr(self._source, "aclose", None) or getattr(self._source, "close", None)
            if close is not None:
                await close()
        finally:
            self._watch.error(GeneratorExit())

    async def __aenter__(self) -> Self:
        if (enter := getattr(self._source, "__aenter__", None)) is not None:
            await enter()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> Any:
        try:
            leave = getattr(self._source, "__aexit__", None)
            return await (leave(kind, error, trace) if leave is not None else self.aclose())
        finally:
            # Whatever its consumer failed of, to the stream it is one who leaves; an error of its own was told before.
            self._watch.error(GeneratorExit())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def __del__(self) -> None:
        # Of a stream that was left with `break` nothing else tells.
        if (watch := self.__dict__.get("_watch")) is not None:
            watch.error(GeneratorExit())
