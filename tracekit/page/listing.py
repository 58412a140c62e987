"""The list of sessions: each with its state, what hid, what failed and what it cost, asked anew only for those that have changed."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar
from urllib.parse import urlencode

from tracekit.analysis.failed import Failure
from tracekit.analysis.overlap import Overlap
from tracekit.analysis.scope import Scope
from tracekit.analysis.sessions import Session
from tracekit.analysis.stuck import State, Stuck
from tracekit.page.questions import Questions

LIVE_NS: Final = 60_000_000_000
"""A session of which something was seen within this time is live."""
PAGE_ROWS: Final = 50
STATES: Final = ("live", "stuck", "ended")
SINCE: Final[Mapping[str, int]] = {"1h": 3_600, "24h": 86_400, "7d": 7 * 86_400, "30d": 30 * 86_400}
"""Choices of the filter by time, in seconds."""
_FEW: Final = 4
_REMEMBERED: Final = 1_000
_SECOND: Final = 1_000_000_000
_Row = TypeVar("_Row", Failure, Stuck)


class Share(NamedTuple):
    """Which part of the tools' time hid under the streams."""

    lower: float
    best: float | None
    upper: float


@dataclass(frozen=True, slots=True)
class Line:
    """One session as the list shows it.

    Attributes:
        session: Its counts.
        state: `stuck`: something lasts longer than its limit, or cannot end by itself. `live`: something is owed, or was seen within
            a minute. `ended`: nothing is owed, or the session is over.
        waits: What it waits for.
        hidden: Share of tool time that hid; None where no tool of a response ran.
        failures: All of them.
        unrecovered: Those that it did not get over.
        cost_usd: As the client told it; None where it did not.
        estimate_usd: By a price list, where the client told no cost and there is a list that knows the models.
    """

    session: Session
    state: str
    waits: Sequence[Stuck]
    hidden: Share | None
    failures: int
    unrecovered: int
    cost_usd: float | None
    estimate_usd: float | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody looks for in the list."""

    text: str = ""
    state: str = ""
    failed: str = ""
    since: str = ""
    page: int = 1

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "Wanted":
        """Read the fields of the list's form; what is no choice of theirs is no filter."""
        page = query.get("page", "")
        return cls(
            text=query.get("q", "")[:200].strip(),
            state=query.get("state", "") if query.get("state") in STATES else "",
            failed="yes" if query.get("failed") else "",
            since=query.get("since", "") if query.get("since") in SINCE else "",
            page=int(page) if page.isdecimal() and len(page) < 7 and int(page) > 0 else 1,  # noqa: PLR2004  (a number that is one)
        )

    def to_query(self, page: int) -> str:
        """Spell the query for another page of the same."""
        named = {"q": self.text, "state": self.state, "failed": self.failed, "since": self.since, "page": str(page)}
        return urlencode({name: value for name, value in named.items() if value})

    def fits(self, session: Session, state: str) -> bool:
        """Tell whether a session is looked for, by what its row alone says."""
        words = f"{session.session_id}\n{session.project or ''}\n{session.client_version or ''}\n{session.witnesses}".lower()
        return (not self.state or state == self.state) and all(word in words for word in self.text.lower().split())


@dataclass(frozen=True, slots=True)
class Found:
    """One page of the list.

    Attributes:
        lines: Its rows.
        matching: Sessions that are looked for.
        total: Sessions in the store, in the time looked at.
        page: Its number, from 1.
        pages: How many there are.
    """

    lines: Sequence[Line]
    matching: int
    total: int
    page: int
    pages: int


class _Cost(NamedTuple):
    """What takes long to ask of a session, and does not change while the session does not."""

    hidden: Share | None
    failures: int
    unrecovered: int
    cost_usd: float | None
    estimate_usd: float | None


@dataclass(slots=True)
class Listing:
    """Answers the list's queries."""

    ask: Questions
    _known: dict[Session, _Cost] = field(default_factory=dict[Session, _Cost])

    def find(self, wanted: Wanted, *, as_of_ns: int) -> Found:
        """Give the rows of a query, the latest session first."""
        since_ns = as_of_ns - SINCE[wanted.since] * _SECOND if wanted.since else None
        rows = [session for session in self.ask.sessions(Scope()) if since_ns is None or session.last_ns >= since_ns]
        waits = _by_session(self.ask.stuck(Scope(), as_of_ns))
        states = {session.session_id: state_of(session, waits.get(session.session_id, ()), as_of_ns) for session in rows}
        fitting = [session for session in rows if wanted.fits(session, states[session.session_id])]
        if wanted.failed:
            self._learn(fitting)
            fitting = [session for session in fitting if self._known[session].failures]
        pages = max(1, math.ceil(len(fitting) / PAGE_ROWS))
        page = min(wanted.page, pages)
        shown = fitting[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
        self._learn(shown)
        lines = [
            Line(session, states[session.session_id], waits.get(session.session_id, ()), **self._known[session]._asdict())
            for session in shown
        ]
        return Found(lines, len(fitting), len(rows), page, pages)

    def one(self, session: Session, *, as_of_ns: int) -> Line:
        """Give the row of one session."""
        waits = self.ask.stuck(Scope(session.session_id), as_of_ns)
        self._learn([session])
        return Line(session, state_of(session, waits, as_of_ns), waits, **self._known[session]._asdict())

    def _learn(self, sessions: Sequence[Session]) -> None:
        """Ask for what is not known yet: a few sessions one by one, many at once."""
        new = [session for session in sessions if session not in self._known]
        if not new:
            return
        since_ns = min(session.start_ns for session in new)
        scopes = [Scope(session.session_id) for session in new] if len(new) <= _FEW else [Scope(since_ns=since_ns)]
        if len(self._known) > _REMEMBERED:
            # A row that has changed is another key, and its old ones are of no use.
            self._known = {session: self._known[session] for session in sessions if session in self._known}
        for scope in scopes:
            self._ask(scope, new)

    def _ask(self, scope: Scope, sessions: Iterable[Session]) -> None:
        overlaps = {line.session_id: line for line in self.ask.overlap(scope, "session")}
        failures = _by_session(self.ask.failures(scope))
        costs = {line.session_id: (line.cost_usd, line.estimate_usd) for line in self.ask.tokens(scope, "session") if not line.partial}
        for session in sessions:
            name = session.session_id
            if scope.session_id in {None, name}:
                failed = failures.get(name, ())
                self._known[session] = _Cost(
                    share_of(overlaps.get(name)), len(failed), _unrecovered(failed), *costs.get(name, (None, None))
                )


def _unrecovered(failures: Sequence[Failure]) -> int:
    return sum(not failure.recovered for failure in failures)


def _by_session(rows: Iterable[_Row]) -> dict[str, list[_Row]]:
    found: dict[str, list[_Row]] = {}
    for row in rows:
        found.setdefault(row.session_id, []).append(row)
    return found


def state_of(session: Session, waits: Sequence[Stuck], as_of_ns: int) -> str:
    """Name the state of a session."""
    owed = [one for one in waits if one.ended_ns is None and one.state != State.IDLE]
    if any(one.state == State.STUCK for one in owed):
        return "stuck"
    return "live" if owed or as_of_ns - session.last_ns < LIVE_NS else "ended"


def share_of(overlap: Overlap | None) -> Share | None:
    """Give the share of tool time that hid; None where there was none, or nothing can be said."""
    if overlap is None or overlap.hidden_upper_ns + overlap.exposed_upper_ns == 0:
        return None
    lower = _part(overlap.hidden_lower_ns, overlap.exposed_upper_ns)
    upper = _part(overlap.hidden_upper_ns, overlap.exposed_lower_ns)
    known = overlap.hidden_best_ns is not None and overlap.exposed_best_ns is not None
    best = _part(overlap.hidden_best_ns or 0, overlap.exposed_best_ns or 0) if known else None
    return Share(lower, best, max(lower, upper))


def _part(hidden_ns: int, exposed_ns: int) -> float:
    whole = hidden_ns + exposed_ns
    return hidden_ns / whole if whole else 0.0
