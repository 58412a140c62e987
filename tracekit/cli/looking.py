"""The page beside the recorders: its answers come from processes of their own, so that whoever looks never makes the traffic wait."""

import asyncio
import multiprocessing
import os
import signal
from collections.abc import AsyncIterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any, Final

from aiohttp import web

from tracekit.capture.listener import DOOR
from tracekit.page.answers import Answer, Pages
from tracekit.page.routes import Door, add_routes

_PROCESSES: Final = 2
_NICENESS: Final = 5
_NOT_OURS: Final = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


class Looking:
    """Answers the page from the store of a URL. Nothing is started, and no database loaded, before somebody looks."""

    def __init__(self, store: str | None) -> None:
        self._store = store
        self._pool: ProcessPoolExecutor | None = None

    async def respond(self, name: str, *arguments: Any) -> Answer:
        """Have a method of `Pages` called."""
        try:
            return await self._ask(name, arguments)
        except BrokenProcessPool:
            # One was killed: the next ones may live.
            self._end()
            return await self._ask(name, arguments)

    async def until_end(self, _app: web.Application) -> AsyncIterator[None]:
        """End the processes with the application."""
        yield
        self._end()

    async def _ask(self, name: str, arguments: tuple[Any, ...]) -> Answer:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(_PROCESSES, mp_context=context, initializer=_begin, initargs=(self._store,))
        return await asyncio.get_running_loop().run_in_executor(self._pool, _answer, name, arguments)

    def _end(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)


def add_page(app: web.Application, store: str | None, token: str | None) -> None:
    """Bring the page into an application that records."""
    looking = Looking(store)
    door = None if token is None else Door(token)
    if door is not None:
        app[DOOR] = door.__call__
    add_routes(app, looking.respond, door=door)
    app.cleanup_ctx.append(looking.until_end)


# In the processes

_pages: list[Pages] = []


def _begin(store: str | None) -> None:
    from tracekit.cli.leased import leased

    # Whoever started this process decides when it ends, and the traffic goes first.
    for number in _NOT_OURS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    with suppress(OSError):
        os.nice(_NICENESS)
    _pages.append(Pages(leased(store)))


def _answer(name: str, arguments: tuple[Any, ...]) -> Answer:
    answer: Answer = getattr(_pages[0], name)(*arguments)
    return answer
