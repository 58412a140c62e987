"""Boundaries around functions: plain ones, coroutines, and generators of either kind, which others may close early."""

import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager
from functools import wraps
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class Around(Protocol):
    """A boundary, as far as a function needs it."""

    def start(self) -> Self:
        """Begin."""
        ...

    def end(self, error: BaseException | None = None) -> None:
        """End."""
        ...

    def inside(self) -> AbstractContextManager[object]:
        """Stand in it."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


def decorated(function: F, fresh: Callable[[], Around]) -> F:
    """Give the function with a boundary around each of its calls. A generator's begins with its first step and ends with its last."""
    if inspect.isasyncgenfunction(function):
        wrapped = _async_generator(function, fresh)
    elif inspect.isgeneratorfunction(function):
        wrapped = _generator(function, fresh)
    elif inspect.iscoroutinefunction(function):
        wrapped = _coroutine(function, fresh)
    else:
        wrapped = _plain(function, fresh)
    return cast("F", wraps(function)(wrapped))


def _plain(function: Callable[..., Any], fresh: Callable[[], Around]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with fresh():
            return function(*args, **kwargs)

    return call


def _coroutine(function: Callable[..., Any], fresh: Callable[[], Around]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with fresh():
            return await function(*args, **kwargs)

    return call


def _generator(function: Callable[..., Any], fresh: Callable[[], Around]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        handle = fresh().start()
        # Only while it runs it is stood in: between two steps the code is its consumer's.
        with handle.inside():
            body: Generator[Any, Any, Any] = function(*args, **kwargs)
        step: Callable[[Any], Any] = body.send
        given: Any = None
        try:
            while True:
                with handle.inside():
                    value = step(given)
                try:
                    given = yield value
                    step = body.send
                except GeneratorExit:
                    with handle.inside():
                        body.close()
                    raise
                except BaseException as error:  # noqa: BLE001  (thrown in by the consumer: it goes on into the generator)
                    given, step = error, body.throw
        except StopIteration as done:
            handle.end()
            return done.value
        except BaseException as error:
            handle.end(error)
            raise

    return call


def _async_generator(function: Callable[..., Any], fresh: Callable[[], Around]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        handle = fresh().start()
        with handle.inside():
            body: AsyncGenerator[Any, Any] = function(*args, **kwargs)
        step: Callable[[Any], Any] = body.asend
        given: Any = None
        try:
            while True:
                with handle.inside():
                    value = await step(given)
                try:
                    given = yield value
                    step = body.asend
                except GeneratorExit:
                    with handle.inside():
                        await body.aclose()
                    raise
                except BaseException as error:  # noqa: BLE001  (as above)
                    given, step = error, body.athrow
        except StopAsyncIteration:
            handle.end()
        except BaseException as error:
            handle.end(error)
            raise

    return call
