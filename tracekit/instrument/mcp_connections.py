"""The connecting to an MCP server: spawn or connect, initialize, discover."""

from collections.abc import Mapping

from opentelemetry.trace import SpanKind

from tracekit.instrument.endings import Ending, said_by
from tracekit.instrument.guard import guarded
from tracekit.instrument.handle import Handle, Told
from tracekit.instrument.runtime import RUNTIME
from tracekit.model import NO_ATTRIBUTES, Boundary, Status, semconv
from tracekit.model.redact import error_text


class McpConnection(Handle):
    """A client connects to a server. See `mcp_connection`."""

    boundary = Boundary.MCP_CONNECTION
    kind = SpanKind.CLIENT

    def __init__(
        self, server: str, transport: str, *, parent: Handle | None = None, attributes: Mapping[str, Told] = NO_ATTRIBUTES
    ) -> None:
        said: dict[str, Told] = {semconv.MCP_SERVER: server, semconv.MCP_TRANSPORT: transport, **attributes}
        super().__init__(f"mcp_connection {server}", parent=parent, attributes=said)
        self._server = server
        self._mcp_status = "connected"

    @guarded
    def stage(self, name: str, *, at_ns: int | None = None) -> None:
        """The next stage begins: `spawn`, `initialize`, `tools/list`. Kept at once: a connection that hangs, hangs in one."""
        self.say({semconv.MCP_STAGE: name, semconv.MCP_METHOD: name})
        if self._live:
            self._span.add_event(name, timestamp=RUNTIME.clock() if at_ns is None else at_ns)
            self._tell()

    @guarded
    def failed(self, error: BaseException | None = None, *, text: str | None = None) -> None:
        """It did not come about, in the stage that it is in; the end of the `with` or `end` follows."""
        self._mcp_status, self._status = "failed", Status.ERROR
        self.say(said_by(error))
        if text:
            self.say({semconv.ERROR_TEXT: error_text(text)})

    @guarded
    def lost(self, error: BaseException | None = None, *, text: str | None = None) -> None:
        """It had come about and was lost: the server ended, or knows the session no more."""
        self.failed(error, text=text)
        self._mcp_status = "disconnected"

    def _close(self, ending: Ending) -> None:
        failed = ending.error is not None and self._mcp_status == "connected"
        ending.said[semconv.MCP_STATUS] = "failed" if failed else self._mcp_status
        self.named(f"{self._server}@{ending.at_ns}")

    def _part_of(self) -> str | None:
        return self._outer.session_id


def mcp_connection(
    server: str, transport: str, *, parent: Handle | None = None, attributes: Mapping[str, Told] = NO_ATTRIBUTES
) -> McpConnection:
    """From the spawn or connect to a server to the moment it can be worked with.

    Args:
        server: Name of the server.
        transport: `pipe` for stdio, `tcp` for HTTP, by OpenTelemetry's names.
        parent: What it is part of; None: what the code stands in.
        attributes: More to be known of it, by the names of `semconv`.
    """
    return McpConnection(server, transport, parent=parent, attributes=attributes)
