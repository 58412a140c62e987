"""What the page asks of whoever holds the store. It never opens one itself."""

from collections.abc import Sequence
from typing import Protocol

from tracekit.analysis.account import AccountLine
from tracekit.analysis.context import Context, RepeatedFailure
from tracekit.analysis.context_compactions import Compaction
from tracekit.analysis.critical_path import CriticalPath, WhatIf
from tracekit.analysis.disagreements import Disagreement
from tracekit.analysis.failed import Failure
from tracekit.analysis.outcome import Outcome
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

    def critical_path(self, scope: Scope) -> Sequence[CriticalPath]:
        """As `analysis.critical_path`, by session."""
        ...

    def what_if(self, scope: Scope, name: str, factor: float) -> Sequence[WhatIf]:
        """As `analysis.critical_path.what_if` for one name, by session; without a name, if all that could hide had hidden."""
        ...

    def context(self, scope: Scope) -> Sequence[Context]:
        """As `analysis.context`, by request."""
        ...

    def compactions(self, scope: Scope) -> Sequence[Compaction]:
        """As `analysis.context_compactions`."""
        ...

    def repeated_failures(self, scope: Scope) -> Sequence[RepeatedFailure]:
        """As `analysis.context.repeated_failures`."""
        ...

    def failures(self, scope: Scope) -> Sequence[Failure]:
        """As `analysis.failed`."""
        ...

    def outcomes(self, scope: Scope, as_of_ns: int) -> Sequence[Outcome]:
        """As `analysis.outcome`."""
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
