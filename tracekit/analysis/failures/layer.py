"""Where a failure showed. The layer decides whose words a text is: an API's error, a client's wrapper, or a tool's output."""

import re
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from tracekit.model import Boundary


class Layer(StrEnum):
    """The layer where a failure showed, from the wire to the user."""

    TRANSPORT = "proxy/tls/dns"
    MODEL_REQUEST = "model-request"
    STREAM = "sse-stream"
    COMPACTION = "compaction"
    TOOL_INPUT = "tool-input"
    TOOL_PERMISSION = "tool-permission"
    TOOL_EXECUTION = "tool-exec"
    SANDBOX = "sandbox"
    MCP_CONNECT = "mcp-connect"
    MCP_INITIALIZE = "mcp-initialize"
    MCP_DISCOVERY = "mcp-discovery"
    MCP_CALL = "mcp-call"
    HOOK = "hook"
    USER = "user-interrupt"
    CLIENT = "cli"
    """What the client printed; API errors in its own words are among it."""


MODEL: Final = frozenset({Layer.TRANSPORT, Layer.MODEL_REQUEST, Layer.STREAM, Layer.COMPACTION, Layer.CLIENT})
"""Where a text is an API's or the client's own: it may be searched for what it says."""
TOOL: Final = frozenset({Layer.TOOL_INPUT, Layer.TOOL_PERMISSION, Layer.TOOL_EXECUTION, Layer.SANDBOX})
CALL: Final = TOOL | {Layer.MCP_CALL}
"""Where a text is the result of a tool: its head may be the client's, the rest is whatever the tool printed."""
MCP: Final = frozenset({Layer.MCP_CONNECT, Layer.MCP_INITIALIZE, Layer.MCP_DISCOVERY, Layer.MCP_CALL})

_OF_BOUNDARY: Final = MappingProxyType[str, Layer](
    {
        Boundary.SESSION: Layer.CLIENT,
        Boundary.TURN: Layer.CLIENT,
        Boundary.SUBAGENT: Layer.CLIENT,
        Boundary.MODEL_REQUEST: Layer.MODEL_REQUEST,
        Boundary.REQUEST_ATTEMPT: Layer.MODEL_REQUEST,
        Boundary.RETRY_WAIT: Layer.MODEL_REQUEST,
        Boundary.STREAM_EVENT: Layer.STREAM,
        Boundary.TOOL_SCHEDULE: Layer.TOOL_EXECUTION,
        Boundary.PERMISSION_WAIT: Layer.TOOL_PERMISSION,
        Boundary.TOOL_EXECUTION: Layer.TOOL_EXECUTION,
        Boundary.MCP_CONNECTION: Layer.MCP_CONNECT,
        Boundary.MCP_CALL: Layer.MCP_CALL,
        Boundary.HOOK_REPLY: Layer.HOOK,
        Boundary.COMPACTION: Layer.COMPACTION,
    }
)
_ALIASES: Final = MappingProxyType[str, Layer](
    {
        "transport": Layer.TRANSPORT,
        "network": Layer.TRANSPORT,
        "proxy": Layer.TRANSPORT,
        "tls": Layer.TRANSPORT,
        "dns": Layer.TRANSPORT,
        "api": Layer.MODEL_REQUEST,
        "request": Layer.MODEL_REQUEST,
        "gateway": Layer.MODEL_REQUEST,
        "sse": Layer.STREAM,
        "stream": Layer.STREAM,
        "tool": Layer.TOOL_EXECUTION,
        "permission": Layer.TOOL_PERMISSION,
        "interrupt": Layer.USER,
        "user": Layer.USER,
        "client": Layer.CLIENT,
        "sdk": Layer.CLIENT,
    }
)
"""What others call the layers."""
_OF_METHOD: Final = MappingProxyType[str, Layer](
    {
        "initialize": Layer.MCP_INITIALIZE,
        "server/discover": Layer.MCP_INITIALIZE,
        "tools/list": Layer.MCP_DISCOVERY,
        "tools/call": Layer.MCP_CALL,
    }
)

# How a pasted text shows where it comes from.
_TOOL_RESULT: Final = re.compile(
    r"""
    (?:error:\ )?
    (?: <tool_use_error> | exit\ code\ \d+\b | command\ timed\ out\ after
      | the\ user\ doesn't\ want\ to | permission\ to\ use | claude\ requested\ permissions
      | \[request\ interrupted\ by\ user\ for\ tool\ use
      | inputvalidationerror | no\ such\ tool\ available:\ (?!mcp__) | eisdir
      | sibling\ tool\ call | cancelled:\ parallel\ tool\ call | \[tool\ result\ missing
      | file\ (?:has|does)\ not\ (?:been|exist) | file\ has\ been | (?:\w+error:\ )?file\ content\ \( | string\ to\ replace
      | error\ editing\ file | no\ changes\ to\ make
      | sandbox\ (?:failed|could\ not|error|denied|violation) | (?:bwrap|sandbox-exec):\  | \w*sh:[\w:]*\d+:\ operation\ not\ permitted
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_HOOK: Final = re.compile(
    r".{0,60}\bhook (?:error|denied|feedback|output|json|returned|cancelled|timed out|blocked|callback)|.{0,40}non-blocking status code",
    re.IGNORECASE,
)
# Of MCP, what was pending; a text that does not say so is taken for a call, the reading that warns of side effects.
_MCP: Final = re.compile(
    r"""
      \bmcp\b.*\b(?:error|tool|server|call) | \bmcp_?error\b | \bmcp__\w | "jsonrpc" | mcp-session-id
    | failed\ to\ reconnect\ to\ [\w-]+(?:$|[:\ ])
    | streamable\ http\ error | error\ posting\ to\ endpoint
    | server\ transport\ closed | \bspawn\b(?!\ \S*\bclaude\b).{0,200}\b(?:enoent|eacces)\b
    | dynamic\ client\ registration | unrecogni[sz]ed\ client_id
    """,
    re.IGNORECASE | re.VERBOSE,
)
_STAGES: Final = (
    (Layer.MCP_CALL, r"call\w*[ _]?tool|tools/call"),
    (Layer.MCP_DISCOVERY, r"list\w*[ _]?tools|(?:tools|resources|prompts)/list|(?:fetch|list|get)\w* (?:the )?tools"),
    (Layer.MCP_INITIALIZE, r"\binitiali[sz]|handshake|protocol version"),
    (
        Layer.MCP_CONNECT,
        r"-32000: connection closed|connect|\bspawn\b|\bstart(?:ing|ed)?\b|transport closed|client registration|client_id|mcp server\b",
    ),
)
_STAGE_WORDS: Final = tuple((layer, re.compile(words, re.IGNORECASE)) for layer, words in _STAGES)


def layer_named(word: str) -> Layer | None:
    """Give the layer that a word names: one of ours, a boundary, or what others call it."""
    plain = word.strip().lower()
    own = next((layer for layer in Layer if layer == plain.replace("_", "-")), None)
    return _OF_BOUNDARY.get(plain) or own or _ALIASES.get(plain)


def layer_of_method(method: str) -> Layer | None:
    """Give the stage of an MCP connection that a JSON-RPC method belongs to."""
    family = method.partition("/")[2] == "list"
    return _OF_METHOD.get(method) or (Layer.MCP_DISCOVERY if family else None)


_MCP_RESULT: Final = re.compile(r"(?:error: )?mcp (?:error -3|tool\b|server\b.{0,60}\b(?:tool|call)\b)", re.IGNORECASE)


def is_of_mcp_call(text: str) -> bool:
    """Whether a tool's result begins with a client's words about the call of a server."""
    return _MCP_RESULT.match(text) is not None


def layer_of_text(text: str) -> Layer:
    """Tell from how a pasted text begins where it comes from; what shows nothing is what a client printed."""
    head = " ".join(text[:400].split())
    if _TOOL_RESULT.match(head):
        return Layer.TOOL_EXECUTION
    if _HOOK.match(head):
        return Layer.HOOK
    if _MCP.search(head):
        return next((layer for layer, words in _STAGE_WORDS if words.search(head)), Layer.MCP_CALL)
    return Layer.CLIENT
