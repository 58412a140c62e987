"""model / refusal: the model, or a safety check over the conversation, declined to answer.

What it means
    The whole conversation is judged, not only the last message, so an innocent message in the same session is declined again. It is no
    error of API or login, although the client prints `API Error`.

Evidence
    The stop reason `refusal` (HTTP 200), the error type `refusal`, or the client's words about the usage policy or about safeguards that
    flagged a message.

What to do
    Go back before the message (esc esc), or start a new session; another model may answer (`/model`).
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_NAMES: Final = names("refusal", "api_refusal", "cyber_policy")
_SAYS: Final = wording(
    r"(?:violates?|violation of) (?:our|the|\w+'s) (?:usage|use|terms|policy|policies)",
    r"safeguards? flagged|flagged (?:this|your) (?:message|request)|flagged for (?:possible|potentially)",
    r"(?:can't|cannot) help with this\. start a new session",
    r"unable to respond to this request",
)


def _match(evidence: Evidence) -> str | None:
    if "refusal" in (evidence.stopped or ""):
        return f"stop reason {evidence.stopped}"
    return evidence.named(_NAMES) or evidence.says(_SAYS)


RULE: Final = Rule(Family.MODEL, Kind.REFUSAL, Retry.HELPS_AFTER_CHANGE, MODEL, _match, __doc__)
