"""Passes every kept body on to another collector, by the retry rules of the OTLP specification, and makes nobody wait for it."""

import asyncio
import logging
import random
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final, NamedTuple, Self
from urllib.parse import urlsplit

import aiohttp

from tracekit.capture.receiver.messages import rejected_records
from tracekit.capture.receiver.signals import Body
from tracekit.errors import TracekitError

MARK: Final = "Tracekit-Forwarded"
"""Header that names who passed a body on, so that none goes round in a circle."""

_RETRYABLE: Final = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
_SENDERS: Final = 4
_GROWTH: Final = 1.5
_LONGEST_WAIT: Final = 30.0
_ANSWER_BYTES: Final = 64 * 1024
_log: Final = logging.getLogger(__name__)


class Patience(NamedTuple):
    """How long a collector that does not answer is waited for, in seconds."""

    answer: float = 10.0
    """For one answer."""
    first_wait: float = 1.0
    """Before the second try; each wait is half as long again as the last, up to 30 s, and scattered by half."""
    in_all: float = 300.0
    """From the first try to the last. Then the body is dropped."""
    at_end: float = 5.0
    """For what still waits when the receiver ends."""


class _Answer(NamedTuple):
    problem: str | None
    """None: it was taken."""
    retryable: bool = False
    retry_seconds: float | None = None
    """When the collector wants it again; None: it does not say."""


class Forward:
    """A queue to another collector: bounded, and dropping what does not fit.

    Args:
        endpoint: Base URL of an OTLP/HTTP collector; `/v1/traces` and so on are added to it.
        headers: Sent with every body, such as an authorization.
        waiting_bytes: What may wait. Beyond it bodies are dropped and counted.
        patience: How long a collector that does not answer is waited for.

    Raises:
        TracekitError: `bad-endpoint`, where the endpoint is no http or https URL.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        headers: Mapping[str, str] | None = None,
        waiting_bytes: int = 64 * 1024 * 1024,
        patience: Patience | None = None,
    ) -> None:
        self._base = endpoint.rstrip("/")
        self._name = _name_of(endpoint)
        self._headers = dict(headers or {})
        self._free = waiting_bytes
        self._patience = patience or Patience()
        self._mark = uuid.uuid4().hex
        self._queue: asyncio.Queue[Body] = asyncio.Queue()
        self._senders: list[asyncio.Task[None]] = []
        self.counts: Counter[str] = Counter()
        """Bodies `sent` and `dropped`, tries that were `repeated`, records that the collector `rejected`."""

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=self._patience.answer)
        self._session = aiohttp.ClientSession(timeout=timeout, headers=self._headers, trust_env=True)
        self._senders = [asyncio.create_task(self._send_all(), name="otlp forward") for _ in range(_SENDERS)]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Wait a little for what is in the queue; drop and report the rest."""
        try:
            async with asyncio.timeout(self._patience.at_end):
                await self._queue.join()
        except TimeoutError:
            pass
        for sender in self._senders:
            sender.cancel()
        await asyncio.gather(*self._senders, return_exceptions=True)
        while not self._queue.empty():
            self._drop(self._queue.get_nowait(), "the receiver ended before it could be sent")
        await self._session.close()
        _log.info("%s", self.told())

    def offer(self, body: Body) -> None:
        """Take a body, or drop it. Never waits. What this very queue has sent is not sent again."""
        if self._mark in body.marks:
            return
        if len(body.data) > self._free:
            self._drop(body, "too much waits already")
            return
        self._free -= len(body.data)
        self._queue.put_nowait(body)

    def told(self) -> str:
        """What became of the bodies, in a line."""
        counts = self.counts
        return (
            f"passed on to {self._name}: {counts['sent']} bodies ({counts['rejected']} records of them rejected), "
            f"{counts['dropped']} dropped, {counts['repeated']} tries repeated"
        )

    async def _send_all(self) -> None:
        while True:
            body = await self._queue.get()
            try:
                await self._deliver(body)
            except asyncio.CancelledError:
                self._drop(body, "the receiver ended before it was taken")
                raise
            except Exception as error:  # noqa: BLE001  (whatever it is: the next body is sent)
                self._drop(body, repr(error))
            finally:
                self._free += len(body.data)
                self._queue.task_done()

    async def _deliver(self, body: Body) -> None:
        """Send until it is taken, refused for good, or no longer worth it."""
        give_up = time.monotonic() + self._patience.in_all
        wait = self._patience.first_wait
        while True:
            answer = await self._try(body)
            if answer.problem is None:
                self.counts["sent"] += 1
                return
            pause = answer.retry_seconds
            if pause is None:
                pause = wait * random.uniform(0.5, 1.5)  # noqa: S311  (scatter, no secret)
            if not answer.retryable or time.monotonic() + pause > give_up:
                self._drop(body, answer.problem)
                return
            self.counts["repeated"] += 1
            await asyncio.sleep(pause)
            wait = min(wait * _GROWTH, _LONGEST_WAIT)

    async def _try(self, body: Body) -> _Answer:
        headers = {"Content-Type": body.content_type, MARK: f"{body.marks}, {self._mark}".lstrip(", ")}
        url = f"{self._base}/v1/{body.signal}"
        try:
            async with self._session.post(url, data=body.data, headers=headers, allow_redirects=False) as response:
                if response.status < HTTPStatus.MULTIPLE_CHOICES:
                    self._note_rejected(body, await response.content.read(_ANSWER_BYTES))
                    return _Answer(None)
                retry_seconds = _retry_after(response.headers.get("Retry-After"))
                return _Answer(f"it answered {response.status}", response.status in _RETRYABLE, retry_seconds)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return _Answer(f"it could not be reached: {error or type(error).__name__}", retryable=True)

    def _note_rejected(self, body: Body, answer: bytes) -> None:
        """A part that was rejected is never sent again, only reported."""
        rejected, message = rejected_records(body.signal, body.content_type, answer)
        if rejected:
            self.counts["rejected"] += rejected
            _log.warning("%s rejected %d records of a %s body: %s", self._name, rejected, body.signal, message)

    def _drop(self, body: Body, why: str) -> None:
        self.counts["dropped"] += 1
        if self.counts["dropped"] == 1:
            _log.warning("a %s body is not passed on to %s: %s; what follows is only counted", body.signal, self._name, why)


def _name_of(endpoint: str) -> str:
    """Host and port: what may be told, since a URL may carry a password."""
    try:
        parts = urlsplit(endpoint)
        name = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
    except ValueError:
        parts, name = None, None
    if parts is None or parts.scheme not in {"http", "https"} or not name:
        message = "cannot forward: the endpoint is no base URL of an OTLP/HTTP collector; give one such as http://collector:4318"
        raise TracekitError(message, slug="bad-endpoint")
    return name


def _retry_after(header: str | None) -> float | None:
    """Seconds to wait: the header holds a number of them, or a date."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
