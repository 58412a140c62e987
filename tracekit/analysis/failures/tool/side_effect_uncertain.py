"""tool / side_effect_uncertain: whether the tool did its work is not known, because its result was thrown away or never written.

What it means
    The tool had started, and then its message was discarded, the user interrupted, a limit of time killed it, or the client died. What is
    recorded of it is a placeholder: it says nothing about what the tool did. `failures` lists every call of which this is so, also those
    whose failure has another name (a server that did not answer in time, an interrupt), and flags the ones that were called again.

Evidence
    `Streaming fallback - tool execution discarded`; the placeholder for a missing result; the denial kind `interrupted` on a result that
    a resume wrote, with no user's interrupt in its text. In the list also: a message without message_stop whose tool ran and gave nothing
    back, a call that was stopped or killed while it ran, an MCP call without an answer or with one too large, an open call of a session
    that was not seen again. Tools that only read are left out.

What to do
    Look before you repeat: the file, the commit, the message or the row may be there already, and twice where the call was made again. The
    model does not know, so tell it.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import CALL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, wording

_OPENS: Final = wording(
    r"streaming fallback\b",
    r"\[?tool result missing",
    r".{0,80}\b(?:session|process|client) (?:ended|exited|died|was (?:killed|restarted|interrupted)).{0,40}(?:before|while|during)",
)


def _match(evidence: Evidence) -> str | None:
    return evidence.opens(_OPENS) or ("denial kind interrupted, by no user" if evidence.denial_kind == "interrupted" else None)


RULE: Final = Rule(Family.TOOL, Kind.SIDE_EFFECT_UNCERTAIN, Retry.MAY_REPEAT_SIDE_EFFECT, CALL, _match, __doc__)
