"""mcp / initialize: the server is connected and did not get through its handshake.

What it means
    The process or the HTTP endpoint is there; its answer to `initialize` (or `server/discover`) did not come, or the protocol versions do
    not fit. Nothing was called, so nothing happened.

Evidence
    The stage: a timeout (-32001), a closed connection or an error while `initialize` was pending; a text about protocol versions.

What to do
    Reconnect with `/mcp`; a server that starts slowly needs a longer MCP_TIMEOUT. If versions do not fit, update the server's SDK.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_NAMES: Final = names("-32022", "-32021", "UNSUPPORTED_PROTOCOL_VERSION")
_SAYS: Final = wording(r"protocol version", r"\binitiali[sz]e(?:d|\b)", r"\bhandshake\b")


def _match(evidence: Evidence) -> str | None:
    found = evidence.named(_NAMES) or evidence.mentions(_SAYS)
    return found or (evidence.quoted() or "failed during initialize" if evidence.shown_in is Layer.MCP_INITIALIZE else None)


RULE: Final = Rule(Family.MCP, Kind.INITIALIZE, Retry.HELPS, frozenset({Layer.MCP_INITIALIZE, Layer.MCP_CONNECT}), _match, __doc__)
