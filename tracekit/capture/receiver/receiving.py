"""What both protocols do with a body: check it, keep it, pass it on."""

import hmac
import logging
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final, Self

from tracekit.capture.receiver.forward import Forward
from tracekit.capture.receiver.journal import Journal
from tracekit.capture.receiver.limits import Limits, Room
from tracekit.capture.receiver.messages import NotThisSignalError, holds_records
from tracekit.capture.receiver.refusal import Malformed, Refusal, Unauthorised, Unwritable
from tracekit.capture.receiver.signals import Body, Signal
from tracekit.spool import Spool

_log: Final = logging.getLogger(__name__)


class Receiver:
    """Takes OTLP bodies. Nothing is acknowledged before it is kept.

    A sender that heard nothing sends again: the same body may be kept twice, and is told once, since observations fuse by key.

    Args:
        spool: Where bodies are kept, a file of bodies only; nothing else may write to it.
        forward: Another collector that gets everything too.
        token: What senders must show; None: nothing, which is for loopback only.
        durable: Whether an acknowledged body is on the disk, or only safe from a crash of this process.
        limits: How much is taken.
        clock: Gives Unix nanoseconds.
    """

    def __init__(
        self,
        spool: Spool,
        *,
        forward: Forward | None = None,
        token: str | None = None,
        durable: bool = True,
        limits: Limits | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.limits = limits or Limits()
        self.room = Room(self.limits.waiting_bytes)
        self.kept: Counter[str] = Counter()
        """Bodies by signal, and all their `bytes`."""
        self.refused: Counter[int] = Counter()
        """Requests by the HTTP status that they got."""
        self._journal = Journal(spool, self._kept, durable=durable)
        self._forward = forward
        self._token = None if token is None else f"Bearer {token}".encode()
        self._clock = clock
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        if self._forward is not None:
            await self._open.enter_async_context(self._forward)
        await self._open.enter_async_context(self._journal)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()
        _log.info("%s", self.told())

    def authorise(self, authorization: str | None) -> None:
        """Make sure that a sender may send.

        Raises:
            Unauthorised: It may not.
        """
        if self._token is not None and not hmac.compare_digest(self._token, (authorization or "").encode(errors="replace")):
            raise Unauthorised

    async def accept(self, signal: Signal, content_type: str, data: bytes, *, marks: str = "") -> None:
        """Keep a body, and pass it on. When this returns, the sender may forget it.

        Raises:
            Malformed: It is not what it says that it is.
            Unwritable: It cannot be kept for now.
        """
        try:
            if not holds_records(signal, content_type, data):
                return
        except NotThisSignalError as error:
            raise Malformed(str(error)) from error
        await self._journal.keep(Body(signal, content_type, data, self._clock(), marks))

    def _kept(self, body: Body) -> None:
        self.kept[body.signal] += 1
        self.kept["bytes"] += len(body.data)
        if self._forward is not None:
            self._forward.offer(body)

    def count(self, refusal: Refusal) -> None:
        """Remember that a request was not taken. The first that could not be written is told at once."""
        self.refused[refusal.http] += 1
        if isinstance(refusal, Unwritable) and self.refused[refusal.http] == 1:
            _log.warning("%s", refusal.message)

    def told(self) -> str:
        """What became of the requests so far, in a line."""
        kept = ", ".join(f"{self.kept[signal]} {signal}" for signal in Signal)
        refused = ", ".join(f"{count} with {status}" for status, count in sorted(self.refused.items()))
        return f"OTLP bodies kept: {kept} ({self.kept['bytes']:,} bytes); refused: {refused or 'none'}"
