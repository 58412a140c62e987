"""hook / error: a hook failed and blocked nothing.

What it means
    The hook's program ended with an exit code other than 0 and 2. What it was asked about went on as if there were no hook. The text is
    the first line that the hook wrote to stderr, which may be a mere notice.

Evidence
    The outcome `error`, `Failed with non-blocking status code`, or a hook's line that no other rule of the family explains.

What to do
    Run the hook's command by hand with the same input. A hook that only wants to say something should end with 0 and print it as JSON
    (`systemMessage`).
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.hook.wording import line, mentions, speaks
from tracekit.analysis.failures.layer import CALL, MODEL, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, wording

_SAYS: Final = wording(r"non-blocking (?:status|error)")


def _match_non_blocking(evidence: Evidence) -> str | None:
    return mentions(evidence, _SAYS)


def _match(evidence: Evidence) -> str | None:
    return line(evidence, "the hook failed and said nothing") if speaks(evidence) else None


NON_BLOCKING: Final = Rule(Family.HOOK, Kind.ERROR, Retry.DOES_NOT_HELP, CALL | MODEL | {Layer.HOOK}, _match_non_blocking, __doc__)
RULE: Final = Rule(Family.HOOK, Kind.ERROR, Retry.DOES_NOT_HELP, CALL | MODEL | {Layer.HOOK}, _match, __doc__)
