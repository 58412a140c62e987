"""`Traces`: one method a question, each with a frame for an answer."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from inspect import cleandoc
from types import TracebackType
from typing import Any, Final, ParamSpec, Self

import polars as pl

from tracekit.analysis.account import AccountLine, account
from tracekit.analysis.context import Context, RepeatedFailure, context, repeated_failures
from tracekit.analysis.context_compactions import Compaction, compactions
from tracekit.analysis.critical_path import CriticalPath, WhatIf, critical_path, what_if
from tracekit.analysis.disagreements import Disagreement, disagreements
from tracekit.analysis.failed import Failure, failures
from tracekit.analysis.outcome import Outcome, outcomes
from tracekit.analysis.overlap import Overlap, overlap
from tracekit.analysis.scope import Scope
from tracekit.analysis.session_names import find_session
from tracekit.analysis.sessions import Session, sessions
from tracekit.analysis.stuck import Stuck, stuck
from tracekit.analysis.timeline import Moment, timeline
from tracekit.analysis.tokens import Tokens, tokens
from tracekit.errors import TracekitError
from tracekit.model import Finding
from tracekit.store import SpanStore, open_store
from tracekit.traces.frames import described, frame
from tracekit.traces.opening import Opened

When = datetime | int
"""A moment: a datetime (of the local zone where it names none), or Unix nanoseconds."""

P = ParamSpec("P")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = 1_000


def _answers(finding: type[Finding]) -> Callable[[Callable[P, pl.DataFrame]], Callable[P, pl.DataFrame]]:
    """Append to a method's docstring what the columns of its frame are: they are the finding's own."""

    def decorate(method: Callable[P, pl.DataFrame]) -> Callable[P, pl.DataFrame]:
        method.__doc__ = f"{cleandoc(method.__doc__ or '')}\n\n{described(finding)}\n"
        return method

    return decorate


class Traces:
    """Sessions that can be asked. `tracekit.open` makes one.

    Every method leases the store for its answer and gives a Polars frame, whose columns its docstring names with their units. Times are
    integers of nanoseconds, as in `--json`: `polars.from_epoch("start_ns", time_unit="ns")` makes datetimes of Unix times. A range is
    three columns, `…_lower_ns`, `…_best_ns`, `…_upper_ns`, and what is unknown is null.

    The arguments of all questions:

    - `session`: only this session, by its id, an unambiguous beginning of it, or `latest`. None: all.
    - `since`, `until`: only from then on, and only before; a datetime, or Unix nanoseconds. Things count by their start.
    - `project`: only sessions whose working directory contains this text.

    Each method can raise TracekitError: `session-unknown`, `session-ambiguous`, `store-busy`.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened: Opened | None = opened
        self.url = opened.url
        """Where the store is."""
        self.imported = opened.imported
        """What `open` imported: files, sessions, problems; None where it opened a store that was there."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tracekit.Traces {self.url}>" if self._opened is not None else "<tracekit.Traces, closed>"

    def close(self) -> None:
        """Remove the store, if it was a temporary one. Nothing can be asked any more."""
        opened, self._opened = self._opened, None
        if opened is not None and opened.temporary is not None:
            opened.temporary.cleanup()

    # Sessions --------------------------------------------------------------------------------------------------------

    @_answers(Session)
    def sessions(self, *, since: When | None = None, until: When | None = None, project: str | None = None) -> pl.DataFrame:
        """Which sessions there are, the latest first, and what is in them."""
        return self._ask(Session, sessions, None, since, until, project)

    @_answers(Moment)
    def timeline(self, session: str | None = "latest", *, since: When | None = None, until: When | None = None) -> pl.DataFrame:
        """What happened when: every boundary of a session, in order of start."""
        return self._ask(Moment, timeline, session, since, until, None)

    # Where the time went ---------------------------------------------------------------------------------------------

    @_answers(AccountLine)
    def account(
        self,
        session: str | None = None,
        *,
        by: str = "session",
        since: When | None = None,
        until: When | None = None,
        project: str | None = None,
    ) -> pl.DataFrame:
        """Where every second of the turns went, in categories that exclude each other and sum to the wall.

        `by` is `session` (the main agent's turns summed) or `turn` (each turn of each agent).
        """
        return self._ask(AccountLine, account, session, since, until, project, by=by)

    @_answers(Overlap)
    def overlap(
        self,
        session: str | None = None,
        *,
        by: str = "session",
        since: When | None = None,
        until: When | None = None,
        project: str | None = None,
    ) -> pl.DataFrame:
        """How much tool latency hid behind streaming, how much was exposed, how much more could have hidden, what stood in the way.

        `by` is `session`, `request`, `tool` or `model`.
        """
        return self._ask(Overlap, overlap, session, since, until, project, by=by)

    @_answers(CriticalPath)
    def critical_path(
        self,
        session: str | None = None,
        *,
        by: str = "session",
        since: When | None = None,
        until: When | None = None,
        project: str | None = None,
    ) -> pl.DataFrame:
        """What the ends of turns waited for: segments that sum to the wall.

        `by` is `session`, `turn` (what is alike summed) or `segment` (the chain itself).
        """
        return self._ask(CriticalPath, critical_path, session, since, until, project, by=by)

    @_answers(WhatIf)
    def what_if(
        self,
        factors: Mapping[str, float] | None = None,
        session: str | None = None,
        *,
        by: str = "session",
        since: When | None = None,
        until: When | None = None,
        project: str | None = None,
    ) -> pl.DataFrame:
        """How long turns would have lasted if something had taken longer or shorter.

        `factors` multiply the lengths of tools, or of boundaries: `{"Bash": 0.5, "permission_wait": 0}`. Without any: what if all that
        could hide had hidden. `by` is `session` or `turn`. Raises TracekitError `what-if-unknown` for a name that nothing has.
        """
        return self._ask(WhatIf, what_if, session, since, until, project, factors=factors, by=by)

    # What went wrong -------------------------------------------------------------------------------------------------

    @_answers(Failure)
    def failures(
        self, session: str | None = None, *, since: When | None = None, until: When | None = None, project: str | None = None
    ) -> pl.DataFrame:
        """What failed, of which family and kind, on which evidence, and whether a retry helps; each failure once."""
        return self._ask(Failure, failures, session, since, until, project)

    @_answers(Outcome)
    def outcome(
        self,
        session: str | None = None,
        *,
        as_of: When | None = None,
        since: When | None = None,
        until: When | None = None,
        project: str | None = None,
    ) -> pl.DataFrame:
        """How sessions came out, in five layers that are never folded into one flag, and how they ended.

        `as_of` is the moment to which it is told what still runs: now, unless it is given.
        """
        return self._ask(Outcome, outcomes, session, since, until, project, as_of_ns=_as_of_ns(as_of))

    @_answers(Disagreement)
    def disagreements(
        self, session: str | None = None, *, since: When | None = None, until: When | None = None, project: str | None = None
    ) -> pl.DataFrame:
        """Where witnesses of one boundary contradict each other."""
        return self._ask(Disagreement, disagreements, session, since, until, project)

    @_answers(Stuck)
    def stuck(
        self,
        session: str | None = None,
        *,
        as_of: When | None = None,
        since: When | None = None,
        until: When | None = None,
        project: str | None = None,
    ) -> pl.DataFrame:
        """What every agent's last turn still waits for, since when, and how sure that is.

        `as_of` is the moment to which ages are counted: now, unless it is given.
        """
        return self._ask(Stuck, stuck, session, since, until, project, as_of_ns=_as_of_ns(as_of))

    # Tokens and context ----------------------------------------------------------------------------------------------

    @_answers(Tokens)
    def tokens(
        self,
        session: str | None = None,
        *,
        by: str = "agent",
        since: When | None = None,
        until: When | None = None,
        project: str | None = None,
    ) -> pl.DataFrame:
        """How many tokens, each message once, and what they cost: as the client reported, else estimated.

        `by` is `agent`, `model`, `session` or `message`.
        """
        return self._ask(Tokens, tokens, session, since, until, project, by=by)

    @_answers(Context)
    def context(
        self,
        session: str | None = None,
        *,
        by: str = "request",
        since: When | None = None,
        until: When | None = None,
        project: str | None = None,
    ) -> pl.DataFrame:
        """What each request held of its model's window. `by` is `request`, or `turn` for the fullest request of each."""
        return self._ask(Context, context, session, since, until, project, by=by)

    @_answers(Compaction)
    def compactions(
        self, session: str | None = None, *, since: When | None = None, until: When | None = None, project: str | None = None
    ) -> pl.DataFrame:
        """What compactions did to conversations: before, after, what came back, what they cost, how soon it was full again."""
        return self._ask(Compaction, compactions, session, since, until, project)

    @_answers(RepeatedFailure)
    def repeated_failures(
        self, session: str | None = None, *, since: When | None = None, until: When | None = None, project: str | None = None
    ) -> pl.DataFrame:
        """Failures that came three times or more in one conversation, and stayed in it."""
        return self._ask(RepeatedFailure, repeated_failures, session, since, until, project)

    # What it rests on ------------------------------------------------------------------------------------------------

    def spans(self, session: str | None = None) -> pl.DataFrame:
        """What each witness saw: one row an observation, as it was stored.

        Columns:
            source: The witness.
            session_id: The session.
            agent_id: The sub-agent it belongs to; null is the main agent.
            boundary: Which kind of boundary.
            key: The identity that the world gave it, by which witnesses meet.
            parent_key: Key of what it is part of.
            name: Of the tool, model, hook or server.
            start_ns: Earliest start (Unix nanoseconds).
            start_slack_ns: How much later it can have begun (nanoseconds).
            end_ns: Latest end (Unix nanoseconds); null is still open.
            end_slack_ns: How much earlier it can have ended (nanoseconds).
            status: How it ended: unset, ok, error, cancelled.
            attributes: What else is known: a map of text to text.
            events: Moments inside it that the witness marked, as JSON text.
            path: The file that it was read from.
            position: The byte in that file.
        """
        return self._query(
            "SELECT source, session_id, agent_id, boundary, key, parent_key, name, start_ns, start_slack_ns, end_ns, end_slack_ns, status,"
            " attributes, events, path, position FROM spans LEFT JOIN files USING (file_id)"
            " WHERE $session_id IS NULL OR session_id = $session_id ORDER BY session_id, start_ns, boundary, key, source",
            session,
        )

    def boundaries(self, session: str | None = None) -> pl.DataFrame:
        """Every boundary once, put together from all its witnesses.

        Columns:
            session_id: The session.
            agent_id: The sub-agent it belongs to; null is the main agent.
            boundary: Which kind of boundary.
            key: Its identity.
            parent_key: Key of what it is part of.
            name: Of the tool, model, hook or server.
            start_ns: Earliest start (Unix nanoseconds).
            start_slack_ns: How much later it can have begun (nanoseconds).
            end_ns: Latest end (Unix nanoseconds); null is still open.
            end_slack_ns: How much earlier it can have ended (nanoseconds).
            status: How it ended: unset, ok, error, cancelled.
            attributes: What else is known: a map of text to text.
            start_source: The witness that gave the start.
            end_source: The witness that gave the end.
            witnesses: All of them, with commas, the best first.
            witness_count: How many.
            start_disagreement_ns: Gap between what the witnesses say of the start (nanoseconds); 0 where they agree.
            end_disagreement_ns: Gap between what they say of the end (nanoseconds).
        """
        return self._query(
            "SELECT * FROM boundaries WHERE $session_id IS NULL OR session_id = $session_id ORDER BY session_id, start_ns, boundary, key",
            session,
        )

    def problems(self) -> pl.DataFrame:
        """What could not be read of the files that were imported. The rest of them was.

        Columns:
            path: The file.
            line: From 1; 0 is the file as a whole.
            reason: Why, in words fit to be counted.
            detail: What the parser said.
        """
        return self._query("SELECT path, line, reason, detail FROM problems JOIN files USING (file_id) ORDER BY path, line", None)

    def sql(self, text: str, **parameters: Any) -> pl.DataFrame:
        """Answer a query in SQL, read-only. `tracekit sql --schema` lists tables and columns.

        Args:
            text: The query; parameters are written `$name`.
            parameters: Their values.

        Raises:
            TracekitError: `bad-sql`.
        """
        with self._store() as store:
            return store.query(text, **parameters)

    # How -------------------------------------------------------------------------------------------------------------

    def _ask(
        self,
        finding: type[Finding],
        question: Callable[..., Sequence[Finding]],
        session: str | None,
        since: When | None,
        until: When | None,
        project: str | None,
        **more: Any,
    ) -> pl.DataFrame:
        with self._store() as store:
            session_id = None if session is None else find_session(store, session)
            since_ns, until_ns = (None if moment is None else _unix_ns(moment) for moment in (since, until))
            return frame(finding, question(store, Scope(session_id, since_ns, until_ns, project), **more))

    def _query(self, sql: str, session: str | None) -> pl.DataFrame:
        with self._store() as store:
            return store.query(sql, session_id=None if session is None else find_session(store, session))

    def _store(self) -> AbstractContextManager[SpanStore]:
        if self._opened is None:
            message = "these traces were closed, and with them went the temporary store; open them again"
            raise TracekitError(message, slug="traces-closed")
        return open_store(self._opened.url)


def _as_of_ns(as_of: When | None) -> int:
    """The moment to which something is told: now, unless it is given."""
    return time.time_ns() if as_of is None else _unix_ns(as_of)


def _unix_ns(moment: When) -> int:
    if isinstance(moment, int):
        return moment
    since = moment.astimezone(UTC) - _EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * _MICROSECOND
