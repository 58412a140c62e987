"""What the client asks its host over the control channel, from the line that asks to the line that answers."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tracekit.instrument.handle import Handle
from tracekit.instrument.sdk.claude_agent import servers
from tracekit.instrument.sdk.claude_agent.hooks import HookCallback, Permission, object_in
from tracekit.instrument.sdk.claude_agent.servers import Greeting, ServerCall

Object = Mapping[str, Any]
Question = HookCallback | Permission | ServerCall | Greeting

_EARLY: Final = 32
"""What is asked before the session is known waits for it; a client asks for a handful."""


class _Early:
    """A question that came, and may have been answered, before it was known in which session."""

    def __init__(self, asked: Object, at_ns: int) -> None:
        self.asked = asked
        self.at_ns = at_ns
        self.answer: Object | None = None
        self.answered_ns = 0


class Questions:
    """The questions of one client that wait for their answers.

    Args:
        standing: Gives what they belong to; None while the session is not known.
        prompt_known: Told of the prompt's id, which hooks are given.
    """

    def __init__(self, standing: Callable[[], Handle | None], prompt_known: Callable[[str], None]) -> None:
        self._standing = standing
        self._prompt_known = prompt_known
        self._open: dict[str, tuple[Question, Object]] = {}
        self._early: dict[str, _Early] = {}
        self._callbacks: set[str] = set()

    def registered(self, initialize: Object) -> None:
        """The host tells the client of its hooks."""
        matchers = [matcher for event in object_in(initialize, "hooks").values() for matcher in event or ()]
        self._callbacks.update(str(known) for matcher in matchers for known in matcher.get("hookCallbackIds") or ())

    def asked(self, line: Object, at_ns: int) -> Question | None:
        """A question came. Gives what the host's answer is part of."""
        request_id, request = str(line.get("request_id")), object_in(line, "request")
        parent = self._standing()
        if parent is None:
            if len(self._early) < _EARLY:
                self._early[request_id] = _Early(request, at_ns)
            return None
        return self._begin(request_id, request, parent, at_ns)

    def _begin(self, request_id: str, request: Object, parent: Handle, at_ns: int) -> Question | None:
        question = self._question(request_id, request, parent)
        if question is None:
            return None
        self._open[request_id] = question, request
        if isinstance(question, ServerCall) and question.tool is not None:
            question.tool.start(at_ns=at_ns)
        question.start(at_ns=at_ns)
        if isinstance(question, ServerCall):
            servers.introduce(question, request)
        return question

    def _question(self, request_id: str, request: Object, parent: Handle) -> Question | None:
        match request.get("subtype"):
            case "hook_callback":
                given = object_in(request, "input")
                prompt_id = given.get("prompt_id")
                if isinstance(prompt_id, str) and given.get("agent_id") is None:
                    self._prompt_known(prompt_id)
                return HookCallback(request_id, {"tool_use_id": request.get("tool_use_id"), **given}, parent)
            case "can_use_tool":
                return Permission(request_id, request, parent)
            case "mcp_message":
                return servers.asked(request, parent)
            case _:
                return None

    def answered(self, response: Object, at_ns: int) -> None:
        """The host writes an answer."""
        request_id = str(response.get("request_id"))
        if (early := self._early.get(request_id)) is not None:
            early.answer, early.answered_ns = response, at_ns
            return
        if (waiting := self._open.pop(request_id, None)) is not None:
            self._end(*waiting, response, at_ns)

    def _end(self, question: Question, request: Object, response: Object, at_ns: int) -> None:
        words = str(response.get("error") or "")
        reply = object_in(response, "response")
        match question:
            case HookCallback() if response.get("subtype") == "error":
                known = str(request.get("callback_id"))
                question.refused(words, at_ns, is_known=known in self._callbacks, callback_id=known)
            case Permission() | ServerCall() | Greeting() if response.get("subtype") == "error":
                question.refused(words, at_ns)
            case HookCallback() | Permission():
                question.answered(reply, at_ns)
            case _:
                question.answer(object_in(reply, "mcp_response"), at_ns)

    def given_up(self, request_id: str) -> None:
        """The client waits for an answer no longer."""
        self._early.pop(request_id, None)
        if (waiting := self._open.pop(request_id, None)) is not None:
            waiting[0].given_up()

    def session_known(self) -> None:
        """What was asked before can be told now."""
        early, self._early = self._early, {}
        for request_id, one in early.items():
            parent = self._standing()
            question = self._begin(request_id, one.asked, parent, one.at_ns) if parent is not None else None
            if question is not None and one.answer is not None:
                self._end(*self._open.pop(request_id), one.answer, one.answered_ns)

    def broken_off(self) -> None:
        """Nobody answers any more."""
        while self._open:
            _, (question, _) = self._open.popitem()
            question.given_up()
