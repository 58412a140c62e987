"""Puts our middleware into clients, behind the user's own, and takes it out again."""

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from tracekit.instrument.guard import guarded
from tracekit.instrument.runtime import RUNTIME
from tracekit.instrument.sdk.anthropic.middleware import EXCHANGE
from tracekit.instrument.usage import field

if TYPE_CHECKING:
    from anthropic._base_client import AsyncAPIClient, SyncAPIClient
    from anthropic._middleware import MiddlewareInput

    Client = SyncAPIClient | AsyncAPIClient


class Clients:
    """The clients that have our middleware."""

    def __init__(self) -> None:
        self._joined: WeakSet[Any] = WeakSet()

    @guarded
    def join(self, client: "Client") -> None:
        """See that a client has it. Its copies take it along, and where they add their own, it is not the last any more."""
        self._joined.add(client)
        own = client.middleware
        if own and own[-1] is EXCHANGE:
            return
        _have(client, (*_without_ours(own), EXCHANGE))
        # Spans of a client with a provider of its own are recorded as those of the program's.
        options: Any = getattr(client, "_open_telemetry", None)
        if (provider := field(options, "tracer_provider")) is not None:
            RUNTIME.on_provider(provider)

    @guarded
    def release(self) -> None:
        """Leave them all as they were."""
        for client in list(self._joined):
            _have(client, _without_ours(client.middleware))
        self._joined.clear()


def _without_ours(middleware: "tuple[MiddlewareInput, ...]") -> "tuple[MiddlewareInput, ...]":
    return tuple(one for one in middleware if one is not EXCHANGE)


def _have(client: Any, middleware: "tuple[MiddlewareInput, ...]") -> None:
    """Give a client its middleware, as its constructor does."""
    client._middleware = middleware  # noqa: SLF001  (what is public of it can only be read)
    client._middleware_chain = client._build_middleware_chain()  # noqa: SLF001
