"""hook / invalid_output: a hook answered with something that is no valid answer.

What it means
    The hook printed what looks like JSON and does not parse, or whose fields are not those of the event: two documents one after the
    other, a banner of the shell's profile before it, a missing `hookEventName`. The client ignores the answer, so what the hook wanted to
    block goes on.

Evidence
    The client's words about a hook's JSON or its validation, on a hook's line. The same words about a tool's input are `tool / input`.

What to do
    Print exactly one JSON document, made by an encoder (`jq`, `json.dumps`), with the fields of the event. Send everything else to stderr.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.hook.wording import mentions
from tracekit.analysis.failures.layer import CALL, MODEL, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, wording

_SAYS: Final = wording(
    r"hook (?:json )?output (?:has|is|does|must|contains)\b",
    r"json (?:output )?(?:validation|parse|schema)",
    r"(?:not|in)[- ]?valid json|looks like (?:a )?json|unable to parse json|unexpected token",
    r"output validation failed|missing required field|invalid (?:hook )?output",
)


def _match(evidence: Evidence) -> str | None:
    return mentions(evidence, _SAYS)


RULE: Final = Rule(Family.HOOK, Kind.INVALID_OUTPUT, Retry.HELPS_AFTER_CHANGE, CALL | MODEL | {Layer.HOOK}, _match, __doc__)
