"""The attempts of a model request, and the waits between them."""

from collections.abc import Mapping
from typing import Final

from opentelemetry.trace import SpanKind

from tracekit.instrument.endings import Ending
from tracekit.instrument.handle import Handle, Told
from tracekit.model import NO_ATTRIBUTES, Boundary, Status, semconv

_SUCCESS: Final = range(200, 300)
_REQUEST_ID: Final = "request-id"


class Attempt(Handle):
    """One exchange with the server. See `ModelRequest.attempt`.

    Attributes:
        number: From 1.
        request_id: Of the server's answer; empty without one.
    """

    boundary = Boundary.REQUEST_ATTEMPT
    kind = SpanKind.CLIENT

    def __init__(self, number: int, *, parent: Handle | None = None, attributes: Mapping[str, Told] = NO_ATTRIBUTES) -> None:
        said: dict[str, Told] = {semconv.ATTEMPT: number, **attributes}
        if number > 1:
            said[semconv.RESEND_COUNT] = number - 1
        super().__init__(f"attempt {number}", parent=parent, attributes=said)
        self.number = number
        self.request_id = ""
        self._http_status: int | None = None

    def answered(self, status: int, headers: Mapping[str, str] | None = None) -> None:
        """The head of an answer came. Of the headers only `request-id` is kept.

        Args:
            status: HTTP status.
            headers: Of the answer; names in any case.
        """
        self._http_status = status
        self.say({semconv.HTTP_STATUS: status})
        found = next((value for name, value in (headers or {}).items() if name.lower() == _REQUEST_ID), "")
        if found:
            self.request_id = found
            self.named(found)
            self.say({semconv.REQUEST_ID: found})

    def failed(self, error: BaseException | None = None, *, at_ns: int | None = None) -> None:
        """It brought no response: the connection failed, or the answer was an error."""
        self.end(error, status=None if error is not None else Status.ERROR, at_ns=at_ns)

    def _outcome(self, error: BaseException | None) -> Status:
        answered = self._http_status
        if error is None and answered is not None and answered not in _SUCCESS:
            return Status.ERROR
        return super()._outcome(error)

    def _part_of(self) -> str | None:
        return self._outer.request or self._outer.around


class RetryWait(Handle):
    """The client sleeps between two attempts. See `ModelRequest.retry_wait`."""

    boundary = Boundary.RETRY_WAIT

    def __init__(self, after: Attempt, delay_ns: int | None = None, *, parent: Handle | None = None) -> None:
        said: dict[str, Told] = {semconv.ATTEMPT: after.number}
        if delay_ns is not None:
            said[semconv.RETRY_DELAY_NS] = delay_ns
        super().__init__("retry_wait", key=after.key, parent=parent, attributes=said)
        self._is_told = delay_ns is not None

    def _close(self, ending: Ending) -> None:
        if not self._is_told:
            ending.said[semconv.RETRY_DELAY_NS] = ending.at_ns - self._start_ns

    def _part_of(self) -> str | None:
        return self._outer.request or self._outer.around
