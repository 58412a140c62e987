"""A tap on a stdio MCP server: it runs the server in its own place, passes every byte on as it is, and records beside it."""

from tracekit.capture.mcp_tap.process import tap
from tracekit.model.servers import server_name

__all__ = ["server_name", "tap"]
