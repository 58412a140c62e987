"""What is still to be recorded: traffic goes first, and what it leaves is read in one go, as soon as there is a moment.

Reading an event right when it has passed would cost several times as much, since all that is needed for it has left the processor's
caches since the last one, and whatever came meanwhile would have to wait.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from tracekit.capture.gateway.recorder import Recorder

_MOMENT_SECONDS: Final = 0.004
_AT_A_TIME_SECONDS: Final = 0.001
"""Work of this length is interrupted for the traffic."""
_AT_MOST: Final = 64 * 1024
"""Bytes that may wait. Beyond that they are read at once: then they have not left the caches, and the traffic is no conversation."""


class Backlog:
    """Calls that are made later, in their order, by the event loop's own thread; an error in one is a gap and no more."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._calls: deque[tuple[Callable[[], None], int]] = deque()
        self._size = 0
        self._is_awaited = False

    def add(self, call: Callable[[], None], size: int = 0) -> None:
        """Have a call made that holds on to so many bytes."""
        self._calls.append((call, size))
        self._size += size
        while self._size > _AT_MOST:
            self._next()
        if not self._is_awaited:
            self._is_awaited = True
            asyncio.get_running_loop().call_later(_MOMENT_SECONDS, self._work)

    def catch_up(self) -> None:
        """Make all calls now."""
        while self._calls:
            self._next()

    def _work(self) -> None:
        enough = time.perf_counter() + _AT_A_TIME_SECONDS
        while self._calls and time.perf_counter() < enough:
            self._next()
        self._is_awaited = bool(self._calls)
        if self._is_awaited:
            asyncio.get_running_loop().call_soon(self._work)

    def _next(self) -> None:
        call, size = self._calls.popleft()
        self._size -= size
        with self._recorder:
            call()
