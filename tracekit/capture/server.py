"""All recorders that clients come by, in one application on one port: telemetry, hooks, and everything else to the model."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from aiohttp import web

from tracekit.capture import gateway, hooks, receiver
from tracekit.capture.environment import Collector
from tracekit.capture.listener import BESIDE, LOOPBACK, Listener, is_loopback, refused
from tracekit.spool import Spool

if TYPE_CHECKING:
    from tracekit.capture.hooks.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Settings:
    """What is recorded, and where clients come by.

    Attributes:
        spool: Folder for the records.
        upstream: Where model requests go; None takes none.
        collector: Where telemetry is passed on to; None keeps it here.
        host: Address to listen on.
        port: 0 for any that is free.
        grpc_port: Port for OTLP/gRPC too; None for none.
        token: What whoever comes by must bring; None on loopback.
        content: Keep prompts, outputs and arguments.
        durable: Acknowledge telemetry only when it is on the disk, and not already when the operating system has it.
        mcp: URLs of MCP servers that are reached through here, by name.
        pages: Brings further paths into the application, which then are not the gateway's.
    """

    spool: Path
    upstream: gateway.Upstream | None = None
    collector: Collector | None = None
    host: str = LOOPBACK
    port: int = 0
    grpc_port: int | None = None
    token: str | None = None
    content: bool = False
    durable: bool = True
    mcp: Mapping[str, str] = field(default_factory=dict[str, str])
    pages: Callable[[web.Application], None] | None = None


class Server:
    """Records whoever comes by, from `start` to `stop`, in a thread of its own."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._listener = Listener(self._application, host=settings.host, port=settings.port, token=settings.token)
        self._gateway: gateway.Gateway | None = None
        self._hooks: Endpoint | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The base URL of the server, once it has started."""
        return self._listener.url

    @property
    def gaps(self) -> int:
        """How many observations could not be made or written. The traffic was not touched by it."""
        parts = (self._gateway, self._hooks)
        return sum(part.gaps for part in parts if part is not None)

    def start(self) -> None:
        """Return when requests are answered.

        Raises:
            TracekitError: `port-taken`, `port-forbidden`, `address-unknown`, `certificate-unusable`, `bad-endpoint` or `grpc-missing`.
        """
        self._listener.start()

    def stop(self) -> None:
        """Let what is under way finish for a moment, write what waits, and end. Twice is once."""
        self._listener.stop()

    def _application(self) -> web.Application:
        """Put the parts together. The order matters: whatever is no telemetry and no hook is the gateway's."""
        settings = self._settings
        app = web.Application()
        if not is_loopback(settings.host):
            # What a stranger can hold open is bounded. A client of this machine may be silent as long as it likes.
            app[BESIDE] = receiver.IdleConnections(app).close
        keeper = _receiver(settings)
        receiver.add_routes(app, keeper)
        if settings.grpc_port is not None:
            _add_grpc(app, keeper, settings.host, settings.grpc_port)
        self._hooks = hooks.add_routes(app, spool=Spool(settings.spool, "hooks"), content=settings.content)
        if settings.pages is not None:
            settings.pages(app)
        if settings.upstream is not None:
            spool = Spool(settings.spool, "gateway")
            self._gateway = gateway.add_routes(app, upstream=settings.upstream, spool=spool, content=settings.content, mcp=settings.mcp)
        return app


def _receiver(settings: Settings) -> receiver.Receiver:
    known = settings.collector
    forward = None if known is None or known.why_not else receiver.Forward(known.endpoint, headers=known.headers)
    # Who comes over HTTP has shown the token to the listener already.
    token = settings.token if settings.grpc_port is not None else None
    return receiver.Receiver(Spool(settings.spool, "otlp"), forward=forward, token=token, durable=settings.durable)


def _add_grpc(app: web.Application, keeper: receiver.Receiver, host: str, port: int) -> None:
    async def running(_: web.Application) -> AsyncIterator[None]:
        try:
            listening = await receiver.serve_grpc(host, port, keeper)
        except OSError as error:
            raise refused(host, port, error, option="--grpc-port") from error
        yield
        await listening.close()

    app.cleanup_ctx.append(running)
