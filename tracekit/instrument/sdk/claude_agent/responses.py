"""The windows of a client's responses: each from its prompt to the first result, and no line of the next one in it."""

import re
from collections.abc import Mapping
from typing import Any, Final

from tracekit.instrument.handle import Handle, Told
from tracekit.instrument.turns import Turn
from tracekit.model import Status, semconv
from tracekit.model.redact import error_text

AGENT: Final = "claude-code"

_COMMAND: Final = re.compile(r"/[a-z][\w:.-]*(?:\s|$)")
_BEGINS: Final = frozenset({"init", "compact_boundary", "microcompact_boundary", "api_retry"})
"""What the client says of a turn that it took up by itself."""
_DOING: Final = frozenset({"requesting", "compacting"})
_ABORTS: Final = {"aborted_streaming": "streaming", "aborted_tools": "tool"}

Object = Mapping[str, Any]


class Response(Turn):
    """One window.

    Args:
        key: What it is called until its prompt's id is known: as the client's stream is read.
        kind: As of a turn.
        parent: The session.
    """

    def __init__(self, key: str, kind: str, parent: Handle) -> None:
        super().__init__(None, kind=kind, agent=AGENT, parent=parent)
        self._key = key
        self._interrupts = 0

    def prompted_as(self, prompt_id: str) -> None:
        """The client told the prompt's id."""
        self.named(prompt_id)
        self.say({semconv.PROMPT_ID: prompt_id})

    def interrupted(self) -> None:
        """The host interrupted it."""
        self._interrupts += 1

    def closed(self, result: Object, at_ns: int) -> None:
        """The result is here. That it is complete says nothing of the work."""
        said = result_of(result)
        reason = str(said.get(semconv.TERMINAL_REASON, ""))
        interrupts = self._interrupts or (1 if reason in _ABORTS else 0)
        if interrupts:
            said |= {semconv.INTERRUPTS: interrupts, semconv.INTERRUPTED: _ABORTS.get(reason, "streaming")}
        self.say(said)
        failed = result.get("is_error") is True or str(result.get("subtype")).startswith("error")
        self.end(status=Status.CANCELLED if interrupts else Status.ERROR if failed else Status.OK, at_ns=at_ns)


class Responses:
    """The windows of one client, one after the other."""

    def __init__(self) -> None:
        self.current: Response | None = None
        self._session: Handle | None = None
        self._session_id = ""
        self._count = 0
        self._prompted: tuple[int, str] | None = None
        """When a prompt was written that has no window yet, and of which kind."""
        self._queued = 0

    @property
    def standing(self) -> Handle | None:
        """What the client's questions belong to: the response, between two of them the session."""
        return self.current if self.current is not None else self._session

    def met(self, session: Handle, session_id: str) -> None:
        """The session is known now, or is another than before."""
        if session_id != self._session_id:
            self._count = 0
        self._session, self._session_id = session, session_id
        if self._prompted is not None and self.current is None:
            self._open(*self._prompted)

    def prompted(self, message: Object, at_ns: int) -> None:
        """The host writes a prompt."""
        if self.current is not None:
            self._queued += 1
        elif self._session is None:
            self._prompted = self._prompted or (at_ns, _kind(message))
        else:
            self._open(at_ns, _kind(message))

    def line(self, line: Object, at_ns: int) -> None:
        """A line of the main agent that is no result."""
        if self.current is None and self._session is not None and _opens(line):
            at_ns, kind = self._prompted or (at_ns, "notification")
            self._open(at_ns, kind)
        if line.get("subtype") == "session_state_changed" and line.get("state") == "idle" and self.current is None:
            self._prompted, self._queued = None, 0

    def result(self, line: Object, at_ns: int) -> None:
        """The first result ends the window. A prompt that was written meanwhile gets the next."""
        if self.current is None:
            # A turn of which nothing else was told, as after a command.
            self.line({"type": "system", "subtype": "init"}, at_ns)
        if self.current is not None:
            self.current.closed(line, at_ns)
        self.current = None
        if self._queued:
            self._queued -= 1
            self._prompted = (at_ns, "prompt")

    def broken_off(self, error: BaseException | None, at_ns: int) -> None:
        """No result will come: the host left, or the client is gone."""
        if self.current is not None:
            if error is None:
                self.current.end(status=Status.CANCELLED, at_ns=at_ns)
            else:
                self.current.say({semconv.RESULT_IS_ERROR: True})
                self.current.end(error, at_ns=at_ns)
        self.current = None

    def _open(self, at_ns: int, kind: str) -> None:
        if self._session is None:
            return
        self._count += 1
        self._prompted = None
        self.current = Response(f"turn:{self._session_id}#{self._count}", kind, self._session).start(at_ns=at_ns)


def result_of(line: Object) -> dict[str, Told]:
    """What a result says of how the response ended."""
    found: dict[str, Told] = {}
    for name, attribute in (("subtype", semconv.RESULT_SUBTYPE), ("terminal_reason", semconv.TERMINAL_REASON)):
        if isinstance(word := line.get(name), str) and word:
            found[attribute] = word
    if isinstance(is_error := line.get("is_error"), bool):
        found[semconv.RESULT_IS_ERROR] = is_error
    if isinstance(status := line.get("api_error_status"), int):
        found[semconv.HTTP_STATUS] = status
    kind = line.get("api_error_type") or line.get("api_error")
    if isinstance(kind, str):
        found[semconv.ERROR_TYPE] = kind
    errors = line.get("errors")
    words = "\n".join(str(error) for error in errors) if isinstance(errors, list) else ""  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if not words and line.get("is_error") is True:
        words = str(line.get("result") or "")
    if words:
        found[semconv.ERROR_TEXT] = error_text(words)
    return found


def _opens(line: Object) -> bool:
    if line.get("parent_tool_use_id") is not None:
        return False
    if line.get("type") == "system":
        return line.get("subtype") in _BEGINS or line.get("status") in _DOING
    return line.get("type") in {"assistant", "stream_event"}


def _kind(message: Object) -> str:
    inner = message.get("message")
    content: Any = inner.get("content") if isinstance(inner, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return "command" if isinstance(content, str) and _COMMAND.match(content) else "prompt"
