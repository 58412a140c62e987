"""From bytes to the objects of a stream: plain lines, lines recorded with their arrival, and arrays of lines."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from tracekit.model import Problem
from tracekit.sources.fields import Object, list_in, text, whole
from tracekit.sources.lines import Line, objects

RawLine = tuple[int, int, bytes, int | None]
"""Line number from 1, byte position, the line without its newline, when it arrived (Unix ns) or None."""

_KINDS: Final = frozenset(
    {
        "assistant",
        "control_cancel_request",
        "control_request",
        "control_response",
        "conversation_reset",
        "rate_limit_event",
        "result",
        "stream_event",
        "system",
        "tool_progress",
        "tool_use_summary",
        "user",
    },
)
_BLANK: Final = b" \t\r\n\xef\xbb\xbf"


class Entry(NamedTuple):
    """One object of the stream."""

    number: int
    position: int
    value: Object
    arrival_ns: int | None
    waited_ns: int = 0
    """For how long it may have lain unread before: whoever stamped it was busy elsewhere."""


def looks_like_stream_json(first_object: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a line of stream-json, plain or recorded with its arrival.

    A transcript's lines are close relatives, but name their session `sessionId`.
    """
    value = dict(first_object)
    if whole(value, "arrival_ns") is not None and isinstance(value.get("line"), dict | list):
        return True
    if text(value, "type") not in _KINDS or "sessionId" in value or "parentUuid" in value:
        return False
    return text(value, "session_id") is not None or isinstance(value.get("request"), dict)


def stamp_line(raw: bytes, arrival_ns: int) -> bytes:
    """The recorded form of a line that arrived at `arrival_ns`, with its newline; nothing for a blank line."""
    stripped = raw.strip(_BLANK)
    return b'{"arrival_ns":%d,"line":%b}\n' % (arrival_ns, stripped) if stripped else b""


def entries(lines: Iterable[RawLine]) -> Iterator[Entry | Problem]:
    """The objects of a stream in their order, and a Problem for each line that is none."""
    rest = iter(lines)
    for number, position, raw, arrival_ns in rest:
        if not raw.strip(_BLANK):
            continue
        if _opens_document(raw):
            yield from _document(number, position, raw, arrival_ns, rest)
        else:
            yield from _line(number, position, raw, arrival_ns)
        break
    for number, position, raw, arrival_ns in rest:
        yield from _line(number, position, raw, arrival_ns)


def _opens_document(raw: bytes) -> bool:
    """An array, or an object that goes on over many lines. Only the first line can open one."""
    stripped = raw.strip(_BLANK)
    return stripped.startswith(b"[") or stripped == b"{"


def _document(number: int, position: int, raw: bytes, arrival_ns: int | None, rest: Iterator[RawLine]) -> Iterator[Entry | Problem]:
    """`--output-format json` writes one document when all is over: its arrival says when its last element happened."""
    pieces = [raw]
    for _, _, more, later_ns in rest:
        pieces.append(more)
        arrival_ns = later_ns if later_ns is not None else arrival_ns
    whole_text = b"\n".join(pieces).strip(_BLANK)
    wrapped = whole_text if whole_text.startswith(b"{") else b'{"elements":%b}' % whole_text
    found = objects(Line(number, position, wrapped))
    if isinstance(found, Problem):
        yield found
        return
    for _, value in found:
        yield from _elements(number, position, list_in(value, "elements") if "elements" in value else [value], arrival_ns)


def _line(number: int, position: int, raw: bytes, arrival_ns: int | None) -> Iterator[Entry | Problem]:
    found = objects(Line(number, position, raw))
    if isinstance(found, Problem):
        yield found
        return
    for offset, value in found:
        recorded_ns = whole(value, "arrival_ns")
        if recorded_ns is None or "line" not in value:
            yield Entry(number, offset, value, arrival_ns)
        elif isinstance(value["line"], dict):
            yield Entry(number, offset, value["line"], recorded_ns, max(0, whole(value, "waited_ns") or 0))
        else:
            yield from _elements(number, offset, list_in(value, "line") or [value["line"]], recorded_ns)


def _elements(number: int, position: int, elements: list[Any], arrival_ns: int | None) -> Iterator[Entry | Problem]:
    for index, element in enumerate(elements):
        if isinstance(element, dict):
            yield Entry(number, position, element, arrival_ns if index == len(elements) - 1 else None)
        else:
            yield Problem(number, position, "not an object", f"a JSON {type(element).__name__} stands in its place")
