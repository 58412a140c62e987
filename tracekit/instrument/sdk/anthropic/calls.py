"""One call of the SDK: a model request from its first attempt to message_stop, whoever's span it is."""

import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import orjson
from anthropic import APIStatusError
from opentelemetry import trace
from opentelemetry.context import get_current

from tracekit.instrument.claims import CLAIMANT
from tracekit.instrument.guard import guarded
from tracekit.instrument.requests import CHAT, ModelRequest
from tracekit.instrument.runtime import RUNTIME
from tracekit.instrument.sdk.anthropic.asked import model_of, numbers_of, provider_of, size_of
from tracekit.instrument.sdk.anthropic.bodies import watched
from tracekit.instrument.sdk.anthropic.errors import said_by_body, said_by_error
from tracekit.instrument.sdk.anthropic.first import FirstAttempt
from tracekit.instrument.sdk.anthropic.following import Following
from tracekit.instrument.usage import field
from tracekit.model import Status, semconv

if TYPE_CHECKING:
    import httpx2
    from anthropic._base_client import BaseClient
    from anthropic._models import FinalRequestOptions
    from anthropic._request import APIRequest
    from anthropic._response import BaseAPIResponse
    from opentelemetry.sdk.trace import Span

    from tracekit.instrument.attempts import Attempt
    from tracekit.instrument.handle import Told

FOLLOWING: Final = "tracekit.following"
"""Where a response carries who follows its body: among its extensions."""
_SCOPE: Final = "com.anthropic.sdk.python"
"""Whose spans are those of the SDK: of its clients for other platforms, with an addition."""
_SECOND: Final = 1_000_000_000


class Refused(NamedTuple):
    """An answer that is an error: whose, what its body says as far as it was read, and when it came."""

    attempt: "Attempt"
    said: "dict[str, Told]"
    at_ns: int


class Call:
    """One call, from the moment when the SDK takes it to the moment when it gives its result back.

    Of one that sends no request, as where a middleware has its answer, nothing is recorded but the SDK's own span.

    Args:
        client: Whose it is.
        options: What it asks.
        stream: Whether it asks for a stream.
    """

    def __init__(self, client: "BaseClient[Any, Any]", options: "FinalRequestOptions", *, stream: bool) -> None:
        self._client = client
        self._options = options
        self._stream = stream
        self._outside = get_current()
        self._handled = sys.exception()
        self._request: ModelRequest | None = None
        self._tries = 0
        self._first: FirstAttempt | None = None
        """The first attempt, as long as it has not failed."""
        self._attempt: Attempt | None = None
        """The last attempt, where that is not the first, or failed."""
        self._refused: Refused | None = None
        """The last attempt's answer, where that was an error and it is not yet known what the SDK makes of it."""
        self._failure: dict[str, Told] = {}
        """What the last attempt failed of."""
        self._following: Following | None = None
        self._whole_ns: int | None = None
        """When an answer was there in one piece."""
        self._is_returned = False

    def claims(self, span: "Span") -> bool:
        """Whether a span that begins is the SDK's own of this call."""
        scope = span.instrumentation_scope
        is_own = scope is not None and scope.name.startswith(_SCOPE) and (span.attributes or {}).get(semconv.OPERATION) == CHAT
        if self._request is not None or not is_own:
            return False
        self._begin(span)
        return True

    # What its middleware sees -----------------------------------------------------------------------------------------

    @guarded
    def sending(self, sent: "APIRequest") -> None:
        """A request goes out."""
        self._settle()
        if self._following is not None:
            self._following.dismissed()
            self._following = None
        self._attempt_over(RUNTIME.clock())
        self._first = self._attempt = None
        self._tries += 1
        request = self._request or self._begin(self._left_out())
        if self._tries == 1:
            self._first = FirstAttempt(request, model_of(sent.options))
        else:
            self._attempt = request.attempt(self._tries).start()

    def _begin(self, span: trace.Span | None) -> ModelRequest:
        options = self._options
        request = ModelRequest(model_of(options), provider_of(self._client), stream=self._stream, attributes=numbers_of(options))
        if RUNTIME.content and (messages := field(options.json_data, "messages")):
            request.input(messages[-1])
        self._request = request.start() if span is None else request.adopt(span, finish=self._span_ends, is_told=False)
        return request

    def _left_out(self) -> trace.Span | None:
        """The SDK's span, where that is no part of the program's sample: then its request is none either.

        Without a provider the SDK has a span that records nothing and has the identity of the one around it.
        """
        here = trace.get_current_span()
        is_own = here.get_span_context() != trace.get_current_span(self._outside).get_span_context()
        return here if is_own and not here.is_recording() else None

    def _attempt_over(self, at_ns: int) -> None:
        """The last attempt is over, and was none that failed, which would have ended by now."""
        if self._first is not None:
            self._first.end(at_ns)
        elif self._attempt is not None:
            self._attempt.end(at_ns=at_ns)

    def _spanned(self) -> "Attempt | None":
        """The last attempt, which failed, as a span."""
        if self._first is not None:
            self._attempt, self._first = self._first.as_span(), None
        return self._attempt

    @guarded
    def answered(self, response: "BaseAPIResponse[Any]") -> None:
        """The head of an answer came, and of one that does not stream all of it."""
        request, http = self._request, response.http_response
        if request is None:
            return
        request_id, size = http.headers.get("request-id"), size_of(http.request)
        if not http.is_success:
            self._was_refused(http, request_id, size)
            return
        if self._first is not None:
            self._first.answered(http.status_code, request_id, size)
        elif self._attempt is not None:
            _say_answer(self._attempt, http.status_code, request_id, size)
        self._failure = {}
        said: dict[str, Told] = {semconv.HTTP_STATUS: http.status_code}
        if size is not None:
            said[semconv.REQUEST_SIZE] = size
        request.say(said)
        if http.is_closed:
            self._whole_ns = RUNTIME.clock()
            self._attempt_over(self._whole_ns)
            _read(request, http, request_id)
        else:
            request.response(request_id=request_id)
            self._follow(request, http)

    def _was_refused(self, http: "httpx2.Response", request_id: str | None, size: int | None) -> None:
        attempt = self._spanned()
        if attempt is not None:
            _say_answer(attempt, http.status_code, request_id, size)
            self._refused = Refused(attempt, said_by_body(_json(http), http.status_code), RUNTIME.clock())

    def _follow(self, request: ModelRequest, http: "httpx2.Response") -> None:
        """Watch the body of an answer that the program is yet to read."""
        self._following = Following(request, self._attempt_over)
        http.extensions[FOLLOWING] = self._following
        http.stream = watched(http.stream, self._following)

    @guarded
    def failed_to_send(self, error: BaseException) -> None:
        """No answer came."""
        attempt = self._spanned()
        if attempt is not None:
            self._failure = said_by_error(error)
            attempt.say(self._failure)
            attempt.failed(error)

    def _settle(self, error: BaseException | None = None) -> None:
        """End an attempt whose answer was an error. What the SDK raises of it says more than a body that it did not read."""
        refused, self._refused = self._refused, None
        if refused is not None:
            self._failure = said_by_error(error) if isinstance(error, APIStatusError) else refused.said
            refused.attempt.say(self._failure)
            refused.attempt.failed(at_ns=refused.at_ns)

    # What the SDK does with it ----------------------------------------------------------------------------------------

    @guarded
    def waits(self, seconds: float) -> None:
        """The SDK is about to sleep before it tries again."""
        self._settle()
        if self._request is not None:
            self._request.retry_wait(int(seconds * _SECOND)).start()

    @guarded
    def returned(self) -> None:
        """It gave its result back. A stream goes on, and ends by itself."""
        self._is_returned = True
        if self._following is not None:
            self._following.given()
        else:
            self._over(None)

    @guarded
    def failed(self, error: BaseException) -> None:
        """It raised an error."""
        self._over(error)

    def _span_ends(self) -> None:
        """The SDK is about to end its span: before it gives a result back or raises an error, or when a stream is over."""
        error = None if self._is_returned else sys.exception()
        self._over(error if error is not self._handled else None)

    def _over(self, error: BaseException | None) -> None:
        request = self._request
        if request is None:
            return
        self._settle(error)
        if self._following is not None:
            if error is None:
                self._following.left()
            else:
                self._following.broke(error)
        elif error is not None:
            request.say(said_by_error(error))
            request.end(error)
        else:
            request.say(self._failure)
            request.end(status=Status.ERROR if self._failure else None, at_ns=self._whole_ns)


def current_call() -> Call | None:
    """The call that the code is in."""
    claimant = CLAIMANT.get()
    return claimant if isinstance(claimant, Call) else None


def _say_answer(attempt: "Attempt", status: int, request_id: str | None, size: int | None) -> None:
    attempt.answered(status, {"request-id": request_id} if request_id else None)
    if size is not None:
        attempt.say({semconv.REQUEST_SIZE: size})


def _read(request: ModelRequest, http: "httpx2.Response", request_id: str | None) -> None:
    """Read an answer that came in one piece."""
    said = _json(http)
    request.say({semconv.RESPONSE_SIZE: len(http.content)})
    request.response(
        id=field(said, "id"),
        request_id=request_id,
        model=field(said, "model"),
        stop_reason=field(said, "stop_reason"),
        usage=field(said, "usage"),
    )
    content = field(said, "content")
    if RUNTIME.content and content:
        request.output(content)
    _issue(request, content)


def _issue(request: ModelRequest, content: object) -> None:
    """Note the calls that an answer asks for."""
    for block in cast("list[object]", content) if isinstance(content, list) else ():
        if str(field(block, "type")).endswith("tool_use") and (call := field(block, "id")):
            RUNTIME.issued.add(str(call), request)


def _json(http: "httpx2.Response") -> object:
    """What a body says, where it was read; one that was not is the SDK's to read or to leave."""
    try:
        return orjson.loads(http.content) if http.is_closed else None
    except ValueError:
        return None
