"""mcp / auth: the server wants an authorization that the client does not have.

What it means
    This is a login at the MCP server, not at the model's API. The token is missing or ran out, the client's registration was removed at
    the authorization server, or that server has no dynamic registration (RFC 7591).

Evidence
    HTTP 401 or 403 from the server, an OAuth error body (`error` with `error_description`), or a text about OAuth, clients or tokens.

What to do
    `/mcp`, choose the server, authenticate. If it still fails, clear its authentication there so that the client registers anew, or give
    a client id of your own where the server does not register clients.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MCP, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_UNAUTHORIZED, _FORBIDDEN = 401, 403
_NAMES: Final = names(
    "invalid_token", "invalid_client", "invalid_grant", "unauthorized_client", "access_denied", "UnauthorizedError", "needs-auth"
)
_OAUTH: Final = wording(
    r"\boauth\b",
    r"\bclient[_ ]id\b",
    r"client registration",
    r"error_description",
    r"\bauthori[sz]ation (?:with|failed|required|error)|re-?authori[sz]|re-?authenticat",
    r"(?:access |refresh |bearer )?token (?:has )?(?:is )?(?:expired|invalid|missing|revoked)",
    r"authori[sz]ation server|protected resource",
)
_TRANSPORT: Final = wording(r"(?:error posting|streamable http|sse error|\bhttp)\b.{0,80}\b40[13]\b")
_LOGIN: Final = wording(
    r"\bunauthori[sz]ed\b", r"\bforbidden\b", r"(?:needs|requires|missing) (?:auth|login)", r"authenticat", r"login required"
)


def _match(evidence: Evidence) -> str | None:
    found = evidence.named(_NAMES) or evidence.mentions(_OAUTH) or evidence.mentions(_TRANSPORT)
    # In a call's result a login is mostly the server's own trouble with what stands behind it.
    if found is None and (evidence.shown_in is not Layer.MCP_CALL or evidence.http_status is not None):
        return evidence.answered(_UNAUTHORIZED, _FORBIDDEN) or evidence.mentions(_LOGIN)
    return found


RULE: Final = Rule(Family.MCP, Kind.AUTH, Retry.HELPS_AFTER_CHANGE, MCP, _match, __doc__)
