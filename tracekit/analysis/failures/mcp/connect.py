"""mcp / connect: no connection to the server came about, or it is gone, so its tools are not there.

What it means
    A server that was started exited at once or was too slow, a remote one refused or did not answer. Calls to its tools then fail as `No
    such tool`, which looks like an invention of the model.

Evidence
    A failed connection boundary, `-32000: Connection closed` while connecting, connection codes, or a missing tool whose name begins with
    `mcp__`.

What to do
    Start the server by hand and read its stderr: it must print nothing but JSON-RPC to stdout. A first start that downloads packages
    needs more than 30 s: raise MCP_TIMEOUT. Then reconnect with `/mcp`.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import CALL, MODEL, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, wording

_MISSING: Final = wording(
    r"(?:error: )*(?:no such tool available:? |tool )mcp__\S+",
    r"(?:mcp )?server .{1,60} (?:is )?(?:not connected|disconnected|unavailable)",
)


def _match_missing(evidence: Evidence) -> str | None:
    return evidence.opens(_MISSING)


def _match(evidence: Evidence) -> str | None:
    code = f"{evidence.error_code} while connecting" if evidence.error_code else None
    status = f"MCP status {evidence.mcp_status}" if evidence.mcp_status else None
    return evidence.quoted() or code or status or "the connection failed and nothing was said"


RULE: Final = Rule(Family.MCP, Kind.CONNECT, Retry.HELPS_AFTER_CHANGE, frozenset({Layer.MCP_CONNECT}), _match, __doc__)
TOOL_MISSING: Final = Rule(Family.MCP, Kind.CONNECT, Retry.HELPS_AFTER_CHANGE, CALL | MODEL, _match_missing, __doc__)
