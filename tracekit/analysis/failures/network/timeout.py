"""network / timeout: no answer came in time.

What it means
    The request was sent, or the connection begun, and the client or a gateway gave up waiting for the first byte.

Evidence
    ETIMEDOUT, the SDK's `APITimeoutError` and `Request timed out.`, undici's connect and headers timeouts, HTTP 408 or
    499, or the API's `timeout_error`. A stream that fell silent after output is `stream_stall`; a command that ran too long is
    `tool / timeout`.

What to do
    Try again; the client does so by itself. If it comes back, ask for less in one request, or raise API_TIMEOUT_MS where the network is
    slow. The server may have worked on the request, so it can be billed twice.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_REQUEST_TIMEOUT, _CLIENT_CLOSED = 408, 499
_ANSWERED: Final = names("timeout_error", "DEADLINE_EXCEEDED", "ModelTimeoutException")
_NAMES: Final = names(
    "ETIMEDOUT",
    "ESOCKETTIMEDOUT",
    "ERR_TIMED_OUT",
    "ERR_CONNECTION_TIMED_OUT",
    "UND_ERR_CONNECT_TIMEOUT",
    "UND_ERR_HEADERS_TIMEOUT",
    "HeadersTimeoutError",
    "ConnectTimeoutError",
    "ConnectTimeout",
    "ReadTimeout",
    "PoolTimeout",
    "TimeoutError",
    "Timeout",
    "APITimeoutError",
    "APIConnectionTimeoutError",
)
_SAYS: Final = wording(r"tim(?:ed?|ing)[- ]?out", r"deadline exceeded")


def _match(evidence: Evidence) -> str | None:
    answered = evidence.answered(_REQUEST_TIMEOUT, _CLIENT_CLOSED) or evidence.named(_ANSWERED)
    if answered is not None or evidence.http is not None:
        return answered
    return evidence.named(_NAMES) or evidence.says(_SAYS)


RULE: Final = Rule(Family.NETWORK, Kind.TIMEOUT, Retry.HELPS, MODEL, _match, __doc__)
