"""What the head of an answer says beside its body, and what a body says that is no response of the model."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final

from tracekit.capture.gateway.body import Body
from tracekit.capture.gateway.fields import Object, as_list, as_object, inner, text
from tracekit.model import Value, semconv
from tracekit.model.redact import LIMIT, error_text

SUCCESS: Final = range(200, 300)

_SECOND: Final = 1_000_000_000
_IDS: Final = ("request-id", "x-amzn-requestid")
_TOLD: Final = frozenset({"retry-after", "retry-after-ms", "x-should-retry"})
_TOLD_FAMILY: Final = "anthropic-ratelimit-"
_LONGEST: Final = 200
_NO_MESSAGE: Final[Mapping[str, Value]] = {semconv.ERROR_TYPE: "not a message"}


def head(status: int, headers: Mapping[str, str], at_ns: int) -> dict[str, Value]:
    """The facts that stand in the head of an answer."""
    found: dict[str, Value] = {semconv.HTTP_STATUS: status}
    if named := next((value for name in _IDS if (value := headers.get(name))), None):
        found[semconv.REQUEST_ID] = named
    if kind := headers.get("x-amzn-errortype"):
        found[semconv.ERROR_TYPE] = kind.partition(":")[0]
    if (delay_ns := retry_delay_ns(headers, at_ns)) is not None:
        found[semconv.RETRY_DELAY_NS] = delay_ns
    return found


def limits(headers: Mapping[str, str]) -> dict[str, Value]:
    """What a server says of its limits, by its own names."""
    named = ((name.lower(), value[:_LONGEST]) for name, value in headers.items())
    return {name: value for name, value in named if name in _TOLD or name.startswith(_TOLD_FAMILY)}


def retry_delay_ns(headers: Mapping[str, str], at_ns: int) -> int | None:
    """How long a server asks to wait, from `retry-after-ms` or `retry-after` (seconds, or a date)."""
    for name, unit in (("retry-after-ms", 1_000_000), ("retry-after", _SECOND)):
        if said := headers.get(name):
            try:
                return max(0, int(float(said) * unit))
            except (ValueError, OverflowError):
                return _until(said, at_ns)
    return None


def _until(date: str, at_ns: int) -> int | None:
    try:
        return max(0, int(parsedate_to_datetime(date).timestamp()) * _SECOND - at_ns)
    except ValueError:
        return None


def error_in(status: int, body: Body) -> Mapping[str, Value]:
    """What a body says of an error. A body that came with a success and is no message is none of ours, so none of it is kept."""
    if status in SUCCESS:
        is_page = body.content_type == "text/html"
        return {semconv.ERROR_TEXT: error_text(body.text(2 * LIMIT))} if is_page else _NO_MESSAGE
    value = body.value()
    said = as_object(next(iter(as_list(value)), value))
    return error_of(said) if said else {semconv.ERROR_TEXT: error_text(body.text(2 * LIMIT))}


def error_of(said: Object) -> dict[str, Value]:
    """What an error body or event says, in the shapes of the Messages API, Google's and Amazon's."""
    error = inner(said, "error") or said
    words = text(error, "message", "Message") or text(said, "error")
    found = ((semconv.ERROR_TYPE, text(error, "type", "status", "__type")), (semconv.ERROR_TEXT, error_text(words)))
    return {name: value for name, value in found if value}
