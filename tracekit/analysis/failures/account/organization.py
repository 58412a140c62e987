"""account / organization: who you are is known, and you may not: a policy, a disabled account, a region, a block at the edge.

What it means
    The organization forbids this way in or was disabled, the role lacks a right, or the edge refuses the address (country, VPN,
    firewall) before any account is looked at. A new login changes nothing, even where the client says `Please run /login`.

Evidence
    HTTP 403 without a word about tokens or keys; a text about a disabled organization or account, also as HTTP 400; the type
    `forbidden` (the edge) or `permission_error` (the API).

What to do
    Ask the administrator, use the way in that is allowed (API key or subscription), or leave the VPN and see whether the edge lets you
    through.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_STATUSES: Final = (403, 451)
_NAMES: Final = names(
    "oauth_org_not_allowed", "account_on_hold", "account_disabled", "organization_disabled", "unsupported_country_region_territory"
)
_SAYS: Final = wording(
    r"(?:organi[sz]ation|account|workspace|subscription) (?:has |been |is |was |temporarily )*"
    r"(?:disabled|suspended|on hold|terminated|banned|deactivated|blocked)",
    r"disabled organi[sz]ation",
    r"organi[sz]ation\b.{0,40}(?:not allowed|does not allow|disallow|polic)",
    r"(?:not|n't) (?:allowed|permitted|enabled|supported|available) (?:for|by|in) (?:this|your) (?:organi[sz]ation|workspace)",
    r"not (?:be )?(?:supported|available) in (?:this|your) (?:country|region|location)",
    r"access terminated",
    r"(?:does not|doesn't|do not|don't) have (?:access to|permission)",
    r"permission\b.{0,60}\bdenied on resource",
    r"request not allowed",
    r"unsupported[ _](?:countr(?:y|ies)|regions?|locations?)",
    r"access blocked|you have been blocked|attention required|access denied",
    r"not authori[sz]ed to perform",
)
_BY_NAME: Final = names(
    "permission_error", "PermissionDeniedError", "PERMISSION_DENIED", "forbidden", "AccessDeniedException", "AccessDenied"
)
_MAY_BE_MISSING: Final = wording(r"(?:not exist|not found|is missing)\b.{0,60}\bor (?:you|your \w+) (?:may )?(?:do|does)?(?:n't| not) have")
"""Said of a name that is not known: mostly it is wrong, and no right is missing."""


def _match(evidence: Evidence) -> str | None:
    return evidence.named(_NAMES) or (None if evidence.says(_MAY_BE_MISSING) else evidence.says(_SAYS))


def _match_forbidden(evidence: Evidence) -> str | None:
    return evidence.answered(*_STATUSES) or evidence.named(_BY_NAME)


RULE: Final = Rule(Family.ACCOUNT, Kind.ORGANIZATION, Retry.DOES_NOT_HELP, MODEL, _match, __doc__)
FORBIDDEN: Final = Rule(Family.ACCOUNT, Kind.ORGANIZATION, Retry.DOES_NOT_HELP, MODEL, _match_forbidden, __doc__)
