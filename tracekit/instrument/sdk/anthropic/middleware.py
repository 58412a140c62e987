"""The middleware of the SDK's public kind, next to the wire: sees what is sent, and not what another middleware answers by itself."""

from typing import TYPE_CHECKING, Any, Final

from anthropic import Middleware

from tracekit.instrument.sdk.anthropic.calls import current_call

if TYPE_CHECKING:
    from anthropic._middleware import AsyncCallNext, CallNext
    from anthropic._request import APIRequest
    from anthropic._response import APIResponse, AsyncAPIResponse


class Exchange(Middleware):
    """Tells the call that the code is in of each of its attempts."""

    def handle(self, request: "APIRequest", call_next: "CallNext") -> "APIResponse[Any]":
        """Pass a request on, and its answer back."""
        if (call := current_call()) is None:
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
        if (call := current_call()) is None:
            return await call_next(request)
        call.sending(request)
        try:
            response = await call_next(request)
        except BaseException as error:
            call.failed_to_send(error)
            raise
        call.answered(response)
        return response


EXCHANGE: Final = Exchange()
