"""unknown / unknown: no rule knows this failure.

What it means
    Something failed, and neither its facts nor its text are ones that a rule is written for. It is counted and shown as it is, and no
    other verdict is guessed.

Evidence
    The text itself, or what facts there are.

What to do
    Read the text, and look at what happened before anything is repeated: no advice can rest on a text that was not understood. If it
    is a sort of failure that others meet too, report it with its text, so that a rule can be written.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule


def _match(evidence: Evidence) -> str | None:
    facts = [f"HTTP {evidence.http}"] if evidence.http else []
    facts += [f"error type {original}" for original in evidence.names.values()]
    return evidence.quoted() or ", ".join(facts) or "nothing is known of it"


RULE: Final = Rule(Family.UNKNOWN, Kind.UNKNOWN, Retry.HELPS_AFTER_CHANGE, frozenset(Layer), _match, __doc__)
