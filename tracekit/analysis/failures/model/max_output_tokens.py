"""model / max_output_tokens: the answer reached the limit for one answer and stopped in the middle.

What it means
    The cap on an answer's tokens (`max_tokens`) was reached. A tool call at the end may be incomplete and is then not run. The client asks
    the model to go on a few times, and gives up after that.

Evidence
    The stop reason `max_tokens` or `length`, the client's `response exceeded the N output token maximum`, the error `max_output_tokens`,
    unless its text speaks of the context window.

What to do
    Ask for smaller pieces (one file at a time), or raise CLAUDE_CODE_MAX_OUTPUT_TOKENS up to what the model allows.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_STOPS: Final = frozenset({"max_tokens", "length", "MAX_TOKENS"})
_NAMES: Final = names("max_output_tokens")
_SAYS: Final = wording(
    r"exceeded the [\d,]+ output token maximum",
    r"output token (?:limit|maximum) (?:was )?(?:hit|reached|exceeded)",
    r"(?:reached|hit|exceeded|at) (?:the |its )?(?:model'?s? )?(?:max\w* )?(?:output tokens?|max_(?:output_)?tokens)\b",
    r"max_(?:output_)?tokens (?:limit )?(?:was |were )?(?:reached|hit)",
    r"response was truncated.{0,40}(?:max|limit)",
)


def _match(evidence: Evidence) -> str | None:
    if (evidence.stopped or "").strip("[]\"' ") in _STOPS:
        return f"stop reason {evidence.stopped}"
    return evidence.named(_NAMES) or evidence.says(_SAYS)


RULE: Final = Rule(Family.MODEL, Kind.MAX_OUTPUT_TOKENS, Retry.HELPS_AFTER_CHANGE, MODEL, _match, __doc__)
