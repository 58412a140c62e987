"""mcp / call: a call to a tool of an MCP server failed.

What it means
    The server answered with an error, or the connection closed or timed out with the call in flight. In the last two cases the server
    may have done the work, or be doing it still. A result that is too large was dropped after the work was done.

Evidence
    A failed `tools/call`: JSON-RPC codes (-32603 internal, -32602 arguments), `-32000` or `-32001` while a call was pending, a result
    with `isError`, `response (N tokens) exceeds maximum allowed tokens`, which is no prompt that is too long.

What to do
    Where the server answered, read its text and change the call. Where the call was in flight, ask the server what it did before a call
    with effects is repeated. Slow calls need a longer MCP_TOOL_TIMEOUT, large results a filter or pages.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_UNANSWERED: Final = names(
    "-32000", "-32001", "-32800", "CONNECTION_CLOSED", "REQUEST_TIMEOUT", "ReadTimeout", "TimeoutError", "ECONNRESET", "EPIPE"
)
_IN_FLIGHT: Final = wording(
    r"-32000: connection closed|-32001: request timed out",
    r"(?:connection|transport|socket|stream) (?:was )?(?:closed|lost|reset|disconnected)|socket hang up|fetch failed",
    r"tim(?:ed?|ing)[- ]?out\b",
    r"response \(.{1,20}\) exceeds|result .{0,40}(?:too large|exceeds)",
)


def _match_in_flight(evidence: Evidence) -> str | None:
    return evidence.mentions(_IN_FLIGHT) or evidence.named(_UNANSWERED)


def _match(evidence: Evidence) -> str | None:
    return evidence.quoted() or next(
        (f"error type {original}" for original in evidence.names.values()), "the call failed and nothing was said"
    )


IN_FLIGHT: Final = Rule(Family.MCP, Kind.CALL, Retry.MAY_REPEAT_SIDE_EFFECT, frozenset({Layer.MCP_CALL}), _match_in_flight, __doc__)
RULE: Final = Rule(Family.MCP, Kind.CALL, Retry.HELPS_AFTER_CHANGE, frozenset({Layer.MCP_CALL}), _match, __doc__)
