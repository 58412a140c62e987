"""A model request: its attempts, its stream, and what its response was."""

from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from opentelemetry.trace import SpanKind

from tracekit.instrument.attempts import Attempt, RetryWait
from tracekit.instrument.blocks import DELTA, Block, arrival
from tracekit.instrument.endings import Ending, is_cancellation
from tracekit.instrument.guard import blame, guarded
from tracekit.instrument.handle import Handle, Told
from tracekit.instrument.kept import kept_content
from tracekit.instrument.place import Place
from tracekit.instrument.reading import read_event
from tracekit.instrument.runtime import RUNTIME, Moment
from tracekit.instrument.streams import AsyncStream, Stream
from tracekit.instrument.usage import all_input, counted
from tracekit.model import NO_ATTRIBUTES, Boundary, Status, semconv
from tracekit.model.redact import error_text
from tracekit.model.span import ERROR_EVENT

T = TypeVar("T")
_SECOND: Final = 1_000_000_000
CHAT: Final = "chat"
_CUT_BY_SERVER: Final = "upstream"
_CUT_BY_CLIENT: Final = "client"
_OTHER_EVENTS: Final = 4_000
"""Events outside of blocks that are kept."""


class ModelRequest(Handle):
    """One logical request to the model with all its attempts. See `model_request`."""

    boundary = Boundary.MODEL_REQUEST
    kind = SpanKind.CLIENT

    def __init__(
        self,
        model: str,
        provider: str = "anthropic",
        *,
        stream: bool = False,
        parent: Handle | None = None,
        attributes: Mapping[str, Told] = NO_ATTRIBUTES,
    ) -> None:
        said: dict[str, Told] = {semconv.OPERATION: CHAT, semconv.PROVIDER: provider, semconv.REQUEST_MODEL: model}
        if stream:
            said[semconv.STREAM] = True
        super().__init__(f"{CHAT} {model}", parent=parent, attributes={**said, **attributes})
        self._now = RUNTIME.clock
        self._model = model
        self._attempts = 0
        self._attempt: Attempt | None = None
        self._wait: RetryWait | None = None
        self._blocks: dict[int | None, Block] = {}
        self._arrivals: list[Moment] = []
        self._first_byte_ns: int | None = None
        self._first_content_ns: int | None = None
        self._last_ns = 0
        self._told_ns = 0
        self._tokens: dict[str, int] = {}
        self._message_id = ""
        self._request_id = ""
        self._stop_reason: str | None = None
        self._is_messages = False
        """Whether the stream is one of the Messages API, which has a message_stop at its end."""
        self._stopped_ns: int | None = None
        self._exhausted_ns: int | None = None
        self._cut = ""
        self._content: dict[str, object] = {}

    # Its attempts -----------------------------------------------------------------------------------------------------

    def attempt(self, number: int | None = None, *, attributes: Mapping[str, Told] = NO_ATTRIBUTES) -> Attempt:
        """One exchange with the server; give it to `with`, or start it. Where one failed before, a wait between them is told.

        Args:
            number: From 1; None: the next.
            attributes: More to be known of it, by the names of `semconv`.
        """
        try:
            self._end_wait()
            self._attempts = self._attempts + 1 if number is None else number
            self._attempt = Attempt(self._attempts, parent=self, attributes={semconv.REQUEST_MODEL: self._model, **attributes})
        except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
            blame(error)
        return self._attempt or Attempt(1, parent=self)

    def retry_wait(self, delay_ns: int | None = None) -> RetryWait:
        """The sleep before the next attempt; give it to `with`, or start it: the next attempt ends it.

        Args:
            delay_ns: How long it will be, where that is known.
        """
        self._wait = RetryWait(self._attempt or Attempt(0, parent=self), delay_ns, parent=self)
        return self._wait

    def _end_wait(self) -> None:
        failed, wait = self._attempt, self._wait
        if wait is None and failed is not None and failed.ended_ns:
            wait = RetryWait(failed, parent=self).start(at_ns=failed.ended_ns)
        if wait is not None:
            wait.end()
        self._wait = None

    # Its stream -------------------------------------------------------------------------------------------------------

    @guarded
    def first_byte(self, *, at_ns: int | None = None) -> None:
        """The first byte of the response came."""
        if self._first_byte_ns is None and self._live:
            self._first_byte_ns = at_ns or self._now()
            self.say({semconv.FIRST_BYTE_NS: self._first_byte_ns})
            if self._owned:
                # On a span of somebody else's it is theirs to say, and what they count to.
                self.say({semconv.FIRST_CHUNK_S: (self._first_byte_ns - self._start_ns) / _SECOND})
            self._told_ns = self._first_byte_ns
            self._tell()

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
        """An event of the stream came. Blocks begin and end with theirs; message_stop ends the response.

        Args:
            type: Its name, as in the Messages API: `content_block_delta`, ….
            index: Number of its block; None where it belongs to none.
            size: Characters of content that it brings.
            block_type: At a block's start: `text`, `tool_use`, ….
            tool_use_id: At the start of a tool call.
            tool_name: As `tool_use_id`.
            at_ns: When, if not now.
        """
        if not self._live or self._ended:
            return
        try:
            now = at_ns or self._now()
            if type == DELTA and index in self._blocks:
                self.delta(index, size, now)
            else:
                self._other_event(type, now, index, size, (block_type, tool_use_id, tool_name))
        except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
            blame(error)

    def delta(self, index: int | None, size: int, at_ns: int) -> None:
        """A delta of an open block came. `event` for whoever calls it a thousand times in a response, and sees to its errors.

        Args:
            index: Number of the block.
            size: Characters of content that it brings.
            at_ns: When.

        Raises:
            KeyError: No such block is open.
        """
        self._blocks[index].delta(at_ns, size)
        self._last_ns = at_ns
        if at_ns - self._told_ns >= _SECOND:
            self._tell_progress(at_ns)

    def said(self, index: int | None, words: str) -> None:
        """Tell what an event brought to its block, which is kept only with content.

        Args:
            index: Number of the block; where none is open, nothing is kept.
            words: The text, thinking or JSON.
        """
        block = self._blocks.get(index)
        if block is not None:
            block.said(words)

    def _other_event(self, kind: str, now: int, index: int | None, size: int, opening: tuple[str, str, str]) -> None:
        if self._first_byte_ns is None:
            self.first_byte(at_ns=now)
        if kind == "ping":
            self.say({semconv.LAST_PING_NS: now})
        else:
            self._place_event(kind, now, index, size, opening)
        if now - self._told_ns >= _SECOND:
            self._tell_progress(now)

    def _place_event(self, kind: str, now: int, index: int | None, size: int, opening: tuple[str, str, str]) -> None:
        """Note an event where it belongs: in its block, or in the response."""
        self._last_ns = now
        block = self._blocks.get(index)
        if kind == "content_block_start" and index is not None:
            block = self._open_block(index, now, *opening)
        if block is not None:
            block.arrived(now, kind, size)
            if kind == "content_block_stop":
                block.end(at_ns=now)
                self.say({semconv.LAST_BLOCK_NS: now})
                del self._blocks[index]
            return
        if len(self._arrivals) < _OTHER_EVENTS:
            self._arrivals.append(arrival(now, kind, size))
        self._follow(kind, now)

    def _follow(self, kind: str, now: int) -> None:
        if kind == "message_start":
            self._is_messages = True
        elif kind == "message_stop":
            self._stopped_ns = now
        elif kind == "error":
            self._cut = ERROR_EVENT
            self._exhausted_ns = now

    def _open_block(self, index: int, now: int, block_type: str, tool_use_id: str, tool_name: str) -> Block:
        self._is_messages = True
        if self._first_content_ns is None:
            self._first_content_ns = now
        key = f"{self._message_id}#{index}" if self._message_id else None
        block = Block(key, index, block_type, tool_use_id=tool_use_id, tool_name=tool_name, parent=self)
        self._blocks[index] = block.start(at_ns=now)
        if tool_use_id:
            RUNTIME.issued.add(tool_use_id, self)
        return block

    def _tell_progress(self, now: int) -> None:
        self._told_ns = now
        self.say({semconv.LAST_EVENT_NS: self._last_ns})
        self._tell()

    def stream(self, source: Iterable[T], *, read: "Callable[[ModelRequest, T], object] | None" = None) -> Stream[T]:
        """Watch a stream of events as it is iterated over.

        Args:
            source: The stream.
            read: Tells this request of an item, by `event` and `response`; None: items are events of the Messages API.
        """
        reader: Callable[[ModelRequest, Any], object] = read or read_event
        return Stream(source, chunk=lambda item: reader(self, item), end=self._stream_ended, error=self._stream_broke)

    def astream(self, source: AsyncIterable[T], *, read: "Callable[[ModelRequest, T], object] | None" = None) -> AsyncStream[T]:
        """As `stream`, for one that is awaited."""
        reader: Callable[[ModelRequest, Any], object] = read or read_event
        return AsyncStream(source, chunk=lambda item: reader(self, item), end=self._stream_ended, error=self._stream_broke)

    def _stream_ended(self) -> None:
        if self._exhausted_ns is None:
            self._exhausted_ns = self._now()
        if not self._entered:
            self.end()

    def _stream_broke(self, error: BaseException) -> None:
        if self._entered and is_cancellation(error):
            # Whoever reads it stopped; whether all was read by then, message_stop tells.
            self._exhausted_ns, self._cut = self._now(), _CUT_BY_CLIENT
        elif not self._entered:
            self.end(error)

    @guarded
    def left(self) -> None:
        """Whoever reads the stream stopped before its end, which ends it: nobody failed."""
        if self._stopped_ns is None:
            self._cut, self._exhausted_ns = _CUT_BY_CLIENT, self._now()
        self.end()

    # Its response -----------------------------------------------------------------------------------------------------

    @guarded
    def response(
        self,
        *,
        id: str | None = None,  # noqa: A002  (the field's own name for it)
        request_id: str | None = None,
        model: str | None = None,
        stop_reason: str | None = None,
        usage: object = None,
    ) -> None:
        """Tell what the response is; may be called as often as something becomes known.

        Args:
            id: Message id.
            request_id: Header `request-id`.
            model: The model that answered.
            stop_reason: Why it stopped.
            usage: Token counts under the names of the Messages API, as a mapping or an object; of each the largest holds.
        """
        if self._ended:
            return
        if id:
            self._message_id = self._to_say[semconv.RESPONSE_ID] = id
        if request_id:
            self._request_id = self._to_say[semconv.REQUEST_ID] = request_id
        if id or request_id:
            # The request id goes before the message id, which goes before nothing.
            self._key = self._request_id or self._message_id
        if model:
            self._to_say[semconv.RESPONSE_MODEL] = model
        if stop_reason:
            self._stop_reason = stop_reason
        if usage is not None:
            self._count(usage)

    def _count(self, usage: object) -> None:
        for name, number in counted(usage).items():
            self._tokens[name] = max(number, self._tokens.get(name, 0))

    @guarded
    def input(self, message: object) -> None:
        """Tell the newest message that is sent, which is kept only with content."""
        self._content["input"] = message

    @guarded
    def output(self, content: object) -> None:
        """Tell what an answer says that came in one piece, which is kept only with content. That of a stream its events tell."""
        self._content["output"] = content

    @guarded
    def error_event(self, error_type: str, text: str = "", *, at_ns: int | None = None) -> None:
        """The server said in the stream that it cannot go on."""
        self.event("error", at_ns=at_ns)
        self.say({semconv.ERROR_TYPE: error_type, **({semconv.ERROR_TEXT: error_text(text)} if text else {})})

    # How it ends ------------------------------------------------------------------------------------------------------

    def _outcome(self, error: BaseException | None) -> Status:
        if self._stopped_ns is not None and error is None:
            return Status.OK
        if self._cut == _CUT_BY_CLIENT and error is None:
            return Status.CANCELLED
        return Status.ERROR if self._cut and error is None else super()._outcome(error)

    def _close(self, ending: Ending) -> None:
        error = ending.error
        ending.at_ns = end_ns = self._stopped_ns or self._exhausted_ns or ending.at_ns
        if self._stopped_ns is not None:
            self._cut = ""
        elif self._is_messages and not self._cut:
            self._cut = _CUT_BY_CLIENT if error is not None and is_cancellation(error) else _CUT_BY_SERVER
        for block in self._blocks.values():
            block.cut(self._cut or "true", self._outcome(error), end_ns)
        if self._attempt is not None:
            self._end_attempt(self._attempt, error, end_ns)
        if self._wait is not None:
            self._wait.end(error, at_ns=end_ns)
        self._say_arrivals(ending.said)
        self._say_response(ending.said)
        if self._content:
            ending.said |= kept_content(self._content)

    def _end_attempt(self, attempt: Attempt, error: BaseException | None, end_ns: int) -> None:
        """An answer that broke off later was an answer: its attempt went well."""
        if not self.is_named and self._outcome(error) is Status.ERROR:
            # Nobody else knows it: what it is called by is the attempt that it ended with.
            self.named(attempt.key)
        if attempt.request_id and not self._request_id:
            self.response(request_id=attempt.request_id)
        if attempt.is_open:
            attempt.end(None if self._first_byte_ns is not None else error, at_ns=end_ns)

    def _say_arrivals(self, said: dict[str, Told]) -> None:
        if self._first_content_ns is not None:
            said[semconv.FIRST_CONTENT_NS] = self._first_content_ns
        if self._last_ns:
            said[semconv.LAST_EVENT_NS] = self._last_ns
        if self._attempts > 1:
            said[semconv.ATTEMPTS] = self._attempts
        if self._cut:
            said[semconv.STREAM_CUT] = self._cut

    def _say_response(self, said: dict[str, Told]) -> None:
        if self._tokens:
            said |= self._tokens
            total = all_input(self._tokens)
            if total is not None:
                said[semconv.ALL_INPUT_TOKENS] = total
        if self._stop_reason is not None:
            said[semconv.STOP_REASON] = (self._stop_reason,)

    def _standing(self) -> Place:
        session_id, is_named, agent_id, around, _, tool = self._outer
        if is_named:
            self._to_say[semconv.CONVERSATION_ID] = session_id
        # `_replace` takes longer than all the rest of a beginning.
        return Place(session_id, is_named, agent_id, around, self._opened_as, tool)

    def _moments(self) -> list[Moment]:
        return self._arrivals


def model_request(
    model: str,
    provider: str = "anthropic",
    *,
    stream: bool = False,
    parent: Handle | None = None,
    attributes: Mapping[str, Told] = NO_ATTRIBUTES,
) -> ModelRequest:
    """One logical request to the model with all its attempts, from the first to message_stop.

    Args:
        model: The model that is asked.
        provider: Whose it is, by the GenAI conventions: `anthropic`, `aws.bedrock`, `openai`, ….
        stream: Whether the response streams.
        parent: What it is part of; None: what the code stands in.
        attributes: More to be known of it, by the names of `semconv`.
    """
    return ModelRequest(model, provider, stream=stream, parent=parent, attributes=attributes)
