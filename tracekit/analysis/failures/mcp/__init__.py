"""mcp: an MCP server, or the way to it, failed.

What it means
    Tools of an MCP server are not there, or a call to one failed. One text stands for many stages (`-32000: Connection closed`,
    `-32001: Request timed out`): what was pending decides, since only a call can have had an effect.

Evidence
    The MCP boundaries and their stage (connect, initialize, tools/list, tools/call), JSON-RPC codes, the HTTP status of the transport.
    `Method not found` for resources or prompts is a client's probe of a server that only has tools, and no failure.

What to do
    `/mcp` shows and reconnects servers, `claude --debug` their own stderr. See the kind for the stage.
"""

from tracekit.analysis.failures.mcp import auth, call, connect, discovery, initialize, session_lost, spawn

__all__ = ["auth", "call", "connect", "discovery", "initialize", "session_lost", "spawn"]
