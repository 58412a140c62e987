"""Reads the copy of a body as it comes: undoes content encodings piece by piece. What goes to the client is never touched."""

import importlib
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

_AT_ONCE: Final = 64 * 1024 * 1024
"""Bytes that one piece may become: a recorder need not follow a decompression bomb."""


class Unreadable(Exception):  # noqa: N818  (it is the body that is so, and no error of anybody's)
    """The body cannot be read; says why in a few words."""


class Decoder(Protocol):
    """Undoes one encoding."""

    @property
    def decode(self) -> Callable[[bytes], bytes]:
        """Gives what a piece adds."""
        ...


def decoders(encoding: str) -> tuple[Decoder, ...]:
    """The decoders for a `Content-Encoding`, in the order in which they are to be applied.

    Raises:
        Unreadable: For an encoding that this Python cannot undo.
    """
    named = [name.strip().lower() for name in encoding.split(",")]
    return tuple(_decoder(name) for name in reversed(named) if name not in {"", "identity"})


def decode(steps: tuple[Decoder, ...], piece: bytes) -> bytes:
    """Apply decoders to a piece of a body.

    Raises:
        Unreadable: Where the piece is not what the encoding promises.
    """
    for step in steps:
        try:
            piece = step.decode(piece)
        except Unreadable:
            raise
        except Exception as error:  # the libraries' errors have no common base
            raise Unreadable(f"damaged {type(step).__name__.lower()} data") from error
        if len(piece) > _AT_ONCE:
            raise Unreadable("a piece became too large")
    return piece


def _decoder(name: str) -> Decoder:
    if name in {"gzip", "x-gzip"}:
        return Gzip()
    if name == "deflate":
        return Deflate()
    for encoding, module, factory, method in _LIBRARIES:
        if name == encoding and (found := _library(module, factory, method)) is not None:
            return found
    raise Unreadable(f"no decoder for {name}")


class Gzip:
    """gzip, also several members after one another."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def decode(self, piece: bytes) -> bytes:
        """What this piece adds."""
        return b"".join(self._members(piece))

    def _members(self, piece: bytes) -> Iterator[bytes]:
        while piece:
            yield _bounded(self._inner, piece)
            piece = self._inner.unused_data.lstrip(b"\0")
            if self._inner.eof:
                self._inner = zlib.decompressobj(16 + zlib.MAX_WBITS)


class Deflate:
    """deflate, with the wrapping that the standard asks for or, as some servers send it, without."""

    def __init__(self) -> None:
        self._inner: Any = None

    def decode(self, piece: bytes) -> bytes:
        """What this piece adds."""
        if self._inner is None and piece:
            is_wrapped = piece[0] & 0x0F == zlib.DEFLATED
            self._inner = zlib.decompressobj(zlib.MAX_WBITS if is_wrapped else -zlib.MAX_WBITS)
        return _bounded(self._inner, piece) if piece else b""


def _bounded(inner: Any, piece: bytes) -> bytes:
    added: bytes = inner.decompress(piece, _AT_ONCE)
    if inner.unconsumed_tail:
        raise Unreadable("a piece became too large")
    return added


class _Foreign:
    """A decoder of a library that may be there or not."""

    def __init__(self, inner: Any, method: str) -> None:
        self.decode = getattr(inner, method)


_LIBRARIES: Final = (
    ("br", "brotli", "Decompressor", "process"),
    ("br", "brotlicffi", "Decompressor", "decompress"),
    ("zstd", "compression.zstd", "ZstdDecompressor", "decompress"),
    ("zstd", "backports.zstd", "ZstdDecompressor", "decompress"),
)


def _library(module: str, factory: str, method: str) -> Decoder | None:
    try:
        return _Foreign(getattr(importlib.import_module(module), factory)(), method)
    except (ImportError, AttributeError):
        return None
