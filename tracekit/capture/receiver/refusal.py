"""Why a request is not taken, in the words of both protocols."""

import json
from collections.abc import Mapping
from typing import ClassVar, Final

from tracekit.capture.receiver.signals import JSON

_RETRY_SECONDS: Final = 1
"""When to come again: a group of bodies is on the disk long before."""

_MORE: Final = 0x80
_CODE_TAG: Final = b"\x08"
"""Field 1 of `google.rpc.Status`, a number."""
_MESSAGE_TAG: Final = b"\x12"
"""Field 2, text."""


class Refusal(Exception):  # noqa: N818  (what the sender is told is no error of ours)
    """A request that is not taken.

    Attributes:
        message: What the sender is told.
        http: The HTTP status.
        grpc: The name of the gRPC status.
        code: The number of the gRPC status, which `google.rpc.Status` carries.
        retry_seconds: When to come again; None: never with the same body.
        headers: What an answer over HTTP carries besides.
    """

    http: ClassVar[int]
    grpc: ClassVar[str]
    code: ClassVar[int]
    retry_seconds: ClassVar[int | None] = None
    headers: ClassVar[Mapping[str, str]] = {}

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def status(self, content_type: str) -> bytes:
        """The body of the answer: a `google.rpc.Status` in the type of the request."""
        if content_type == JSON:
            return json.dumps({"code": self.code, "message": self.message}).encode()
        text = self.message.encode()
        return _CODE_TAG + _varint(self.code) + _MESSAGE_TAG + _varint(len(text)) + text


class Malformed(Refusal):
    """The body is not what it says that it is."""

    http, grpc, code = 400, "INVALID_ARGUMENT", 3


class Unauthorised(Refusal):
    """The token is missing or wrong."""

    http, grpc, code = 401, "UNAUTHENTICATED", 16
    headers: ClassVar[Mapping[str, str]] = {"WWW-Authenticate": "Bearer"}

    def __init__(self) -> None:
        super().__init__("this receiver asks for a token: send Authorization: Bearer TOKEN")


class WrongMethod(Refusal):
    """OTLP/HTTP knows POST only."""

    http, grpc, code = 405, "UNIMPLEMENTED", 12
    headers: ClassVar[Mapping[str, str]] = {"Allow": "POST"}

    def __init__(self) -> None:
        super().__init__("OTLP is sent with POST")


class TooSlow(Refusal):
    """The body did not come in time."""

    http, grpc, code = 408, "DEADLINE_EXCEEDED", 4

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the body did not come within {seconds:g} s")


class TooLarge(Refusal):
    """The body is over the limit."""

    http, grpc, code = 413, "RESOURCE_EXHAUSTED", 8

    def __init__(self, limit: int) -> None:
        super().__init__(f"the body is over {limit:,} bytes after decompression; send smaller batches")


class WrongType(Refusal):
    """Neither protobuf nor JSON, or compressed in another way."""

    http, grpc, code = 415, "INVALID_ARGUMENT", 3


class Busy(Refusal):
    """Too much waits to be kept."""

    http, grpc, code = 429, "UNAVAILABLE", 14
    retry_seconds = _RETRY_SECONDS

    def __init__(self) -> None:
        super().__init__("too many bodies wait to be kept; come again")


class Unwritable(Refusal):
    """The disk does not take it, or the receiver is closing."""

    http, grpc, code = 503, "UNAVAILABLE", 14
    retry_seconds = _RETRY_SECONDS


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= _MORE:
        found.append(number & (_MORE - 1) | _MORE)
        number >>= 7
    found.append(number)
    return bytes(found)
