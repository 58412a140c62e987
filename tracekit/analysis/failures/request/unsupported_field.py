"""request / unsupported_field: the endpoint does not know a field, a beta or a parameter that the client sends.

What it means
    Client and endpoint are of different age or make: a gateway, Bedrock or another vendor does not take what the newest client sends
    (`thinking`, `effort`, `cache_control`, beta headers). Every request fails in the same way.

Evidence
    An HTTP 400 or 422 that calls a field unknown, extra, unrecognised or unsupported.

What to do
    Turn the feature off (CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS, thinking, effort), or bring gateway and client to the same age.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_NAMES: Final = names("unsupported_parameter", "unknown_parameter", "UnsupportedParamsError", "unknown_field", "extra_forbidden")
_SAYS: Final = wording(
    r"extra inputs are not permitted",
    r"(?:unknown|unrecogni[sz]ed|unexpected|unsupported) (?:request )?(?:fields?|parameters?|arguments?|property|name)\b",
    r"unexpected value.{0,100} for the .{0,3}anthropic-beta|(?:invalid|unsupported|unknown) beta",
    r"cannot find field",
    r"(?:parameter|field|property|header|feature)s?(?: \S{1,60})? (?:is |are )?"
    r"(?:not (?:supported|permitted|allowed)|unsupported|deprecated)",
    r"(?:does not|doesn't) support (?:the )?[`'\"]?\w+[`'\"]? (?:parameter|field|feature|header)",
    r"(?:thinking|effort|temperature|top_p|cache_control|context_management)\S{0,20} (?:is |are )?(?:not supported|unsupported|deprecated)",
    r"model does(?: not|n't) support\b|not supported (?:by|on|with|for) (?:this|the) model",
    r"(?:parameters?|`\w+`) cannot (?:both )?be (?:set|specified|used)",
)


def _match(evidence: Evidence) -> str | None:
    return evidence.named(_NAMES) or evidence.says(_SAYS)


RULE: Final = Rule(Family.REQUEST, Kind.UNSUPPORTED_FIELD, Retry.HELPS_AFTER_CHANGE, MODEL, _match, __doc__)
