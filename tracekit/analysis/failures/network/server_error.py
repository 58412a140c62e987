"""network / server_error: the server, or the edge in front of it, failed.

What it means
    The request arrived and the API, its edge (Cloudflare, Envoy) or a gateway could not answer. Neither your request nor your network is
    at fault, even where the page says `Connection timed out` or `Connection refused`: those words are about the server's own inside.

Evidence
    HTTP 500 to 599, or `api_error` and its kin. A page of HTML or plain text without a request id comes from the edge or a gateway.

What to do
    Try again; the client does so by itself. If it lasts, look at the provider's status page, or at the logs of your gateway.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_STATUSES: Final = range(500, 600)
_NAMES: Final = names(
    "api_error",
    "server_error",
    "internal_error",
    "InternalServerError",
    "internal_server_error",
    "InternalServerException",
    "InternalFailure",
    "ServiceUnavailableError",
    "ServiceUnavailableException",
    "service_unavailable",
    "upstream_error",
    "upstream_response_error",
    "bad_gateway",
    "BadGatewayError",
    "GatewayTimeoutError",
    "UNAVAILABLE",
    "INTERNAL",
    "ModelErrorException",
)
_SAYS: Final = wording(
    r"(?:internal|unexpected|unknown) (?:server )?error",
    r"server(?:-side)? (?:error|issue)",
    r"bad gateway|gateway time-?out|service (?:is )?unavailable|(?:temporarily|currently) unavailable",
    r"upstream (?:connect|request|returned|error)|no healthy upstream",
)


def _match(evidence: Evidence) -> str | None:
    if evidence.http is not None:
        return evidence.answered(*_STATUSES)
    return evidence.named(_NAMES) or evidence.says(_SAYS)


RULE: Final = Rule(Family.NETWORK, Kind.SERVER_ERROR, Retry.HELPS, MODEL, _match, __doc__)
