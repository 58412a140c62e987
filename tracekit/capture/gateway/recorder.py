"""Writes observations to the spool without holding up or failing the traffic: in a thread, and what is lost is counted."""

import logging
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Final, Self

from tracekit.model import Span
from tracekit.spool import Spool

_LOG: Final = logging.getLogger(__name__)
_WAITING_AT_MOST: Final = 20_000
"""Observations that may wait for a slow disk; beyond that they are lost, and the agent goes on."""


class Recorder:
    """The way from the traffic to the spool, for one thread. A disk may be slow, full or gone, and none of it may be felt.

    It is a context, too, in which no error matters: what goes wrong inside is a gap in the record and nothing else.
    """

    def __init__(self, spool: Spool, *, waiting_at_most: int = _WAITING_AT_MOST) -> None:
        self._spool = spool
        self._waiting_at_most = waiting_at_most
        self._waiting: SimpleQueue[Span | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._missed = 0
        self._unwritten = 0

    @property
    def gaps(self) -> int:
        """How many observations could not be made or written so far."""
        return self._missed + self._unwritten

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if isinstance(error, Exception):
            self._missed += 1
            _LOG.debug("an observation could not be made", exc_info=error)
            return True
        return False

    def write(self, span: Span) -> None:
        """Have an observation written soon."""
        if self._waiting.qsize() >= self._waiting_at_most:
            self._missed += 1
            return
        if self._thread is None:
            self._thread = Thread(target=self._work, name="tracekit gateway", daemon=True)
            self._thread.start()
        self._waiting.put(span)

    def close(self, seconds: float = 5.0) -> None:
        """Return when all is written, or after so many seconds; say how much was lost."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join(seconds)
            self._missed += self._waiting.qsize()
            self._thread = None
        if self.gaps:
            _LOG.warning("%d observations of the gateway are missing in the record; the traffic itself was not touched", self.gaps)

    def _work(self) -> None:
        while (span := self._waiting.get()) is not None:
            self._try_to_write(span)

    def _try_to_write(self, span: Span) -> None:
        try:
            self._spool.write(span)
        except Exception as error:  # noqa: BLE001  (whatever a disk or a filesystem comes up with, the next record may succeed)
            if not self._unwritten:
                _LOG.warning("the gateway cannot write its record: %s", error)
            self._unwritten += 1
