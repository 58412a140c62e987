"""OTLP/HTTP: protobuf and JSON, plain and compressed, answered in the type of the request."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from aiohttp import web

from tracekit.capture.receiver.forward import MARK
from tracekit.capture.receiver.limits import read_body
from tracekit.capture.receiver.receiving import Receiver
from tracekit.capture.receiver.refusal import Refusal, TooLarge, TooSlow, WrongMethod, WrongType
from tracekit.capture.receiver.signals import JSON, PROTOBUF, Signal

_TYPES: Final = frozenset({PROTOBUF, JSON})
_PLAIN: Final = frozenset({"", "identity"})
_COMPRESSED: Final = frozenset({"gzip", "deflate"})
"""The specification asks for gzip only; some official exporters can do both."""
_EMPTY: Final = {PROTOBUF: b"", JSON: b"{}"}
"""The answer on success: no `partial_success` at all."""


def add_routes(app: web.Application, receiver: Receiver) -> None:
    """Serve `/v1/traces`, `/v1/logs` and `/v1/metrics`, for as long as the application runs."""

    async def running(_: web.Application) -> AsyncIterator[None]:
        async with receiver:
            yield

    app.cleanup_ctx.append(running)
    for signal in Signal:
        app.router.add_route("*", f"/v1/{signal}", _handler(receiver, signal))


def _handler(receiver: Receiver, signal: Signal) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        content_type = request.content_type if request.content_type in _TYPES else JSON
        try:
            await _take(receiver, signal, request)
        except Refusal as refusal:
            receiver.count(refusal)
            return _refused(refusal, content_type)
        return web.Response(body=_EMPTY[content_type], content_type=content_type)

    return handle


async def _take(receiver: Receiver, signal: Signal, request: web.Request) -> None:
    receiver.authorise(request.headers.get("Authorization"))
    if request.method != "POST":
        raise WrongMethod
    if request.content_type not in _TYPES:
        raise WrongType(f"send {PROTOBUF} or {JSON}, not {request.content_type}")
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in _COMPRESSED | _PLAIN:
        raise WrongType(f"send the body plain, or as gzip, not as {encoding}")
    if (request.content_length or 0) > receiver.limits.max_bytes:
        raise TooLarge(receiver.limits.max_bytes)
    with receiver.room.lease() as lease:
        data = await read_body(request.content, lease, receiver.limits, compressed=encoding in _COMPRESSED)
        await receiver.accept(signal, request.content_type, data, marks=request.headers.get(MARK, ""))


def _refused(refusal: Refusal, content_type: str) -> web.Response:
    response = web.Response(status=refusal.http, body=refusal.status(content_type), content_type=content_type, headers=refusal.headers)
    if refusal.retry_seconds is not None:
        response.headers["Retry-After"] = str(refusal.retry_seconds)
    if isinstance(refusal, TooLarge | TooSlow):
        # What still comes of the body is not worth reading.
        response.force_close()
    return response
