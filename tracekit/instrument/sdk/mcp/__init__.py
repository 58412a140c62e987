"""Instruments mcp (2 and later), client and server: calls on the spans that the SDK makes itself, and how connections come and go.

McpInstrumentor().instrument()      # what `tracekit.instrument()` does, once mcp is imported
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from mcp.server import MCPServer, Server

    from tracekit.instrument.sdk.mcp.server import Watched
    from tracekit.instrument.sdk.replacing import Replacements

__all__ = ["McpInstrumentor"]


class McpInstrumentor(BaseInstrumentor):  # type: ignore[misc]
    """Records each call to an MCP server, over stdio, HTTP or in the process, and each connection with the stage that it reached.

    Of a request over a wire the SDK itself makes a span, which is enriched: it calls a tool that failed a success, and says nothing of
    a timeout or of a connection that closed. In the process it makes none, and there is one of tracekit's.
    """

    _replacements: "Replacements | None" = None
    _watched: "Watched | None" = None

    def instrumentation_dependencies(self) -> Collection[str]:
        """The versions that have the seams."""
        return ("mcp >= 2.0.0",)

    def instrument_server(self, server: "Server[Any] | MCPServer[Any]") -> None:
        """Watch a server that was made before `instrument` was called; later ones are watched anyway."""
        if self._watched is not None:
            self._watched.watch(vars(server).get("_lowlevel_server", server))

    def _instrument(self, **_: Any) -> None:
        from tracekit.instrument.sdk.mcp import client, server  # noqa: PLC0415  (they load mcp)
        from tracekit.instrument.sdk.replacing import Replacements  # noqa: PLC0415

        self._replacements, self._watched = Replacements(), server.Watched()
        try:
            client.put_in(self._replacements)
            self._watched.put_in(self._replacements)
        except LookupError:
            self._uninstrument()
            raise

    def _uninstrument(self, **_: Any) -> None:
        if self._replacements is not None:
            self._replacements.restore()
        if self._watched is not None:
            self._watched.take_out()
        self._replacements = self._watched = None
