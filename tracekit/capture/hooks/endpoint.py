"""The endpoint for HTTP hooks: it records them in the order in which they came, and answers at once, whatever the disk does."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from aiohttp import web

from tracekit.capture.hooks.heard import HTTP_LATE_NS
from tracekit.capture.hooks.known import TAIL_BYTES, Edge, Known, recall
from tracekit.capture.hooks.observing import Said
from tracekit.model import Boundary
from tracekit.spool import SharedSpool, Spool

MAX_BYTES: Final = 64 * 1024 * 1024
"""An input beyond this is taken and not read."""
_WAITING: Final = 10_000
"""Inputs that wait for a disk which does not answer."""
_PATIENCE_SECONDS: Final = 0.05
"""What is answered has been written, unless that takes longer than this."""

_log = logging.getLogger(__name__)


class Endpoint:
    """What all hooks of all sessions come by.

    Args:
        spool: Where records go.
        content: Keep prompts and arguments too, stripped of secrets.

    Attributes:
        gaps: Inputs that told of something and could not be recorded.
    """

    def __init__(self, spool: Spool, *, content: bool = False) -> None:
        self.gaps = 0
        self._spool = spool
        self._content = content
        self._known = Known()
        self._waiting = 0
        # One thread: a hook that ends something must find what the hook before it began.
        self._recorder = ThreadPoolExecutor(1, "hooks")

    def add_routes(self, app: web.Application) -> None:
        """Serve as long as the application runs."""
        app.router.add_post("/hook", self._hook)
        app.router.add_post("/hook/{event}", self._hook)
        app.cleanup_ctx.append(self._running)

    async def _running(self, _: web.Application) -> AsyncIterator[None]:
        yield
        self._recorder.shutdown()
        self._spool.close()
        if self.gaps:
            _log.warning("%d hooks could not be recorded", self.gaps)

    async def _hook(self, request: web.Request) -> web.Response:
        at_ns = time.time_ns()
        body = await _read(request)
        if body is None or self._waiting >= _WAITING:
            self.gaps += 1
        else:
            self._waiting += 1
            recorded = self._recorder.submit(self._record, body, at_ns, request.match_info.get("event"))
            await asyncio.wait([asyncio.wrap_future(recorded)], timeout=_PATIENCE_SECONDS)
        return web.json_response({})

    def _record(self, body: bytes, at_ns: int, event: str | None) -> None:
        try:
            said = Said.read(body, event)
            if said is not None:
                self._meet(said)
                for span in said.spans(Edge(at_ns - HTTP_LATE_NS, at_ns), self._known, content=self._content):
                    self._known.note(span)
                    self._spool.write(span)
        except Exception:  # noqa: BLE001
            # Whatever it is, the agent must not feel it.
            self.gaps += 1
            _log.debug("a hook could not be recorded", exc_info=True)
        finally:
            self._waiting -= 1

    def _meet(self, said: Said) -> None:
        """Of a session that is new here, command hooks may know more: Claude Code runs no others when one starts."""
        if said.session_id not in self._known:
            lines = SharedSpool(self._spool.folder, "hooks").recent(TAIL_BYTES)
            recall(self._known, lines, said.session_id, [Boundary.SESSION])


async def _read(request: web.Request) -> bytes | None:
    """The whole body; None where it is too large to be read. The application's own limit is for other routes."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.content.iter_any():
        size += len(chunk)
        if size <= MAX_BYTES:
            chunks.append(chunk)
    return b"".join(chunks) if size <= MAX_BYTES else None
