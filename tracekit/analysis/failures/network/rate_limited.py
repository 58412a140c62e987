"""network / rate_limited: too many requests or tokens in too short a time.

What it means
    A limit by the minute, or a momentary brake of the server. It passes by itself within minutes. A limit of the plan, which resets in
    hours, is `account / usage_limit`.

Evidence
    HTTP 429, or a rate-limit or throttling type (`rate_limit_error`, `ThrottlingException`, `RESOURCE_EXHAUSTED`), with no sign of a
    plan's limit: no reset time, no announced wait of more than five minutes.

What to do
    Wait for `retry-after`; start fewer agents at once. On Bedrock and Vertex the quota of a new account can be 0: then no wait helps,
    ask for quota.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_TOO_MANY_REQUESTS = 429
_NAMES: Final = names(
    "rate_limit_error",
    "RateLimitError",
    "rate_limited",
    "rate_limit_exceeded",
    "rate_limit_reached_error",
    "too_many_requests",
    "TooManyRequestsException",
    "ThrottlingException",
    "Throttling",
    "ThrottledException",
    "LimitExceededException",
    "ServiceQuotaExceededException",
    "RESOURCE_EXHAUSTED",
)
_SAYS: Final = wording(
    r"rate[- ]?limit",
    r"too many (?:requests|tokens|connections|concurrent)",
    r"throttl(?:ed|ing)",
    r"(?:tokens|requests)[ _]per[ _](?:minute|day|second)|per[- ]min(?:ute)?\b|\b[TR]PM\b",
    r"temporarily limiting requests",
    r"quota exceeded",
)


def _match(evidence: Evidence) -> str | None:
    found = evidence.answered(_TOO_MANY_REQUESTS) or evidence.named(_NAMES)
    # An answer with another status says itself what it is; only without one do words decide.
    return found if found or evidence.http is not None else evidence.says(_SAYS)


RULE: Final = Rule(Family.NETWORK, Kind.RATE_LIMITED, Retry.HELPS, MODEL, _match, __doc__)
