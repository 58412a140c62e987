"""Which attempts are one request: after an attempt that failed, the client sends the very same bytes again."""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from tracekit.capture.gateway.naming import fresh

_KEPT: Final = 512
"""Failed requests that may still be tried again."""

Who = tuple[str, str | None]
"""Session and agent."""


@dataclass(slots=True)
class Chain:
    """A request to the model with all its attempts.

    Attributes:
        first_ns: When the first attempt began.
        attempts: How many there were, this one included.
        key: Its name until the response gives it a better one.
    """

    first_ns: int
    attempts: int = 1
    key: str = field(default_factory=lambda: fresh("request"))


class Chains:
    """Remembers requests that failed, so that the next attempt is known for one."""

    def __init__(self) -> None:
        self._failed: OrderedDict[tuple[Who, str], Chain] = OrderedDict()

    def begin(self, who: Who, body: bytes, at_ns: int) -> Chain:
        """The chain that an attempt continues or begins."""
        # The digest of a large body takes a millisecond, and most attempts follow no failure.
        if any(other == who for other, _ in self._failed):
            chain = self._failed.pop((who, _digest(body)), None)
            if chain is not None:
                chain.attempts += 1
                return chain
        return Chain(at_ns)

    def fail(self, who: Who, body: bytes, chain: Chain) -> None:
        """Remember that the chain's last attempt failed."""
        self._failed[who, _digest(body)] = chain
        if len(self._failed) > _KEPT:
            self._failed.popitem(last=False)


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
