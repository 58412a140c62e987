"""What the host answers when its client asks: hooks that are callbacks, and whether a tool may run."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, cast

from tracekit.instrument.handle import Handle, Told
from tracekit.instrument.hooks import HookReply
from tracekit.instrument.kept import kept_input
from tracekit.instrument.place import Place
from tracekit.model import Boundary, Status, semconv
from tracekit.model.redact import error_text

_SOURCE: Final = "can_use_tool"
_ACCEPT, _REJECT = "accept", "reject"
_STOP: Final = "stop"
_REFUSES: Final = frozenset({"deny", "block", _STOP})

Object = Mapping[str, Any]


class HookCallback(HookReply):
    """One callback that the client asked for.

    Args:
        run_id: Id of the control request, which is this run's.
        asked: What the hook is given.
        parent: The turn.
    """

    def __init__(self, run_id: str, asked: Object, parent: Handle) -> None:
        event = _text(asked, "hook_event_name") or "unknown"
        tool = _text(asked, "tool_name")
        super().__init__(
            event,
            f"{event}:{tool}" if tool else event,
            run_id=run_id,
            tool_use_id=_text(asked, "tool_use_id"),
            parent=parent,
            attributes={semconv.HOOK_COUNT: 1},
        )
        self._agent_id = _text(asked, "agent_id")

    def _standing(self) -> Place:
        return _in_agent(self._outer, self._agent_id)

    def answered(self, reply: Object, at_ns: int) -> None:
        """The callback gave this back."""
        decision, why = decided(reply)
        self.transport("ok")
        self.decision(decision)
        if decision in _REFUSES and why:
            self.say({semconv.ERROR_TEXT: error_text(why)})
        self.end(at_ns=at_ns)

    def refused(self, words: str, at_ns: int, *, is_known: bool, callback_id: str) -> None:
        """It gave an error back: it raised one, or nobody is behind the id."""
        if is_known:
            self.transport("error")
            self.say({semconv.ERROR_TEXT: error_text(words)})
        else:
            self.unknown_callback(callback_id)
        self.end(at_ns=at_ns)

    def given_up(self) -> None:
        """The client waits no longer."""
        self.end(asyncio.CancelledError())


class Permission(Handle):
    """A tool waits for the host's word. The call itself is the client's."""

    boundary = Boundary.PERMISSION_WAIT

    def __init__(self, request_id: str, asked: Object, parent: Handle) -> None:
        tool = _text(asked, "tool_name") or "unknown"
        self._call = _text(asked, "tool_use_id")
        said: dict[str, Told] = {semconv.TOOL_NAME: tool, **kept_input(asked.get("input"))}
        if self._call is not None:
            said[semconv.TOOL_CALL_ID] = self._call
        super().__init__(f"permission_wait {tool}", key=self._call or request_id, parent=parent, attributes=said)
        self._agent_id = _text(asked, "agent_id")

    def _standing(self) -> Place:
        return _in_agent(self._outer, self._agent_id)._replace(tool=self._call)

    def _part_of(self) -> str | None:
        return self._call or self._outer.around

    def answered(self, reply: Object, at_ns: int) -> None:
        """The host decided."""
        decision = _ACCEPT if reply.get("behavior") == "allow" else _REJECT
        self.say({semconv.PERMISSION_DECISION: decision, semconv.PERMISSION_SOURCE: _SOURCE})
        self.end(at_ns=at_ns)

    def refused(self, words: str, at_ns: int) -> None:
        """The host's callback raised an error: nothing was decided."""
        self.say({semconv.ERROR_TEXT: error_text(words)})
        self.end(status=Status.ERROR, at_ns=at_ns)

    def given_up(self) -> None:
        """The client waits no longer."""
        self.end(asyncio.CancelledError())


def decided(reply: Object) -> tuple[str | None, str | None]:
    """What a hook's answer says, and why; None where it has no opinion.

    Examples:
        >>> decided({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "not on a Friday"}})
        ('deny', 'not on a Friday')
        >>> decided({"hookSpecificOutput": {"decision": {"behavior": "allow"}}})
        ('allow', None)
        >>> decided({"decision": "block", "reason": "tests fail"}), decided({"continue": False}), decided({})
        (('block', 'tests fail'), ('stop', None), (None, None))
    """
    specific = object_in(reply, "hookSpecificOutput")
    behavior = object_in(specific, "decision")
    for value, why in (
        (_text(specific, "permissionDecision"), _text(specific, "permissionDecisionReason")),
        (_text(behavior, "behavior"), _text(behavior, "message")),
        (_text(reply, "decision"), _text(reply, "reason")),
    ):
        if value is not None:
            return value, why
    return (_STOP, _text(reply, "stopReason")) if reply.get("continue") is False else (None, None)


def object_in(value: Object, name: str) -> Object:
    """A field that is an object; empty where it is none."""
    found = value.get(name)
    return cast("Object", found) if isinstance(found, dict) else {}


def _in_agent(place: Place, agent_id: str | None) -> Place:
    return place if agent_id is None else place._replace(agent_id=agent_id)


def _text(value: Object, name: str) -> str | None:
    found = value.get(name)
    return found if isinstance(found, str) and found else None
