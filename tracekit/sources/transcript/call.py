"""One tool call, from the line of its tool_use block to the line of its result."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tracekit.model import Boundary, Span, Status, Value, semconv
from tracekit.sources.digest import digest, json_bytes
from tracekit.sources.fields import Object, mapping, milliseconds, objects_in, seconds, text, words_of
from tracekit.sources.transcript.entries import Entry, to_keep
from tracekit.sources.transcript.hook import is_blocked, result_error
from tracekit.sources.transcript.response import Response
from tracekit.sources.transcript.timing import RESULT_LATE_NS, elapsed_bounds, waits_for_message

INTERACTIVE: Final = frozenset({"AskUserQuestion", "ExitPlanMode"})
"""Tools that are a question to the user: all their time is a person's."""

AGENT_TOOLS: Final = frozenset({"Task", "Agent"})

_EXIT_CODE: Final = re.compile(r"Exit code (\d+)")
_REJECTED: Final = "The user doesn't want to proceed with this tool use"
STOPPED: Final = "this call was stopped while running, not refused before it ran"
"""What a client adds to the words of a rejection where it was an interrupt: the tool did run."""
_DENIED: Final = re.compile(r"Permission to use .{1,200}? has been denied|Claude requested permissions to ", re.DOTALL)
_INTERRUPTED: Final = "[Request interrupted by user"
_NOT_RUN: Final = "<tool_use_error>"


@dataclass(slots=True)
class Result:
    """The line that gave the result back."""

    stamp_ns: int
    is_error: bool
    text: str
    size: int
    digest: str
    details: Object
    denial_kind: str | None
    decision: Object


@dataclass(slots=True)
class Call:
    """A tool_use block and what is known of its run."""

    id: str
    name: str
    stamp_ns: int
    """When the client saw the block complete."""
    position: int
    response: Response
    input_size: int
    input_digest: str
    timeout_ns: int | None = None
    agent_type: str | None = None
    input_stream_ns: int | None = None
    background: bool = False
    content: str | None = None
    result: Result | None = None
    not_before_ns: int = 0
    """Evidence: the tool began no earlier (a hook ran before it, or its progress says so)."""
    not_after_ns: int | None = None
    """Evidence: the tool had begun by then."""
    mcp_started_ns: int | None = None
    mcp_elapsed_ns: int | None = None
    hooks_after: bool = False
    """PostToolUse hooks ran, and clients that write them as attachments stamp the result after them."""
    gave_up_ns: int | None = None
    """The turn was interrupted and no result was ever written."""

    def saw_progress(self, stamp_ns: int, elapsed_seconds: int) -> None:
        """A line says that the tool has been running for whole seconds."""
        earliest, latest = elapsed_bounds(stamp_ns, elapsed_seconds)
        self.not_before_ns = max(self.not_before_ns, earliest)
        self.not_after_ns = latest if self.not_after_ns is None else min(self.not_after_ns, latest)

    def spans(self, source: str, agent_id: str | None) -> Iterator[Span]:
        """The schedule, and the execution or the wait for permission that filled it."""
        end_ns = self.result.stamp_ns if self.result else self.gave_up_ns
        yield Span(
            source,
            self.response.session_id,
            Boundary.TOOL_SCHEDULE,
            self.id,
            self.stamp_ns,
            None if end_ns is None else max(end_ns, self.stamp_ns),
            name=self.name,
            agent_id=agent_id,
            parent_key=self.response.key,
            status=self._status(),
            attributes=self._schedule_attributes(),
            position=self.position,
        )
        if self._never_ran():
            return
        if self._waited_for_a_person():
            yield self._wait(source, agent_id, end_ns)
            return
        execution = self._execution(source, agent_id, end_ns)
        yield execution
        if self.name.startswith("mcp__"):
            server, _, tool = self.name.removeprefix("mcp__").partition("__")
            yield execution._replace(
                boundary=Boundary.MCP_CALL,
                name=tool or self.name,
                attributes={**execution.attributes, semconv.MCP_SERVER: server, semconv.MCP_METHOD: "tools/call"},
            )

    def _status(self) -> Status:
        if self.result is None:
            return Status.CANCELLED if self.gave_up_ns is not None else Status.UNSET
        return Status.ERROR if self.result.is_error else Status.OK

    def _never_ran(self) -> bool:
        """The call was refused before the tool began: invalid input, a sibling's failure, a rule, or a hook that blocked it."""
        if self.result is None or not self.result.is_error:
            return False
        text = self.result.text
        return (
            text.startswith(_NOT_RUN)
            or self.result.denial_kind in {"permission-rule", "automode-blocked", "cancelled"}
            or self._hook_blocked()
            or (_DENIED.match(text) is not None and self.result.denial_kind is None)
        )

    def _hook_blocked(self) -> bool:
        return self.result is not None and is_blocked(self.result.text)

    def _waited_for_a_person(self) -> bool:
        if self.name in INTERACTIVE:
            return True
        if self.result is None or not self.result.is_error:
            return False
        if STOPPED in self.result.text:
            return False
        refused = self.result.text.startswith(_REJECTED) or _DENIED.match(self.result.text) is not None
        return refused or self.result.denial_kind == "user-rejected"

    def _wait(self, source: str, agent_id: str | None, end_ns: int | None) -> Span:
        decision = "unanswered" if self.result is None else "reject" if self.result.is_error else "accept"
        attributes: dict[str, Value] = {semconv.TOOL_NAME: self.name, semconv.PERMISSION_DECISION: decision}
        attributes |= self._decision_attributes()
        if self.name in INTERACTIVE:
            attributes[semconv.TOOL_INTERACTIVE] = True
        return Span(
            source,
            self.response.session_id,
            Boundary.PERMISSION_WAIT,
            self.id,
            self.stamp_ns,
            None if end_ns is None else max(end_ns, self.stamp_ns),
            name=self.name,
            agent_id=agent_id,
            parent_key=self.id,
            # Hooks before the question, and in old clients the rest of the stream, are in here too.
            start_slack_ns=max(0, min(self.response.last_ns, end_ns or self.response.last_ns) - self.stamp_ns) if self._serial() else 0,
            attributes=attributes,
            position=self.position,
        )

    def _serial(self) -> bool:
        return self.response.blocks != [] and waits_for_message(self.response.version)

    def _execution(self, source: str, agent_id: str | None, end_ns: int | None) -> Span:
        earliest, latest, end_slack = self._bounds(end_ns)
        interrupted = self.result is not None and self.result.is_error and _INTERRUPTED in self.result.text[:200]
        return Span(
            source,
            self.response.session_id,
            Boundary.TOOL_EXECUTION,
            self.id,
            earliest,
            None if end_ns is None else max(end_ns, earliest),
            name=self.name,
            agent_id=agent_id,
            parent_key=self.id,
            start_slack_ns=max(0, latest - earliest),
            end_slack_ns=end_slack,
            status=Status.CANCELLED if interrupted else self._status(),
            attributes=self._execution_attributes(),
            position=self.position,
        )

    def _bounds(self, end_ns: int | None) -> tuple[int, int, int]:
        """Earliest and latest start, and the slack of the end."""
        earliest = max(self.stamp_ns, self.response.last_ns if self._serial() else 0, self.not_before_ns)
        if end_ns is None:
            latest = earliest if self.not_after_ns is None else max(earliest, self.not_after_ns)
            return earliest, latest, 0
        earliest = min(earliest, end_ns)
        end_slack = min(end_ns - earliest, RESULT_LATE_NS) if not self.hooks_after else end_ns - earliest
        latest = end_ns if self.not_after_ns is None else min(end_ns, max(earliest, self.not_after_ns))
        if self.mcp_started_ns is not None:
            earliest = latest = min(max(earliest, self.mcp_started_ns), end_ns)
        reported = self._reported_ns()
        if reported is not None and earliest <= end_ns - reported:
            latest = min(latest, end_ns - reported)
            earliest = max(earliest, end_ns - end_slack - reported)
        return earliest, max(earliest, latest), min(end_slack, end_ns - earliest)

    def _reported_ns(self) -> int | None:
        """The tool's own word for how long it ran, where it has one."""
        if self.result is None:
            return None
        details = self.result.details
        told = (milliseconds(details, "durationMs"), milliseconds(details, "totalDurationMs"), seconds(details, "durationSeconds"))
        return next((duration for duration in told if duration is not None), self.mcp_elapsed_ns)

    def _schedule_attributes(self) -> dict[str, Value]:
        found: dict[str, Value] = {
            semconv.TOOL_NAME: self.name,
            semconv.TOOL_INPUT_SIZE: self.input_size,
            semconv.TOOL_INPUT_DIGEST: self.input_digest,
        }
        if self.timeout_ns is not None:
            found[semconv.TOOL_TIMEOUT_NS] = self.timeout_ns
        if self.input_stream_ns is not None:
            found[semconv.INPUT_STREAM_NS] = self.input_stream_ns
        if self.content is not None:
            found[semconv.CONTENT] = self.content
        if self.name in INTERACTIVE:
            found[semconv.TOOL_INTERACTIVE] = True
        return found | self._result_attributes() | self._decision_attributes()

    def _execution_attributes(self) -> dict[str, Value]:
        found: dict[str, Value] = {semconv.TOOL_NAME: self.name}
        if self.timeout_ns is not None:
            found[semconv.TOOL_TIMEOUT_NS] = self.timeout_ns
        if self.content is not None and self.result is not None:
            found[semconv.CONTENT] = to_keep(self.result.text)
        return found | self._result_attributes()

    def _result_attributes(self) -> dict[str, Value]:
        found: dict[str, Value] = {semconv.TOOL_BACKGROUND: True} if self.background else {}
        if self.result is None:
            return found if self.not_after_ns is None else {**found, semconv.TOOL_SEEN_RUNNING: True}
        found |= {semconv.TOOL_RESULT_SIZE: self.result.size, semconv.TOOL_RESULT_DIGEST: self.result.digest}
        if self.result.denial_kind:
            found[semconv.DENIAL_KIND] = self.result.denial_kind
        if self.result.is_error:
            found[semconv.ERROR_TEXT] = result_error(self.result.text)
            if code := _EXIT_CODE.match(self.result.text):
                found[semconv.EXIT_CODE] = int(code[1])
        return found

    def _decision_attributes(self) -> dict[str, Value]:
        decision = self.result.decision if self.result else {}
        pairs = ((semconv.PERMISSION_DECISION, "decision"), (semconv.PERMISSION_SOURCE, "source"))
        return {attribute: value for attribute, name in pairs if (value := text(decision, name)) is not None}


def call_of(block: Entry, data: bytes, response: Response, stamp_ns: int, position: int) -> Call:
    """Read a tool_use block, whose arguments are `data`."""
    arguments = mapping(block, "input")
    call = Call(str(block.get("id")), str(block.get("name")), stamp_ns, position, response, len(data), digest(data))
    if call.name == "Bash":
        call.timeout_ns = milliseconds(arguments, "timeout")
    if call.name in AGENT_TOOLS:
        call.agent_type = text(arguments, "subagent_type")
    call.background = arguments.get("run_in_background") is True
    return call


def result_of(entry: Entry, block: Entry, stamp_ns: int) -> Result:
    """Read a tool_result block and what its entry says beside it."""
    content = block.get("content")
    words = content if isinstance(content, str) else words_of(objects_in(block, "content"))
    data = words.encode(errors="surrogatepass") if isinstance(content, str) else json_bytes(content)
    return Result(
        stamp_ns,
        block.get("is_error") is True,
        words,
        len(data),
        digest(data),
        mapping(entry, "toolUseResult"),
        text(entry, "toolDenialKind"),
        mapping(entry, "permissionDecision"),
    )
