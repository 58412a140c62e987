"""Where the SDK is held: four methods of its clients and streams. All else is told by its middleware."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from anthropic._base_client import AsyncAPIClient, BaseClient, SyncAPIClient
from anthropic._streaming import AsyncStream, Stream

from tracekit.instrument.claims import CLAIMANT
from tracekit.instrument.guard import blame, guarded
from tracekit.instrument.runtime import RUNTIME
from tracekit.instrument.sdk.anthropic.asked import is_model_request
from tracekit.instrument.sdk.anthropic.bodies import Decoder
from tracekit.instrument.sdk.anthropic.calls import FOLLOWING, Call, current_call
from tracekit.instrument.sdk.anthropic.clients import Clients
from tracekit.instrument.sdk.anthropic.following import Following
from tracekit.instrument.sdk.replacing import Replacements
from tracekit.instrument.usage import field

_OPTIONS: Final = 1
"""Place of the options among the arguments of `request`."""


class Seams:
    """What stands in place of the SDK's own methods, while it does."""

    def __init__(self) -> None:
        self._clients = Clients()
        self._replaced = Replacements()

    def put_in(self) -> None:
        """Begin to watch."""
        replace = self._replaced.replace
        replace(SyncAPIClient, "request", self._request)
        replace(AsyncAPIClient, "request", self._async_request)
        replace(Stream, "__init__", self._stream)
        replace(AsyncStream, "__init__", self._stream)
        # Where an SDK computes its sleeps otherwise, they are known when they are over.
        with suppress(LookupError):
            replace(BaseClient, "_calculate_retry_timeout", self._retry_timeout)

    def take_out(self) -> None:
        """Leave everything as it was."""
        self._replaced.restore()
        self._clients.release()

    # What stands there ------------------------------------------------------------------------------------------------

    def _request(self, theirs: Callable[..., Any]) -> Callable[..., Any]:
        def request(client: SyncAPIClient, *args: Any, **kwargs: Any) -> Any:
            call = self._call(client, args, kwargs)
            if call is None:
                return theirs(client, *args, **kwargs)
            outer = CLAIMANT.get()
            CLAIMANT.set(call)
            try:
                result = theirs(client, *args, **kwargs)
            except BaseException as error:
                call.failed(error)
                raise
            finally:
                CLAIMANT.set(outer)
            call.returned()
            return result

        return request

    def _async_request(self, theirs: Callable[..., Any]) -> Callable[..., Any]:
        async def request(client: AsyncAPIClient, *args: Any, **kwargs: Any) -> Any:
            call = self._call(client, args, kwargs)
            if call is None:
                return await theirs(client, *args, **kwargs)
            outer = CLAIMANT.get()
            CLAIMANT.set(call)
            try:
                result = await theirs(client, *args, **kwargs)
            except BaseException as error:
                call.failed(error)
                raise
            finally:
                CLAIMANT.set(outer)
            call.returned()
            return result

        return request

    def _call(self, client: SyncAPIClient | AsyncAPIClient, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        """The record of a call; None where it is none to a model."""
        if not self._replaced.active:
            return None
        try:
            options = kwargs["options"] if "options" in kwargs else args[_OPTIONS]
            if not is_model_request(options):
                return None
            self._clients.join(client)
            # A provider that was set up meanwhile must know us before the SDK's span begins.
            RUNTIME.tracer()
            return Call(client, options, stream=bool(kwargs.get("stream")))
        except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
            blame(error)
            return None

    def _retry_timeout(self, theirs: Callable[..., float]) -> Callable[..., float]:
        def calculate_retry_timeout(client: BaseClient[Any, Any], *args: Any, **kwargs: Any) -> float:
            seconds = theirs(client, *args, **kwargs)
            call = current_call()
            if call is not None:
                call.waits(seconds)
            return seconds

        return calculate_retry_timeout

    def _stream(self, theirs: Callable[..., None]) -> Callable[..., None]:
        def init(stream: Stream[Any] | AsyncStream[Any], *args: Any, **kwargs: Any) -> None:
            theirs(stream, *args, **kwargs)
            _watch_events(stream)

        return init


@guarded
def _watch_events(stream: Any) -> None:
    """Follow the events of a stream whose body is followed."""
    # A stand-in for the response, such as a mock, may have none.
    extensions: Any = getattr(stream.response, "extensions", None)
    following = field(extensions, FOLLOWING)
    if isinstance(following, Following):
        stream._decoder = Decoder(stream._decoder, following)  # noqa: SLF001
