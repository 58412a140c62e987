"""Work beside the recorders, in processes of its own, so that whoever asks never makes the traffic wait."""

import asyncio
import multiprocessing
import os
import signal
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Final, TypeVar, TypeVarTuple

from aiohttp import web

_NICENESS: Final = 5
_NOT_OURS: Final = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class Beside:
    """Processes that answer calls. Nothing is started before the first.

    Args:
        processes: How many at once.
    """

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None

    async def call(self, function: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """Have a function of a module called with these arguments; what it takes and gives travels between processes."""
        try:
            return await self._call(function, *arguments)
        except BrokenProcessPool:
            # One was killed: the next ones may live.
            self._end()
            return await self._call(function, *arguments)

    async def until_end(self, _app: web.Application) -> AsyncIterator[None]:
        """End the processes with the application."""
        yield
        self._end()

    async def _call(self, function: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._processes, mp_context=multiprocessing.get_context("spawn"), initializer=_begin)
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)

    def _end(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)


def _begin() -> None:
    # Whoever started this process decides when it ends, and the traffic goes first.
    for number in _NOT_OURS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    with suppress(OSError):
        os.nice(_NICENESS)
