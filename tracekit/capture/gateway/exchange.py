"""The record of one exchange with a model: an attempt from the first, and a model request as soon as there is an answer to speak of.

Before the first byte there is an open `request_attempt`; with it comes an open `model_request`, written again every second in which
something arrives; and at the end both are closed, whole. Whether a client tries again after an error nobody can know: an attempt that
failed leaves no model request, and its `parent_key` is what all attempts of one request have in common.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tracekit.capture.gateway import answer
from tracekit.capture.gateway.asked import AGENT_HEADER, CHAT, Asked, Form, read, session_of
from tracekit.capture.gateway.body import Body
from tracekit.capture.gateway.calls import Calls
from tracekit.capture.gateway.chains import Chain, Chains
from tracekit.capture.gateway.failure import Failure
from tracekit.capture.gateway.message import Block, Response
from tracekit.capture.gateway.moments import Moments
from tracekit.capture.gateway.naming import fresh
from tracekit.capture.gateway.recorder import Recorder
from tracekit.capture.gateway.recording import Ending
from tracekit.model import NO_ATTRIBUTES, Boundary, Source, Span, Status, Value, semconv
from tracekit.model.span import ERROR_EVENT

_SECOND: Final = 1_000_000_000


@dataclass(slots=True)
class Memory:
    """What the exchanges of one gateway know of each other.

    Attributes:
        chains: Attempts that failed and may be tried again.
        calls: Which session each tool call that passed belongs to.
    """

    chains: Chains = field(default_factory=Chains)
    calls: Calls = field(default_factory=Calls)


class Ended(NamedTuple):
    """How a response came to its end."""

    end_ns: int
    status: Status
    cut: str = ""
    """Who broke it off, where it has no message_stop."""
    error: Mapping[str, Value] = NO_ATTRIBUTES


class ModelExchange:
    """Records one exchange.

    Args:
        form: The API that is asked.
        headers: Of the request.
        began_ns: When its head had been read.
        recorder: Takes the observations.
        memory: What the gateway's exchanges know of each other.
        content: Keep what was said, without its secrets.
    """

    def __init__(
        self, form: Form, headers: Mapping[str, str], began_ns: int, *, recorder: Recorder, memory: Memory, content: bool = False
    ) -> None:
        self._form = form
        self._headers = headers
        self._start_ns = began_ns
        self._recorder = recorder
        self._memory = memory
        self._content = content
        self._opened_as = fresh("exchange")
        self._agent_id = headers.get(AGENT_HEADER)
        self._session_id = session_of(headers, "", began_ns)
        self._moments = Moments()
        self._asked: Asked | None = None
        self._sent = b""
        """The request's body, as long as it may be sent again."""
        self._chain = Chain(began_ns)
        self._status: int | None = None
        self._head: dict[str, Value] = {}
        self._request_id = ""
        self._body: Body | None = None
        self._response = Response(content=content)
        self._first_byte_ns: int | None = None
        self._told_ns = 0

    # What passes ------------------------------------------------------------------------------------------------------

    def moment(self, name: str, at_ns: int) -> None:
        """Something happened to the connection."""
        self._moments.add(at_ns, name)

    def asked(self, body: bytes | None, at_ns: int) -> None:
        """The request has been read: from here on its client waits."""
        self._start_ns = at_ns
        self._sent = body or b""
        self._asked = read(self._sent, self._headers, self._form, content=self._content)
        self._session_id = session_of(self._headers, self._asked.user_id, at_ns)
        self._chain = self._memory.chains.begin(self._who, self._sent, at_ns) if self._is_chat else Chain(at_ns)
        self._recorder.write(self._attempt(None, Status.UNSET))

    def answered(self, status: int, headers: Mapping[str, str], at_ns: int) -> None:
        """The head of the answer has come."""
        self._status = status
        self._request_id = headers.get("request-id", "")
        self._head = answer.head(status, headers, at_ns)
        self._moments.add(at_ns, "response.headers", answer.limits(headers))
        self._body = Body(headers)

    def received(self, chunk: bytes, at_ns: int) -> None:
        """A part of the answer's body has come."""
        if self._body is None:
            return
        if self._first_byte_ns is None:
            self._first_byte_ns = at_ns
            self._moments.add(at_ns, "response.first_byte")
        frames = list(self._body.feed(chunk))
        completed = [block for frame in frames if (block := self._response.take(frame, at_ns)) is not None]
        if self._is_stream and at_ns - self._told_ns >= _SECOND:
            self._told_ns, self._sent = at_ns, b""
            self._recorder.write(self._request(None))
        for block in completed:
            self._memory.calls.add(block.call[0], self._session_id, self._agent_id)
            self._recorder.write(self._block(block, block.end_ns or at_ns, Status.OK))

    def ended(self, ending: Ending, at_ns: int, failure: Failure | None = None) -> None:
        """It is over: close what is open."""
        self._moments.add(at_ns, f"closed.{ending}")
        is_answer = self._is_stream or self._is_message()
        end = self._ending(ending, at_ns, failure)
        self._recorder.write(self._attempt(at_ns, *self._attempt_result(ending, failure, is_answer=is_answer)))
        if is_answer:
            for block in [block for block in self._response.blocks.values() if block.end_ns is None]:
                self._recorder.write(self._block(block, max(end.end_ns, block.start_ns), end.status, end.cut))
            self._recorder.write(self._request(end))
        elif self._is_chat and self._sent:
            self._memory.chains.fail(self._who, self._sent, self._chain)

    # What it is -------------------------------------------------------------------------------------------------------

    @property
    def _who(self) -> tuple[str, str | None]:
        return self._session_id, self._agent_id

    @property
    def _is_chat(self) -> bool:
        return self._form.operation == CHAT

    @property
    def _is_stream(self) -> bool:
        """A response of the model has begun to stream."""
        succeeded = self._is_chat and self._status in answer.SUCCESS
        return succeeded and self._body is not None and self._body.is_stream and self._first_byte_ns is not None

    def _is_message(self) -> bool:
        """A response of the model came in one piece."""
        if not self._is_chat or self._status not in answer.SUCCESS or self._body is None or self._body.is_stream:
            return False
        return self._response.take_whole(self._body.value())

    @property
    def _key(self) -> str:
        return self._request_id or self._response.id or self._chain.key

    @property
    def _model(self) -> str:
        asked = self._asked.attributes.get(semconv.REQUEST_MODEL) if self._asked is not None else None
        return str(asked or self._form.model)

    # What is told -----------------------------------------------------------------------------------------------------

    def _attempt(self, end_ns: int | None, status: Status, said: Mapping[str, Value] = NO_ATTRIBUTES) -> Span:
        key = self._opened_as if end_ns is None else self._request_id or self._response.id or self._opened_as
        attributes: dict[str, Value] = {**self._asking(), **self._head, **said}
        if self._asked is not None and self._asked.newest:
            attributes[semconv.CONTENT] = self._asked.newest
        attributes[semconv.ATTEMPT] = max(self._chain.attempts, resent(self._headers) + 1)
        if self._body is not None:
            attributes[semconv.RESPONSE_SIZE] = self._body.size
        if key != self._opened_as:
            attributes[semconv.OPENED_AS] = self._opened_as
        return Span(
            Source.GATEWAY,
            self._session_id,
            Boundary.REQUEST_ATTEMPT,
            key,
            self._start_ns,
            end_ns,
            name=self._model,
            agent_id=self._agent_id,
            parent_key=self._chain.key if self._is_chat else None,
            status=status,
            attributes=attributes,
            events=() if end_ns is None else self._moments.in_order(),
        )

    def _request(self, end: Ended | None) -> Span:
        attributes: dict[str, Value] = {**self._asking(), **self._head, **self._response.facts, **self._arrivals()}
        attributes[semconv.OPENED_AS] = self._chain.key
        if self._response.id:
            attributes[semconv.RESPONSE_ID] = self._response.id
        if self._chain.attempts > 1:
            attributes[semconv.ATTEMPTS] = self._chain.attempts
        if self._body is not None and self._body.unread:
            attributes[semconv.UNREAD] = self._body.unread
        if end is not None:
            attributes |= self._finally(end)
        elif (block := self._response.open_block) is not None:
            attributes |= {semconv.BLOCK_TYPE: block.kind, semconv.BLOCK_INDEX: block.index}
        return Span(
            Source.GATEWAY,
            self._session_id,
            Boundary.MODEL_REQUEST,
            self._key,
            self._chain.first_ns,
            None if end is None else end.end_ns,
            name=self._model,
            agent_id=self._agent_id,
            status=Status.UNSET if end is None else end.status,
            attributes=attributes,
            events=() if end is None else self._response.moments.in_order(),
        )

    def _block(self, block: Block, end_ns: int, status: Status, cut: str = "") -> Span:
        attributes = block.attributes()
        if cut:
            attributes[semconv.STREAM_CUT] = cut
        return Span(
            Source.GATEWAY,
            self._session_id,
            Boundary.STREAM_EVENT,
            f"{self._response.id or self._key}#{block.index}",
            block.start_ns,
            end_ns,
            name=block.kind,
            agent_id=self._agent_id,
            parent_key=self._key,
            status=status,
            attributes=attributes,
            events=block.moments.in_order(),
        )

    def _asking(self) -> dict[str, Value]:
        found: dict[str, Value] = {semconv.OPERATION: self._form.operation, semconv.PROVIDER: self._form.provider}
        found |= self._asked.attributes if self._asked is not None else {}
        if named := self._headers.get("x-client-request-id"):
            found[semconv.CLIENT_REQUEST_ID] = named
        return found

    def _arrivals(self) -> dict[str, Value]:
        times = (
            (semconv.FIRST_BYTE_NS, self._first_byte_ns),
            (semconv.FIRST_CONTENT_NS, self._response.first_content_ns),
            (semconv.LAST_BLOCK_NS, self._response.last_block_ns),
            (semconv.LAST_EVENT_NS, self._response.last_event_ns),
            (semconv.LAST_PING_NS, self._response.last_ping_ns),
        )
        return {name: time_ns for name, time_ns in times if time_ns is not None}

    def _finally(self, end: Ended) -> dict[str, Value]:
        found = dict(end.error)
        if end.cut:
            found[semconv.STREAM_CUT] = end.cut
        if self._body is not None:
            found[semconv.RESPONSE_SIZE] = self._body.size
        return found

    # How it ended -----------------------------------------------------------------------------------------------------

    def _ending(self, ending: Ending, at_ns: int, failure: Failure | None) -> Ended:
        """How the response ended. A message_stop is its end, whatever follows."""
        response, body = self._response, self._body
        if response.stopped_ns is not None:
            return Ended(response.stopped_ns, Status.OK)
        if response.error:
            return Ended(response.error_ns or at_ns, Status.ERROR, ERROR_EVENT if response.error_ns else "", response.error)
        if ending in {Ending.CLIENT, Ending.GATEWAY}:
            return Ended(at_ns, Status.CANCELLED, str(ending))
        if ending is Ending.UPSTREAM:
            return Ended(at_ns, Status.ERROR, str(ending), failure.attributes() if failure is not None else NO_ATTRIBUTES)
        if body is not None and body.unread:
            # It came whole, and what it said nobody knows.
            return Ended(at_ns, Status.UNSET)
        is_cut = body is not None and body.is_stream
        return Ended(at_ns, Status.ERROR, str(Ending.UPSTREAM)) if is_cut else Ended(at_ns, Status.OK)

    def _attempt_result(self, ending: Ending, failure: Failure | None, *, is_answer: bool) -> tuple[Status, Mapping[str, Value]]:
        """How the attempt went as such: that its answer broke off later is told by the request."""
        if is_answer or (self._status in answer.SUCCESS and not self._is_chat):
            return Status.OK, NO_ATTRIBUTES
        if ending in {Ending.CLIENT, Ending.GATEWAY}:
            return Status.CANCELLED, {semconv.STREAM_CUT: str(ending)}
        if self._status is None or self._body is None:
            return Status.ERROR, failure.attributes() if failure is not None else NO_ATTRIBUTES
        return Status.ERROR, answer.error_in(self._status, self._body)


def resent(headers: Mapping[str, str]) -> int:
    """How often the client says that it has sent this before. Claude Code counts elsewhere, and leaves it at 0."""
    said = headers.get("x-stainless-retry-count", "")
    return int(said) if said.isdecimal() else 0
