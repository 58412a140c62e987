"""user / rejection: a person said no to a tool call.

What it means
    The prompt was answered with no, with or without a word what to do instead. The tool did not run, with one exception: where no prompt
    existed (permissions skipped), the same text is written when a running tool is interrupted, and then it may have done its work.

Evidence
    `The user doesn't want to proceed with this tool use`, `Tool use rejected with user message`, source `user_reject`, the denial kind
    `user-rejected` with no other explanation.

What to do
    Nothing: the model was told. Calls that are always fine belong into the permission rules.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import CALL, MODEL, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, wording
from tracekit.analysis.failures.user.interrupt import STOPPED

_SAYS: Final = wording(
    r"the user doesn't want to proceed",
    r"tool use (?:was )?rejected|permission request rejected",
    r"(?:the )?user (?:has )?(?:rejected|denied|declined|refused)",
    r"\b(?:[\w-]+ ){0,6}(?:rejected|denied|declined) by (?:the )?user",
)


def _match(evidence: Evidence) -> str | None:
    if evidence.says(STOPPED):
        return None  # the client's correction of these very words: it was an interrupt
    if found := evidence.says(_SAYS):
        return found
    if evidence.permission_source == "user_reject":
        return "rejected at the permission prompt"
    return f"denial kind {evidence.denial_kind}" if evidence.denial_kind == "user-rejected" else None


RULE: Final = Rule(Family.USER, Kind.REJECTION, Retry.DOES_NOT_HELP, CALL | MODEL | {Layer.USER}, _match, __doc__)
