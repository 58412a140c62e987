"""Events of the Messages API, as its SDK's objects or as plain JSON, told to a request."""

from typing import Final, Protocol

from tracekit.instrument.usage import field
from tracekit.model.deltas import CONTENT_OF_DELTA

_CONTENT: Final = ("text", "thinking", "data")
"""Fields of a block's start that are content."""


class Request(Protocol):
    """A request, as far as events tell of it."""

    def event(
        self,
        type: str,  # noqa: A002  (the field's own name for it)
        index: int | None = None,
        size: int = 0,
        *,
        block_type: str = "",
        tool_use_id: str = "",
        tool_name: str = "",
        at_ns: int | None = None,
    ) -> None:
        """An event of the stream came."""
        ...

    def said(self, index: int | None, words: str) -> None:
        """What it brought to its block."""
        ...

    def response(
        self,
        *,
        id: str | None = None,  # noqa: A002  (the field's own name for it)
        model: str | None = None,
        stop_reason: str | None = None,
        usage: object = None,
    ) -> None:
        """Something is known of the response."""
        ...

    def error_event(self, error_type: str, text: str = "", *, at_ns: int | None = None) -> None:
        """The server cannot go on."""
        ...


def read_event(request: Request, event: object, *, at_ns: int | None = None) -> None:
    """Tell a request of an event of its stream, which came at this moment, if not now."""
    kind = field(event, "type")
    if not isinstance(kind, str):
        return
    found = field(event, "index")
    index = found if isinstance(found, int) else None
    if kind == "content_block_delta":
        delta = field(event, "delta")
        name = CONTENT_OF_DELTA.get(field(delta, "type"))
        content = (field(delta, name) if name is not None else "") or ""
        request.event(kind, index, len(content), at_ns=at_ns)
        request.said(index, content)
    elif kind == "content_block_start":
        block = field(event, "content_block")
        call, tool, of = field(block, "id") or "", field(block, "name") or "", field(block, "type") or ""
        content = "".join(value for name in _CONTENT if isinstance(value := field(block, name), str))
        request.event(kind, index, len(content), block_type=of, tool_use_id=call, tool_name=tool, at_ns=at_ns)
        request.said(index, content)
    elif kind == "error":
        error = field(event, "error")
        request.error_event(str(field(error, "type") or "error"), str(field(error, "message") or ""), at_ns=at_ns)
    else:
        _tell_message(request, kind, event)
        request.event(kind, index, at_ns=at_ns)


def _tell_message(request: Request, kind: str, event: object) -> None:
    if kind == "message_start":
        message = field(event, "message")
        request.response(id=field(message, "id"), model=field(message, "model"), usage=field(message, "usage"))
    elif kind == "message_delta":
        request.response(stop_reason=field(field(event, "delta"), "stop_reason"), usage=field(event, "usage"))
