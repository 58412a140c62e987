"""The Anthropic Python SDK's own spans, which follow the GenAI conventions and say more."""

from typing import Final

from tracekit.model import Value, semconv
from tracekit.model.usage import CACHE_TIERS
from tracekit.sources.otlp.agents import genai
from tracekit.sources.otlp.agents.sighting import REQUEST, Sighting
from tracekit.sources.otlp.records import STATUS_ERROR, SpanRecord
from tracekit.sources.otlp.values import integer, present, text

_SCOPE: Final = "com.anthropic.sdk"
_HTTP_OK: Final = 200


def sight(record: SpanRecord) -> Sighting | None:
    """Read a span of the SDK; None where it is somebody else's or no boundary (count_tokens is none)."""
    if not record.scope.startswith(_SCOPE):
        return None
    found = genai.sight(record)
    return _request(record) if found is not None and found.role is REQUEST else found


def _request(record: SpanRecord) -> Sighting:
    own = record.attributes
    request_id = text(own, "anthropic.request.id")
    found = genai.request(record, key=request_id)
    resends = integer(own, "http.request.resend_count")
    more = present(
        (
            (semconv.REQUEST_ID, request_id),
            (semconv.STOP_REASON, text(own, "anthropic.message.stop_reason")),
            *((ours, integer(own, f"anthropic.usage.cache_creation.{theirs}") or None) for theirs, ours in CACHE_TIERS),
            (semconv.ATTEMPTS, None if resends is None else resends + 1),
        ),
    )
    attributes = {name: value for name, value in found.attributes.items() if name != semconv.FIRST_BYTE_NS}
    return found._replace(attributes=attributes | more | _arrival(record, resends) | _cut(record))


def _arrival(record: SpanRecord, resends: int | None) -> dict[str, Value]:
    """The SDK counts to the first content delta, of the attempt that was answered: after a resend the start is not known."""
    return {} if resends else genai.first_chunk(record, semconv.FIRST_CONTENT_NS)


def _cut(record: SpanRecord) -> dict[str, Value]:
    """An error after status 200 is a response that never came to its message_stop."""
    broken = record.status == STATUS_ERROR and integer(record.attributes, "http.response.status_code") == _HTTP_OK
    return {semconv.STREAM_CUT: text(record.attributes, "error.type") or "true"} if broken else {}
