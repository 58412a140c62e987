"""Bodies and decoders of responses that are watched as they are read: what passes is not touched, delayed or kept."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx2

if TYPE_CHECKING:
    from anthropic._streaming import ServerSentEvent, SSEBytesDecoder

    from tracekit.instrument.sdk.anthropic.following import Following


class _Watched:
    """What both kinds of body have in common."""

    def __init__(self, body: Any, following: "Following") -> None:
        self._body = body
        self._following = following

    @property
    def elapsed(self) -> timedelta | None:
        """What `httpx2.Response.elapsed` reads from a body."""
        return getattr(self._body, "elapsed", None)

    def __del__(self) -> None:
        # A program may drop a response without closing it.
        self._following.left()


class SyncBody(_Watched, httpx2.SyncByteStream):
    """A body that is read in place."""

    def __iter__(self) -> Iterator[bytes]:
        received = self._following.received
        try:
            for chunk in self._body:
                received(chunk)
                yield chunk
        except BaseException as error:
            self._following.broke(error)
            raise
        self._following.ended()

    def close(self) -> None:
        """Close it."""
        self._following.left()
        self._body.close()


class AsyncBody(_Watched, httpx2.AsyncByteStream):
    """A body that is awaited."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks: AsyncIterator[bytes] = aiter(self._body)
        received = self._following.received
        try:
            async for chunk in chunks:
                received(chunk)
                yield chunk
        except BaseException as error:
            self._following.broke(error)
            raise
        finally:
            # By the task that reads it: what is not closed here, the event loop closes in one of its own.
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()
        self._following.ended()

    async def aclose(self) -> None:
        """Close it."""
        self._following.left()
        await self._body.aclose()


class EitherBody(SyncBody, AsyncBody):
    """A body that can be read either way, as those that tests make."""


def watched(body: Any, following: "Following") -> httpx2.SyncByteStream | httpx2.AsyncByteStream:
    """The body, watched; of the same kind, as the HTTP client insists on it."""
    if not isinstance(body, httpx2.AsyncByteStream):
        return SyncBody(body, following)
    return EitherBody(body, following) if isinstance(body, httpx2.SyncByteStream) else AsyncBody(body, following)


class Decoder:
    """The SDK's decoder of server-sent events, watched: it sees pings and errors, which its streams do not hand on."""

    def __init__(self, decoder: "SSEBytesDecoder", following: "Following") -> None:
        self._decoder = decoder
        self._event = following.event
        following.decoded()

    def iter_bytes(self, iterator: Iterator[bytes]) -> Iterator["ServerSentEvent"]:
        """Decode chunks."""
        take = self._event
        for event in self._decoder.iter_bytes(iterator):
            take(event.event, event.data)
            yield event

    async def aiter_bytes(self, iterator: AsyncIterator[bytes]) -> AsyncIterator["ServerSentEvent"]:
        """Decode chunks that are awaited."""
        async for event in self._decoder.aiter_bytes(iterator):
            self._event(event.event, event.data)
            yield event
