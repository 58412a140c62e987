"""account / authentication: the credentials are missing, wrong, expired or revoked.

What it means
    The API, or the cloud's own login before it, does not accept who you say you are. An expired token can be refreshed; a revoked or
    malformed one has to be replaced. A setting can outrank the login you see: ANTHROPIC_API_KEY, CLAUDE_CODE_OAUTH_TOKEN, apiKeyHelper,
    AWS variables.

Evidence
    HTTP 401, `authentication_error` and the clouds' own types (ExpiredTokenException, UNAUTHENTICATED), or a text about tokens, keys or
    logins, also with 403 or with no status at all. `Please run /login` in front of another error is a habit of the client, no evidence.

What to do
    `/status` shows which credentials are used. Then `/login`, a new key, or `aws sso login` / `gcloud auth`. One form is passing, and
    says so (`may be a temporary network issue`): try again.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_UNAUTHORIZED = 401
_NAMES: Final = names(
    "authentication_error",
    "AuthenticationError",
    "authentication_failed",
    "invalid_api_key",
    "invalid_grant",
    "unauthorized",
    "UnauthorizedError",
    "UNAUTHENTICATED",
    "ExpiredTokenException",
    "ExpiredToken",
    "UnrecognizedClientException",
    "InvalidSignatureException",
    "InvalidClientTokenId",
    "SignatureDoesNotMatch",
    "IncompleteSignature",
    "CredentialsProviderError",
    "NoCredentialsError",
    "TokenRefreshError",
    "SSOTokenLoadError",
    "DefaultCredentialsError",
)
_SAYS: Final = wording(
    r"(?:oauth|bearer|access|refresh|auth|security|session|id) token\b",
    r"oauth error: (?!request failed)",
    r"token (?:has |is |was |been )*(?:expired|revoked|invalid|missing)",
    r"(?:invalid|incorrect|missing|expired|no|wrong|provide an?) (?:external )?(?:x-)?api[- ]?key",
    r"api[-_ ]?key\b.{0,40}(?:invalid|expired|not valid|not found|not set|missing|required)",
    r"please run /login|not logged in|login (?:has )?(?:expired|required)|log ?in again",
    r"sso session",
    r"credentials?\b.{0,60}(?:expired|invalid|missing|not found|could not|unable|required|failed)",
    r"(?:could not|unable to|failed to) (?:load|find|resolve|locate|refresh) .{0,40}(?:credentials?|authentication)",
    r"failed to authenticate|authentication (?:error|failed|failure|required)|(?:missing|lacks) (?:required )?authentication",
    r"invalid authentication",
    r"unauthenticated|\bunauthori[sz]ed\b",
    r"apikeyhelper",
    r"re-?authenticat",
    r"aws sso login|gcloud auth",
    r"scope requirement|insufficient (?:authentication )?scopes?",
)
_TRANSIENT: Final = wording(r"authentication error\b.{0,40}temporary")


def _match_transient(evidence: Evidence) -> str | None:
    return evidence.says(_TRANSIENT)


def _match(evidence: Evidence) -> str | None:
    return evidence.answered(_UNAUTHORIZED) or evidence.named(_NAMES) or evidence.says(_SAYS)


TRANSIENT: Final = Rule(Family.ACCOUNT, Kind.AUTHENTICATION, Retry.HELPS, MODEL, _match_transient, __doc__)
RULE: Final = Rule(Family.ACCOUNT, Kind.AUTHENTICATION, Retry.HELPS_AFTER_CHANGE, MODEL, _match, __doc__)
