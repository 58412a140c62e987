"""The relay: takes a request, passes it on, and passes the answer back, each piece at once and as it came."""

from typing import Final, NamedTuple

import aiohttp
from aiohttp import web
from yarl import URL

from tracekit.capture.gateway.failure import Failure, failure_of
from tracekit.capture.gateway.passing import Relayed, request_headers
from tracekit.capture.gateway.recording import Ending, Guarded, now_ns
from tracekit.capture.gateway.upload import Upload
from tracekit.capture.gateway.upstream import UNDER_WAY, Upstream

_BROKEN: Final = (aiohttp.ClientError, OSError, ValueError)
"""What a client session raises when there is no answer: a bad proxy address is a ValueError."""
_REST_SECONDS: Final = 2.0
_BAD_GATEWAY: Final = 502


class Target(NamedTuple):
    """Where a request goes."""

    upstream: Upstream
    url: URL


async def relay(request: web.Request, target: Target, session: aiohttp.ClientSession, recording: Guarded) -> web.StreamResponse:
    """Answer a request with what its target answers.

    The web server must cancel the handler when the client leaves (`handler_cancellation`): then the upstream is left, too, and
    whoever pays for the model's tokens pays for no more.
    """
    upload = Upload(request.content, recording) if request.body_exists else None
    if upload is None:
        recording.asked(b"", now_ns())
    try:
        return await _exchange(request, target, session, recording, upload)
    finally:
        if upload is not None:
            upload.abandon()


async def _exchange(
    request: web.Request, target: Target, session: aiohttp.ClientSession, recording: Guarded, upload: Upload | None
) -> web.StreamResponse:
    decoded = upload is not None and "Content-Encoding" in request.headers and await upload.is_decoded()
    UNDER_WAY.set(recording)
    try:
        answer = await session.request(
            request.method,
            target.url,
            headers=request_headers(request.headers, decoded=decoded),
            data=None if upload is None else upload.pieces(),
            allow_redirects=False,
            proxy=target.upstream.proxy,
            ssl=target.upstream.trust if target.upstream.is_secure else True,
            trace_request_ctx=recording,
        )
    except _BROKEN as error:
        if upload is not None:
            await upload.finish(_REST_SECONDS)
        failure = failure_of(error)
        recording.ended(Ending.UPSTREAM, now_ns(), failure)
        return _no_answer(target, failure)
    async with answer:
        return await _give_back(request, answer, recording)


async def _give_back(request: web.Request, answer: aiohttp.ClientResponse, recording: Guarded) -> web.StreamResponse:
    answered_ns = now_ns()
    response = Relayed(answer.status, answer.reason, answer.headers)
    try:
        await response.prepare(request)
        recording.answered(answer.status, answer.headers, answered_ns)
        failure = await _pass_on(answer.content, response, recording)
        if failure is None:
            over_ns = now_ns()
            await response.write_eof()
            recording.ended(Ending.COMPLETE, over_ns)
        else:
            recording.ended(Ending.UPSTREAM, now_ns(), failure)
            _break_off(request)
    except ConnectionError:
        recording.ended(Ending.CLIENT, now_ns())
    return response


async def _pass_on(content: aiohttp.StreamReader, response: web.StreamResponse, recording: Guarded) -> Failure | None:
    """Write each piece as it comes; gives why there are no more, where that was not announced."""
    while True:
        try:
            piece = await content.readany()
        except (aiohttp.ClientError, OSError) as error:
            if rest := _left_behind(content):
                await _write(rest, response, recording)
            return failure_of(error)
        if not piece:
            return None
        await _write(piece, response, recording)


async def _write(piece: bytes, response: web.StreamResponse, recording: Guarded) -> None:
    arrived_ns = now_ns()
    try:
        await response.write(piece)
    finally:
        # Whether or not the client took it, the upstream said it.
        recording.received(piece, arrived_ns)


def _left_behind(content: aiohttp.StreamReader) -> bytes:
    """What had come before the connection broke, and was not read yet because the client was slow."""
    content.set_exception(None)  # type: ignore[arg-type]
    return content.read_nowait()


def _break_off(request: web.Request) -> None:
    """Let the client see what the upstream did: an end in the middle, behind all that came before it."""
    if request.transport is not None:
        request.transport.close()


def _no_answer(target: Target, failure: Failure) -> web.Response:
    headers = {} if failure.may_pass else {"x-should-retry": "false"}
    body = failure.told(target.upstream.origin)
    return web.Response(status=_BAD_GATEWAY, body=body, content_type="application/json", headers=headers)
