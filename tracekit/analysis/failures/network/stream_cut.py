"""network / stream_cut: the answer broke off: HTTP 200, output began, and no message_stop came.

What it means
    The connection ended in the middle of a response, or the machine slept. The client keeps complete blocks and asks the model to go on.
    A tool whose block was complete may have run although the message is discarded; an unfinished tool block leaves nothing, or
    arguments that do not parse. OpenTelemetry reports such a request as a success.

Evidence
    A response without message_stop; the client's `mid-response` texts; `peer closed connection without sending complete message body`,
    `Premature close`, `terminated`; a reset in the stream layer; tool input whose JSON ends in the middle; and whatever
    else is told of the stream itself and no other rule knows.

What to do
    Try again, or let the client resume. Before you repeat a tool call of the broken message, check whether it already ran. If it comes
    back at the same age of the stream, look for a proxy with a timeout of that length.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording
from tracekit.model.span import ERROR_EVENT

_OK = 200
_NAMES: Final = names(
    "RemoteProtocolError",
    "IncompleteRead",
    "IncompleteReadError",
    "ChunkedEncodingError",
    "ERR_STREAM_PREMATURE_CLOSE",
    "stale_connection",
    "ERR_HTTP2_STREAM_ERROR",
    "ERR_HTTP2_PROTOCOL_ERROR",
    "ERR_INCOMPLETE_CHUNKED_ENCODING",
)
_BROKEN: Final = names(
    "ECONNRESET", "EPIPE", "ECONNABORTED", "UND_ERR_SOCKET", "ConnectionClosed", "ConnectionReset", "ReadError", "connection_failed"
)
_SAYS: Final = wording(
    r"(?<!server error )mid-(?:response|stream(?!\.? the response stalled))",
    r"while thinking, before producing a response",
    r"(?:connection|stream|response|socket).{0,40}before "
    r"(?:completion|message completed|a response was produced|response\.completed|terminal event)",
    r"(?:connection|stream|response|socket).{0,40}in the middle of",
    r"(?:ended|closed|finished|completed) without (?:a |an |any |receiving |sending )*"
    r"(?:message_stop|finish|complet|terminal|event|chunk|data)",
    r"stream (?:was |has been )?(?:terminated|interrupted|disconnected|broken)",
    r"without sending complete message body",
    r"incomplete chunked|chunked encoding",
    r"(?:without|before|missing|no) (?:an? |the )?message_stop",
    r"(?:stream|response|answer|transfer)\b.{0,30}(?:ended|closed|broke off|stopped|cut off) (?:unexpectedly|early|abruptly)",
    r"transfer closed with outstanding",
    r"stream error: stream id|\bRST_STREAM\b|http/?2 stream (?:was )?(?:reset|closed)",
    r"premature(?:ly)? (?:close|end)|closed prematurely",
    r"unexpected (?:eof|end of (?:file|json|stream|input))",
    r"payload is not completed|unexpected event order",
    r"(?:^|: |\()terminated(?=$|[.)]| \()",
    r"(?:system|computer|machine).{0,12}(?:sleep|slept)",
)
_CUT_INPUT: Final = wording(r"inputvalidationerror.*(?:hasvalidjson.{0,4}false|fragment|unterminated|unexpected end)")
_BREAK: Final = wording(
    r"(?:connection|socket|stream|peer|other side).{0,30}(?:closed|reset|lost|disconnected|aborted)|socket hang up|aborted"
)


def _match(evidence: Evidence) -> str | None:
    if evidence.stream_cut and evidence.stream_cut != ERROR_EVENT:
        return "no message_stop" if evidence.stream_cut == "true" else f"no message_stop: {evidence.stream_cut}"
    found = evidence.named(_NAMES) or evidence.says(_SAYS) or evidence.says(_CUT_INPUT)
    streaming = evidence.shown_in is Layer.STREAM or evidence.http == _OK
    if found is None and streaming:
        return evidence.named(_BROKEN) or evidence.says(_BREAK)
    return found


def _match_layer(evidence: Evidence) -> str | None:
    return evidence.quoted() or "failed in the middle of the stream"


RULE: Final = Rule(Family.NETWORK, Kind.STREAM_CUT, Retry.HELPS, MODEL, _match, __doc__)
UNSAID: Final = Rule(Family.NETWORK, Kind.STREAM_CUT, Retry.HELPS, frozenset({Layer.STREAM}), _match_layer, __doc__)
