"""mcp / session_lost: the server no longer knows the session that the client speaks of.

What it means
    A server over HTTP was restarted or dropped the session. Every call fails until the client initializes again, while `/mcp` still says
    connected. The call was not carried out.

Evidence
    `Session not found`, `No valid session ID provided`, `Session terminated`, `Server not initialized`, with or without JSON-RPC around it,
    whatever code (-32600, -32001, -32000) or HTTP status (404, 400, 503) the server chose.

What to do
    Reconnect with `/mcp`; then the call can be repeated. If it comes back, let the server keep its sessions over a restart.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MCP
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, wording

_SAYS: Final = wording(
    r"\bsession(?: ?id)?(?: \S{1,80})? (?:was |is |has been |has )?(?:not found|expired|terminated|invalid|unknown|lost|closed)",
    r"\bsession(?: \S{1,80})? does(?: not|n't) exist",
    r"(?:unknown|invalid|missing|expired|no valid|no active|no such|no) (?:mcp[- ])?session(?:[- ]?id)?\b",
    r"mcp-session-id",
    r"server not initiali[sz]ed",
)


def _match(evidence: Evidence) -> str | None:
    return evidence.mentions(_SAYS)


RULE: Final = Rule(Family.MCP, Kind.SESSION_LOST, Retry.HELPS_AFTER_CHANGE, MCP, _match, __doc__)
