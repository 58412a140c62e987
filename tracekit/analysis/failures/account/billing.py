"""account / billing: there is no money for this request.

What it means
    Prepaid credit is used up, a payment failed, or the organization's own spending cap is reached. No wait helps by itself.

Evidence
    HTTP 402, `billing_error`, `insufficient_quota`, or a text about balance, credit or payment, whatever status it wears (mostly 400).

What to do
    Add credit or raise the cap in the console; check that the key belongs to the account you mean. An API key in the environment outranks
    a subscription.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_PAYMENT_REQUIRED = 402
_NAMES: Final = names(
    "billing_error",
    "insufficient_quota",
    "exceeded_current_quota_error",
    "PaymentRequiredError",
    "insufficient_balance",
    "billing_hard_limit_reached",
)
_SAYS: Final = wording(
    r"credit balance|insufficient[_ ](?:\w+[_ ])?(?:credits?|balance|funds|quota)|(?:quota|balance) is not enough",
    r"(?:account|out of|not enough|no) (?:balance|credits?)\b",
    r"(?:plan and|enable) billing|billing (?:details|issue|account|hard limit)",
    r"payment (?:required|failed|method|instrument|information)",
    r"purchase (?:more )?credits|recharge|top up|in arrears",
)


def _match(evidence: Evidence) -> str | None:
    return evidence.answered(_PAYMENT_REQUIRED) or evidence.named(_NAMES) or evidence.says(_SAYS)


RULE: Final = Rule(Family.ACCOUNT, Kind.BILLING, Retry.DOES_NOT_HELP, MODEL, _match, __doc__)
