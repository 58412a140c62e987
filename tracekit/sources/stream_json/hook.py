"""The hooks of one event: told when they begin and when each has answered, but not for which tool call they ran."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from tracekit.model import Boundary, Source, Span, Status, Value, semconv
from tracekit.model.redact import error_text
from tracekit.sources.fields import Object, text, whole
from tracekit.sources.stream_json.call import Call
from tracekit.sources.stream_json.clock import Moment, Timed
from tracekit.sources.stream_json.edges import edges
from tracekit.sources.transcript.hook import without_command

BEFORE: Final = "PreToolUse"
AFTER: Final = frozenset({"PostToolUse", "PostToolUseFailure"})

_BLOCKS: Final = 2
"""The exit code with which a command hook forbids what was about to happen."""
_FIRST_HTTP_STATUS: Final = 100
"""HTTP hooks give the status of their answer in the place of an exit code."""
_WORST_LAST: Final = ("success", "cancelled", "error", "blocking")


@dataclass(slots=True)
class HookRun:
    """Hooks that run in parallel for one event."""

    key: str
    event: str
    name: str
    position: int
    start: Moment
    tool_use_id: str | None = None
    count: int = 0
    running: set[str] = field(default_factory=set[str])
    end: Moment | None = None
    outcome: str | None = None
    text: str | None = None
    code: int | None = None

    @property
    def done(self) -> bool:
        """All hooks that began have answered."""
        return not self.running

    def began(self, hook_id: str) -> None:
        """One more hook of this event began."""
        self.count += 1
        self.running.add(hook_id)

    def answered(self, hook_id: str, line: Timed) -> None:
        """One hook has answered. The worst outcome is the run's."""
        self.running.discard(hook_id)
        self.end = line.moment
        outcome = _outcome(line.value)
        if self.outcome is None or _WORST_LAST.index(outcome) > _WORST_LAST.index(self.outcome):
            self.outcome, self.code = outcome, whole(line.value, "exit_code")
            self.text = text(line.value, "stderr")

    def span(self, session_id: str, turn_key: str) -> Span:
        """The run as it is known now. Where its call is not known it belongs to the turn."""
        return Span(
            Source.STREAM_JSON,
            session_id,
            Boundary.HOOK_REPLY,
            self.key,
            **edges(self.start, self.end if self.done else None)._asdict(),
            name=self.name,
            parent_key=self.tool_use_id or turn_key,
            status=_STATUS[self.outcome] if self.done else Status.UNSET,
            attributes=self._attributes(),
            position=self.position,
        )

    def _attributes(self) -> dict[str, Value]:
        found: dict[str, Value] = {semconv.HOOK_EVENT: self.event, semconv.HOOK_NAME: self.name, semconv.HOOK_COUNT: self.count}
        if self.tool_use_id is not None:
            found[semconv.HOOK_TOOL] = self.tool_use_id
        if self.outcome is not None:
            found[semconv.HOOK_OUTCOME] = self.outcome
        if self.code is not None:
            found[semconv.EXIT_CODE if self.code < _FIRST_HTTP_STATUS else semconv.HTTP_STATUS] = self.code
        if self.text is not None and self.outcome in {"error", "blocking"}:
            found[semconv.ERROR_TEXT] = error_text(without_command(self.text))
        return found


_STATUS: Final[dict[str | None, Status]] = {
    None: Status.UNSET,
    "success": Status.OK,
    "blocking": Status.OK,  # a hook that forbids has done its work
    "cancelled": Status.CANCELLED,
    "error": Status.ERROR,
}


def _outcome(value: Object) -> str:
    said = text(value, "outcome")
    if said == "error":
        return "blocking" if value.get("exit_code") == _BLOCKS else "error"
    return said if said in _WORST_LAST else "success"


def call_for(event: str, name: str, calls: Iterable[Call], runs: Iterable[HookRun]) -> Call | None:
    """The only call that a hook can have run for; None where several could be meant.

    `PreToolUse:Bash` runs for a pending Bash call that had no finished PreToolUse hooks yet, `PostToolUse:Bash` for one
    that had them, where the session has such hooks.
    """
    tool = name.partition(":")[2]
    if event != BEFORE and event not in AFTER:
        return None
    before = {run.tool_use_id: run.done for run in runs if run.event == BEFORE and run.name == f"{BEFORE}:{tool}"}
    after = {run.tool_use_id for run in runs if run.event in AFTER and run.done}
    pending = [call for call in calls if call.name == tool and call.id not in after]
    if event == BEFORE:
        found = [call for call in pending if not before.get(call.id, False)]
    else:
        found = [call for call in pending if before.get(call.id, not before)]
    return found[0] if len(found) == 1 else None
