"""An aiohttp application that listens in a thread of its own, so that whoever started it can wait for something else."""

import asyncio
import errno
import gc
import hmac
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Final, Self

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from tracekit.capture.environment import TOKEN_HEADER
from tracekit.errors import TracekitError

LOOPBACK: Final = "127.0.0.1"
GRACE_SECONDS: Final = 2.0
"""What a request that is under way when the listener stops still has."""

Beside = Callable[[web.Server], Coroutine[None, None, None]]
BESIDE: Final[web.AppKey[Beside]] = web.AppKey("beside")
"""In an application: what is to run beside its server."""
Door = Callable[[web.Request, Handler], Awaitable[web.StreamResponse | None]]
DOOR: Final[web.AppKey[Door]] = web.AppKey("door")
"""In an application: who answers requests that come without the token, as a browser's must; None from it refuses them."""
_SWITCH_SECONDS: Final = 0.0005
_START_SECONDS: Final = 10.0
_BACKLOG: Final = 512


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    return host in {"localhost", "::1"} or host.startswith("127.")


def bind(host: str, port: int) -> socket.socket:
    """Take a port; 0 is any that is free.

    Raises:
        TracekitError: `port-taken`, `port-forbidden` or `address-unknown`.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except OSError as error:
        raise refused(host, port, error) from error
    taken = socket.socket(family, kind, protocol)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
        taken.listen(_BACKLOG)
    except OSError as error:
        taken.close()
        raise refused(host, port, error) from error
    taken.setblocking(False)  # noqa: FBT003  (the socket's own name for it)
    return taken


def refused(host: str, port: int, error: OSError, *, option: str = "--port") -> TracekitError:
    """Say why an address cannot be listened on."""
    where = f"{host}:{port}"
    if error.errno == errno.EADDRINUSE:
        message = f"port {where} is taken by another program; end that one, or give another with {option} (0 finds a free one)"
        return TracekitError(message, slug="port-taken")
    if error.errno in {errno.EACCES, errno.EPERM}:
        return TracekitError(f"this user may not listen on {where}; give a port above 1023 with {option}", slug="port-forbidden")
    return TracekitError(f"cannot listen on {where}: {error.strerror or error}; give an address of this machine", slug="address-unknown")


def make_prompt() -> None:
    """Let what passes be stamped when it comes, in a process that does little else.

    A thread that has something to stamp would wait up to 5 ms for one that writes records, and as long for a collection of garbage
    that walks through all that the libraries have loaded.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()


class Listener:
    """Serves an application from `start` to `stop`, in a thread that takes no signals.

    Args:
        build: Makes the application; called in the thread's event loop.
        host: Address to listen on.
        port: 0 for any that is free.
        token: What every request must carry.

    Attributes:
        port: The port that is listened on, from `start` on.
    """

    def __init__(self, build: Callable[[], web.Application], *, host: str = LOOPBACK, port: int = 0, token: str | None = None) -> None:
        self._build = build
        self._host = host
        self._token = token
        self.port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The base URL of what is listened on."""
        host = LOOPBACK if self._host in {"0.0.0.0", "::", ""} else self._host  # noqa: S104  (compared, not listened on)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Return when requests are answered.

        Raises:
            TracekitError: `port-taken`, `port-forbidden` or `address-unknown`.
        """
        taken = bind(self._host, self.port)
        self.port = taken.getsockname()[1]
        self._thread = threading.Thread(target=self._run, args=(taken,), name="tracekit listener", daemon=True)
        self._thread.start()
        self._ready.wait(_START_SECONDS)
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Stop listening, let what is under way finish for a moment, and end the thread. Twice is once."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        if self._loop is not None and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        thread.join(3 * GRACE_SECONDS)

    def _run(self, taken: socket.socket) -> None:
        # Signals belong to the thread that waits for them.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            asyncio.run(self._serve(taken))
        except BaseException as error:  # noqa: BLE001  (told to whoever starts)
            self._failure = error
        finally:
            self._ready.set()
            taken.close()

    async def _serve(self, taken: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        application = self._build()
        if self._token is not None:
            application.middlewares.append(_guarded(self._token))
        runner = web.AppRunner(
            application,
            access_log=None,
            # Bodies are the application's own business, as they came.
            auto_decompress=False,
            # A client that leaves is to be seen at once, not at the next write.
            handler_cancellation=True,
            shutdown_timeout=GRACE_SECONDS,
        )
        await runner.setup()
        beside = asyncio.create_task(_beside(application, runner))
        try:
            await web.SockSite(runner, taken, backlog=_BACKLOG).start()
            self._ready.set()
            await self._stopping.wait()
        finally:
            beside.cancel()
            await runner.cleanup()


async def _beside(application: web.Application, runner: web.AppRunner) -> None:
    if BESIDE in application and runner.server is not None:
        await application[BESIDE](runner.server)


def _guarded(token: str) -> Middleware:
    """Let in only who brings the token. A model request brings it in a header of its own, which is not passed on."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = {request.headers.get(TOKEN_HEADER, ""), request.headers.get("Authorization", "").removeprefix("Bearer ")}
        if not any(hmac.compare_digest(one.encode(errors="replace"), token.encode()) for one in given):
            if DOOR in request.app and (answer := await request.app[DOOR](request, handler)) is not None:
                return answer
            message = f"this tracekit asks for a token: send it as {TOKEN_HEADER}, or as Authorization: Bearer"
            return web.json_response({"error": message}, status=401)
        if TOKEN_HEADER not in request.headers:
            return await handler(request)
        headers = request.headers.copy()
        del headers[TOKEN_HEADER]
        return await handler(request.clone(headers=headers))

    return guard
