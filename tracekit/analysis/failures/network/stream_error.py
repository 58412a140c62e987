"""network / stream_error: the server broke an answer off with an error event after HTTP 200.

What it means
    The response had begun, so its status stays 200, and then the server said that it cannot go on. What a status says is therefore no
    verdict: gateways log such requests as successes, and SDKs do not retry them.

Evidence
    An error type of the API (`overloaded_error`, `api_error`, `rate_limit_error`) together with HTTP 200 or in the stream layer; the
    client's `Server error mid-response`.

What to do
    Try again in a moment. Complete blocks may have started tools: before you repeat their calls, check what they did.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording
from tracekit.model.span import ERROR_EVENT

_OK = 200
_NAMES: Final = names(
    "overloaded_error",
    "api_error",
    "server_error",
    "internal_server_error",
    "rate_limit_error",
    "timeout_error",
    "UNAVAILABLE",
    "INTERNAL",
    "APIStatusError",
    "ModelStreamErrorException",
    "internalServerException",
    "serviceUnavailableException",
    "throttlingException",
)
_SAYS: Final = wording(
    r"server error mid-response", r"(?:sse|stream(?:ing)?) error\b", r"error (?:event )?in (?:the )?(?:\w+ )?stream\b", r"event: ?error"
)


def _match(evidence: Evidence) -> str | None:
    if evidence.http not in {None, _OK}:
        return None
    named = evidence.named(_NAMES)
    if named and (evidence.http == _OK or evidence.shown_in is Layer.STREAM):
        return f"after HTTP 200, {named}"
    return "an error event ended the stream" if evidence.stream_cut == ERROR_EVENT else evidence.says(_SAYS)


RULE: Final = Rule(Family.NETWORK, Kind.STREAM_ERROR, Retry.HELPS, MODEL, _match, __doc__)
