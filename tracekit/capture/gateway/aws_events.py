"""Bedrock's stream: AWS event stream frames, whose `chunk` events hold the Messages API's events in base64.

A frame is its length (4 bytes), the length of its headers (4), a CRC-32 of these (4), headers, payload, and a CRC-32 of all before it (4).
A header is the length of its name (1), the name, the type of its value (1), and the value; a text (type 7) has its length first (2).
https://smithy.io/2.0/aws/amazon-eventstream.html
"""

import base64
import binascii
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Final

from tracekit.capture.gateway.decoding import Unreadable
from tracekit.capture.gateway.fields import as_object, parsed, text
from tracekit.capture.gateway.sse import Frame

CONTENT_TYPE: Final = "application/vnd.amazon.eventstream"

_PRELUDE: Final = 12
_CHECKSUM: Final = 4
_LARGEST: Final = 24 * 1024 * 1024
_SIZES: Final[Mapping[int, int]] = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header's value by its type, where the type fixes them."""
_WITH_LENGTH: Final = frozenset({6, 7})
_TEXT: Final = 7


class AwsFraming:
    """Cuts a stream into the events that its frames hold."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, piece: bytes) -> Iterator[Frame]:
        """The events that this piece completes.

        Raises:
            Unreadable: Where a checksum is wrong: from there on nothing can be found again.
        """
        self._rest += piece
        while len(self._rest) >= _PRELUDE:
            total, headers_size, checksum = struct.unpack_from(">III", self._rest)
            if zlib.crc32(self._rest[:8]) != checksum or not _PRELUDE + _CHECKSUM + headers_size <= total <= _LARGEST:
                raise Unreadable("a damaged frame")
            if len(self._rest) < total:
                return
            frame = bytes(self._rest[:total])
            del self._rest[:total]
            if zlib.crc32(frame[:-_CHECKSUM]) != int.from_bytes(frame[-_CHECKSUM:], "big"):
                raise Unreadable("a damaged frame")
            headers = dict(_headers(frame[_PRELUDE : _PRELUDE + headers_size]))
            yield _event(headers, frame[_PRELUDE + headers_size : -_CHECKSUM])


def _headers(text: bytes) -> Iterator[tuple[str, str]]:
    """The headers whose values are texts."""
    at = 0
    while at < len(text):
        name = text[at + 1 : at + 1 + text[at]].decode("utf-8", "replace")
        at += 1 + text[at]
        kind = text[at]
        at += 1
        if kind in _WITH_LENGTH:
            size = int.from_bytes(text[at : at + 2], "big")
            at += 2
        elif kind in _SIZES:
            size = _SIZES[kind]
        else:
            raise Unreadable("a header of an unknown type")
        if kind == _TEXT:
            yield name, text[at : at + size].decode("utf-8", "replace")
        at += size


def _event(headers: Mapping[str, str], payload: bytes) -> Frame:
    if headers.get(":message-type") in {"exception", "error"}:
        kind = headers.get(":exception-type") or headers.get(":error-code") or "error"
        said = {
            "type": "error",
            "error": {"type": kind, "message": headers.get(":error-message") or text(as_object(parsed(payload)), "message", "Message")},
        }
        return Frame.of("error", json.dumps(said).encode())
    if headers.get(":event-type") != "chunk":
        return Frame.of(headers.get(":event-type", ""), payload)
    try:
        data = base64.b64decode(text(as_object(parsed(payload)), "bytes"), validate=True)
    except binascii.Error as error:
        raise Unreadable("a chunk that is no base64") from error
    return Frame.of("", data)
