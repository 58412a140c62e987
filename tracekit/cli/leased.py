"""The page's questions, answered from the store under short leases; what has not changed since is not asked again."""

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Final, Protocol, TypeVar, cast

from tracekit.analysis.account import AccountLine, account
from tracekit.analysis.context import Context, RepeatedFailure, context, repeated_failures
from tracekit.analysis.context_compactions import Compaction, compactions
from tracekit.analysis.critical_path import CriticalPath, WhatIf, critical_path, what_if
from tracekit.analysis.disagreements import Disagreement, disagreements
from tracekit.analysis.failed import Failure, failures
from tracekit.analysis.outcome import Outcome, outcomes
from tracekit.analysis.overlap import Overlap, overlap
from tracekit.analysis.scope import Scope
from tracekit.analysis.sessions import Session, sessions
from tracekit.analysis.stuck import Stuck, stuck
from tracekit.analysis.timeline import Moment, timeline
from tracekit.analysis.tokens import Tokens, tokens
from tracekit.cli.local import local
from tracekit.cli.thresholds import thresholds
from tracekit.errors import TracekitError
from tracekit.store import SpanStore, default_store, open_store, store_path

_REMEMBERED: Final = 96
_UNSTAMPED_SECONDS: Final = 5
"""How long an answer counts as new from a store that is no file of this machine."""
_Answer = TypeVar("_Answer")


class _OfSession(Protocol):
    @property
    def session_id(self) -> str | None: ...


class Leased:
    """Answers `tracekit.page.Questions`.

    Args:
        lease: Opens the store for one answer.
        stamp: Gives a text that changes whenever the store does.
    """

    def __init__(self, lease: Callable[[], AbstractContextManager[SpanStore]], stamp: Callable[[], str]) -> None:
        self._lease = lease
        self.stamp = stamp
        self._most = _REMEMBERED
        self._known: OrderedDict[Hashable, tuple[str, object]] = OrderedDict()

    def sessions(self, scope: Scope) -> Sequence[Session]:
        """List the sessions."""
        return self._remembered(("sessions", scope), lambda store: sessions(store, scope))

    def timeline(self, scope: Scope) -> Sequence[Moment]:
        """Tell what happened when."""
        return self._remembered(("timeline", scope), lambda store: timeline(store, scope))

    def account(self, scope: Scope, by: str) -> Sequence[AccountLine]:
        """Tell where the time went."""
        return self._remembered(("account", scope, by), lambda store: account(store, scope, by=by))

    def overlap(self, scope: Scope, by: str) -> Sequence[Overlap]:
        """Tell what hid."""
        return self._remembered(("overlap", scope, by), lambda store: overlap(store, scope, by=by))

    def critical_path(self, scope: Scope) -> Sequence[CriticalPath]:
        """Tell what the ends of turns waited for."""
        return self._remembered(("critical path", scope), lambda store: critical_path(store, scope))

    def what_if(self, scope: Scope, name: str, factor: float) -> Sequence[WhatIf]:
        """Tell how long turns would have lasted otherwise."""
        factors = {name: factor} if name else None
        return self._remembered(("what if", scope, name, factor), lambda store: what_if(store, scope, factors=factors))

    def context(self, scope: Scope) -> Sequence[Context]:
        """Tell what requests held of their model's window."""
        return self._remembered(("context", scope), lambda store: context(store, scope))

    def compactions(self, scope: Scope) -> Sequence[Compaction]:
        """Tell what compactions did."""
        return self._remembered(("compactions", scope), lambda store: compactions(store, scope))

    def repeated_failures(self, scope: Scope) -> Sequence[RepeatedFailure]:
        """Tell which failures filled the window again and again."""
        return self._remembered(("repeated failures", scope), lambda store: repeated_failures(store, scope))

    def failures(self, scope: Scope) -> Sequence[Failure]:
        """Tell what failed."""
        return self._remembered(("failures", scope), lambda store: failures(store, scope))

    def outcomes(self, scope: Scope, as_of_ns: int) -> Sequence[Outcome]:
        """Tell how sessions came out; not remembered, because what runs now will have ended later."""
        filled = self._known.get(("outcomes", scope, as_of_ns))
        if filled is not None:
            return cast("Sequence[Outcome]", filled[1])
        with self._lease() as store:
            return outcomes(store, scope, as_of_ns=as_of_ns)

    def stuck(self, scope: Scope, as_of_ns: int) -> Sequence[Stuck]:
        """Tell what waits; not remembered, because ages grow."""
        filled = self._known.get(("stuck", scope, as_of_ns))
        if filled is not None:
            return cast("Sequence[Stuck]", filled[1])
        limits = thresholds()
        with self._lease() as store:
            found = stuck(store, scope, as_of_ns=as_of_ns, limits=limits)
            # What this machine shows of them may say more: their processes and connections.
            here = local({one.session_id for one in found})
            return stuck(store, scope, as_of_ns=as_of_ns, limits=limits, here=here) if here else found

    def fill(self, session_ids: Collection[str], as_of_ns: int) -> None:
        """Ask what a report needs once for all sessions, instead of once for each: what it takes to answer depends little on how many."""
        everything = Scope()
        answers: dict[tuple[Hashable, ...], Sequence[_OfSession]] = {
            ("sessions",): self.sessions(everything),
            ("timeline",): self.timeline(everything),
            ("account", "session"): self.account(everything, "session"),
            ("account", "turn"): self.account(everything, "turn"),
            ("overlap", "session"): self.overlap(everything, "session"),
            ("overlap", "request"): self.overlap(everything, "request"),
            ("critical path",): self.critical_path(everything),
            ("what if", "", 1.0): self.what_if(everything, "", 1.0),
            ("context",): self.context(everything),
            ("compactions",): self.compactions(everything),
            ("repeated failures",): self.repeated_failures(everything),
            ("failures",): self.failures(everything),
            ("disagreements",): self.disagreements(everything),
            ("tokens", "session"): self.tokens(everything, "session"),
            ("tokens", "agent"): self.tokens(everything, "agent"),
            ("outcomes", as_of_ns): self.outcomes(everything, as_of_ns),
            ("stuck", as_of_ns): self.stuck(everything, as_of_ns),
        }
        stamp = self.stamp()
        self._most += len(answers) * len(session_ids)
        for (name, *how), rows in answers.items():
            found: dict[str, list[_OfSession]] = {session_id: [] for session_id in session_ids}
            for row in rows:
                if row.session_id in found:
                    found[row.session_id].append(row)
            self._known.update({(name, Scope(session_id), *how): (stamp, mine) for session_id, mine in found.items()})

    def disagreements(self, scope: Scope) -> Sequence[Disagreement]:
        """Tell where witnesses contradict each other."""
        return self._remembered(("disagreements", scope), lambda store: disagreements(store, scope))

    def tokens(self, scope: Scope, by: str) -> Sequence[Tokens]:
        """Count tokens."""
        return self._remembered(("tokens", scope, by), lambda store: tokens(store, scope, by=by))

    def _remembered(self, key: Hashable, ask: Callable[[SpanStore], Sequence[_Answer]]) -> Sequence[_Answer]:
        stamp = self.stamp()
        known = self._known.get(key)
        if known is not None and known[0] == stamp:
            self._known.move_to_end(key)
            return cast("Sequence[_Answer]", known[1])  # the key names the question
        with self._lease() as store:
            found = ask(store)
        self._known[key] = (stamp, found)
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return found


def leased(url: str | None) -> Leased:
    """Answer from the store of a URL, for as long as there are questions."""
    return Leased(lambda: open_store(url), lambda: stamp_of(url))


def stamp_of(url: str | None) -> str:
    """Give a text that changes whenever a store does."""
    try:
        state = store_path(url or default_store()).stat()
    except (OSError, TracekitError):
        return f"about {int(time.time()) // _UNSTAMPED_SECONDS}"
    return f"{state.st_mtime_ns}-{state.st_size}-{state.st_ino}"
