"""The page beside the recorders."""

from functools import cache
from typing import Any, Final

from aiohttp import web

from tracekit.capture.listener import DOOR
from tracekit.cli.beside import Beside
from tracekit.page.answers import Answer, Pages
from tracekit.page.routes import Door, add_routes

_PROCESSES: Final = 2


def add_page(app: web.Application, store: str | None, token: str | None) -> None:
    """Bring the page into an application that records. No database is loaded before somebody looks."""
    beside = Beside(_PROCESSES)

    async def respond(name: str, *arguments: Any) -> Answer:
        return await beside.call(_answer, store, name, arguments)

    door = None if token is None else Door(token)
    if door is not None:
        app[DOOR] = door.__call__
    add_routes(app, respond, door=door)
    app.cleanup_ctx.append(beside.until_end)


# In the processes


@cache
def _pages(store: str | None) -> Pages:
    """What a process answers from, with what it remembers."""
    from tracekit.cli.leased import leased

    return Pages(leased(store))


def _answer(store: str | None, name: str, arguments: tuple[Any, ...]) -> Answer:
    answer: Answer = getattr(_pages(store), name)(*arguments)
    return answer
