"""Follows the body of one response as the program reads it, and tells the request what came when."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from tracekit.instrument.guard import blame, guarded
from tracekit.instrument.reading import read_event
from tracekit.instrument.runtime import RUNTIME
from tracekit.instrument.sdk.anthropic.deltas import AFTER_CONTENT, Likeness
from tracekit.instrument.sdk.anthropic.errors import said_by_error
from tracekit.model import Status, semconv

if TYPE_CHECKING:
    from tracekit.instrument.requests import ModelRequest

_loads: Final = orjson.loads
_DELTA: Final = "content_block_delta"
_CONTENT_END: Final = -len(AFTER_CONTENT)
_LAST: Final = frozenset({"message_stop", "error"})
"""Events after which nothing follows, whatever becomes of the connection."""
_NOT_EVENTS: Final = "read by the program itself, not as events"
_UPSTREAM: Final = "upstream"


class Following:
    """One body, from its first byte to its end. All that came with one chunk arrived when that did.

    Args:
        request: What it answers.
        ended: Told when it ended.
    """

    def __init__(self, request: "ModelRequest", ended: Callable[[int], None]) -> None:
        self._request = request
        self._ended = ended
        self._delta = request.delta
        self._like = Likeness()
        self._is_kept = RUNTIME.content
        self._clock = RUNTIME.clock
        self._now_ns = 0
        self._size = 0
        self._is_decoded = False
        self._is_begun = False
        self._is_left = False
        self._is_given = False
        self._is_over = False

    def received(self, chunk: bytes) -> None:
        """A chunk came. As `event`, this is passed a thousand times in a response."""
        try:
            self._now_ns = self._clock()
            if self._size == 0:
                self._request.first_byte(at_ns=self._now_ns)
            self._size += len(chunk)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
            blame(error)

    def dismissed(self) -> None:
        """Another attempt is made: this answer is not what the request ends with."""
        self._is_over = True

    def given(self) -> None:
        """The program has it."""
        self._is_given = True
        if self._is_left:
            self.left()

    def decoded(self) -> None:
        """The SDK reads it as a stream of events."""
        self._is_decoded = True

    def event(self, name: str | None, data: str) -> None:
        """The SDK found an event in what came."""
        try:
            if name == _DELTA and not self._is_kept:
                like = self._like
                if data.startswith(like.beginning) and data.endswith(AFTER_CONTENT):
                    size = len(_loads(data[like.at : _CONTENT_END]))
                else:
                    size = like.read(data)
                self._delta(like.index, size, self._now_ns)
                return
        except Exception:  # noqa: BLE001, S110  (one of another shape, or of a block that is not open: it is read the long way)
            pass
        self._read(name, data)

    @guarded
    def _read(self, name: str | None, data: str) -> None:
        self._is_begun = True
        try:
            said: Any = _loads(data)
        except orjson.JSONDecodeError:
            said = None
        event = cast("dict[str, object]", said) if isinstance(said, dict) else {"type": name}
        read_event(self._request, event, at_ns=self._now_ns)
        if name in _LAST:
            self._end(None)

    @guarded
    def ended(self) -> None:
        """The body ended as it should by HTTP; whether the message did, its events tell."""
        self._end(None)

    @guarded
    def broke(self, error: BaseException) -> None:
        """Reading the body failed."""
        self._end(error)

    @guarded
    def left(self) -> None:
        """The program closed or dropped it; where it was read to its end, this changes nothing. A middleware may yet ask again."""
        self._is_left = True
        if self._is_given and not self._is_over:
            self._is_over = True
            self._request.say({semconv.RESPONSE_SIZE: self._size})
            self._request.left()
            self._ended(self._request.ended_ns)

    def _end(self, error: BaseException | None) -> None:
        if self._is_over:
            return
        self._is_over = True
        request = self._request
        request.say({semconv.RESPONSE_SIZE: self._size})
        if error is not None:
            request.say(said_by_error(error))
        elif not self._is_decoded:
            request.say({semconv.UNREAD: _NOT_EVENTS})
        elif not self._is_begun:
            request.say({semconv.STREAM_CUT: _UPSTREAM})
            request.end(status=Status.ERROR)
        request.end(error)
        self._ended(request.ended_ns)
