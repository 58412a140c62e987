"""One response of the model, gathered from the lines of its blocks."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tracekit.model import Boundary, Span, Status, Value, semconv
from tracekit.sources.fields import mapping, text
from tracekit.sources.transcript.attempt import Attempt, Failure, sent
from tracekit.sources.transcript.entries import Entry
from tracekit.sources.transcript.timing import BLOCK_LATE_NS, last_block_estimate, waits_for_message
from tracekit.sources.usage import counted


@dataclass(slots=True)
class Block:
    """One content block: its line is stamped when the client saw it complete."""

    index: int
    kind: str
    stamp_ns: int
    size: int
    position: int
    content: str | None = None


@dataclass(slots=True)
class Response:
    """The lines of one message id."""

    id: str
    session_id: str
    position: int
    version: tuple[int, ...]
    waits_for_ns: int
    """The request cannot have begun before this: its prompt, or the last tool result that it carries."""
    model: str = ""
    request_id: str | None = None
    stop_reason: str | None = None
    query_source: str = ""
    attempt: Attempt | None = None
    blocks: list[Block] = field(default_factory=list[Block])
    usage: dict[str, int] = field(default_factory=dict[str, int])
    failures: list[Failure] = field(default_factory=list[Failure])
    results_early: bool = False
    """Some tool's result stands before the last block: the client starts tools during the stream."""
    ended_ns: int | None = None
    """The response had ended by then at the latest."""
    heard_ns: int = field(init=False)
    """When its last line was written, also if that holds no block."""
    error: dict[str, Value] = field(default_factory=dict[str, Value])
    error_stamp_ns: int | None = None
    cut: str | None = None
    open: bool = False

    @property
    def key(self) -> str:
        """The request id where it is one; redacted transcripts have none."""
        return self.request_id if self.request_id and self.request_id.startswith("req_") else self.id

    @property
    def first_ns(self) -> int:
        """When the first block was complete, or the error came."""
        if self.blocks:
            return self.blocks[0].stamp_ns
        return self.heard_ns if self.error_stamp_ns is None else self.error_stamp_ns

    @property
    def last_ns(self) -> int:
        """Stamp of the last block, or of the error."""
        return max((block.stamp_ns for block in self.blocks), default=self.first_ns)

    def answers(self, attempt: Attempt | None) -> None:
        """This is what became of the attempt that an `api-request` line announced."""
        self.attempt = attempt
        self.query_source = attempt.query_source if attempt else ""

    def __post_init__(self) -> None:
        self.heard_ns = self.waits_for_ns

    def hear(self, message: Entry, stamp_ns: int) -> None:
        """Take what each line of the response repeats. Usage grows from line to line: the largest value of each field counts."""
        self.heard_ns = max(self.heard_ns, stamp_ns)
        self.model = text(message, "model") or self.model
        self.stop_reason = text(message, "stop_reason") or self.stop_reason
        for attribute, tokens in counted(mapping(message, "usage")):
            if tokens > self.usage.get(attribute, -1):
                self.usage[attribute] = tokens

    def start(self) -> tuple[int, int]:
        """Earliest and latest start of the request, over all its attempts."""
        latest = min([self.first_ns, *(failure.stamp_ns for failure in self.failures)])
        announced = self.attempt.stamp_ns if self.attempt is not None else None
        if self.failures:
            announced = self.failures[0].began_ns
        return sent(announced, self.waits_for_ns, latest)

    def spans(self, source: str, agent_id: str | None, parent_key: str) -> Iterator[Span]:
        """The request, its attempts and waits, and its blocks."""
        earliest, latest = self.start()
        end_ns, end_slack_ns = self._end(latest)
        yield Span(
            source,
            self.session_id,
            Boundary.MODEL_REQUEST,
            self.key,
            earliest,
            None if self.open else end_ns,
            name=self.model,
            agent_id=agent_id,
            parent_key=parent_key,
            start_slack_ns=max(0, latest - earliest),
            end_slack_ns=end_slack_ns,
            status=Status.ERROR if self.error or self.cut else Status.UNSET,
            attributes=self._attributes(),
            position=self.position,
        )
        yield from self._attempts(source, agent_id)
        yield from self._blocks(source, agent_id, earliest)

    def _end(self, latest_start: int) -> tuple[int, int]:
        """When the response ended at the latest, and how much earlier that may have been."""
        if not self.blocks:
            end = self.error_stamp_ns if self.error_stamp_ns is not None else self.last_ns
            return end, max(0, min(BLOCK_LATE_NS, end - latest_start))
        last = self.last_ns
        earliest = max(last - BLOCK_LATE_NS, self.start()[0])
        end = max(self.ended_ns if self.ended_ns is not None else last, last)
        return end, max(0, end - earliest)

    def _attributes(self) -> dict[str, Value]:
        found: dict[str, Value] = {semconv.REQUEST_MODEL: self.model} if self.model else {}
        if self.blocks:
            found[semconv.RESPONSE_ID] = self.id
            found[semconv.LAST_BLOCK_NS] = last_block_estimate([block.stamp_ns for block in self.blocks], self.start()[1])
        if self.request_id:
            found[semconv.REQUEST_ID] = self.request_id
        if self.stop_reason:
            found[semconv.STOP_REASON] = self.stop_reason
        if self.query_source:
            found[semconv.QUERY_SOURCE] = self.query_source
        if waits_for_message(self.version):
            found[semconv.TOOLS_WAIT] = True
        elif self.results_early:
            found[semconv.EAGER_TOOLS] = True
        if self.failures:
            # The attempt that was answered, or after which the client gave up, is no failure with a line of its own.
            one_more = bool(self.blocks) or self.attempt is not None or semconv.GAVE_UP in self.error
            found[semconv.ATTEMPTS] = len(self.failures) + one_more
        if self.cut:
            found[semconv.STREAM_CUT] = self.cut
        return found | self.usage | self.error

    def _attempts(self, source: str, agent_id: str | None) -> Iterator[Span]:
        """Each failed attempt and the wait after it. The attempt that answered is the request itself."""
        if not self.failures:
            return
        begins = self.waits_for_ns
        following = [failure.began_ns or failure.stamp_ns for failure in self.failures[1:]]
        following.append(self.attempt.stamp_ns if self.attempt is not None else self.first_ns)
        for number, (failure, next_ns) in enumerate(zip(self.failures, following, strict=True), start=1):
            earliest, latest = failure.start(begins)
            named: dict[str, Value] = {semconv.REQUEST_ID: failure.request_id} if failure.request_id else {}
            known: dict[str, Value] = {semconv.ATTEMPT: number, semconv.RETRY_DELAY_NS: failure.retry_ns}
            attempt = Span(
                source,
                self.session_id,
                Boundary.REQUEST_ATTEMPT,
                f"{self.key}~{number}",
                earliest,
                failure.stamp_ns,
                name=self.model,
                agent_id=agent_id,
                parent_key=self.key,
                start_slack_ns=latest - earliest,
                status=Status.ERROR,
                attributes=known | failure.attributes | named,
                position=failure.position,
            )
            yield attempt
            begins = max(failure.stamp_ns, min(failure.stamp_ns + failure.retry_ns, next_ns))
            yield attempt._replace(
                boundary=Boundary.RETRY_WAIT,
                start_ns=failure.stamp_ns,
                end_ns=begins,
                name="backoff",
                start_slack_ns=0,
                status=Status.UNSET,
                attributes=known,
            )

    def _blocks(self, source: str, agent_id: str | None, earliest: int) -> Iterator[Span]:
        begins = earliest
        for block in self.blocks:
            start = min(begins, block.stamp_ns)
            attributes: dict[str, Value] = {semconv.BLOCK_TYPE: block.kind, semconv.BLOCK_INDEX: block.index}
            attributes[semconv.BLOCK_SIZE] = block.size
            if block.content is not None:
                attributes[semconv.CONTENT] = block.content
            yield Span(
                source,
                self.session_id,
                Boundary.STREAM_EVENT,
                f"{self.id}#{block.index}",
                start,
                block.stamp_ns,
                name=block.kind,
                agent_id=agent_id,
                parent_key=self.key,
                start_slack_ns=block.stamp_ns - start,
                end_slack_ns=min(BLOCK_LATE_NS, block.stamp_ns - start),
                attributes=attributes,
                position=block.position,
            )
            begins = block.stamp_ns
