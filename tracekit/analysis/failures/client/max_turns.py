"""client / max_turns: the run reached the limit that its own settings give it.

What it means
    `--max-turns`, or a budget in dollars, stopped the agent in the middle of its work. What it did until then stays done. A run that was
    interrupted (`error_during_execution`) is something else.

Evidence
    The result subtype `error_max_turns` or `error_max_budget_usd`, the terminal reasons `max_turns` and `budget_exhausted`, or the
    client's `Reached maximum number of turns`.

What to do
    Resume the session with a higher limit, or split the task.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import CALL, MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_NAMES: Final = names("error_max_turns", "error_max_budget_usd", "max_turns_exceeded", "MaxTurnsExceeded")
_REASONS: Final = frozenset({"max_turns", "budget_exhausted"})
_SAYS: Final = wording(
    r"(?:reached|exceeded|hit) (?:the )?max(?:imum)? (?:number of )?(?:turns|steps|iterations|budget)",
    r"(?:exceeded|reached|over) (?:the )?(?:usd |cost |max\w* )?budget|\bbudget\b.{0,20}\b(?:exceeded|exhausted|reached|used up)",
    r"max(?:imum)?(?: number of)?[_ ](?:turns|steps|iterations) (?:was |were )?(?:reached|exceeded)",
)


def _match(evidence: Evidence) -> str | None:
    if evidence.terminal_reason in _REASONS:
        return f"terminal reason {evidence.terminal_reason}"
    return evidence.named(_NAMES) or evidence.says(_SAYS)


RULE: Final = Rule(Family.CLIENT, Kind.MAX_TURNS, Retry.HELPS_AFTER_CHANGE, CALL | MODEL, _match, __doc__)
