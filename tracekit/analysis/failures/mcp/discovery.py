"""mcp / discovery: the server is there, but its list of tools is not.

What it means
    The handshake passed and `tools/list` failed or timed out, so the model sees no tool of this server. Nothing was called. One form is no
    failure: clients probe every server for resources and prompts, and one that only has tools answers `Method not found`.

Evidence
    The stage: an error or a timeout while a list was pending, or `Failed to fetch tools`. -32601 without a word about tools is the probe.

What to do
    Reconnect with `/mcp`. If it comes back, call `tools/list` by hand: servers that build the list from another service are as slow as
    that service.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MCP, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_METHOD_NOT_FOUND: Final = names("-32601")
_OPTIONAL: Final = wording(r"(?:resources|prompts|logging|completion)/")
_TOOLS: Final = wording(r"\btools\b")
_SAYS: Final = wording(r"\btools/list\b", r"(?:failed to|could not|error) (?:fetch|list|get|load)(?:ing)? (?:the )?tools")


def _match(evidence: Evidence) -> str | None:
    found = evidence.mentions(_SAYS)
    return found or (evidence.quoted() or "failed during discovery" if evidence.shown_in is Layer.MCP_DISCOVERY else None)


def _match_probe(evidence: Evidence) -> str | None:
    stage = evidence.mcp_stage or ""
    optional = _OPTIONAL.match(stage) is not None
    unnamed = evidence.shown_in is Layer.MCP_DISCOVERY and not stage and not evidence.mentions(_TOOLS)
    found = evidence.named(_METHOD_NOT_FOUND) if optional or unnamed else None
    return f"{found}: a probe for something optional that the server does not have" if found else None


PROBE: Final = Rule(Family.MCP, Kind.DISCOVERY, Retry.DOES_NOT_HELP, MCP, _match_probe, __doc__)
RULE: Final = Rule(
    Family.MCP, Kind.DISCOVERY, Retry.HELPS, frozenset({Layer.MCP_DISCOVERY, Layer.MCP_CONNECT, Layer.MCP_CALL}), _match, __doc__
)
