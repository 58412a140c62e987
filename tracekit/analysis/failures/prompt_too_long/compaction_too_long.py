"""prompt_too_long / compaction_too_long: the conversation is too long even to be summarised.

What it means
    Compaction sends the conversation to the model to have it summarised, and that request did not fit. The way out that the client would
    take is closed, so the session cannot go on as it is.

Evidence
    `Conversation too long` during compaction, `too large to compact`, or any text of the family from the compaction boundary.

What to do
    Go back some messages (esc esc) and compact from there, or start anew. Large tool results and images weigh most: drop them first.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL, Layer
from tracekit.analysis.failures.prompt_too_long import context_window_exceeded, prompt_too_long
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, wording

_SAYS: Final = wording(
    r"conversation too long",
    r"too (?:long|large) to (?:be )?(?:compact|summari[sz])",
    r"(?<![/\w])(?:auto-?)?(?:compact\w*|summar\w*)\b.{0,100}(?:too (?:long|large)|exceeds?|context (?:window|limit|length))",
    r"exceeded context window.{0,40}compact",
)


def _match(evidence: Evidence) -> str | None:
    found = evidence.says(_SAYS)
    if found is None and evidence.shown_in is Layer.COMPACTION:
        return prompt_too_long.RULE.match(evidence) or context_window_exceeded.RULE.match(evidence)
    return found


RULE: Final = Rule(Family.PROMPT_TOO_LONG, Kind.COMPACTION_TOO_LONG, Retry.HELPS_AFTER_CHANGE, MODEL, _match, __doc__)
