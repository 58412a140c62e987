"""Who listens beside the traffic: in a thread of its own, so that what passes waits for nobody who reads it."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from typing import Final, NamedTuple

from tracekit.capture.mcp_tap.calls import Calls, Server
from tracekit.capture.mcp_tap.connection import BESIDE, STAGES, Connection
from tracekit.capture.mcp_tap.wire import Line, Lines, Message, Side, messages
from tracekit.model import Span, Status

MOST_WAITING: Final = 256 * 1024 * 1024
"""Bytes that may wait to be read; what comes beyond is passed on unread."""
_LAST_WORDS_SECONDS: Final = 10.0

_log = logging.getLogger(__name__)


class _Heard(NamedTuple):
    side: Side
    at_ns: int
    data: bytes
    after_hole: bool


class Listener:
    """Reads what passes between a client and a server, and tells what it means.

    Args:
        server: The server.
        spawned_ns: When its process was asked for.
        tell: Takes each observation.
        content: Keep arguments, stripped of secrets.

    Attributes:
        gaps: Pieces of the traffic, and observations, that are missing in the record.
    """

    def __init__(self, server: Server, spawned_ns: int, tell: Callable[[Span], None], *, content: bool = False) -> None:
        self.gaps = 0
        self._tell = tell
        self._connection = Connection(server, spawned_ns)
        self._calls = Calls(server, content=content)
        self._lines = {side: Lines() for side in Side}
        self._deaf = dict.fromkeys(Side, False)
        self._waiting = 0
        self._lock = threading.Lock()
        self._queue: SimpleQueue[_Heard | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._listen, name="listener", daemon=True)

    def start(self) -> None:
        """Begin: the server's process is about to run."""
        self._keep([self._connection.opened()])
        self._thread.start()

    def hear(self, side: Side, data: bytes, at_ns: int) -> None:
        """Something passed. Returns at once."""
        with self._lock:
            after_hole, self._deaf[side] = self._deaf[side], self._waiting + len(data) > MOST_WAITING
            if self._deaf[side]:
                self.gaps += 1
                return
            self._waiting += len(data)
        self._queue.put(_Heard(side, at_ns, data, after_hole))

    def stop(self, at_ns: int, status: Status, why: str) -> None:
        """End: the process is gone, and so is whatever it still owed."""
        self._queue.put(None)
        self._thread.join(_LAST_WORDS_SECONDS)
        if not self._thread.is_alive():
            self._keep([*self._calls.broken_off(at_ns, status, why), *self._connection.closed(at_ns, status, why)])
            self.gaps += sum(lines.unread for lines in self._lines.values())

    def could_not_start(self, at_ns: int, code: str, text: str) -> None:
        """There is no process to listen to."""
        self._keep([self._connection.failed_to_start(at_ns, code, text)])

    def _listen(self) -> None:
        while (heard := self._queue.get()) is not None:
            with self._lock:
                self._waiting -= len(heard.data)
            try:
                self._read(heard)
            except Exception:  # noqa: BLE001
                # A message of a shape that nobody has thought of is no reason to miss the next one.
                self.gaps += 1
                _log.debug("a message could not be read", exc_info=True)

    def _read(self, heard: _Heard) -> None:
        lines = self._lines[heard.side]
        if heard.after_hole:
            lines.hole()
        for line in lines.feed(heard.data, heard.at_ns):
            self._keep(self._line(heard.side, line))

    def _line(self, side: Side, line: Line) -> Iterator[Span]:
        found = messages(line.data)
        if found is None and side is Side.SERVER:
            self._connection.noise()
        for message in found or ():
            if message.method is not None and message.id is not None:
                yield from self._request(side, message, line)
            elif message.method is not None:
                yield from self._notification(side, message, line)
            elif side is Side.SERVER and self._connection.answers(message):
                yield from self._connection.answered(message, line)
            else:
                yield from self._calls.answered(side, message, line)

    def _request(self, side: Side, message: Message, line: Line) -> Iterator[Span]:
        connecting = side is Side.CLIENT and not self._connection.is_ready
        if connecting and message.method in STAGES:
            yield from self._connection.asked(message, line)
        elif message.method not in STAGES | BESIDE:
            if connecting:
                yield from self._connection.used()
            yield from self._calls.asked(side, message, line)

    def _notification(self, side: Side, message: Message, line: Line) -> Iterator[Span]:
        if side is Side.CLIENT and not self._connection.is_ready:
            yield from self._connection.noticed(message, line)
        yield from self._calls.noticed(side, message, line)

    def _keep(self, spans: Iterable[Span]) -> None:
        for span in spans:
            try:
                self._tell(span)
            except OSError:
                self.gaps += 1
