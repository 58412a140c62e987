"""user / interrupt: a person stopped the agent.

What it means
    Escape or Ctrl-C ended a request, a retry wait or a running tool. Complete blocks stay; a tool that was running may have done its
    work, whatever its result says. Some clients print such an end as `API Error: Operation aborted`, or as the result
    `error_during_execution`, and of a tool that the user wants not to proceed, with the correction that it was stopped while running:
    all are the interrupt.

Evidence
    The client's line as a whole text (`[Request interrupted by user]`), never the same words inside other text; the turn's own mark; the
    terminal reasons `aborted_streaming` and `aborted_tools`; source `user_abort`.

What to do
    Nothing. Before the work is taken up again, look at what the interrupted tool did.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import CALL, MODEL, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_REASONS: Final = frozenset({"aborted_streaming", "aborted_tools"})
_NAMES: Final = names("KeyboardInterrupt", "AbortError", "APIUserAbortError", "RequestAbortedError")
_MARK: Final = wording(r"\[request interrupted by user")
STOPPED: Final = wording(r"the user doesn't want to proceed(?s:.{0,600})\bstopped while running, not refused")
_SAYS: Final = wording(
    r"the user doesn't want to take this action right now",
    r"(?:interrupted|cancell?ed|aborted|stopped) by (?:the )?user",
    r"^interrupted(?: ·|\.|$)",
    r"user (?:interrupted|aborted|cancell?ed)",
    r"(?:api error: )?(?:request was aborted|operation aborted|(?:the|this) operation was aborted(?! due to timeout))",
    r"ede_diagnostic",
)


def _match(evidence: Evidence) -> str | None:
    if evidence.interrupted:
        return f"interrupted by the user during {evidence.interrupted}"
    if evidence.terminal_reason in _REASONS:
        return f"terminal reason {evidence.terminal_reason}"
    if evidence.permission_source == "user_abort":
        return "aborted at the permission prompt"
    named = evidence.named(_NAMES) if evidence.shown_in in MODEL else None
    return evidence.output_opens(_MARK) or evidence.says(STOPPED) or evidence.says(_SAYS) or named


def _match_layer(evidence: Evidence) -> str | None:
    return evidence.quoted() or "stopped by the user"


RULE: Final = Rule(Family.USER, Kind.INTERRUPT, Retry.DOES_NOT_HELP, CALL | MODEL | {Layer.USER}, _match, __doc__)
UNSAID: Final = Rule(Family.USER, Kind.INTERRUPT, Retry.DOES_NOT_HELP, frozenset({Layer.USER}), _match_layer, __doc__)
