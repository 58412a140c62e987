"""The first attempt of a call, which is mostly its only one: always on record, and a span of its own where it fails.

As a span beside the request's own, an attempt that succeeded says nothing more, and a backend would keep two of everything.
"""

from typing import TYPE_CHECKING, Final

from tracekit.instrument.place import fresh
from tracekit.instrument.record import own_row
from tracekit.instrument.runtime import RUNTIME
from tracekit.model import Boundary, semconv

if TYPE_CHECKING:
    from tracekit.instrument.attempts import Attempt
    from tracekit.instrument.handle import Told
    from tracekit.instrument.requests import ModelRequest

_ATTEMPT: Final = Boundary.REQUEST_ATTEMPT.value


class FirstAttempt:
    """The first attempt.

    Args:
        request: What it is an attempt of.
        model: The model that is asked.
    """

    def __init__(self, request: "ModelRequest", model: str) -> None:
        self._request = request
        self._opened_as = fresh(_ATTEMPT)
        self._start_ns = RUNTIME.clock()
        place = request.place
        self._said: dict[str, Told | None] = {
            semconv.BOUNDARY: _ATTEMPT,
            semconv.KEY: self._opened_as,
            semconv.SESSION_ID: place.session_id,
            semconv.AGENT_ID: place.agent_id,
            semconv.PARENT_KEY: place.request,
            semconv.ATTEMPT: 1,
            semconv.REQUEST_MODEL: model,
        }
        self._is_over = not request.span.is_recording()
        self._tell(None)

    def answered(self, status: int, request_id: str | None, size: int | None) -> None:
        """It has an answer, which is no error."""
        self._said[semconv.HTTP_STATUS] = status
        if request_id:
            self._said[semconv.KEY] = self._said[semconv.REQUEST_ID] = request_id
            self._said[semconv.OPENED_AS] = self._opened_as
        if size is not None:
            self._said[semconv.REQUEST_SIZE] = size

    def end(self, at_ns: int) -> None:
        """Its answer is there, or was left or broken off: that is the response's failure, and not the attempt's."""
        self._tell(at_ns)
        self._is_over = True

    def as_span(self) -> "Attempt":
        """Itself as a span: it failed, so there is more to be said of it."""
        self._is_over = True
        attempt = self._request.attempt(1)
        attempt.named(self._opened_as)
        return attempt.start(at_ns=self._start_ns)

    def _tell(self, end_ns: int | None) -> None:
        if not self._is_over and RUNTIME.recorder is not None:
            RUNTIME.recorder.keep(own_row(self._said, self._start_ns, end_ns))
