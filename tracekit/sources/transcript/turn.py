"""One turn of one agent: everything that a prompt set off, gathered until nothing in it can change any more."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from tracekit.model import Boundary, Span, Status, Value, semconv
from tracekit.sources.transcript.attempt import Attempt, Failure, sent
from tracekit.sources.transcript.call import Call
from tracekit.sources.transcript.hook import HookRun
from tracekit.sources.transcript.response import Response
from tracekit.sources.transcript.timing import REQUEST_AFTER_NS, waits_for_message


@dataclass(slots=True)
class Turn:
    """What has been read of a turn so far."""

    key: str
    kind: str
    session_id: str
    start_ns: int
    position: int
    attributes: dict[str, Value]
    last_ns: int = 0
    prompt_id: str | None = None
    responses: dict[str, Response] = field(default_factory=dict[str, Response])
    calls: dict[str, Call] = field(default_factory=dict[str, Call])
    hooks: dict[str, HookRun] = field(default_factory=dict[str, HookRun])
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    failures: list[Failure] = field(default_factory=list[Failure])
    others: list[Span] = field(default_factory=list[Span])
    interrupts: int = 0
    interrupted: str | None = None
    waits_for_model: bool = True
    """The last thing was a prompt or a tool result: the model owes the next byte."""
    closed: bool = False
    """The client said that the turn is over."""
    compacting: bool = False
    """Begun by a manual compaction whose command is still to come."""
    reads_from: int = field(init=False)
    """Where reading must begin to read this turn again: at its own first line, or at that of a turn on which it leans."""
    last_position: int = field(init=False)
    """Of the last line that changed anything of it."""
    request_ids: set[str] = field(default_factory=set[str])
    """Of its responses: a redacted or repeated one names no second."""

    def __post_init__(self) -> None:
        self.last_ns = max(self.last_ns, self.start_ns)
        self.reads_from = self.last_position = self.position

    def begin(self, stamp_ns: int) -> None:
        """An entry that was written late shows that the turn began earlier."""
        self.start_ns = min(self.start_ns, stamp_ns)
        self.touch(stamp_ns)
        self.others = [_not_before(span, stamp_ns) for span in self.others]

    def rename(self, prompt_id: str) -> None:
        """The prompt that set it off was written late, and names it."""
        self.others = [span._replace(parent_key=prompt_id) if span.parent_key == self.key else span for span in self.others]
        self.key = self.prompt_id = prompt_id

    def touch(self, stamp_ns: int) -> None:
        """Something of this turn happened."""
        self.last_ns = max(self.last_ns, stamp_ns)

    def saw(self, stamp_ns: int, *, waits_for_model: bool) -> None:
        """Something happened after which the model owes the next byte, or does not."""
        self.waits_for_model = waits_for_model
        self.touch(stamp_ns)

    def attempt_answered(self, reference: object = None) -> Attempt | None:
        """Close the attempt that this is the answer to: the one that is referred to, else the last that is open."""
        for attempt in reversed(self.attempts):
            if attempt.closed or (reference is not None and attempt.id != reference):
                continue
            attempt.closed = True
            return attempt
        return None

    @property
    def last_response(self) -> Response | None:
        """The response whose last block, or error, came last."""
        return max(self.responses.values(), key=lambda response: response.last_ns, default=None)

    @property
    def pending(self) -> bool:
        """Whether a tool call still waits for its result."""
        return any(call.result is None for call in self.calls.values())

    def spans(self, source: str, agent_id: str | None, *, bound_ns: int | None) -> Iterator[Span]:
        """Everything of this turn. `bound_ns` is when the next turn began, None where the file ends in this one."""
        ended = bound_ns is not None or self.interrupted is not None
        finished = ended or self.closed or not (self.waits_for_model or self.pending)
        for call in self.calls.values():
            if call.result is not None and call.result.stamp_ns < call.response.last_ns:
                call.response.results_early = True
        self._bound_responses(self.last_ns if finished else None)
        self._close_hooks(bound_ns)
        if ended:
            for call in self.calls.values():
                if call.result is None:
                    call.gave_up_ns = max(self.last_ns, call.stamp_ns)
        yield self._span(source, agent_id, self.last_ns if finished else None)
        for response in self.responses.values():
            yield from response.spans(source, agent_id, self.key)
        for call in self.calls.values():
            yield from call.spans(source, agent_id)
        for run in self.hooks.values():
            yield from run.span(source, agent_id, self.key)
        yield from self._unanswered(source, agent_id, ended=finished)
        yield from self.others

    def _span(self, source: str, agent_id: str | None, end_ns: int | None) -> Span:
        attributes = dict(self.attributes)
        attributes[semconv.TURN_KIND] = self.kind
        if self.interrupts:
            attributes |= {semconv.INTERRUPTS: self.interrupts, semconv.INTERRUPTED: self.interrupted or "streaming"}
        if end_ns is None:
            attributes[semconv.LAST_SEEN_NS] = self.last_ns
        return Span(
            source,
            self.session_id,
            Boundary.TURN,
            self.key,
            self.start_ns,
            end_ns,
            name=self.kind,
            agent_id=agent_id,
            parent_key=agent_id or self.session_id,
            status=Status.CANCELLED if self.interrupts else Status.UNSET,
            attributes=attributes,
            position=self.position,
        )

    def _bound_responses(self, bound_ns: int | None) -> None:
        """A response had ended when the next request was sent, at the latest."""
        ordered = sorted(self.responses.values(), key=lambda response: response.first_ns)
        first_results: dict[str, int] = {}
        for call in self.calls.values():
            if call.result is not None:
                known = first_results.get(call.response.id, call.result.stamp_ns)
                first_results[call.response.id] = min(known, call.result.stamp_ns)
        for response, following in pairwise([*ordered, None]):
            if response is None:
                break
            next_start = following.start()[1] if following is not None else None
            bounds = [bound for bound in (next_start, bound_ns if next_start is None else None, response.ended_ns) if bound is not None]
            if next_start is None:
                bounds += [attempt.stamp_ns + REQUEST_AFTER_NS for attempt in self.attempts[-1:] if attempt.stamp_ns > response.last_ns]
                bounds += [run.start_ns for run in self.hooks.values() if run.event == "Stop" and run.start_ns >= response.last_ns]
            if waits_for_message(response.version) and response.id in first_results:
                bounds.append(first_results[response.id])
            response.ended_ns = min(bounds, default=None)

    def _close_hooks(self, bound_ns: int | None) -> None:
        starts = sorted(response.start()[1] for response in self.responses.values())
        for run in self.hooks.values():
            call = self.calls.get(run.tool_use_id or "")
            if run.event == "PreToolUse" and call is not None and call.result is not None:
                run.close_by(call.result.stamp_ns)
                continue
            later = bisect_right(starts, run.latest_start_ns)
            bounds = [*starts[later : later + 1], self.last_ns if self.last_ns > run.latest_start_ns else None, bound_ns]
            known = [bound for bound in bounds if bound is not None]
            if known:
                run.close_by(min(known))

    def _unanswered(self, source: str, agent_id: str | None, *, ended: bool) -> Iterator[Span]:
        """Requests whose `api-request` line is all there is, and failures that no later answer claimed."""
        left = [attempt for attempt in self.attempts if not attempt.closed]
        if self.failures:
            again = left.pop() if left and left[-1].stamp_ns >= self.failures[-1].stamp_ns else None
            yield from self._still_failing(again, ended=ended).spans(source, agent_id, self.key)
        for attempt, following in pairwise([*left, None]):
            if attempt is None:
                break
            is_open = following is None and not ended
            end_ns = max(self.last_ns if following is None else following.stamp_ns, attempt.stamp_ns)
            earliest, latest = sent(attempt.stamp_ns, self.start_ns, attempt.stamp_ns + REQUEST_AFTER_NS if is_open else end_ns)
            yield Span(
                source,
                self.session_id,
                Boundary.MODEL_REQUEST if is_open else Boundary.REQUEST_ATTEMPT,
                attempt.id,
                earliest,
                None if is_open else end_ns,
                name=attempt.model,
                agent_id=agent_id,
                parent_key=self.key,
                start_slack_ns=latest - earliest,
                end_slack_ns=0 if is_open else end_ns - attempt.stamp_ns,
                attributes={semconv.REQUEST_MODEL: attempt.model, semconv.QUERY_SOURCE: attempt.query_source},
                position=attempt.position,
            )

    def _still_failing(self, again: Attempt | None, *, ended: bool) -> Response:
        """A request of which only failures are known, and perhaps the line of one more attempt."""
        last = self.failures[-1]
        chain = Response(last.key, self.session_id, last.position, (), self.failures[0].waits_for_ns)
        chain.failures, chain.open = self.failures, not ended
        chain.answers(again)
        chain.model = again.model if again else ""
        planned_ns, seen_ns = last.stamp_ns + last.retry_ns, max(self.last_ns, last.stamp_ns)
        chain.error_stamp_ns = seen_ns if again else min(planned_ns, seen_ns) if ended else planned_ns
        chain.error = dict(last.attributes) if ended else {}
        return chain


def _not_before(span: Span, stamp_ns: int) -> Span:
    """A compaction began no earlier than the command that asked for it."""
    if span.boundary != Boundary.COMPACTION or span.start_ns >= stamp_ns or span.end_ns is None or stamp_ns > span.end_ns:
        return span  # a command that was given after it had ended asked for another
    latest = span.start_ns + span.start_slack_ns
    return span._replace(start_ns=stamp_ns, start_slack_ns=max(0, latest - stamp_ns))
