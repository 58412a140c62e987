"""What the page asks of whoever holds the store. It never opens one itself."""

from collections.abc import Sequence
from typing import Protocol

from tracekit.analysis.account import AccountLine
from tracekit.analysis.disagreements import Disagreement
from tracekit.analysis.failed import Failure
from tracekit.analysis.overlap import Overlap
from tracekit.analysis.scope import Scope
from tracekit.analysis.sessions import Session
from tracekit.analysis.stuck import Stuck
from tracekit.analysis.timeline import Moment
from tracekit.analysis.tokens import Tokens


class Questions(Protocol):
    """The questions of `analysis`, each answered under a lease of its own."""

    def stamp(self) -> str:
        """Give a text that changes whenever the store does."""
        ...

    def sessions(self, scope: Scope) -> Sequence[Session]:
        """As `analysis.sessions`."""
        ...

    def timeline(self, scope: Scope) -> Sequence[Moment]:
        """As `analysis.timeline`."""
        ...

    def account(self, scope: Scope, by: str) -> Sequence[AccountLine]:
        """As `analysis.account`."""
        ...

    def overlap(self, scope: Scope, by: str) -> Sequence[Overlap]:
        """As `analysis.overlap`."""
        ...

    def failures(self, scope: Scope) -> Sequence[Failure]:
        """As `analysis.failed`."""
        ...

    def stuck(self, scope: Scope, as_of_ns: int) -> Sequence[Stuck]:
        """As `analysis.stuck`."""
        ...

    def disagreements(self, scope: Scope) -> Sequence[Disagreement]:
        """As `analysis.disagreements`."""
        ...

    def tokens(self, scope: Scope, by: str) -> Sequence[Tokens]:
        """As `analysis.tokens`."""
        ...
