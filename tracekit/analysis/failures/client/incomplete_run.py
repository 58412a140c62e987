"""client / incomplete_run: the run, or a sub-agent's, ended without an answer.

What it means
    The loop stopped between a tool's result and the next request, or a sub-agent ended on something that is no answer. Exit code and
    result message can look like success. Side effects of its tools stand.

Evidence
    The client's words: the last message was not the assistant's, no result was produced, an agent terminated early. The result subtype
    `error_during_execution` with no other explanation. In a finished file: a last entry that is a tool result, with no answer after it.

What to do
    Look at what was done, then resume the session and let it go on.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import CALL, MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_NAMES: Final = names("error_max_structured_output_retries", "structured_output_retry_exhausted")
_FALL_THROUGH: Final = names("error_during_execution")
_UNNAMED: Final = wording(r"returned an error result")
"""What an SDK makes of a result that is an error and gives no reason."""
_SAYS: Final = wording(
    r"(?:agent \d+: )?last message was not (?:an? )?assistant",
    r"(?:agent|run|session|query|task)\b.{0,40}\b(?:ended|finished|completed|terminated|exited)\b.{0,20}\bearly",
    r"(?:agent|run|session|query|task|stream|execution)\b.{0,40}\b(?:ended|finished|completed|returned|closed|exited) "
    r"without (?:an? |any )?(?:result|answer|response|output|final)",
    r"(?:query|session|run) (?:was )?closed before",
    r"no (?:result|final) (?:message|answer|response)",
    r"did not (?:produce|return) (?:an? |any )?(?:result|answer|response|structured output)",
)


def _match(evidence: Evidence) -> str | None:
    return evidence.named(_NAMES) or evidence.says(_SAYS)


def _match_fall_through(evidence: Evidence) -> str | None:
    return evidence.named(_FALL_THROUGH) or evidence.says(_UNNAMED)


RULE: Final = Rule(Family.CLIENT, Kind.INCOMPLETE_RUN, Retry.MAY_REPEAT_SIDE_EFFECT, CALL | MODEL, _match, __doc__)
FALL_THROUGH: Final = Rule(Family.CLIENT, Kind.INCOMPLETE_RUN, Retry.MAY_REPEAT_SIDE_EFFECT, MODEL, _match_fall_through, __doc__)
