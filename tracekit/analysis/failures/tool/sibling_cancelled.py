"""tool / sibling_cancelled: another call of the same message failed, and this one was cancelled with it.

What it means
    Collateral, never counted as the tool's own failure: of calls that run side by side, one error cancels the rest. A harmless exit code 1
    of one grep can cancel dozens.

Evidence
    `Sibling tool call errored`, `Cancelled: parallel tool call … errored`, or the denial kind `cancelled`. Nobody interrupted anything.

What to do
    Find the first error of the batch and mend that one. Cancelled calls can be repeated; one that had begun may have done its work.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import CALL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, wording

_OPENS: Final = wording(
    r"sibling (?:tool )?call (?:errored|failed)", r"cancell?ed: (?:a )?parallel", r"cancell?ed because (?:a|another) (?:parallel|sibling)"
)


def _match(evidence: Evidence) -> str | None:
    return evidence.opens(_OPENS) or ("denial kind cancelled" if evidence.denial_kind == "cancelled" else None)


RULE: Final = Rule(Family.TOOL, Kind.SIBLING_CANCELLED, Retry.HELPS, CALL, _match, __doc__)
