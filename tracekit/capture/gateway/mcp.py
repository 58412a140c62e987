"""The record of one exchange with an MCP server over HTTP: JSON-RPC requests going up, responses coming down, paired by their ids."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from tracekit.capture.gateway import answer
from tracekit.capture.gateway.asked import SESSION_HEADER
from tracekit.capture.gateway.body import Body, value_of
from tracekit.capture.gateway.failure import Failure
from tracekit.capture.gateway.fields import Object, as_list, as_object, inner, parsed
from tracekit.capture.gateway.mcp_server import Call, McpServer, result_of, rpc_error
from tracekit.capture.gateway.recorder import Recorder
from tracekit.capture.gateway.recording import Ending
from tracekit.model import Status, Value, semconv

_ACCEPTED = 202


class McpExchange:
    """Records one exchange.

    Args:
        server: Who is asked.
        headers: Of the request.
        endpoint: The address that the server gave the client for its requests, in the older transport; empty in the newer one.
        recorder: Takes the observations.
        content: Keep arguments and results, without their secrets.
    """

    def __init__(
        self, server: McpServer, headers: Mapping[str, str], *, endpoint: str = "", recorder: Recorder, content: bool = False
    ) -> None:
        self._server = server
        self._claimed = headers.get(SESSION_HEADER, "")
        self._headers = headers
        self._session = headers.get("Mcp-Session-Id") or endpoint
        self._recorder = recorder
        self._content = content
        self._open: dict[bytes, Call] = {}
        self._status: int | None = None
        self._body: Body | None = None
        self._may_resume = False

    def moment(self, name: str, at_ns: int) -> None:
        """Of connections to MCP servers nothing is kept: the handshake's own span says how long it took."""

    def asked(self, body: bytes | None, at_ns: int) -> None:
        """The request has been read: open the calls that it makes."""
        for message in _messages(value_of(body or b"", self._headers)):
            if message.get("method") == "notifications/cancelled":
                self._cancel(message, at_ns)
            call = self._server.call(message, self._session, self._claimed, at_ns, content=self._content)
            if call is not None:
                self._open[call.rpc_id] = call
                self._recorder.write(self._server.opened(call))

    def answered(self, status: int, headers: Mapping[str, str], at_ns: int) -> None:
        """The head of the answer has come."""
        del at_ns
        self._status = status
        self._body = Body(headers)
        if (session := headers.get("Mcp-Session-Id")) and not self._session:
            self._session = session
            for call in self._open.values():
                call.attributes[semconv.MCP_SESSION] = session

    def received(self, chunk: bytes, at_ns: int) -> None:
        """A part of the answer's body has come: close the calls that it answers."""
        if self._body is None:
            return
        for frame in list(self._body.feed(chunk)):
            self._may_resume = self._may_resume or frame.has_id
            if frame.name == "endpoint":
                self._session = frame.data.decode("utf-8", "replace")
                self._server.add_endpoint(self._session)
            else:
                self._answer(parsed(frame.data), at_ns)

    def ended(self, ending: Ending, at_ns: int, failure: Failure | None = None) -> None:
        """It is over: close what nobody can answer any more."""
        if self._body is not None and not self._body.is_stream and self._status in answer.SUCCESS:
            self._answer(self._body.value(), at_ns)
        if self._goes_on_elsewhere(ending):
            return
        status, attributes = self._fate(ending, failure)
        for call in list(self._open.values()):
            self._close(call, at_ns, status, attributes)
        if self._session in self._server.endpoints and self._body is not None and self._body.is_stream:
            # In the older transport the stream is the session.
            for call in [call for (session, _), call in self._server.pending.items() if session == self._session]:
                self._close(call, at_ns, status, attributes)

    def _goes_on_elsewhere(self, ending: Ending) -> bool:
        """The answer may still come in another exchange: in a stream that is open already, or in one that resumes this one."""
        if not self._session or ending in {Ending.CLIENT, Ending.GATEWAY}:
            return False
        return self._status == _ACCEPTED or (self._may_resume and self._session not in self._server.endpoints)

    def _answer(self, said: object, at_ns: int) -> None:
        for message in _messages(said):
            if "method" in message or message.get("id") is None:
                continue
            rpc_id = orjson.dumps(message["id"])
            call = self._open.get(rpc_id) or self._server.pending.get((self._session, rpc_id))
            if call is not None:
                status, attributes = result_of(call, message)
                self._close(call, at_ns, status, attributes | ({} if self._status is None else {semconv.HTTP_STATUS: self._status}))

    def _cancel(self, message: Object, at_ns: int) -> None:
        """The client gives a call up. The server may go on with it, and nobody will see how that ends."""
        rpc_id = orjson.dumps(inner(message, "params").get("requestId"))
        call = self._server.pending.get((self._session, rpc_id))
        if call is not None:
            self._close(call, at_ns, Status.CANCELLED, {})

    def _close(self, call: Call, at_ns: int, status: Status, attributes: Mapping[str, Value]) -> None:
        self._open.pop(call.rpc_id, None)
        if self._server.forget(call):
            self._recorder.write(self._server.closed(call, at_ns, status, attributes))

    def _fate(self, ending: Ending, failure: Failure | None) -> tuple[Status, Mapping[str, Value]]:
        """What becomes of calls that got no response of their own."""
        if ending in {Ending.CLIENT, Ending.GATEWAY}:
            return Status.CANCELLED, {semconv.STREAM_CUT: str(ending)}
        if self._status is None or self._body is None:
            return Status.ERROR, failure.attributes() if failure is not None else {}
        found: dict[str, Value] = {semconv.HTTP_STATUS: self._status}
        if self._status in answer.SUCCESS:
            broken = failure.attributes() if failure is not None else {}
            return Status.ERROR, {**found, semconv.STREAM_CUT: str(Ending.UPSTREAM), **broken}
        said = as_object(self._body.value())
        if said.get("jsonrpc"):
            return Status.ERROR, found | rpc_error(said.get("error"))
        return Status.ERROR, {**found, **answer.error_in(self._status, self._body)}


def _messages(said: Any) -> Iterator[Object]:
    """The JSON-RPC messages in a body: one, or a batch of them."""
    yield from (message for item in as_list(said) or [said] if (message := as_object(item)))
