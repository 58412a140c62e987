"""client / control_timeout: the host asked its client for something and got no answer.

What it means
    Host and CLI talk over a control channel. The CLI did not answer, mostly since it died at once or hangs during start; the network has
    no part in it. The host waits its full 60 s although the cause is in the CLI's stderr.

Evidence
    `Control request timeout: initialize` and its like, from an SDK.

What to do
    Start the CLI by hand with the same arguments: a session id that does not exist, a broken configuration, or a version that does not
    fit the SDK shows at once.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, wording

_SAYS: Final = wording(
    r"control (?:request|response|protocol)\b.{0,30}tim(?:ed?|ing)[- ]?out", r"tim(?:ed?|ing)[- ]?out\b.{0,30}control (?:request|response)"
)


def _match(evidence: Evidence) -> str | None:
    return evidence.says(_SAYS)


RULE: Final = Rule(Family.CLIENT, Kind.CONTROL_TIMEOUT, Retry.HELPS_AFTER_CHANGE, MODEL, _match, __doc__)
