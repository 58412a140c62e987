"""prompt_too_long / context_window_exceeded: prompt and answer together do not fit into the context window.

What it means
    The prompt fits, but not with the room that `max_tokens` reserves for the answer; or the answer itself reached the end of the window
    and stopped there.

Evidence
    `input length and max_tokens exceed context limit: A + B > C` (HTTP 400); the stop reason `model_context_window_exceeded`, which
    arrives with HTTP 200 and which OpenTelemetry counts as a success; `context_length_exceeded` of other vendors.

What to do
    `/compact` or `/clear`, or reserve less (CLAUDE_CODE_MAX_OUTPUT_TOKENS). The client tries the first form again with a smaller answer by
    itself. The words `try again` in the text are no rate limit.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_STOP = "context_window_exceeded"
_NAMES: Final = names(
    "context_length_exceeded",
    "context_window_exceeded",
    "model_context_window_exceeded",
    "ContextWindowExceededError",
    "ContextOverflowError",
)
_SAYS: Final = wording(
    r"(?:input length|prompt|messages)\W+(?:and|plus|\+)\W+`?max_?(?:completion_|output_)?tokens`? exceeds?",
    r"context limit: [\d,]+ \+ [\d,]+ >",
    r"reached its context window limit",
    r"max_(?:completion_)?tokens.{0,40}too large.*context length",
    r"in the messages, [\d,]+ in the completion",
)


def _match(evidence: Evidence) -> str | None:
    if _STOP in (evidence.stopped or ""):
        return f"stop reason {evidence.stopped}"
    return evidence.says(_SAYS) or evidence.named(_NAMES)


RULE: Final = Rule(Family.PROMPT_TOO_LONG, Kind.CONTEXT_WINDOW_EXCEEDED, Retry.HELPS_AFTER_CHANGE, MODEL, _match, __doc__)
