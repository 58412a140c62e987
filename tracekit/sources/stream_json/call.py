"""One tool call: from its complete tool_use block to its result, and what is known of the time in between."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tracekit.model import Boundary, Source, Span, Status, Value, semconv
from tracekit.model.redact import mask_secrets
from tracekit.model.withheld import Withheld, withheld
from tracekit.sources.digest import digest, json_bytes
from tracekit.sources.fields import Object, mapping, number, objects_in, text, words_of
from tracekit.sources.stream_json.clock import Moment, Timed
from tracekit.sources.stream_json.edges import between, edges
from tracekit.sources.stream_json.request import Request
from tracekit.sources.timestamps import MILLISECOND, SECOND
from tracekit.sources.transcript.call import AGENT_TOOLS, INTERACTIVE, STOPPED
from tracekit.sources.transcript.hook import is_blocked, result_error

_EXIT_CODE: Final = re.compile(r"Exit code (\d+)")
_NOT_RUN: Final = "<tool_use_error>"
_MCP: Final = "mcp__"


@dataclass(slots=True)
class Result:
    """The tool_result block, and what its line says beside it."""

    at: Moment
    is_error: bool
    text: str
    size: int
    digest: str
    details: Object
    """`tool_use_result`: the tool's own record of what it did."""
    meta: Object
    """`tool_result_meta`: who allowed it, or why it did not run."""


@dataclass(slots=True)
class Call:
    """What has been read of a call so far."""

    id: str
    name: str
    position: int
    ready: Moment
    """When its block was complete."""
    request: Request
    arguments: Object
    content: str | None = None
    result: Result | None = None
    gave_up: Moment | None = None
    """Its turn ended, and no result was ever given."""
    asked: Moment | None = None
    """A person was asked to allow it."""
    denied: bool = False
    """A rule refused it."""
    denied_at: Moment | None = None
    hooked: Moment | None = None
    """The last of its PreToolUse hooks was done."""
    seen_running: Moment | None = None
    background: bool = False

    def ran(self, moment: Moment) -> None:
        """Something tells that the tool is running: it had begun by then."""
        self.seen_running = self.seen_running or moment

    @property
    def agent_type(self) -> str | None:
        """The kind of sub-agent that it starts; None for every other tool."""
        return text(self.arguments, "subagent_type") or "agent" if self.name in AGENT_TOOLS else None

    # What is told ----------------------------------------------------------------------------------------------------

    def spans(self, now: Moment) -> Iterator[Span]:
        """The schedule, the wait for permission and the execution, as far as each is known.

        Args:
            now: The last time that the stream tells.
        """
        end = self.result.at if self.result else self.gave_up
        yield self._span(Boundary.TOOL_SCHEDULE, self.ready, end, self._schedule_attributes(), parent_key=self.request.key)
        asked = self._permission(end)
        if asked is not None:
            yield asked
        if self._never_ran() or (end is None and asked is not None and asked.end_ns is None):
            return
        execution = self._span(Boundary.TOOL_EXECUTION, self._began(end, now), end, self._run_attributes() | self._kept_result())
        yield execution
        if self.name.startswith(_MCP):
            server, _, tool = self.name.removeprefix(_MCP).partition("__")
            attributes = {**execution.attributes, semconv.MCP_SERVER: server, semconv.MCP_METHOD: "tools/call"}
            yield execution._replace(boundary=Boundary.MCP_CALL, name=tool or self.name, attributes=attributes)

    def _span(self, boundary: Boundary, start: Moment, end: Moment | None, attributes: dict[str, Value], *, parent_key: str = "") -> Span:
        return Span(
            Source.STREAM_JSON,
            self.request.session_id,
            boundary,
            self.id,
            **edges(start, end)._asdict(),
            name=self.name,
            agent_id=self.request.agent_id,
            parent_key=parent_key or self.id,
            status=self._status(),
            attributes=attributes,
            position=self.position,
        )

    def _status(self) -> Status:
        if self.result is None:
            if self.denied:
                return Status.ERROR
            return Status.CANCELLED if self.gave_up is not None else Status.UNSET
        if self.result.details.get("interrupted") is True:
            return Status.CANCELLED
        return Status.ERROR if self.result.is_error else Status.OK

    def _never_ran(self) -> bool:
        """It was refused before it began: a rule, a hook, a person, invalid input, or a sibling's failure."""
        if self.name in INTERACTIVE or self.denied or (self._meta("non_execution_kind") is not None and not self._was_stopped()):
            return True
        return self.result is not None and self.result.is_error and (self.result.text.startswith(_NOT_RUN) or is_blocked(self.result.text))

    def _was_stopped(self) -> bool:
        return self.result is not None and STOPPED in self.result.text

    def _permission(self, end: Moment | None) -> Span | None:
        """The wait for a person: measured where the stream asks, else only known to lie before the refusal."""
        refused = self.denied or (self._meta("non_execution_kind") == "user-rejected" and not self._was_stopped())
        if self.asked is None and not refused and self.name not in INTERACTIVE:
            return None
        start = self.asked or (self.ready if self.name in INTERACTIVE else between(self.ready, self.denied_at or end or self.ready))
        until = end if end is None or self.denied_at is None else between(self.denied_at, end)
        if until is not None and not refused and self.name not in INTERACTIVE:
            until = between(start, until)  # the tool itself ran after the answer
        attributes: dict[str, Value] = {semconv.TOOL_NAME: self.name, **self._decision()}
        if self.name in INTERACTIVE:
            attributes[semconv.TOOL_INTERACTIVE] = True
        return self._span(Boundary.PERMISSION_WAIT, start, until, attributes)._replace(status=Status.UNSET)

    def _began(self, end: Moment | None, now: Moment) -> Moment:
        """Bounds of the tool's start, which no line tells."""
        whole_message = (self.request.stopped or self.request.last_block) if self.request.serial else None
        proofs = [moment.earliest for moment in (self.ready, self.asked, self.hooked, whole_message) if moment is not None]
        bounds = [moment.latest for moment in (self.seen_running, end) if moment is not None]
        latest = min(bounds, default=now.latest)
        earliest = min(max(proofs), latest)
        ran_ns = self._reported_ns()
        if end is None or ran_ns is None or end.latest - ran_ns < earliest:
            return Moment(earliest, latest)
        return Moment(max(earliest, end.earliest - ran_ns), min(latest, end.latest - ran_ns))

    def _reported_ns(self) -> int | None:
        """The tool's own word for how long it ran, where it has one."""
        details = self.result.details if self.result else {}
        for name, unit in (("durationMs", MILLISECOND), ("totalDurationMs", MILLISECOND), ("durationSeconds", SECOND)):
            if (value := number(details, name)) is not None:
                return int(value * unit)
        return None

    def _meta(self, name: str) -> str | None:
        return text(self.result.meta, name) if self.result else None

    def _decision(self) -> dict[str, Value]:
        decision = mapping(self.result.meta, "permission_decision") if self.result else {}
        word = text(decision, "decision") or ("reject" if self.denied else None)
        found = ((semconv.PERMISSION_DECISION, word), (semconv.PERMISSION_SOURCE, text(decision, "source")))
        return {name: value for name, value in found if value}

    def _schedule_attributes(self) -> dict[str, Value]:
        known = withheld(self.arguments) or known_of(json_bytes(self.arguments))
        found: dict[str, Value] = {semconv.TOOL_INPUT_SIZE: known.size, semconv.TOOL_INPUT_DIGEST: known.digest, **self._decision()}
        if self.name in INTERACTIVE:
            found[semconv.TOOL_INTERACTIVE] = True
        if self.content is not None:
            found[semconv.CONTENT] = self.content
        if self.result is not None:
            found |= {semconv.TOOL_RESULT_SIZE: self.result.size, semconv.TOOL_RESULT_DIGEST: self.result.digest}
        denial = self._meta("non_execution_kind") or ("permission-rule" if self.denied and self.result is None else None)
        if denial is not None:
            found[semconv.DENIAL_KIND] = denial
        return found | self._run_attributes()

    def _run_attributes(self) -> dict[str, Value]:
        found: dict[str, Value] = {semconv.TOOL_NAME: self.name}
        timeout = number(self.arguments, "timeout")
        if timeout is not None and self.name == "Bash":
            found[semconv.TOOL_TIMEOUT_NS] = int(timeout * MILLISECOND)
        if self.background or self.arguments.get("run_in_background") is True:
            found[semconv.TOOL_BACKGROUND] = True
        if self.seen_running is not None and self.result is None:
            found[semconv.TOOL_SEEN_RUNNING] = True
        if self.result is not None and self.result.is_error:
            found[semconv.ERROR_TEXT] = result_error(self.result.text)
            if code := _EXIT_CODE.match(self.result.text):
                found[semconv.EXIT_CODE] = int(code[1])
        return found

    def _kept_result(self) -> dict[str, Value]:
        if self.content is None or self.result is None:
            return {}
        return {semconv.CONTENT: mask_secrets(self.result.text.encode(errors="replace").decode())}


def call_of(part: Object, line: Timed, request: Request, *, content: bool) -> Call | None:
    """Read a tool_use block; None where it has no id."""
    key = text(part, "id")
    if part.get("type") != "tool_use" or key is None:
        return None
    arguments = mapping(part, "input")
    kept = mask_secrets(json_bytes(arguments).decode(errors="replace")) if content and withheld(arguments) is None else None
    return Call(key, text(part, "name") or "unknown", line.position, line.moment, request, arguments, content=kept)


def result_of(part: Object, line: Timed) -> Result:
    """Read a tool_result block and what its line says beside it."""
    content: Any = part.get("content")
    known = withheld(content)
    if known is None:
        words = content if isinstance(content, str) else words_of(objects_in(part, "content"))
        known = known_of(content.encode(errors="surrogatepass") if isinstance(content, str) else json_bytes(content), words)
    key = part.get("tool_use_id")
    notes = [note for note in objects_in(line.value, "tool_result_meta") if note.get("id") == key]
    details = mapping(line.value, "tool_use_result")
    return Result(line.moment, part.get("is_error") is True, known.words, known.size, known.digest, details, notes[0] if notes else {})


def orphan(session_id: str, agent_id: str | None, key: str, result: Result, since: Moment, position: int) -> Span:
    """A result whose call no line tells: the stream was joined in the middle."""
    return Span(
        Source.STREAM_JSON,
        session_id,
        Boundary.TOOL_EXECUTION,
        key,
        **edges(between(since, result.at), result.at)._asdict(),
        name="unknown",
        agent_id=agent_id,
        parent_key=key,
        status=Status.ERROR if result.is_error else Status.OK,
        attributes={semconv.ERROR_TEXT: result_error(result.text)} if result.is_error else {},
        position=position,
    )


def known_of(data: bytes, words: str = "") -> Withheld:
    """What a recorder that keeps no content would have left of it."""
    return Withheld(len(data), digest(data), words)
