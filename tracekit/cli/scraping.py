"""`/metrics` beside the recorders: worked out in a process of its own, so that a scrape never makes the traffic wait."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import web

from tracekit.capture.listener import is_loopback
from tracekit.cli.beside import Beside
from tracekit.errors import TracekitError

PATH: Final = "/metrics"
KEPT_SECONDS: Final = 5.0
"""How long an answer counts as new: whoever scrapes more often, or several at once, cost no more."""


def scrape(store: str | None) -> str:
    """Give the metrics of a store in Prometheus' text format.

    Raises:
        TracekitError: As `open_store`.
    """
    from tracekit.analysis.metrics import metrics
    from tracekit.store import open_store
    from tracekit_exporters import prometheus

    with open_store(store) as opened:
        found = metrics(opened, as_of_ns=time.time_ns())
    return "".join(prometheus.write(found))


class Scrapes:
    """Answers scrapes of the store of a URL. Nothing is started before the first."""

    def __init__(self, store: str | None) -> None:
        self._store = store
        self._beside = Beside(1)
        self._lock = asyncio.Lock()
        self._kept: tuple[float, str] | None = None

    async def respond(self) -> web.Response:
        """Answer a scrape: 503 where the store cannot be asked for now, which Prometheus shows as `up == 0`."""
        from tracekit_exporters.prometheus import CONTENT_TYPE

        try:
            async with self._lock:
                text = await self._text()
        except TracekitError as error:
            return web.Response(status=web.HTTPServiceUnavailable.status_code, text=f"{error}\n")
        return web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})

    def until_end(self, app: web.Application) -> AsyncIterator[None]:
        """End the process with the application."""
        return self._beside.until_end(app)

    async def _text(self) -> str:
        now = time.monotonic()
        if self._kept is not None and now - self._kept[0] < KEPT_SECONDS:
            return self._kept[1]
        text, slug = await self._beside.call(_told, self._store)
        if slug:
            raise TracekitError(text, slug=slug)
        self._kept = now, text
        return text


def add_metrics(app: web.Application, store: str | None, token: str | None) -> None:
    """Bring `/metrics` into an application. Call it before whatever takes all other paths is added.

    Where no token is demanded, only this machine's own names are answered: a page of another site that has had its name resolved to this
    machine reads nothing.
    """
    scrapes = Scrapes(store)

    async def guarded(request: web.Request) -> web.Response:
        if token is None and not is_loopback(request.url.host or ""):
            return web.Response(status=web.HTTPMisdirectedRequest.status_code, text="scrape this machine by one of its own names\n")
        return await scrapes.respond()

    app.router.add_get(PATH, guarded)
    app.cleanup_ctx.append(scrapes.until_end)


def _told(store: str | None) -> tuple[str, str]:
    """The metrics, or what stands against them with its slug: an error of ours does not travel between processes."""
    try:
        return scrape(store), ""
    except TracekitError as error:
        return str(error), error.slug
