"""Attempts of one request: the line that announces each, the line that says that it failed, the line that says the client gave up."""

from dataclasses import dataclass
from typing import Final

from tracekit.model import Value, semconv
from tracekit.model.redact import error_text
from tracekit.sources.fields import Object, mapping, milliseconds, text, whole
from tracekit.sources.transcript.entries import Entry, words_in
from tracekit.sources.transcript.timing import REQUEST_AFTER_NS, REQUEST_BEFORE_NS

_COUNTS: Final = (("retryAttempt", semconv.ATTEMPT), ("maxRetries", semconv.MAX_RETRIES))


@dataclass(slots=True)
class Attempt:
    """One `api-request` line: the client is about to send a request."""

    id: str
    stamp_ns: int
    position: int
    model: str
    query_source: str
    closed: bool = False
    """A failure of this attempt has been reported."""


@dataclass(slots=True)
class Failure:
    """One `api_error` line: an attempt failed and the client will try again."""

    uuid: str
    stamp_ns: int
    position: int
    retry_ns: int
    attributes: dict[str, Value]
    waits_for_ns: int
    """The attempt cannot have begun before this: what its entry hangs on, or the last result that it carried."""
    request_id: str | None = None
    """As the server gave it; none where nothing was reached."""
    began_ns: int | None = None
    """When its `api-request` line was written, in clients that write one."""

    @property
    def key(self) -> str:
        """The request id where it is one, else the uuid of the entry."""
        return self.request_id or self.uuid

    def start(self, before_ns: int) -> tuple[int, int]:
        """Earliest and latest start of the attempt, which began no earlier than `before_ns`."""
        return sent(self.began_ns, before_ns, self.stamp_ns)


def sent(announced_ns: int | None, earliest_ns: int, latest_ns: int) -> tuple[int, int]:
    """Earliest and latest start of a request: near the line that announced it, where there is one, and always within the bounds."""
    if announced_ns is None:
        return min(earliest_ns, latest_ns), latest_ns
    latest = min(announced_ns + REQUEST_AFTER_NS, latest_ns)
    return min(max(announced_ns - REQUEST_BEFORE_NS, min(earliest_ns, announced_ns)), latest), latest


def attempt_of(entry: Entry, stamp_ns: int, position: int) -> Attempt:
    """Read an `api-request` entry."""
    model = text(mapping(entry, "params"), "model") or ""
    return Attempt(str(entry.get("id")), stamp_ns, position, model, text(entry, "querySource") or "")


def failure_of(entry: Entry, waits_for_ns: int, stamp_ns: int, position: int) -> Failure:
    """Read an `api_error` entry."""
    delay_ns = milliseconds(entry, "retryInMs") or 0
    failure = Failure(str(entry.get("uuid")), stamp_ns, position, delay_ns, failure_attributes(entry), waits_for_ns)
    request_id = text(mapping(entry, "error"), "requestId", "requestID") or ""
    failure.request_id = request_id if request_id.startswith("req_") else None
    return failure


def failure_attributes(entry: Entry) -> dict[str, Value]:
    """What an `api_error` entry says of why the attempt failed, in all the shapes that clients have written."""
    error = mapping(entry, "error")
    inner = _inner_error(error)
    connection = mapping(error, "connection") or mapping(error, "cause") or mapping(entry, "cause")
    found: dict[str, Value] = {}
    if (status := whole(error, "status")) is not None:
        found[semconv.HTTP_STATUS] = status
    if (kind := text(inner, "type")) is not None:
        found[semconv.ERROR_TYPE] = kind
    if (code := text(connection, "code")) is not None:
        found[semconv.ERROR_CODE] = code
        found.setdefault(semconv.ERROR_TYPE, code)
    words = text(error, "formatted", "message") or text(inner, "message") or text(connection, "message") or code
    if words is not None:
        found[semconv.ERROR_TEXT] = error_text(words)
    if not found:
        # Up to 2.1.17 an Error object lost all its fields when it was written: a network error leaves `{}`.
        found[semconv.ERROR_TYPE] = "no_details"
    return found | {attribute: value for name, attribute in _COUNTS if (value := whole(entry, name)) is not None}


def _inner_error(error: Object) -> Object:
    """Clients have wrapped the API's error once or twice: `{"error": {"error": {"type": …}}}`."""
    inner = mapping(error, "error")
    while deeper := mapping(inner, "error"):
        inner = deeper
    return inner


def gave_up_attributes(entry: Entry) -> dict[str, Value]:
    """What an entry says by which the client gives up on a request, in an assistant's place."""
    words, details = words_in(entry), entry.get("errorDetails")
    found: dict[str, Value] = {semconv.GAVE_UP: True}
    found[semconv.ERROR_TEXT] = error_text(f"{words}\n{details}" if isinstance(details, str) else words)
    if (kind := text(entry, "apiErrorType", "apiError", "error")) is not None:
        found[semconv.ERROR_TYPE] = kind
    if (status := whole(entry, "apiErrorStatus")) is not None:
        found[semconv.HTTP_STATUS] = status
    return found
