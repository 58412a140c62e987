"""network / connect: no connection to the API was made.

What it means
    The host was found and refused, or was not reached. Often it is a local proxy or gateway that ANTHROPIC_BASE_URL or HTTPS_PROXY
    names and that is not running; sometimes a firewall.

Evidence
    ECONNREFUSED (`ConnectionRefused` in Bun), EHOSTUNREACH, ENETUNREACH, the SDK's `APIConnectionError` and `Connection error.`,
    `fetch failed`, and no HTTP status. The hint to raise API_TIMEOUT_MS stands under every attempt and is no evidence.

What to do
    See whether the proxy or gateway runs and listens where the settings say. A retry helps only when it is back. Nothing was sent, so
    trying again is safe.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_NAMES: Final = names(
    "ECONNREFUSED",
    "ConnectionRefused",
    "ConnectionRefusedError",
    "FailedToOpenSocket",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "EHOSTDOWN",
    "ENETDOWN",
    "EADDRNOTAVAIL",
    "connection_error",
    "connection_failed",
    "http_connection_failed",
    "APIConnectionError",
    "ConnectError",
    "ClientConnectorError",
    "ERR_CONNECTION_REFUSED",
    "ERR_CONNECTION_FAILED",
    "ERR_INTERNET_DISCONNECTED",
    "ERR_ADDRESS_UNREACHABLE",
    "ERR_NETWORK",
    "NewConnectionError",
)
_SAYS: Final = wording(
    r"(?:unable|failed|could not|couldn't|cannot|can't) (?:to )?connect",
    r"connection refused",
    r"connection (?:error|failed)",
    r"fetch failed",
    r"network (?:is unreachable|error|is down)",
    r"no route to host",
    r"failed to open socket",
    r"no (?:internet|network) connection",
)


def _match(evidence: Evidence) -> str | None:
    if evidence.http is not None:
        return None
    return evidence.named(_NAMES) or evidence.says(_SAYS)


def _match_layer(evidence: Evidence) -> str | None:
    return evidence.quoted() or "failed before a connection was made"


RULE: Final = Rule(Family.NETWORK, Kind.CONNECT, Retry.HELPS_AFTER_CHANGE, MODEL, _match, __doc__)
UNSAID: Final = Rule(Family.NETWORK, Kind.CONNECT, Retry.HELPS_AFTER_CHANGE, frozenset({Layer.TRANSPORT}), _match_layer, __doc__)
