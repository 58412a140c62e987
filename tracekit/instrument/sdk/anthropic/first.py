"""The first attempt of a call, which is mostly its only one: always on record, and a span of its own where it fails.

As a span beside the request's own, an attempt that succeeded says nothing more, and a backend would keep two of everything.
"""

from typing import TYPE_CHECKING

from tracekit.instrument.place import fresh
from tracekit.instrument.runtime import RUNTIME
from tracekit.model import Boundary, Source, Span, Status, Value, semconv

if TYPE_CHECKING:
    from tracekit.instrument.attempts import Attempt
    from tracekit.instrument.requests import ModelRequest


class FirstAttempt:
    """The first attempt.

    Args:
        request: What it is an attempt of.
        model: The model that is asked.
    """

    def __init__(self, request: "ModelRequest", model: str) -> None:
        self._request = request
        self._opened_as = fresh(Boundary.REQUEST_ATTEMPT)
        self._key = self._opened_as
        self._start_ns = RUNTIME.clock()
        self._model = model
        self._said: dict[str, Value] = {semconv.ATTEMPT: 1, semconv.REQUEST_MODEL: model}
        self._is_over = not request.span.is_recording()
        self._tell(None, Status.UNSET)

    def answered(self, status: int, request_id: str | None, size: int | None) -> None:
        """It has an answer, which is no error."""
        self._said[semconv.HTTP_STATUS] = status
        if request_id:
            self._key = request_id
            self._said |= {semconv.REQUEST_ID: request_id, semconv.OPENED_AS: self._opened_as}
        if size is not None:
            self._said[semconv.REQUEST_SIZE] = size

    def end(self, at_ns: int) -> None:
        """Its answer is there, or was left or broken off: that is the response's failure, and not the attempt's."""
        self._tell(at_ns, Status.OK)
        self._is_over = True

    def as_span(self) -> "Attempt":
        """Itself as a span: it failed, so there is more to be said of it."""
        self._is_over = True
        attempt = self._request.attempt(1)
        attempt.named(self._opened_as)
        return attempt.start(at_ns=self._start_ns)

    def _tell(self, end_ns: int | None, status: Status) -> None:
        if self._is_over or RUNTIME.recorder is None:
            return
        place = self._request.place
        RUNTIME.recorder.tell(
            Span(
                Source.INSTRUMENT,
                place.session_id,
                Boundary.REQUEST_ATTEMPT,
                self._key,
                self._start_ns,
                end_ns,
                name=self._model,
                agent_id=place.agent_id,
                parent_key=place.request,
                status=status,
                attributes=self._said,
            )
        )
