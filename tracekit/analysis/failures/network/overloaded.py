"""network / overloaded: the API, or the model asked for, has no capacity at this moment.

What it means
    Too many ask at once, everywhere. It is not your limit and counts against no quota.

Evidence
    HTTP 529, or an `overloaded` type or text, whatever status a gateway made of it (500, 503, 429). `overflow` from Envoy is its
    circuit breaker, so load too.

What to do
    Wait: the client tries up to ten times, each time later. Capacity belongs to a model: another one (`/model`) may answer at once.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_OVERLOADED = 529
_NAMES: Final = names(
    "overloaded_error", "engine_overloaded_error", "server_overloaded", "server_is_overloaded", "model_overloaded", "ModelNotReadyException"
)
_SAYS: Final = wording(
    r"\boverloaded\b",
    r"\b(?:at|over|no|insufficient|out of) capacity\b|capacity constraints",
    r"(?:high|heavy) (?:load|demand)",
    r"reset reason: overflow|\bdegraded\b|model is (?:still )?loading",
    r"(?:server|model|service|system|engine) is (?:currently )?(?:too )?busy",
)


def _match(evidence: Evidence) -> str | None:
    return evidence.answered(_OVERLOADED) or evidence.named(_NAMES) or evidence.says(_SAYS)


RULE: Final = Rule(Family.NETWORK, Kind.OVERLOADED, Retry.HELPS, MODEL, _match, __doc__)
