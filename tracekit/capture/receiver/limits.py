"""What a sender can make the receiver hold: bytes of one body, bytes of all that wait, and time."""

import asyncio
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import StreamReader, web
from aiohttp.http_exceptions import HttpProcessingError

from tracekit.capture.receiver.refusal import Busy, Malformed, TooLarge, TooSlow

MAX_BYTES: Final = 64 * 1024 * 1024
"""What the OTLP specification recommends, after decompression."""

_COMPRESSED: Final = (b"\x1f", b"\x78")
"""The first byte of a gzip and of a zlib stream, which neither JSON nor an OTLP message begins with."""
_EITHER: Final = 32 + zlib.MAX_WBITS
_PIECE: Final = 256 * 1024
_MEMBERS: Final = 1000
"""Streams in a row that one body may be: a body of empty ones would keep the decompressor busy for nothing."""
_OVERHEAD: Final = 4096
"""Bytes that a request costs besides its body."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a receiver takes."""

    max_bytes: int = MAX_BYTES
    """Of one body, after decompression."""
    waiting_bytes: int = 4 * MAX_BYTES
    """Of all bodies that are being read or wait to be durable. Beyond it senders are asked to come again."""
    read_seconds: float = 30.0
    """In which a body must have come."""


class Room:
    """Bytes of memory that all requests share."""

    def __init__(self, size: int) -> None:
        self._free = size

    @contextmanager
    def lease(self) -> "Generator[Lease]":
        """Room for one request, given back at the end.

        Raises:
            Busy: There is none.
        """
        lease = Lease(self)
        try:
            lease.take(_OVERHEAD)
            yield lease
        finally:
            self._free += lease.held

    def take(self, size: int) -> None:
        """Use some.

        Raises:
            Busy: There is not enough.
        """
        if size > self._free:
            raise Busy
        self._free -= size


class Lease:
    """The part of the room that one request has."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self.held = 0

    def take(self, size: int) -> None:
        """Have more of it.

        Raises:
            Busy: There is not enough.
        """
        self._room.take(size)
        self.held += size


class _Inflate:
    """Decompresses in pieces, so that whoever counts them can stop in time."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(_EITHER)
        self._members = 1

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Give what this much of the stream holds, a bounded piece at a time."""
        more = True
        while data or more:
            if self._inflate.eof:
                # Several members in a row are one stream.
                self._inflate = zlib.decompressobj(_EITHER)
                self._members += 1
                if self._members > _MEMBERS:
                    raise Malformed("the compressed body is made of too many streams")
            piece = self._inflate.decompress(data, _PIECE)
            yield piece
            data = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            more = len(piece) == _PIECE and not self._inflate.eof

    def finish(self) -> None:
        """Make sure that nothing is missing."""
        if not self._inflate.eof:
            raise Malformed("the compressed body is cut off")


class _Body:
    """A body as it grows."""

    def __init__(self, lease: Lease, limit: int, *, compressed: bool) -> None:
        self._lease = lease
        self._limit = limit
        self._compressed = compressed
        self._inflate: _Inflate | None = None
        self._held = bytearray()
        self._come = 0

    def feed(self, chunk: bytes) -> None:
        """Add what has come."""
        self._come += len(chunk)
        if self._come > self._limit:
            raise TooLarge(self._limit)
        if self._compressed and not self._held and self._inflate is None and chunk.startswith(_COMPRESSED):
            # A server may have decompressed the body already; it does not say so.
            self._inflate = _Inflate()
        if self._inflate is None:
            self._add(chunk)
            return
        try:
            for piece in self._inflate.feed(chunk):
                self._add(piece)
        except zlib.error as error:
            raise Malformed(f"the body cannot be decompressed: {error}") from error

    def whole(self) -> bytes:
        """The body, when all has come."""
        if self._inflate is not None:
            self._inflate.finish()
        return bytes(self._held)

    def _add(self, piece: bytes) -> None:
        if len(self._held) + len(piece) > self._limit:
            raise TooLarge(self._limit)
        self._lease.take(len(piece))
        self._held += piece


async def read_body(content: StreamReader, lease: Lease, limits: Limits, *, compressed: bool) -> bytes:
    """Read a request's body, decompressed, never holding more than the limit.

    Raises:
        Malformed: It is not what its header says, or was not sent whole.
        TooLarge: It is over the limit.
        TooSlow: It did not come in time.
        Busy: There is no room for it now.
    """
    body = _Body(lease, limits.max_bytes, compressed=compressed)
    try:
        async with asyncio.timeout(limits.read_seconds):
            async for chunk in content.iter_any():
                body.feed(chunk)
    except TimeoutError as error:
        raise TooSlow(limits.read_seconds) from error
    except (web.RequestPayloadError, HttpProcessingError, ConnectionError) as error:
        raise Malformed(f"the body was not sent whole: {error}") from error
    return body.whole()
