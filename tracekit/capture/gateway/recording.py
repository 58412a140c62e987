"""What a recorder is told of one exchange while its bytes pass: the only thing that the relay and the recorders share."""

import time
from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from typing import Final, Protocol

from tracekit.capture.gateway.backlog import Backlog
from tracekit.capture.gateway.failure import Failure

now_ns: Final = time.time_ns


class Ending(StrEnum):
    """Who ended an exchange first."""

    COMPLETE = "complete"
    """The upstream said all that it had announced."""
    UPSTREAM = "upstream"
    """The upstream broke off, or was never reached."""
    CLIENT = "client"
    """The client left."""
    GATEWAY = "gateway"
    """The gateway itself was stopped."""


class Recording(Protocol):
    """The record of one exchange. All times are Unix nanoseconds."""

    def moment(self, name: str, at_ns: int) -> None:
        """Something happened to the connection: `dns.start`, `dns.end`, `connect.start`, `tls.start`, `connect.end` and their kin."""

    def asked(self, body: bytes | None, at_ns: int) -> None:
        """The client's request has been read; None where its body was too large to be kept."""

    def answered(self, status: int, headers: Mapping[str, str], at_ns: int) -> None:
        """The head of the answer has come."""

    def received(self, chunk: bytes, at_ns: int) -> None:
        """A part of the answer's body has come, as it stands on the wire."""

    def ended(self, ending: Ending, at_ns: int, failure: Failure | None = None) -> None:
        """It is over; `failure` says why, where the upstream broke off."""


class Guarded:
    """A recording that never raises into the traffic, never stands in its way, and may be none at all."""

    def __init__(self, recording: Recording | None, backlog: Backlog) -> None:
        self._recording = recording
        self._backlog = backlog

    @property
    def is_wanted(self) -> bool:
        """Whether there is a recording at all."""
        return self._recording is not None

    def moment(self, name: str, at_ns: int) -> None:
        """Pass it on."""
        if self._recording is not None:
            self._backlog.add(partial(self._recording.moment, name, at_ns))

    def asked(self, body: bytes | None, at_ns: int) -> None:
        """Pass it on."""
        if self._recording is not None:
            self._backlog.add(partial(self._recording.asked, body, at_ns))

    def answered(self, status: int, headers: Mapping[str, str], at_ns: int) -> None:
        """Pass it on."""
        if self._recording is not None:
            self._backlog.add(partial(self._recording.answered, status, headers, at_ns))

    def received(self, chunk: bytes, at_ns: int) -> None:
        """Pass it on."""
        if self._recording is not None:
            self._backlog.add(partial(self._recording.received, chunk, at_ns), len(chunk))

    def ended(self, ending: Ending, at_ns: int, failure: Failure | None = None) -> None:
        """Pass it on, once: nothing follows the end."""
        recording, self._recording = self._recording, None
        if recording is not None:
            self._backlog.add(partial(recording.ended, ending, at_ns, failure))
