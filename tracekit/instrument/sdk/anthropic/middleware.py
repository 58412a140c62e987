"""Two middleware of the SDK's public kind: one around all others, where the SDK's span is current, one next to the wire."""

from typing import TYPE_CHECKING, Any, Final

from anthropic import Middleware

from tracekit.instrument.sdk.anthropic.calls import CALL

if TYPE_CHECKING:
    from anthropic._middleware import AsyncCallNext, CallNext
    from anthropic._request import APIRequest
    from anthropic._response import APIResponse, AsyncAPIResponse


class Entrance(Middleware):
    """Around all others: only the SDK stands between the program and this."""

    def handle(self, request: "APIRequest", call_next: "CallNext") -> "APIResponse[Any]":
        """Pass a request on."""
        if (call := CALL.get()) is not None:
            call.entered()
        return call_next(request)

    async def handle_async(self, request: "APIRequest", call_next: "AsyncCallNext") -> "AsyncAPIResponse[Any]":
        """Pass a request on."""
        if (call := CALL.get()) is not None:
            call.entered()
        return await call_next(request)


class Exchange(Middleware):
    """Next to the wire: sees what is sent, and not what another middleware answers by itself."""

    def handle(self, request: "APIRequest", call_next: "CallNext") -> "APIResponse[Any]":
        """Pass a request on, and its answer back."""
        if (call := CALL.get()) is None:
            return call_next(request)
        call.sending(request)
        try:
            response = call_next(request)
        except BaseException as error:
            call.failed_to_send(error)
            raise
        call.answered(response)
        return response

    async def handle_async(self, request: "APIRequest", call_next: "AsyncCallNext") -> "AsyncAPIResponse[Any]":
        """Pass a request on, and its answer back."""
        if (call := CALL.get()) is None:
            return await call_next(request)
        call.sending(request)
        try:
            response = await call_next(request)
        except BaseException as error:
            call.failed_to_send(error)
            raise
        call.answered(response)
        return response


ENTRANCE: Final = Entrance()
EXCHANGE: Final = Exchange()
