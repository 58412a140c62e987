"""A tool call: queued, perhaps waiting for permission, executing, completed, and its result given back."""

from collections.abc import Mapping
from typing import Final, Literal

from opentelemetry import trace
from opentelemetry.trace import SpanKind

from tracekit.instrument.endings import Ending
from tracekit.instrument.guard import guarded
from tracekit.instrument.handle import Handle, Told
from tracekit.instrument.kept import kept_input, kept_result, without_content
from tracekit.instrument.place import Place
from tracekit.instrument.runtime import RUNTIME
from tracekit.model import NO_ATTRIBUTES, Boundary, Status, semconv
from tracekit.model.redact import error_text

EXECUTE_TOOL: Final = "execute_tool"
TOOL_ERROR: Final = "tool_error"
_CANCELLED_BY: Final = {"sibling": "cancelled", "user": "interrupted"}
"""In the words of `semconv.DENIAL_KIND`."""


class _PartOfCall(Handle):
    """A part of a tool call, which has the call's own identity."""

    def __init__(self, title: str, call: Handle, attributes: Mapping[str, Told]) -> None:
        super().__init__(title, parent=call, attributes=attributes)

    def _known_as(self) -> str | None:
        return self._outer.tool

    def _part_of(self) -> str | None:
        return self._outer.tool


class PermissionWait(_PartOfCall):
    """A call waits for a person or a rule to allow it. See `ToolSchedule.permission_wait`."""

    boundary = Boundary.PERMISSION_WAIT

    def decided(self, decision: Literal["accept", "reject"], *, source: str | None = None) -> None:
        """The answer came. Without one the wait ends undecided.

        Args:
            decision: What it is.
            source: Who gave it: `config`, `hook`, `user`, ….
        """
        self.say({semconv.PERMISSION_DECISION: decision, **({semconv.PERMISSION_SOURCE: source} if source else {})})


class ToolExecution(_PartOfCall):
    """The tool itself runs. See `ToolSchedule.execution`."""

    boundary = Boundary.TOOL_EXECUTION

    @guarded
    def result(self, value: object = None, *, is_error: bool = False, exit_code: int | None = None) -> None:
        """Tell what the tool gave back: of the value its size and digest are kept, and its text only where it is an error's.

        Args:
            value: What it gave back: text, or anything that JSON can say.
            is_error: Whether the tool failed, which need not raise anything.
            exit_code: What a command ended with.
        """
        said = kept_result(value)
        if exit_code is not None:
            said[semconv.EXIT_CODE] = exit_code
        if is_error:
            said.setdefault(semconv.ERROR_TYPE, TOOL_ERROR)
            if isinstance(value, str):
                said[semconv.ERROR_TEXT] = error_text(value)
            self._status = Status.ERROR
        self.say(said)
        if isinstance(self.above, ToolSchedule):
            self.above.take_result(without_content(said), self._status)

    def _begin(self, span: trace.Span | None, at_ns: int | None) -> None:
        if isinstance(self.above, ToolSchedule):
            self._to_say |= self.above.shared
        super()._begin(span, at_ns)
        if isinstance(self.above, ToolSchedule):
            self.above.executing(self._start_ns)

    def _close(self, ending: Ending) -> None:
        if isinstance(self.above, ToolSchedule):
            self.above.completed(ending.at_ns, ending.error)


class ToolSchedule(Handle):
    """A call from the completion of its block to the moment its result is given back. See `tool_schedule`."""

    boundary = Boundary.TOOL_SCHEDULE
    kind = SpanKind.INTERNAL

    def __init__(
        self,
        name: str,
        tool_use_id: str | None = None,
        *,
        request: "Handle | str | None" = None,
        concurrency: Literal["shared", "exclusive"] | None = None,
        parent: Handle | None = None,
        attributes: Mapping[str, Told] = NO_ATTRIBUTES,
    ) -> None:
        said: dict[str, Told] = {semconv.TOOL_NAME: name, **attributes}
        if tool_use_id is not None:
            said[semconv.TOOL_CALL_ID] = tool_use_id
        if concurrency is not None:
            said[semconv.TOOL_CONCURRENCY] = concurrency
        given = request if isinstance(request, Handle) else RUNTIME.issued.by(tool_use_id) if request is None and parent is None else None
        super().__init__(f"tool_schedule {name}", key=tool_use_id, parent=parent or given, attributes=said)
        self._tool = name
        self._request = request if isinstance(request, str) else None
        self._shared: dict[str, Told] = {} if tool_use_id is None else {semconv.TOOL_CALL_ID: tool_use_id}
        self._error: BaseException | None = None

    @guarded
    def input(self, arguments: object) -> None:
        """Tell what it is called with: size and digest are kept, which show a loop; the arguments themselves only with content."""
        said = kept_input(arguments)
        self.say(said)
        self._shared |= without_content(said)

    def permission_wait(self) -> PermissionWait:
        """The wait for a person or a rule to allow it; give it to `with`, or start it."""
        return PermissionWait(f"permission_wait {self._tool}", self, {semconv.TOOL_NAME: self._tool})

    def execution(self, *, attributes: Mapping[str, Told] = NO_ATTRIBUTES) -> ToolExecution:
        """The tool itself; give it to `with`, or start it."""
        said: dict[str, Told] = {semconv.OPERATION: EXECUTE_TOOL, semconv.TOOL_NAME: self._tool, **attributes}
        return ToolExecution(f"{EXECUTE_TOOL} {self._tool}", self, said)

    def yielded(self, *, at_ns: int | None = None) -> None:
        """Its result was given back, which is its end."""
        self._step("yielded", RUNTIME.clock() if at_ns is None else at_ns)
        self.end(self._error, at_ns=at_ns)

    def cancelled(self, by: str, *, at_ns: int | None = None) -> None:
        """It was stopped, or never begun.

        Args:
            by: `sibling`: another call of its message failed; `user`; or whoever else did it.
            at_ns: When, if not now.
        """
        self.say({semconv.DENIAL_KIND: _CANCELLED_BY.get(by, by)})
        self.end(status=Status.CANCELLED, at_ns=at_ns)

    def denied(
        self, kind: str = "permission-rule", *, text: str | None = None, source: str | None = None, at_ns: int | None = None
    ) -> None:
        """It was not allowed, and never begun.

        Args:
            kind: `permission-rule`, `user-rejected`, `automode-blocked`, ….
            text: What the model was told instead of a result.
            source: Who decided.
            at_ns: When, if not now.
        """
        self.say({semconv.DENIAL_KIND: kind, semconv.PERMISSION_DECISION: "reject"})
        if source:
            self.say({semconv.PERMISSION_SOURCE: source})
        if text:
            self.say({semconv.ERROR_TEXT: error_text(text)})
        self.end(status=Status.ERROR, at_ns=at_ns)

    # What its execution tells -----------------------------------------------------------------------------------------

    @property
    def shared(self) -> Mapping[str, Told]:
        """What is to be said of the execution as well."""
        return self._shared

    def executing(self, at_ns: int) -> None:
        """The tool was set to work."""
        self._step("executing", at_ns)

    def take_result(self, said: Mapping[str, Told], status: Status | None) -> None:
        """The tool gave something back."""
        self.say(said)
        self._status = status

    def completed(self, at_ns: int, error: BaseException | None) -> None:
        """The tool is done."""
        self._step("completed", at_ns)
        self._error = error

    def _step(self, name: str, at_ns: int) -> None:
        if self._live:
            self._span.add_event(name, timestamp=at_ns)

    def _standing(self) -> Place:
        session_id, is_named, agent_id, around, request, _ = self._outer
        return Place(session_id, is_named, agent_id, around, request, self.key)

    def _part_of(self) -> str | None:
        return self._request or self._outer.request or self._outer.around


def tool_schedule(
    name: str,
    tool_use_id: str | None = None,
    *,
    request: "Handle | str | None" = None,
    concurrency: Literal["shared", "exclusive"] | None = None,
    parent: Handle | None = None,
    attributes: Mapping[str, Told] = NO_ATTRIBUTES,
) -> ToolSchedule:
    """A call from the completion of its block to the moment its result is given back.

    Args:
        name: The tool's.
        tool_use_id: The id that the model gave the call.
        request: The model request that asked for it, or the key of one; None: the one whose response was seen to ask for it, else the
            one that the code stands in.
        concurrency: `shared`: may run beside others; `exclusive`: runs alone.
        parent: What it is part of, where that is no request; None: what the code stands in.
        attributes: More to be known of it, by the names of `semconv`.
    """
    return ToolSchedule(name, tool_use_id, request=request, concurrency=concurrency, parent=parent, attributes=attributes)
