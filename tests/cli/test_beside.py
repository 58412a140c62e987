"""Work beside the recorders: in another process, politely, and again where that one has died."""

import asyncio
import os
import signal

import pytest
from aiohttp import web

from tracekit.cli.beside import Beside


def test_a_call_is_answered_by_another_process_that_gives_way_to_the_traffic() -> None:
    async def ask() -> tuple[int, int]:
        beside = Beside(1)
        async for _ in beside.until_end(web.Application()):
            return await beside.call(os.getpid), await beside.call(os.nice, 0)
        raise AssertionError

    process, niceness = asyncio.run(ask())
    assert process != os.getpid()
    assert niceness > os.nice(0)


def test_a_process_that_was_killed_is_replaced() -> None:
    async def ask() -> tuple[int, int]:
        beside = Beside(1)
        async for _ in beside.until_end(web.Application()):
            first = await beside.call(os.getpid)
            os.kill(first, signal.SIGKILL)
            await asyncio.sleep(0.2)
            return first, await beside.call(os.getpid)
        raise AssertionError

    first, second = asyncio.run(ask())
    assert first != second


def test_an_error_of_the_call_is_the_callers() -> None:
    async def ask() -> None:
        beside = Beside(1)
        async for _ in beside.until_end(web.Application()):
            await beside.call(os.kill, -1_000_000, 0)

    with pytest.raises(OSError, match="No such process"):
        asyncio.run(ask())
