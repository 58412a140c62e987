"""network / stream_stall: the answer fell silent and the client's watchdog gave up.

What it means
    Bytes stopped coming in the middle of a response, longer than somebody's limit: the provider paused, the connection died without a
    sign, a proxy buffers the stream, or the limit is shorter than the model thinks.

Evidence
    The client's `Stream idle timeout` and `stalled` texts, undici's body timeout, a read timeout in the stream layer. A warning that a
    stream stalls, with the stream completed later, is no failure. Where a witness saw the response cut, any timeout of its reader is one.

What to do
    Try again. If it comes back, watch one request at the gateway: pings without content mean that the model thinks, so raise the
    limit (CLAUDE_STREAM_IDLE_TIMEOUT_MS); bursts after silence mean that a proxy buffers, so take it out of the way.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_NAMES: Final = names("UND_ERR_BODY_TIMEOUT", "BodyTimeoutError", "StreamIdleTimeout", "stream_idle_timeout", "stream_stall")
_SILENT: Final = names("ReadTimeout", "ReadTimeoutError", "TimeoutError", "ETIMEDOUT", "APITimeoutError", "client_timeout_error")
_SAYS: Final = wording(
    r"idle[ -]time-?out",
    r"(?:response|stream)\w* (?:has |was )?stall",
    r"stopped arriving",
    r"body timeout",
    r"no (?:data|chunks?|bytes|events?|tokens) (?:was |were )?(?:received|arrived)? ?(?:for|within|in)\b",
)


def _match(evidence: Evidence) -> str | None:
    found = evidence.named(_NAMES) or evidence.says(_SAYS)
    if found is None and (evidence.shown_in is Layer.STREAM or evidence.stream_cut):
        return evidence.named(_SILENT)
    return found


RULE: Final = Rule(Family.NETWORK, Kind.STREAM_STALL, Retry.HELPS, MODEL, _match, __doc__)
