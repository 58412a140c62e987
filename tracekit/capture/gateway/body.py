"""The copy of an answer's body: events where it is a stream, and otherwise the whole of it, up to a limit."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tracekit.capture.gateway import aws_events
from tracekit.capture.gateway.decoding import Decoder, Unreadable, decode, decoders
from tracekit.capture.gateway.fields import parsed
from tracekit.capture.gateway.sse import Frame, SseFraming

_KEPT: Final = 32 * 1024 * 1024
"""Bytes of a body that are kept to be read as a whole: the largest that the Messages API takes or gives."""


class Body:
    """Reads what passes. When it cannot, it says why and looks no further.

    Args:
        headers: Of the answer, or of the request whose body it is.

    Attributes:
        is_stream: The body is made of events.
        content_type: Its media type, without parameters.
        size: Bytes on the wire so far.
        unread: Why it cannot be read; empty where it can.
    """

    def __init__(self, headers: Mapping[str, str]) -> None:
        self.content_type = headers.get("Content-Type", "").partition(";")[0].strip().lower()
        self.size = 0
        self.unread = ""
        self._whole = bytearray()
        self._framing = _framing(self.content_type)
        self._steps: tuple[Decoder, ...] = ()
        try:
            self._steps = decoders(headers.get("Content-Encoding", ""))
        except Unreadable as error:
            self.unread = str(error)

    @property
    def is_stream(self) -> bool:
        """The body is made of events."""
        return self._framing is not None

    def feed(self, piece: bytes) -> Iterator[Frame]:
        """The events that this piece completes."""
        self.size += len(piece)
        if self.unread:
            return
        try:
            plain = decode(self._steps, piece) if self._steps else piece
            if self._framing is not None:
                yield from self._framing.feed(plain)
            else:
                self._keep(plain)
        except Unreadable as error:
            self.unread = str(error)

    def text(self, at_most: int = _KEPT) -> str:
        """The body so far, as text."""
        return bytes(self._whole[:at_most]).decode("utf-8", "replace")

    def value(self) -> Any:
        """The body as the JSON that it is; None where it is none."""
        return None if self.unread else parsed(bytes(self._whole))

    def _keep(self, plain: bytes) -> None:
        if len(self._whole) + len(plain) > _KEPT:
            self._whole.clear()
            raise Unreadable("too large to be kept")
        self._whole += plain


def _framing(content_type: str) -> SseFraming | aws_events.AwsFraming | None:
    if content_type == "text/event-stream":
        return SseFraming()
    return aws_events.AwsFraming() if content_type == aws_events.CONTENT_TYPE else None


def value_of(body: bytes, headers: Mapping[str, str]) -> Any:
    """The value of a whole JSON body, whether its encoding has been undone already or not; None where it is none."""
    value = parsed(body)
    if value is None and (encoding := headers.get("Content-Encoding")):
        encoded = Body({"Content-Encoding": encoding})
        list(encoded.feed(body))
        value = encoded.value()
    return value
