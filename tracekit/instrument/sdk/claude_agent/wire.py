"""One client of the SDK, as its transport sees it: every line with the time of its arrival, and every line that the host writes."""

import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, Final

from tracekit.instrument.guard import blame, guarded
from tracekit.instrument.handle import Handle
from tracekit.instrument.runtime import RUNTIME
from tracekit.instrument.sdk.claude_agent.attention import Attention
from tracekit.instrument.sdk.claude_agent.hooks import object_in
from tracekit.instrument.sdk.claude_agent.lines import kept
from tracekit.instrument.sdk.claude_agent.questions import Questions
from tracekit.instrument.sdk.claude_agent.responses import Responses
from tracekit.instrument.sessions import Session
from tracekit.model import Status, semconv
from tracekit.model.redact import error_text
from tracekit.spool import Spool

SPOOL_NAME: Final = "claude-agent"
_CONTROL: Final = frozenset({"control_response", "control_cancel_request", "keep_alive", "transcript_mirror"})
_INTERRUPT: Final = "interrupt"

Object = Mapping[str, Any]


class Record:
    """The lines of one client, in a file of their own: a stream is understood from its first line on.

    After a line that could not be kept none is: what follows a hole would be told wrongly.
    """

    def __init__(self) -> None:
        folder = RUNTIME.recorder.folder if RUNTIME.recorder is not None else None
        self._spool = None if folder is None else Spool(folder, SPOOL_NAME, rotate_bytes=sys.maxsize, clock=RUNTIME.clock)

    def keep(self, line: Object, arrival_ns: int, waited_ns: int) -> None:
        """Keep a line as `tracekit import` reads it."""
        if self._spool is None:
            return
        try:
            waited = {"waited_ns": waited_ns} if waited_ns else {}
            self._spool.append({"arrival_ns": arrival_ns, **waited, "line": kept(line, content=RUNTIME.content)})
        except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
            self.close()
            blame(error)

    def close(self) -> None:
        """Keep no more."""
        if self._spool is not None:
            self._spool.close()
            self._spool = None


class Wire:
    """What is known of one client from its lines.

    Args:
        began_ns: When it was started.
    """

    def __init__(self, began_ns: int) -> None:
        self._began_ns = began_ns
        self._record = Record()
        self._attention = Attention()
        self._responses = Responses()
        self._questions = Questions(lambda: self._responses.standing, self._prompted_as)
        self._session: Session | None = None
        self._session_id = ""
        self._is_over = False

    # What the client says ---------------------------------------------------------------------------------------------

    async def reading(self, messages: AsyncIterator[dict[str, Any]]) -> AsyncGenerator[dict[str, Any]]:
        """Give the client's lines as they come."""
        broke: BaseException | None = None
        try:
            async for message in messages:
                question = self._read(message)
                self._attention.left(RUNTIME.clock())
                if question is None:
                    yield message
                else:
                    # The SDK starts the task that answers before it asks for the next line.
                    with question.inside():
                        yield message
                self._attention.back(RUNTIME.clock())
        except BaseException as error:
            broke = error
            raise
        finally:
            self._stopped(broke)
            if (close := getattr(messages, "aclose", None)) is not None:
                with suppress(Exception):  # without us it would be closed by nobody who listens
                    await close()

    def _read(self, message: Object) -> Handle | None:
        try:
            return self._heard(message, RUNTIME.clock())
        except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
            blame(error)
            return None

    def _heard(self, message: Object, at_ns: int) -> Handle | None:
        kind = message.get("type")
        if kind not in _CONTROL:
            self._record.keep(message, at_ns, self._attention.waited_ns(at_ns))
        session_id = message.get("session_id")
        if isinstance(session_id, str) and session_id and session_id != self._session_id:
            self._met(session_id, at_ns)
        if kind == "control_request":
            return self._questions.asked(message, at_ns)
        if kind == "control_cancel_request":
            self._questions.given_up(str(message.get("request_id")))
        elif kind == "result":
            self._closed(message, at_ns)
        elif kind not in _CONTROL:
            self._responses.line(message, at_ns)
            if message.get("subtype") == "init":
                self._introduced(message)
        return None

    def _met(self, session_id: str, at_ns: int) -> None:
        """The client says in which session it is: a new one began, or another is taken up."""
        began_ns = self._began_ns if self._session is None else at_ns
        if self._session is not None:
            self._responses.broken_off(None, at_ns)
            self._session.end(at_ns=at_ns)
        self._session_id = session_id
        self._session = Session(session_id).start(at_ns=began_ns)
        self._responses.met(self._session, session_id)
        self._questions.session_known()

    def _introduced(self, init: Object) -> None:
        named = ((semconv.PROJECT, init.get("cwd")), (semconv.CLIENT_VERSION, init.get("claude_code_version")))
        found = {name: value for name, value in named if isinstance(value, str)}
        for handle in (self._session, self._responses.current):
            if handle is not None:
                handle.say(found)

    def _closed(self, result: Object, at_ns: int) -> None:
        self._responses.result(result, at_ns)
        cost = result.get("total_cost_usd")
        if self._session is not None and isinstance(cost, int | float):
            self._session.say({semconv.COST_USD: cost})

    def _prompted_as(self, prompt_id: str) -> None:
        if self._responses.current is not None:
            self._responses.current.prompted_as(prompt_id)

    # What the host says -----------------------------------------------------------------------------------------------

    @guarded
    def writing(self, data: str) -> None:
        """The host is about to write."""
        at_ns = RUNTIME.clock()
        for text in data.splitlines():
            if text.strip():
                self._said(json.loads(text), at_ns)

    def _said(self, line: Object, at_ns: int) -> None:
        match line.get("type"):
            case "user":
                self._responses.prompted(line, at_ns)
            case "control_response":
                self._questions.answered(object_in(line, "response"), at_ns)
            case "control_request":
                request = object_in(line, "request")
                if request.get("subtype") == "initialize":
                    self._questions.registered(request)
            case _:
                return

    @guarded
    def commanded(self, subtype: str) -> None:
        """The host asks its client for something."""
        self._mark(f"{subtype} request")
        if subtype == _INTERRUPT and self._responses.current is not None:
            self._responses.current.interrupted()

    @guarded
    def obeyed(self, subtype: str) -> None:
        """The client did it."""
        self._mark(f"{subtype} response")

    @guarded
    def disobeyed(self, subtype: str, error: BaseException) -> None:
        """The client did not, or did not say so in time: of a session this is told, for nothing else would."""
        is_late = isinstance(error.__cause__, TimeoutError)
        self._mark(f"{subtype} {'timeout' if is_late else 'error'}")
        if is_late:
            self._failed(error)

    def _mark(self, name: str) -> None:
        """Mark a moment in what the client is doing."""
        standing = self._responses.standing
        if standing is not None and standing.span.is_recording():
            standing.span.add_event(name, timestamp=RUNTIME.clock())

    def _failed(self, error: BaseException) -> None:
        """The client as a whole failed."""
        session = self._session or Session(None).start(at_ns=self._began_ns)
        self._session = session
        session.say({semconv.RESULT_IS_ERROR: True, semconv.ERROR_TYPE: type(error).__name__, semconv.ERROR_TEXT: error_text(str(error))})

    # How it ends ------------------------------------------------------------------------------------------------------

    @guarded
    def not_connected(self, error: BaseException) -> None:
        """There is no client."""
        if self._session is None:
            self._failed(error)
        self._over(error)

    @guarded
    def _stopped(self, error: BaseException | None) -> None:
        """No line will come."""
        if isinstance(error, Exception):
            self._over(error)

    @guarded
    def closed(self) -> None:
        """The host lets the client go."""
        self._over(None)

    def _over(self, error: BaseException | None) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._questions.broken_off()
        self._responses.broken_off(error, RUNTIME.clock())
        if self._session is not None:
            self._session.end(error, status=None if error is not None else Status.OK)
        self._record.close()
