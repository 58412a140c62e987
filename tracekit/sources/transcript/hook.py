"""One run of the hooks of one event: old clients write a line when each begins, new ones a line when each has ended."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tracekit.model import Boundary, Span, Status, Value, semconv
from tracekit.model.redact import error_text
from tracekit.sources.fields import Object, mapping, milliseconds, text, whole

OUTCOMES: Final = {
    "hook_success": "success",
    "hook_blocking_error": "blocking",
    "hook_non_blocking_error": "error",
    "hook_error_during_execution": "error",
    "hook_cancelled": "cancelled",
}
"""Kinds of attachment that say how a hook ended. When several hooks of an event ran, the worst is the outcome."""

_SEVERITY: Final = ("success", "cancelled", "error", "blocking")
_STATUS: Final = {None: Status.UNSET, "success": Status.OK, "cancelled": Status.CANCELLED, "blocking": Status.OK}
"""A hook that blocks has done what it is for."""

TOOL_EVENTS: Final = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"})


_BLOCKED: Final = re.compile(r"\w+:?\S* hook error: \[")
_COMMAND: Final = re.compile(r"(\A|hook error: )\[(?:.*|(?s:.*?))\](?=:\s)")


def without_command(words: str) -> str:
    """A hook's words without the command line that the client quotes before them, which is content: `[…]: not on a Friday`."""
    return _COMMAND.sub(r"\1[…]", words, count=1)


def is_blocked(result: str) -> bool:
    """Whether the result of a call says that a hook did not let it run."""
    return _BLOCKED.match(result) is not None


def result_error(result: str) -> str:
    """The error text of a call that failed, without the command line of a hook that blocked it."""
    return error_text(without_command(result) if is_blocked(result) else result)


@dataclass(slots=True)
class HookRun:
    """The hooks of one event, run in parallel."""

    key: str
    session_id: str
    event: str
    name: str
    tool_use_id: str | None
    position: int
    start_ns: int
    latest_start_ns: int
    hooks: int = 0
    end_ns: int | None = None
    end_slack_ns: int = 0
    outcome: str | None = None
    text: str = ""
    exit_code: int | None = None

    def began(self, stamp_ns: int) -> None:
        """A line says that one of the hooks began."""
        self.hooks += 1
        self.start_ns = min(self.start_ns, stamp_ns)
        self.latest_start_ns = min(self.latest_start_ns, stamp_ns)

    def ended(self, stamp_ns: int, attachment: Object, *, not_before_ns: int) -> None:
        """A line says that one of the hooks ended. Of one over HTTP it does not say how long it took."""
        is_first = self.hooks == 0
        self.hooks += 1
        duration, outcome = milliseconds(attachment, "durationMs"), OUTCOMES[attachment["type"]]
        if duration is not None:
            self.start_ns = min(self.start_ns, stamp_ns - duration)
            self.latest_start_ns = min(self.latest_start_ns, stamp_ns - duration)
        elif is_first:
            self.start_ns = min(self.start_ns, not_before_ns)
        self.end_ns = stamp_ns if self.end_ns is None else max(self.end_ns, stamp_ns)
        if self.outcome is None or _SEVERITY.index(outcome) > _SEVERITY.index(self.outcome):
            self.outcome = outcome
            self.text = text(attachment, "stderr", "blockingError") or text(mapping(attachment, "blockingError"), "blockingError") or ""
            self.exit_code = whole(attachment, "exitCode")

    def summed_up(self, stamp_ns: int, errors: Sequence[object]) -> None:
        """A line sums up what the hooks at the end of a turn came to."""
        if self.end_ns is None:
            self.end_ns = max(stamp_ns, self.start_ns)
        if self.outcome is None:
            self.outcome = "error" if errors else "success"
            self.text = str(errors[0]) if errors else ""

    def close_by(self, bound_ns: int) -> None:
        """What came next proves that the hooks had ended by then; when exactly is not known."""
        if self.end_ns is None:
            self.end_ns = max(bound_ns, self.start_ns)
            self.end_slack_ns = self.end_ns - self.start_ns

    def span(self, source: str, agent_id: str | None, parent_key: str) -> Iterator[Span]:
        """The run as one span."""
        attributes: dict[str, Value] = {semconv.HOOK_EVENT: self.event, semconv.HOOK_NAME: self.name, semconv.HOOK_COUNT: self.hooks}
        if self.tool_use_id is not None:
            attributes[semconv.HOOK_TOOL] = self.tool_use_id
        if self.outcome is not None:
            attributes[semconv.HOOK_OUTCOME] = self.outcome
        if self.outcome in {"error", "blocking"} and self.text:
            attributes[semconv.ERROR_TEXT] = error_text(without_command(self.text))
        if self.exit_code is not None:
            attributes[semconv.EXIT_CODE] = self.exit_code
        yield Span(
            source,
            self.session_id,
            Boundary.HOOK_REPLY,
            self.key,
            self.start_ns,
            self.end_ns,
            name=self.name,
            agent_id=agent_id,
            parent_key=self.tool_use_id or parent_key,
            start_slack_ns=self.latest_start_ns - self.start_ns,
            end_slack_ns=self.end_slack_ns,
            status=_STATUS.get(self.outcome, Status.ERROR),
            attributes=attributes,
            position=self.position,
        )
