"""The OTLP receiver: keeps what telemetry exporters send, as it came, and acknowledges nothing before it is kept.

receiver = Receiver(Spool(folder, "otlp"), forward=Forward("http://collector:4318"))
add_routes(app, receiver)  # OTLP/HTTP; the receiver lives as long as the application
listening = await serve_grpc("127.0.0.1", 4317, receiver)  # OTLP/gRPC, with the extra `grpc`
"""

from tracekit.capture.receiver.forward import Forward, Patience
from tracekit.capture.receiver.grpc import serve_grpc
from tracekit.capture.receiver.http import add_routes
from tracekit.capture.receiver.idle import IdleConnections
from tracekit.capture.receiver.limits import Limits
from tracekit.capture.receiver.receiving import Receiver

__all__ = ["Forward", "IdleConnections", "Limits", "Patience", "Receiver", "add_routes", "serve_grpc"]
