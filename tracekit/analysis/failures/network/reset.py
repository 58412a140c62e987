"""network / reset: the connection ended before an answer came.

What it means
    The connection was there and the other side, or something in between, dropped it. Also the verdict for an attempt of which the client
    wrote no details at all (up to 2.1.17 network errors were recorded as `{}`): it failed without any HTTP status, and more is not
    known. This kind is the weakest claim about it, since it does not say that the server was out of reach.

Evidence
    ECONNRESET, EPIPE, ECONNABORTED, `socket hang up`, `The socket connection was closed unexpectedly`, and no HTTP status; or the error
    type `no_details`. The same after output began is `stream_cut`.

What to do
    Try again; the client does so by itself. If it comes back after long tools, a connection was kept alive that the server had closed:
    look for a proxy, VPN or router that drops idle connections.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_NAMES: Final = names(
    "ECONNRESET",
    "EPIPE",
    "ECONNABORTED",
    "ConnectionReset",
    "ConnectionClosed",
    "ConnectionResetError",
    "ConnectionAbortedError",
    "BrokenPipeError",
    "UND_ERR_SOCKET",
    "UND_ERR_CLOSED",
    "ERR_CONNECTION_RESET",
    "ERR_CONNECTION_CLOSED",
    "ERR_CONNECTION_ABORTED",
    "ERR_EMPTY_RESPONSE",
    "ERR_NETWORK_CHANGED",
    "ServerDisconnectedError",
    "no_details",
)
_SAYS: Final = wording(
    r"socket hang up",
    r"other side closed",
    r"broken pipe",
    r"empty reply from server",
    r"\bGOAWAY\b",
    r"(?:connection|socket)(?: connection)?(?: to \S+(?: \S+)?)? (?:was |has been |is |forcibly |unexpectedly )*"
    r"(?:closed|reset|aborted|lost|dropped)",
    r"(?:server|peer|socket|remote(?: end| host)?) (?:unexpectedly )?(?:disconnected|closed)",
)


def _match(evidence: Evidence) -> str | None:
    if evidence.http is not None:
        return None
    return evidence.named(_NAMES) or evidence.says(_SAYS)


RULE: Final = Rule(Family.NETWORK, Kind.RESET, Retry.HELPS, MODEL, _match, __doc__)
