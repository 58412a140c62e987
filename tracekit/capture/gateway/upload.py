"""A request's body on its way: passed on as it comes, and kept beside that, so that it can be read when it is whole."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

from aiohttp import StreamReader

from tracekit.capture.gateway.recording import Guarded, now_ns

_AHEAD: Final = 32 * 1024 * 1024
"""Bytes that are read before the upstream takes any: the largest body of the Messages API, so that a hanging upstream is seen with it."""


class Upload:
    """Reads a body at the client's pace and gives it at the upstream's."""

    def __init__(self, content: StreamReader, recording: Guarded) -> None:
        self._content = content
        self._recording = recording
        self._waiting: list[bytes] = []
        self._ahead = 0
        self._kept: list[bytes] | None = [] if recording.is_wanted else None
        self._size = 0
        self._more = asyncio.Event()
        self._room = asyncio.Event()
        self._is_over = False
        self._error: Exception | None = None
        self._reader = asyncio.ensure_future(self._read())

    async def is_decoded(self) -> bool:
        """Whether the web server has undone the body's encoding; known when the first piece has come."""
        await self._more.wait()
        return getattr(self._content, "total_compressed_bytes", None) is not None

    async def pieces(self) -> AsyncGenerator[bytes]:
        """The body, piece by piece."""
        while self._waiting or not self._is_over:
            if self._waiting:
                # Together, where several have come: each write is a call of the system.
                pieces = b"".join(self._waiting)
                self._waiting.clear()
                self._ahead -= len(pieces)
                self._room.set()
                yield pieces
            if not self._waiting and not self._is_over:
                self._more.clear()
                await self._more.wait()
        if self._error is not None:
            raise self._error
        self._recording.moment("request.sent", now_ns())

    async def finish(self, seconds: float) -> None:
        """Wait for the rest, but not for long: who is answered early may not be listening before all is said."""
        await asyncio.wait({self._reader}, timeout=seconds)

    def abandon(self) -> None:
        """Read no more."""
        self._reader.cancel()

    async def _read(self) -> None:
        try:
            async for piece in self._content.iter_any():
                self._take(piece)
                while self._ahead > _AHEAD:
                    self._room.clear()
                    await self._room.wait()
        except Exception as error:  # noqa: BLE001  (raised to whoever sends the body on)
            self._error = error
        read_ns = now_ns()
        self._is_over = True
        self._more.set()
        if self._error is None:
            self._recording.asked(b"".join(self._kept) if self._kept is not None else None, read_ns)

    def _take(self, piece: bytes) -> None:
        self._waiting.append(piece)
        self._ahead += len(piece)
        self._size += len(piece)
        if self._kept is not None:
            self._kept.append(piece)
            if self._size > _AHEAD:
                self._kept = None
        self._more.set()
