"""What the SDK's errors say: the API's own type and words, or why there was no connection, down to the system's code."""

import errno
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from anthropic import APIConnectionError, APIStatusError

from tracekit.instrument.usage import field
from tracekit.model import semconv
from tracekit.model.redact import error_text

if TYPE_CHECKING:
    from tracekit.instrument.handle import Told

_RESOLVER: Final = {socket.EAI_AGAIN: "EAI_AGAIN", socket.EAI_FAIL: "EAI_FAIL"}


def said_by_error(error: BaseException) -> "dict[str, Told]":
    """Type, text and code of an error that a call or its stream raised; nothing of one that the exception itself says as well."""
    if isinstance(error, APIStatusError):
        return {semconv.HTTP_STATUS: error.status_code, **said_by_body(error.body, error.status_code)}
    said: dict[str, Told] = {}
    if (code := _code(error)) is not None:
        said[semconv.ERROR_CODE] = code
    if isinstance(error, APIConnectionError) and error.__cause__ is not None:
        # The SDK says `Connection error.` of all of them, and what its HTTP client said stands behind it.
        said[semconv.ERROR_TEXT] = error_text(str(error.__cause__))
    return said


def said_by_body(body: object, status: int) -> "dict[str, Told]":
    """What the body of an error answer, or of an error event, says."""
    error = field(body, "error")
    said: dict[str, Told] = {semconv.ERROR_TYPE: str(field(error, "type") or status)}
    if words := field(error, "message"):
        said[semconv.ERROR_TEXT] = error_text(str(words))
    return said


def _code(error: BaseException) -> str | None:
    for cause in _causes(error):
        number = cause.errno if isinstance(cause, OSError) else None
        if isinstance(cause, socket.gaierror):
            return _RESOLVER.get(number or 0, "ENOTFOUND")
        if number is not None and number in errno.errorcode:
            return errno.errorcode[number]
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        yield found
        seen.add(id(found))
        found = found.__cause__ or found.__context__
