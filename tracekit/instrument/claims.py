"""Spans that a library is about to start for a call that an adapter already follows: nobody else is to tell of them."""

from contextvars import ContextVar
from typing import Final, Protocol

from opentelemetry.sdk.trace import Span


class Claimant(Protocol):
    """Who follows a call."""

    def claims(self, span: Span) -> bool:
        """Whether a span that begins is that call's own. It is told of by whoever claims it."""
        ...


CLAIMANT: Final[ContextVar[Claimant | None]] = ContextVar("tracekit-claimant", default=None)
"""Who follows the call that the code is in."""
