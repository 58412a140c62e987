"""Requests that wait for their response, in both directions."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import orjson

from tracekit.capture.mcp_tap.wire import Line, Message, Object, Side, object_in, objects_in, text_in
from tracekit.model import Boundary, Source, Span, Status, Value, semconv
from tracekit.model.digest import digest
from tracekit.model.redact import error_text, mask_secrets

TOOL_CALL: Final = "tools/call"
TOOL_USE_ID: Final = "claudecode/toolUseId"
"""Under which name Claude Code puts its id of a tool call into a request's `_meta`."""

_CANCELLED: Final = "notifications/cancelled"


class Server(NamedTuple):
    """The server that is tapped, and whose it is."""

    name: str
    session_id: str


class Calls:
    """What each side still waits for.

    Args:
        server: The server.
        content: Keep arguments, stripped of secrets.
    """

    def __init__(self, server: Server, *, content: bool = False) -> None:
        self._server = server
        self._content = content
        self._open: dict[tuple[Side, str], Span] = {}

    def asked(self, side: Side, message: Message, line: Line) -> Iterator[Span]:
        """A request passed."""
        if message.id is None:
            return
        if before := self._open.pop((side, message.id), None):
            yield _closed(before, line.last_ns, Status.CANCELLED, {semconv.ERROR_TEXT: "its id was used again before it was answered"})
        call = self._open[side, message.id] = self._call(message, line)
        yield call

    def answered(self, side: Side, message: Message, line: Line) -> Iterator[Span]:
        """A response passed, to a request of the other side."""
        call = self._open.pop((side.other, message.id or ""), None)
        if call is not None:
            status, told = _outcome(message)
            yield _closed(call, line.last_ns, status, told)

    def noticed(self, side: Side, message: Message, line: Line) -> Iterator[Span]:
        """A notification passed: whoever cancels a request of its own waits for it no longer."""
        number = message.params.get("requestId")
        call = self._open.pop((side, orjson.dumps(number).decode()), None) if message.method == _CANCELLED else None
        if call is not None:
            reason = text_in(message.params, "reason")
            yield _closed(call, line.last_ns, Status.CANCELLED, {semconv.ERROR_TEXT: error_text(reason)} if reason else {})

    def broken_off(self, at_ns: int, status: Status, why: str) -> Iterator[Span]:
        """Nobody answers any more."""
        for call in self._open.values():
            yield _closed(call, at_ns, status, {semconv.ERROR_TEXT: f"connection closed: {why} before it answered"})
        self._open.clear()

    def _call(self, message: Message, line: Line) -> Span:
        method = message.method or ""
        tool = text_in(message.params, "name") if method == TOOL_CALL else None
        tool_use_id = text_in(object_in(message.params, "_meta"), TOOL_USE_ID)
        attributes: dict[str, Value] = {
            semconv.MCP_SERVER: self._server.name,
            semconv.MCP_METHOD: method,
            semconv.MCP_TRANSPORT: "pipe",
            semconv.JSONRPC_ID: message.shown_id,
        }
        if tool is not None:
            attributes |= {semconv.TOOL_NAME: tool, **self._arguments(message.params)}
        if tool_use_id is not None:
            attributes[semconv.TOOL_CALL_ID] = tool_use_id
        return Span(
            Source.MCP_TAP,
            self._server.session_id,
            Boundary.MCP_CALL,
            tool_use_id or f"{self._server.name}/{message.shown_id}@{line.first_ns}",
            line.first_ns,
            None,
            name=tool or method,
            parent_key=tool_use_id or self._server.session_id,
            start_slack_ns=line.last_ns - line.first_ns,
            attributes=attributes,
        )

    def _arguments(self, params: Object) -> dict[str, Value]:
        data = orjson.dumps(params.get("arguments", {}))
        found: dict[str, Value] = {semconv.TOOL_INPUT_SIZE: len(data), semconv.TOOL_INPUT_DIGEST: digest(data)}
        return found | ({semconv.CONTENT: mask_secrets(data.decode())} if self._content else {})


def said_wrong(error: Object) -> dict[str, Value]:
    """What is kept of a JSON-RPC error."""
    code, text = error.get("code"), text_in(error, "message")
    found: dict[str, Value] = {} if code is None else {semconv.RPC_STATUS: str(code), semconv.ERROR_TYPE: str(code)}
    return found | ({semconv.ERROR_TEXT: error_text(text)} if text else {})


def _outcome(message: Message) -> tuple[Status, dict[str, Value]]:
    if message.error is not None:
        return Status.ERROR, said_wrong(message.error)
    parts = objects_in(message.result, "content")
    data = orjson.dumps(parts)
    found: dict[str, Value] = {semconv.TOOL_RESULT_SIZE: len(data), semconv.TOOL_RESULT_DIGEST: digest(data)} if parts else {}
    if message.result.get("isError") is not True:
        return Status.OK, found
    words = "\n".join(text for part in parts if (text := text_in(part, "text")) is not None)
    return Status.ERROR, {**found, semconv.ERROR_TYPE: "tool_error", semconv.ERROR_TEXT: error_text(words)}


def _closed(call: Span, end_ns: int, status: Status, told: dict[str, Value]) -> Span:
    return call._replace(end_ns=end_ns, status=status, attributes={**call.attributes, **told})
