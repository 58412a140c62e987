"""Which hook tells what: from the input of one hook to the records of it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tracekit.capture.hooks import conversation, tools
from tracekit.capture.hooks.heard import Heard
from tracekit.capture.hooks.known import Edge, Known
from tracekit.capture.hooks.payload import Arguments, Payload
from tracekit.model import Boundary, Span


def _notification(heard: Heard) -> Iterator[Span]:
    match heard.said.text("notification_type"):
        case "permission_prompt":
            return tools.told_of_question(heard)
        case "idle_prompt":
            return conversation.notified(heard)
        case _:
            return iter(())


HANDLERS: Final[Mapping[str, Callable[[Heard], Iterator[Span]]]] = {
    "SessionStart": conversation.session_started,
    "SessionEnd": conversation.session_ended,
    "UserPromptSubmit": conversation.prompted,
    "PreToolUse": tools.before,
    "PermissionRequest": tools.asked,
    "PermissionDenied": tools.denied,
    "PostToolUse": tools.after,
    "PostToolUseFailure": tools.after,
    "PostToolBatch": tools.batch,
    "Notification": _notification,
    "Stop": conversation.stopped,
    "StopFailure": conversation.failed,
    "SubagentStart": conversation.agent_started,
    "SubagentStop": conversation.agent_stopped,
    "PreCompact": conversation.compacting,
    "PostCompact": conversation.compacted,
    "Elicitation": conversation.elicited,
    "ElicitationResult": conversation.elicitation_answered,
}
"""What each event says of a boundary. Every other event is recorded as nothing."""

_BEGINNINGS: Final = frozenset({"SessionStart", "UserPromptSubmit", "PreCompact", "Elicitation"})
_LOOKED_FOR: Final[Mapping[str, tuple[str, ...]]] = {
    "SessionEnd": (Boundary.SESSION, Boundary.TURN),
    "Notification": (Boundary.PERMISSION_WAIT, Boundary.TURN, Boundary.TOOL_SCHEDULE),
    "SubagentStart": ("Agent", "Task"),
    "PostCompact": (Boundary.COMPACTION,),
    "ElicitationResult": (Boundary.PERMISSION_WAIT,),
}


class Said:
    """The input of a hook, where it tells of something.

    Attributes:
        event: Its name.
        session_id: The session.
    """

    def __init__(self, payload: Payload, event: str, session_id: str) -> None:
        self._payload = payload
        self.event = event
        self.session_id = session_id

    @classmethod
    def read(cls, body: bytes, event: str | None = None) -> "Said | None":
        """Read an input; None where it tells nothing of a boundary.

        Args:
            body: JSON as Claude Code writes it.
            event: Name of the event, where the input does not say it.
        """
        payload = Payload.read(body)
        if payload is None:
            return None
        name, session_id = payload.text("hook_event_name") or event, payload.text("session_id")
        return cls(payload, name, session_id) if name is not None and name in HANDLERS and session_id is not None else None

    def spans(self, at: Edge, known: Known, *, content: bool = False) -> list[Span]:
        """What is to be recorded. `known` must be told of it when it is."""
        return list(HANDLERS[self.event](Heard(self._payload, self.event, self.session_id, at, known, content)))

    def words(self) -> list[str]:
        """What a record must hold to be of interest for this event: nothing, where what begins depends on nothing before."""
        if self.event in _BEGINNINGS:
            return []
        ids = [self._payload.text(name) for name in ("prompt_id", "tool_use_id", "agent_id")]
        calls = [self._payload] if self._payload.text("tool_name") else self._payload.parts("tool_calls")
        ids += [call.text("tool_use_id") for call in calls]
        ids += [Arguments(call).digest for call in calls]
        if self._payload.text("prompt_id") is None:
            ids.append(Boundary.TURN)
        return [*dict.fromkeys(word for word in ids if word is not None), *_LOOKED_FOR.get(self.event, ())]
