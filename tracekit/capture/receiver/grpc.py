"""OTLP/gRPC: the same three services over HTTP/2, beside the HTTP ones and into the same receiver."""

import errno
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, Final

from tracekit.capture.receiver.receiving import Receiver
from tracekit.capture.receiver.refusal import Refusal
from tracekit.capture.receiver.signals import PROTOBUF, Signal
from tracekit.errors import TracekitError

_SERVICES: Final = {
    Signal.TRACES: "opentelemetry.proto.collector.trace.v1.TraceService",
    Signal.LOGS: "opentelemetry.proto.collector.logs.v1.LogsService",
    Signal.METRICS: "opentelemetry.proto.collector.metrics.v1.MetricsService",
}
_SUCCESS: Final = b""
"""A response without `partial_success`."""
_END_SECONDS: Final = 5.0


class Listening:
    """A server that runs until it is closed.

    Attributes:
        port: The port that it listens on.
    """

    def __init__(self, server: Any, port: int) -> None:
        self._server = server
        self.port = port

    async def close(self) -> None:
        """Answer what is under way, then end. Close it before its receiver."""
        await self._server.stop(_END_SECONDS)


async def serve_grpc(host: str, port: int, receiver: Receiver) -> Listening:
    """Listen for OTLP/gRPC; port 0 takes a free one. Close what this gives before the receiver ends.

    Raises:
        OSError: The port is taken, or not allowed.
        TracekitError: `grpc-missing`, where the extra is not installed.
    """
    grpc = _library()
    options = [
        ("grpc.max_receive_message_length", receiver.limits.max_bytes),
        # Two servers on one port would share the traffic without a word.
        ("grpc.so_reuseport", 0),
        # Peers that are gone without saying so must not stay connected for ever.
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.server_handshake_timeout_ms", int(receiver.limits.read_seconds * 1000)),
    ]
    server = grpc.aio.server(options=options)
    for signal, service in _SERVICES.items():
        # Without a deserialiser the message comes as its bytes, which is how it is kept.
        export = grpc.unary_unary_rpc_method_handler(_export(receiver, signal, grpc.StatusCode))
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": export}),))
    try:
        bound = server.add_insecure_port(f"{host}:{port}")
    except RuntimeError as error:
        raise OSError(errno.EADDRINUSE, f"cannot listen on {host}:{port} for gRPC: {error}") from error
    await server.start()
    return Listening(server, bound)


def _library() -> Any:
    try:
        import_module("grpc.aio")
        return import_module("grpc")
    except ModuleNotFoundError as error:
        message = "cannot listen for OTLP/gRPC: grpcio is not installed; install the extra: pip install 'agent-tracekit[grpc]'"
        raise TracekitError(message, slug="grpc-missing") from error


def _export(receiver: Receiver, signal: Signal, statuses: Any) -> Callable[[bytes, Any], Awaitable[bytes]]:
    async def export(message: bytes, context: Any) -> bytes:
        metadata: dict[str, str] = dict(context.invocation_metadata() or ())
        try:
            receiver.authorise(metadata.get("authorization"))
            with receiver.room.lease() as lease:
                lease.take(len(message))
                await receiver.accept(signal, PROTOBUF, message)
        except Refusal as refusal:
            receiver.count(refusal)
            await context.abort(statuses[refusal.grpc], refusal.message)
        return _SUCCESS

    return export
