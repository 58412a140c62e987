"""hook / timeout: a hook did not end in time and was cancelled.

What it means
    Commands have 600 s by default, prompts 30 s. A cancelled hook decides nothing: what it was asked about goes on. Until the limit
    everything waits for it, which looks like a model that does not answer.

Evidence
    The outcome `timeout` or `cancelled`, or a hook's line about a timeout.

What to do
    Let the hook end: no watcher, no server, no prompt for input. Work that takes long belongs into an `async` hook or into the background.
    Set `timeout` in the hook's settings to what you are ready to wait.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.hook.wording import line, mentions
from tracekit.analysis.failures.layer import CALL, MODEL, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, wording

_OUTCOMES: Final = frozenset({"timeout", "cancelled"})
_SAYS: Final = wording(r"\btim(?:ed?|ing)[- ]?out\b", r"\bcancell?ed\b", r"\bhung\b|did not (?:finish|complete|respond)")


def _match(evidence: Evidence) -> str | None:
    if evidence.hook_outcome in _OUTCOMES:
        return line(evidence, f"hook outcome {evidence.hook_outcome}")
    return mentions(evidence, _SAYS)


RULE: Final = Rule(Family.HOOK, Kind.TIMEOUT, Retry.HELPS_AFTER_CHANGE, CALL | MODEL | {Layer.HOOK}, _match, __doc__)
