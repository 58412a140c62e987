"""account / usage_limit: the plan's allowance is used up until it resets.

What it means
    A window of hours, a week or a month is full, or extra usage ran out. On the wire it looks like a rate limit (HTTP 429,
    `rate_limit_error`), or like a wrong request (400); the client may sleep until the reset, and the session then looks stuck.

Evidence
    A text that names the limit or its reset (`You've hit your … limit · resets 3pm`, `out of extra usage`), or a rate limit whose announced
    wait is longer than five minutes: no limit by the minute waits that long.

What to do
    Wait for the reset (`/usage`), buy extra usage, or choose a model with an allowance of its own. Trying again earlier does not help.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_TOO_MANY_REQUESTS = 429
_LONGEST_MINUTE_LIMIT_S = 300
"""A limit by the minute resets within a minute or a few; the client's own backoff ends at about 40 s."""
_NAMES: Final = names(
    "usage_limit_reached", "usage_limit_exceeded", "enforced_spend_limit_reached", "session_budget_exceeded", "quota_exhausted"
)
_RATE_LIMIT: Final = names("rate_limit_error", "rate_limit", "RateLimitError")
_SAYS: Final = wording(
    r"(?:hit|reached|exceeded) (?:your|the|its|\w+'s)"
    r"(?!(?: [\w-]+){0,3} (?:tokens?|size|length|context|turns?|depth|retr\w+|file)\b)"
    r"(?: [\w-]+){0,4} (?:(?<!rate )limit|allowance|cap)s?\b(?! of [\d,]+)",
    r"(?:usage|session|weekly|daily|monthly|\d+-hour|spend\w*|opus|sonnet)(?: \w+){0,2} (?:limit|cap|quota)\b.{0,30}(?:reached|hit)",
    r"(?:usage|session|weekly|daily|monthly|\d+-hour|spend\w*) (?:limit|cap|quota)\b.{0,30}(?:exceeded|exhausted)",
    r"(?:used|exhausted|consumed) (?:all of |up )?(?:your|the|its)(?: [\w-]+){0,4} (?:allowance|quota|usage)\b",
    r"\bit resets (?:on|at|in)\b|\blimit (?:will )?resets?\b|·\s*resets? ",
    r"quota will (?:be )?(?:reset|refresh)",
    r"regain access on",
    r"out of (?:extra )?usage|extra usage (?:is )?(?:required|needed)|usage credits?",
    r"increase your usage limit",
)


def _match(evidence: Evidence) -> str | None:
    long_wait = evidence.delay_s > _LONGEST_MINUTE_LIMIT_S and (evidence.answered(_TOO_MANY_REQUESTS) or evidence.named(_RATE_LIMIT))
    waits = f"next attempt in {evidence.delay_s:.0f} s, {long_wait}" if long_wait else None
    return evidence.named(_NAMES) or evidence.says(_SAYS) or waits


RULE: Final = Rule(Family.ACCOUNT, Kind.USAGE_LIMIT, Retry.DOES_NOT_HELP, MODEL, _match, __doc__)
