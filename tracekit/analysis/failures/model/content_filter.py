"""model / content_filter: a filter blocked what the model wrote, or what it was given.

What it means
    A check outside the model looks at the text, mostly for copies of published works, licences or long quotations. It can strike in the
    middle of a stream (an error event after HTTP 200) and again, as HTTP 400, when the client asks without streaming: one fault,
    two requests.

Evidence
    `Output blocked by content filtering policy`, the stop reasons `content_filter` and `guardrail_intervened`, the filters' own types.
    The type `invalid_request_error` beside it says nothing.

What to do
    Ask for the text in other words or in parts, or let a command write it (copy the licence file) instead of the model.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_STOPS: Final = ("content_filter", "guardrail_intervened", "safety", "content_filtered")
_NAMES: Final = names(
    "content_filter", "content_policy_violation", "ContentPolicyViolationError", "ResponsibleAIPolicyViolation", "data_inspection_failed"
)
_SAYS: Final = wording(
    r"content[-_ ]?(?:filter|policy|moderation|safety|management policy)|\bsafety system\b",
    r"blocked by (?:(?!web|url|proxy|fire|zscaler|dns)[\w']+ ){0,5}(?:content )?(?:filters?|guardrails?|safety|moderation)\b",
    r"(?:considered|deemed) (?:high risk|unsafe)|unsafe or sensitive content|inappropriate content",
)


def _match(evidence: Evidence) -> str | None:
    stopped = (evidence.stopped or "").lower()
    if any(stop in stopped for stop in _STOPS):
        return f"stop reason {evidence.stopped}"
    return evidence.named(_NAMES) or evidence.says(_SAYS)


RULE: Final = Rule(Family.MODEL, Kind.CONTENT_FILTER, Retry.HELPS_AFTER_CHANGE, MODEL, _match, __doc__)
