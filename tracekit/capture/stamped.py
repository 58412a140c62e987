"""A pipe whose bytes are passed on at once and untouched, while each line is noted with the time at which it arrived."""

import fcntl
import os
import select
import struct
import termios
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

_PIECE: Final = 64 * 1024
_ROOM: Final = 64 * 1024 * 1024
"""Bytes of lines that are kept."""
_QUIET_SECONDS: Final = 0.2
"""A pipe that the child has left to a process of its own is given up after this long without a byte …"""
_LONGEST_SECONDS: Final = 2.0
"""… or after this long, when all that the child wrote itself has been passed on."""


class Arrival(NamedTuple):
    """One line, with its newline where it had one."""

    arrived_ns: int
    line: bytes


class StampedPipe:
    """Reads what a child writes to `write_end` and writes it to `target`.

    Args:
        target: Descriptor that the bytes go to.
        clock: Gives Unix nanoseconds.
        room: Bytes of lines that are kept.

    Attributes:
        write_end: The descriptor for the child's stdout. It is closed here when the pipe starts.
        lines: The lines that arrived, in order; complete after `finish`.
        left_out: How many lines were passed on and not kept.
    """

    def __init__(self, target: int, *, clock: Callable[[], int], room: int = _ROOM) -> None:
        self._source, self.write_end = os.pipe()
        self._target = target
        self._clock = clock
        self._room = room
        self._line: list[bytes] = []
        self._passed = 0
        self._owed: int | None = None
        self._given_up_at = 0.0
        self._child_has_ended = False
        self._thread = threading.Thread(target=self._run, name="tracekit stdout", daemon=True)
        self.lines: list[Arrival] = []
        self.left_out = 0

    def start(self) -> None:
        """Begin to pass on."""
        os.close(self.write_end)
        self._thread.start()

    def abandon(self) -> None:
        """Close both ends, where nothing was started."""
        os.close(self.write_end)
        os.close(self._source)

    def finish(self) -> None:
        """Return when all that the child wrote has been passed on; the child has ended."""
        self._child_has_ended = True
        self._thread.join()

    def _run(self) -> None:
        try:
            while (piece := self._next()) is not None:
                arrived_ns = self._clock()
                self._write(piece)
                self._note(piece, arrived_ns)
        except OSError:
            # Whoever read has gone: closing the pipe tells the child so, as it would have been told without us.
            pass
        finally:
            os.close(self._source)
            if self._line:
                self._keep(self._clock())

    def _next(self) -> bytes | None:
        """The next bytes; None at the end."""
        while not _is_ready(self._source, select.POLLIN, _QUIET_SECONDS):
            if self._child_has_ended:
                return None
        if self._child_has_ended and self._is_enough():
            return None
        piece = os.read(self._source, _PIECE)
        self._passed += len(piece)
        return piece or None

    def _is_enough(self) -> bool:
        """Whether whoever still writes has had his time: what was in the pipe when the child was seen to have ended is the child's."""
        if self._owed is None:
            self._owed = self._passed + _waiting(self._source)
            self._given_up_at = time.monotonic() + _LONGEST_SECONDS
        return self._passed >= self._owed and time.monotonic() > self._given_up_at

    def _write(self, piece: bytes) -> None:
        rest = memoryview(piece)
        while rest:
            try:
                rest = rest[os.write(self._target, rest) :]
            except BlockingIOError:
                _is_ready(self._target, select.POLLOUT, _QUIET_SECONDS)

    def _note(self, piece: bytes, arrived_ns: int) -> None:
        first, *more = piece.split(b"\n")
        self._line.append(first)
        for rest in more:
            self._line.append(b"\n")
            self._keep(arrived_ns)
            self._line = [rest] if rest else []

    def _keep(self, arrived_ns: int) -> None:
        # A stream is understood from its beginning on: what has no room is left out at its end.
        self._room -= sum(map(len, self._line))
        if self._room < 0:
            self.left_out += 1
        else:
            self.lines.append(Arrival(arrived_ns, b"".join(self._line)))


def _is_ready(descriptor: int, what: int, seconds: float) -> bool:
    waiting = select.poll()
    waiting.register(descriptor, what)
    return bool(waiting.poll(int(1000 * seconds)))


def _waiting(descriptor: int) -> int:
    """Bytes that a pipe holds."""
    found: tuple[int] = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))
    return found[0]
