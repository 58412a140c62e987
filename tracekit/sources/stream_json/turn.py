"""Turns, and the sub-agents that have turns of their own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tracekit.model import Boundary, Source, Span, Status, Value, semconv
from tracekit.model.redact import error_text
from tracekit.sources.fields import Object, list_in, mapping, number, text
from tracekit.sources.stream_json.clock import QUIET_LATE_NS, Moment, Timed
from tracekit.sources.stream_json.edges import edges
from tracekit.sources.stream_json.request import failure_of
from tracekit.sources.timestamps import MILLISECOND

_INTERRUPTS: Final = {"[Request interrupted by user]": "streaming", "[Request interrupted by user for tool use]": "tool"}
_ABORTS: Final = {"aborted_streaming": "streaming", "aborted_tools": "tool"}
_COMMAND: Final = re.compile(r"/[a-z][\w:.-]*(?:\s|$)|<command-(?:name|message)>")


@dataclass(slots=True)
class Turn:
    """What has been read of a turn so far."""

    session_id: str
    fallback_key: str
    kind: str
    position: int
    start: Moment
    agent_id: str | None = None
    attributes: dict[str, Value] = field(default_factory=dict[str, Value])
    prompt_uuid: str | None = None
    interrupts: int = 0
    interrupted: str | None = None
    end: Moment | None = None
    status: Status = Status.UNSET
    _key: str | None = None

    @property
    def key(self) -> str:
        """The uuid of its prompt's line, where that was told before the key was needed. Once used it stays."""
        self._key = self._key or self.prompt_uuid or self.fallback_key
        return self._key

    def prompted(self, value: Object, words: str, content: str | None) -> None:
        """The client tells the prompt again, as it does when asked to replay."""
        if self.prompt_uuid is not None:
            return
        self.prompt_uuid = text(value, "prompt_id", "promptId", "uuid")
        if _COMMAND.match(words):
            self.kind = "command"
        if content is not None:
            self.attributes[semconv.CONTENT] = content

    def interrupt(self, words: str) -> bool:
        """Whether this text is the client's mark of an interrupt. Quoted in a longer text it is none."""
        what = _INTERRUPTS.get(words.strip())
        if what is not None:
            self.interrupts += 1
            self.interrupted = what
        return what is not None

    def closed(self, line: Timed) -> None:
        """The result is here."""
        value, moment = line.value, line.moment
        self.end = moment
        self._start_from(number(value, "duration_ms"), moment)
        if text(value, "local_command") is not None:
            self.kind = "command"
        elif text(mapping(value, "origin"), "kind") == "task-notification":
            self.kind = "notification"
        self.attributes |= result_attributes(value)
        reason = text(value, "terminal_reason")
        if reason in _ABORTS and self.interrupted is None:
            self.interrupts, self.interrupted = 1, _ABORTS[reason]
        failed = value.get("is_error") is True or str(value.get("subtype")).startswith("error")
        self.status = Status.CANCELLED if self.interrupts else Status.ERROR if failed else Status.OK

    def _start_from(self, duration_ms: float | None, end: Moment) -> None:
        """The turn began as long before its result as the result says, and no later than its first line."""
        if not duration_ms:
            return
        began = Moment(end.earliest - int(duration_ms * MILLISECOND), end.latest - int(duration_ms * MILLISECOND) + QUIET_LATE_NS)
        if began.earliest <= self.start.latest:
            self.start = Moment(began.earliest, min(began.latest, self.start.latest))

    def span(self, last: Moment) -> Span:
        """The turn as it is known now."""
        attributes: dict[str, Value] = {**self.attributes, semconv.TURN_KIND: self.kind}
        if self.interrupts:
            attributes |= {semconv.INTERRUPTS: self.interrupts, semconv.INTERRUPTED: self.interrupted or "streaming"}
        if self.end is None:
            attributes[semconv.LAST_SEEN_NS] = last.latest
        return Span(
            Source.STREAM_JSON,
            self.session_id,
            Boundary.TURN,
            self.key,
            **edges(self.start, self.end)._asdict(),
            name=self.kind,
            agent_id=self.agent_id,
            parent_key=self.agent_id or self.session_id,
            status=self.status,
            attributes=attributes,
            position=self.position,
        )


@dataclass(slots=True)
class Agent:
    """A sub-agent: its lines name the call that started it, in late clients its id too."""

    id: str
    tool_use_id: str | None
    kind: str
    turn: Turn
    last: Moment
    end: Moment | None = None
    status: Status = Status.UNSET

    def ended(self, moment: Moment, status: str | None) -> None:
        """It is over; one that is resumed may end again."""
        self.end = moment
        self.status = {"failed": Status.ERROR, "killed": Status.CANCELLED, "stopped": Status.CANCELLED}.get(status or "", Status.OK)

    def spans(self) -> Iterator[Span]:
        """The sub-agent and its turn."""
        self.turn.end, self.turn.status = self.end, self.status
        attributes: dict[str, Value] = {semconv.AGENT_TYPE: self.kind}
        if self.tool_use_id is not None:
            attributes[semconv.PARENT_TOOL] = self.tool_use_id
        own = self.turn.span(self.last)
        yield own
        yield own._replace(
            boundary=Boundary.SUBAGENT,
            key=self.id,
            name=self.kind,
            parent_key=self.tool_use_id or self.turn.session_id,
            attributes=attributes,
        )


def result_attributes(value: Object) -> dict[str, Value]:
    """What a result line says of how the work ended."""
    found: dict[str, Value] = {}
    for name, attribute in (("subtype", semconv.RESULT_SUBTYPE), ("terminal_reason", semconv.TERMINAL_REASON)):
        if (word := text(value, name)) is not None:
            found[attribute] = word
    if isinstance(is_error := value.get("is_error"), bool):
        found[semconv.RESULT_IS_ERROR] = is_error
    found |= failure_of(value)
    words = "\n".join(str(error) for error in list_in(value, "errors"))
    if not words and value.get("is_error") is True:
        words = text(value, "result") or ""
    if words:
        found[semconv.ERROR_TEXT] = error_text(words)
    return found
