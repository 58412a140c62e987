"""Makes bodies durable in groups: all that came while the disk was busy is written, synced once, and then answered."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Self

from tracekit.capture.receiver.refusal import Unwritable
from tracekit.capture.receiver.signals import Body
from tracekit.spool import Spool


class Journal:
    """The one writer of a receiver's spool.

    Args:
        spool: Where bodies are kept; nothing else writes to it, since its files hold bodies only.
        kept: Called with each body that is kept, also where its sender has left meanwhile. Never waits.
        durable: Whether a body is kept when it is on the disk, or already when the operating system has it.
    """

    def __init__(self, spool: Spool, kept: Callable[[Body], None], *, durable: bool = True) -> None:
        self._spool = spool
        self._kept = kept
        self._durable = durable
        self._waiting: list[tuple[Body, asyncio.Future[None]]] = []
        self._woken = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name="otlp journal")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Keep what waits, then end."""
        self._closing = True
        self._woken.set()
        if self._task is not None:
            await self._task

    async def keep(self, body: Body) -> None:
        """Return when a body is kept for sure.

        Raises:
            Unwritable: It is not, for now.
        """
        if self._task is None or self._closing:
            raise Unwritable("the receiver is closing")
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((body, answer))
        self._woken.set()
        await answer

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, "otlp-journal") as thread:
            while self._waiting or not self._closing:
                await self._woken.wait()
                self._woken.clear()
                group, self._waiting = self._waiting, []
                if group:
                    outcomes = await loop.run_in_executor(thread, self._commit, [body for body, _ in group])
                    for (body, answer), refusal in zip(group, outcomes, strict=True):
                        if refusal is None:
                            self._kept(body)
                        _tell(answer, refusal)

    def _commit(self, bodies: Sequence[Body]) -> list[Unwritable | None]:
        """Write a group and make it durable. What could not be written fails alone, what could not be synced fails together."""
        outcomes = [self._write(body) for body in bodies]
        try:
            if self._durable:
                self._spool.sync()
        except Exception as error:  # noqa: BLE001  (whatever it is: these senders come again, and the next group is served)
            # What a failed sync leaves behind is undefined: the next group goes to another file.
            self._spool.close()
            return [_unwritable(error)] * len(bodies)
        return outcomes

    def _write(self, body: Body) -> Unwritable | None:
        try:
            self._spool.write_body(body.signal, body.data, content_type=body.content_type, received_ns=body.received_ns)
        except Exception as error:  # noqa: BLE001  (as above)
            return _unwritable(error)
        return None


def _tell(answer: "asyncio.Future[None]", refusal: Unwritable | None) -> None:
    if answer.done():
        return
    if refusal is None:
        answer.set_result(None)
    else:
        answer.set_exception(refusal)


def _unwritable(error: Exception) -> Unwritable:
    return Unwritable(f"the body could not be kept: {error}")
