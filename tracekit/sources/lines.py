"""JSON lines as they are found in the world: torn, glued, binary, endless. Every unreadable line becomes a Problem."""

import json
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Final, NamedTuple

import orjson

from tracekit.model import Problem
from tracekit.sources.fields import Object, is_object

LINE_LIMIT: Final = 96 * 1024 * 1024
"""Bytes of one line that are still read: an OTLP body of 64 MiB in base64, and some. The longest of a real transcript is 1 MB."""

_BOM: Final = b"\xef\xbb\xbf"
_decode_one: Final[Callable[[str, int], tuple[Any, int]]] = json.JSONDecoder().raw_decode


class Line(NamedTuple):
    """One line of a file."""

    number: int
    """From 1."""
    position: int
    """Byte offset of its first byte."""
    raw: bytes
    """Without the newline."""
    ended: bool = True
    """False: the file ends here without a newline, so the line may still be growing."""


def read_lines(handle: BinaryIO, *, position: int = 0, number: int = 1, limit: int = LINE_LIMIT) -> Iterator[Line | Problem]:
    """Read lines from `position` on, holding no more than one line.

    A line over `limit` bytes becomes a Problem and is passed over without being held.
    """
    handle.seek(position)
    while raw := handle.readline(limit + 1):
        if raw[-1] == 10:  # noqa: PLR2004  (the newline)
            yield Line(number, position, raw[:-1])
            position += len(raw)
        elif len(raw) <= limit:
            yield Line(number, position, raw, ended=False)
            return
        else:
            start = position
            position += len(raw) + _skip_line(handle)
            yield Problem(number, start, "line too long", f"over {limit:,} bytes")
        number += 1


def _skip_line(handle: BinaryIO) -> int:
    skipped = 0
    while piece := handle.readline(1 << 20):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped


def objects(line: Line) -> list[tuple[int, Object]] | Problem:
    """Parse a line into the JSON objects on it, each with its byte offset in the file.

    Usually one. Two objects glued together, as in files that were restored without their last newline, are two.
    A blank line gives an empty list.
    """
    try:
        value = orjson.loads(line.raw)
    except orjson.JSONDecodeError:
        return _slowly(line)
    return [(line.position, value)] if is_object(value) else _not_an_object(line, value)


def _slowly(line: Line) -> list[tuple[int, Object]] | Problem:
    """Read what orjson refuses: a byte order mark, blank lines, glued objects, lone surrogates, NaN."""
    raw = line.raw.removeprefix(_BOM) if line.position == 0 else line.raw
    if not raw.strip(b" \t\r\n"):
        return []
    if not raw.strip(b"\0"):
        return Problem(line.number, line.position, "NUL bytes", f"{len(raw)} bytes")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        return Problem(line.number, line.position, "not UTF-8", error.reason) if line.ended else _unfinished(line, error.reason)
    found: list[tuple[int, Object]] = []
    offset, at, seen = line.position + len(line.raw) - len(raw), 0, 0
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
            continue
        try:
            value, end = _decode_one(text, at)
        except json.JSONDecodeError as error:
            return _broken(line, error)
        except (RecursionError, ValueError) as error:
            detail = "nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"
            return Problem(line.number, line.position, "beyond limits", detail)
        offset, seen = offset + len(text[seen:at].encode(errors="surrogatepass")), at
        if not is_object(value):
            rest = text[end:].strip(" \t\r")
            return _broken(line, json.JSONDecodeError("Extra data", text, end)) if rest else _not_an_object(line, value)
        found.append((offset, value))
        at = end
    return found


def _not_an_object(line: Line, value: object) -> Problem:
    kind = "null" if value is None else type(value).__name__
    return Problem(line.number, line.position, "not an object", f"the line is a JSON {kind}")


def _unfinished(line: Line, detail: str) -> Problem:
    return Problem(line.number, line.position, "unfinished last line", f"{detail}; read again when the file grows")


def _broken(line: Line, error: json.JSONDecodeError) -> Problem:
    detail = f"{error.msg} at character {error.pos}"
    if not line.ended:
        return _unfinished(line, detail)
    opened = line.raw.lstrip().startswith((b"{", b"["))
    return Problem(line.number, line.position, "truncated line" if opened else "not JSON", detail)
