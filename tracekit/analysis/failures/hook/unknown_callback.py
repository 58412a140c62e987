"""hook / unknown_callback: the client called a hook of its host that the host does not know.

What it means
    Hooks of the Agent SDK are callbacks in the host's process, known by an id. The host was started anew, or answers for another session,
    so nobody is behind the id. The hook decides nothing.

Evidence
    `No hook callback found for ID`, or other words about a hook callback that is unknown or not registered.

What to do
    Register the same hooks before a session is resumed, and keep one host to one client.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import CALL, MODEL, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, wording

_SAYS: Final = wording(
    r"(?:error in hook callback \S+ )?(?:error: )?\b(?:no|unknown|unregistered|missing) (?:hook )?callback",
    r"(?:error: )?\b(?:hook )?callback\b.{0,60}(?:not (?:found|registered)|unknown|does not exist)",
)


def _match(evidence: Evidence) -> str | None:
    return evidence.says(_SAYS)


RULE: Final = Rule(Family.HOOK, Kind.UNKNOWN_CALLBACK, Retry.HELPS_AFTER_CHANGE, CALL | MODEL | {Layer.HOOK}, _match, __doc__)
