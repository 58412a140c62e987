"""One request to the model: from the line that announces it, over retries and content blocks, to message_stop."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tracekit.model import Boundary, Event, Source, Span, Status, Value, semconv
from tracekit.model.redact import error_text, mask_secrets
from tracekit.model.withheld import withheld
from tracekit.sources.digest import json_bytes
from tracekit.sources.fields import Object, mapping, number, parts_of, text, whole, words_of
from tracekit.sources.stream_json.clock import EARLY_NS, QUIET_LATE_NS, Moment, Timed
from tracekit.sources.stream_json.edges import between, edges, following, shifted
from tracekit.sources.timestamps import MILLISECOND
from tracekit.sources.transcript.timing import last_block_estimate
from tracekit.sources.usage import counted

ANNOUNCED_NS: Final = 250 * MILLISECOND
"""The server reads a request 11 to 165 ms after the line that announces it has arrived."""

SENT_NS: Final = 100 * MILLISECOND
"""The server reads a request up to 80 ms after the client began to count the time to the first byte."""


@dataclass(slots=True)
class Block:
    """One content block of the response."""

    index: int
    kind: str
    position: int
    start: Moment
    whole: Moment | None = None
    """When the client told it complete: its assistant line comes just before the stream's own word."""
    stopped: Moment | None = None
    size: int | None = None
    content: str | None = None

    @property
    def end(self) -> Moment | None:
        """When it was complete, or the stream gave it up."""
        return self.whole or self.stopped


@dataclass(slots=True)
class Failure:
    """One `api_retry` line: an attempt failed and the client waits before the next."""

    position: int
    at: Moment
    delay_ns: int
    attributes: dict[str, Value]


@dataclass(slots=True)
class Request:
    """What has been read of a request so far."""

    session_id: str
    agent_id: str | None
    uuid: str
    position: int
    start: Moment
    model: str = ""
    serial: bool = False
    """The client is one that starts tools only after the whole message."""
    message_id: str | None = None
    request_id: str | None = None
    first_byte: Timed | None = None
    first_content: Timed | None = None
    blocks: dict[int, Block] = field(default_factory=dict[int, Block])
    failures: list[Failure] = field(default_factory=list[Failure])
    usage: dict[str, Value] = field(default_factory=dict[str, Value])
    error: dict[str, Value] = field(default_factory=dict[str, Value])
    stop_reason: str | None = None
    streamed: bool = False
    """The stream's own events are told, not only whole blocks."""
    delta_seen: bool = False
    stopped: Moment | None = None
    """message_stop."""
    cut: bool | str = False
    has_tools: bool = False
    results_seen: bool = False
    """A result of one of its tools has come."""
    eager: bool = False
    """A result of one of its tools came before its last block, or before message_stop."""
    last: Moment | None = None
    """Its last line."""
    _key: str | None = None

    @property
    def key(self) -> str:
        """The request's identity. Once used it stays, though a later line may name a better one."""
        named = self.request_id if self.request_id is not None and self.request_id.startswith("req_") else None
        self._key = self._key or named or self.message_id or self.uuid
        return self._key

    @property
    def begun(self) -> bool:
        """Some of the response has been seen."""
        return self.message_id is not None or self.first_byte is not None

    @property
    def answered(self) -> bool:
        """Its response is over, or may be: whole blocks do not tell."""
        return self.stopped is not None or (self.begun and not self.streamed)

    @property
    def last_block(self) -> Moment | None:
        """When the last complete block was complete."""
        return max(self._completions(), default=None)

    def _completions(self) -> list[Moment]:
        ends = [block.whole or (None if self.cut else block.stopped) for block in self.blocks.values()]
        return [end for end in ends if end is not None]

    # What was read ---------------------------------------------------------------------------------------------------

    def retry(self, line: Timed) -> None:
        """An attempt failed."""
        value = line.value
        found: dict[str, Value] = {}
        for name, attribute in (("attempt", semconv.ATTEMPT), ("max_retries", semconv.MAX_RETRIES), ("error_status", semconv.HTTP_STATUS)):
            if (count := whole(value, name)) is not None:
                found[attribute] = count
        if (kind := text(value, "error")) is not None:
            found[semconv.ERROR_TYPE] = kind
        delay = number(value, "retry_delay_ms") or 0
        line = self._in_order(line)
        self.failures.append(Failure(line.position, line.moment, int(delay * MILLISECOND), found))
        if self.begun and self.stopped is None:
            # Nothing of the broken response is kept: the next attempt begins anew.
            self.message_id = self.first_byte = self.first_content = None
            self.blocks = {}

    def _in_order(self, line: Timed) -> Timed:
        """A line of the response: it tells of nothing that came before the last one told of, nor before the request."""
        moment = following(self.last, line.moment)
        latest = min(self.start.latest, moment.latest)
        self.start, self.last = Moment(min(self.start.earliest, latest), latest), moment
        return line._replace(moment=moment)

    def event(self, line: Timed, event: Object) -> None:
        """One event of the response's stream."""
        line = self._in_order(line)
        self.streamed = True
        kind = event.get("type")
        if kind == "message_start":
            self._message_start(line, mapping(event, "message"))
        elif kind == "content_block_start":
            index = whole(event, "index")
            block = Block(len(self.blocks) if index is None else index, _kind(mapping(event, "content_block")), line.position, line.moment)
            self.blocks[block.index] = block
        elif kind == "content_block_delta":
            self.first_content = self.first_content or line
        elif kind == "content_block_stop" and (ended := self.blocks.get(whole(event, "index") or 0)) is not None:
            ended.stopped = line.moment
        elif kind == "message_delta":
            self.delta_seen = True
            self.stop_reason = text(mapping(event, "delta"), "stop_reason") or self.stop_reason
            self.count(mapping(event, "usage"))
        elif kind == "error":
            self.error = _stream_error(mapping(event, "error"))
            self.cut = True
        elif kind == "message_stop":
            self.stopped = line.moment
            self.cut = self.cut or not self.delta_seen

    def _message_start(self, line: Timed, message: Object) -> None:
        self.first_byte = line
        self.message_id = text(message, "id") or self.message_id
        self.model = text(message, "model") or self.model
        self.count(mapping(message, "usage"))
        waited = number(line.value, "ttft_ms")
        if waited and not self.failures:
            # The client's own measure: from sending the request to this event.
            latest = min(self.start.latest, line.moment.latest - int(waited * MILLISECOND) + SENT_NS)
            earliest = max(self.start.earliest, line.moment.earliest - int(waited * MILLISECOND) - EARLY_NS)
            self.start = Moment(min(earliest, latest), latest)

    def count(self, usage: Object) -> None:
        """Keep the largest value of each field: only the last word on a response's usage is whole."""
        for attribute, tokens in counted(usage):
            known = self.usage.get(attribute, -1)
            if isinstance(known, int) and tokens > known:
                self.usage[attribute] = tokens

    def answer(self, line: Timed, *, content: bool) -> None:
        """An assistant line: one content block, or in few clients several, now complete."""
        message = mapping(line.value, "message")
        line = self._in_order(line)
        self.message_id = text(message, "id") or self.message_id
        self.request_id = text(line.value, "request_id") or self.request_id
        self.model = text(message, "model") or self.model
        self.stop_reason = text(message, "stop_reason") or self.stop_reason
        self.count(mapping(message, "usage"))
        before = self.last_block or self.start
        for part in parts_of(line.value):
            self._complete(part, line, before, content=content)

    def _complete(self, part: Object, line: Timed, before: Moment, *, content: bool) -> None:
        kind = _kind(part)
        block = next((block for block in self.blocks.values() if block.whole is None and block.kind == kind), None)
        if block is None:
            block = Block(len(self.blocks), kind, line.position, between(before, line.moment))
            self.blocks[block.index] = block
        block.whole = line.moment
        if (kept_out := withheld(_content(part, kind))) is not None:
            block.size = kept_out.size
        else:
            data = _data(part, kind)
            block.size = len(data)
            block.content = mask_secrets(data.decode(errors="replace")) if content else None
        self.has_tools = self.has_tools or kind == "tool_use"

    def fail(self, line: Timed) -> None:
        """The client says in an assistant's place that the request failed, or that its response was cut."""
        self.error = failure_of(line.value)
        if not self.begun or self.request_id is None:
            self.request_id = text(line.value, "request_id") or self.request_id
        if not self.begun:
            self.uuid = text(line.value, "uuid") or self.uuid
        complete = self.stopped is not None and self.delta_seen
        if self.begun and not complete:
            self.cut = text(line.value, "api_error") or True
        self.stopped = self.stopped or line.moment
        self.last = line.moment

    # What is told ----------------------------------------------------------------------------------------------------

    def spans(self, parent_key: str, end: Moment | None, status: Status | None = None) -> Iterator[Span]:
        """The request, its failed attempts and its blocks.

        Args:
            parent_key: Key of its turn.
            end: What came next, where message_stop was not seen; None where nothing did, and the request is open.
            status: How it ended, where the request itself does not say.
        """
        ending = self._ending(end)
        cut = self._is_cut(ending) if status is None else False
        told = Status.ERROR if cut or self.error else Status.OK if ending is not None and self.begun else Status.UNSET
        yield Span(
            Source.STREAM_JSON,
            self.session_id,
            Boundary.MODEL_REQUEST,
            self.key,
            **edges(self.start, ending)._asdict(),
            name=self.model,
            agent_id=self.agent_id,
            parent_key=parent_key,
            status=status or told,
            attributes=self._attributes(cut=cut),
            events=() if ending is not None or self.last is None else (Event(self.last.latest, "last_line"),),
            position=self.position,
        )
        yield from self._attempts(ending)
        yield from self._blocks(ending)

    def _is_cut(self, ending: Moment | None) -> bool | str:
        return self.cut or (self.streamed and self.stopped is None and ending is not None)

    def _ending(self, end: Moment | None) -> Moment | None:
        if self.stopped is not None:
            return self.stopped
        return None if end is None else between(self.last_block or self.last or self.start, end)

    def _attributes(self, *, cut: bool | str) -> dict[str, Value]:
        found: dict[str, Value] = {}
        known = (
            (semconv.REQUEST_MODEL, self.model),
            (semconv.RESPONSE_ID, self.message_id),
            (semconv.REQUEST_ID, self.request_id),
            (semconv.STOP_REASON, self.stop_reason),
            (semconv.STREAM_CUT, cut),
            (semconv.TOOLS_WAIT, self.serial),
            (semconv.EAGER_TOOLS, self.eager and not self.serial),
        )
        found |= {name: value for name, value in known if value}
        if self.first_byte is not None and self.first_byte.measured:
            found[semconv.FIRST_BYTE_NS] = self.first_byte.moment.latest
        if self.first_content is not None and self.first_content.measured:
            found[semconv.FIRST_CONTENT_NS] = self.first_content.moment.latest
        # Of a sub-agent's response only some blocks are passed on.
        if (self.agent_id is None or self.streamed) and (stamps := [end.latest for end in self._completions()]):
            found[semconv.LAST_BLOCK_NS] = last_block_estimate(stamps, self.start.latest)
        if self.failures:
            found[semconv.ATTEMPTS] = len(self.failures) + 1
        return found | self.usage | self.error

    def _attempts(self, ending: Moment | None) -> Iterator[Span]:
        """Each failed attempt and the wait after it. The last attempt is the request itself."""
        begins = self.start
        answered = self.first_byte.moment if self.first_byte is not None else self.last_block or ending
        later: list[Moment | None] = [failure.at for failure in self.failures[1:]]
        for count, (failure, then) in enumerate(zip(self.failures, [*later, answered], strict=False), start=1):
            key = f"{self.key}~{count}"
            waited = _waited(failure, then)
            common: dict[str, Any] = {"agent_id": self.agent_id, "parent_key": self.key, "position": failure.position}
            yield Span(
                Source.STREAM_JSON,
                self.session_id,
                Boundary.REQUEST_ATTEMPT,
                key,
                **edges(begins, failure.at)._asdict(),
                name=self.model,
                status=Status.ERROR,
                attributes=failure.attributes | {semconv.RETRY_DELAY_NS: failure.delay_ns},
                **common,
            )
            attempt = failure.attributes.get(semconv.ATTEMPT, 0)
            yield Span(
                Source.STREAM_JSON,
                self.session_id,
                Boundary.RETRY_WAIT,
                key,
                **edges(failure.at, waited)._asdict(),
                name="backoff",
                attributes={semconv.ATTEMPT: attempt, semconv.RETRY_DELAY_NS: failure.delay_ns},
                **common,
            )
            begins = waited or failure.at

    def _blocks(self, ending: Moment | None) -> Iterator[Span]:
        for block in sorted(self.blocks.values(), key=lambda block: block.index):
            lost = block.whole is None and ending is not None and (block.stopped is None or bool(self.cut))
            attributes: dict[str, Value] = {semconv.BLOCK_TYPE: block.kind, semconv.BLOCK_INDEX: block.index}
            if block.size is not None:
                attributes[semconv.BLOCK_SIZE] = block.size
            if block.content is not None:
                attributes[semconv.CONTENT] = block.content
            if lost:
                attributes[semconv.STREAM_CUT] = True
            yield Span(
                Source.STREAM_JSON,
                self.session_id,
                Boundary.STREAM_EVENT,
                f"{self.message_id or self.key}#{block.index}",
                **edges(block.start, block.end or ending)._asdict(),
                name=block.kind,
                agent_id=self.agent_id,
                parent_key=self.key,
                status=Status.ERROR if lost else Status.OK if block.whole else Status.UNSET,
                attributes=attributes,
                position=block.position,
            )


def failure_of(value: Object) -> dict[str, Value]:
    """What an error line, or a result that is an error, says of the error."""
    found: dict[str, Value] = {}
    if (kind := text(value, "api_error_type", "api_error", "error")) is not None:
        found[semconv.ERROR_TYPE] = kind
    if (status := whole(value, "api_error_status")) is not None:
        found[semconv.HTTP_STATUS] = status
    if words := words_of(parts_of(value)):
        found[semconv.ERROR_TEXT] = error_text(words)
    return found


def _stream_error(error: Object) -> dict[str, Value]:
    kind, words = text(error, "type"), text(error, "message")
    found = ((semconv.ERROR_TYPE, kind), (semconv.ERROR_TEXT, error_text(words) if words else None))
    return {name: value for name, value in found if value}


def _waited(failure: Failure, then: Moment | None) -> Moment | None:
    """When the wait was over: it lasts as long as the client said, unless something proves that it was shorter."""
    if then is None:
        return None
    planned = shifted(failure.at, failure.delay_ns)
    latest = min(planned.latest + QUIET_LATE_NS, then.latest)
    return Moment(min(planned.earliest, latest), latest)


def _kind(part: Object) -> str:
    return text(part, "type") or "unknown"


def _content(part: Object, kind: str) -> Any:
    if kind in {"text", "thinking"}:
        return part.get(kind)
    return part.get("input") if kind == "tool_use" else part


def _data(part: Object, kind: str) -> bytes:
    content = _content(part, kind)
    if kind in {"text", "thinking"}:
        return content.encode(errors="surrogatepass") if isinstance(content, str) else b""
    return json_bytes(content)
