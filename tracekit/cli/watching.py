"""What is open right now, looked at again and again: only what has been loaded since the last look is asked anew."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from tracekit.analysis.scope import Scope
from tracekit.analysis.stuck import DEFAULTS, Limits, Scene, State, Stuck, judged, look
from tracekit.cli.local import Table, table
from tracekit.cli.options import find_session
from tracekit.errors import TracekitError
from tracekit.ingest import Follower, default_roots
from tracekit.spool import spool_folder
from tracekit.store import SpanStore, open_store

_MARGIN_NS: Final = 30_000_000_000
"""A load says when it began, and commits later."""
_LOADED: Final = (
    "SELECT DISTINCT session_id FROM spans JOIN files ON files.file_id = spans.file_id WHERE imported_ns >= $since_ns"
    " AND ($session_id IS NULL OR session_id = $session_id)"
)


class Watch:
    """The open boundaries of one session or of all.

    Args:
        store: URL of the store; None for the default.
        session: Its id, the beginning of it, or `latest`; None for all.
        since_ns: What began before is history.
        spool: Folder that recorders write to.
        roots: Folders with transcripts.
        limits: How long waits may last.
        clock: Gives Unix nanoseconds.

    Attributes:
        trouble: What kept the last look from being complete; empty where nothing did. The next one tries again.
    """

    def __init__(
        self,
        store: str | None,
        session: str | None,
        since_ns: int,
        *,
        spool: Path | None = None,
        roots: Iterable[Path] | None = None,
        limits: Limits = DEFAULTS,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        roots = default_roots() if roots is None else list(roots)
        self.trouble = ""
        self._store = store
        self._session = session
        self._since_ns = since_ns
        self._clock = clock
        self._follower = Follower(store, spool=spool or spool_folder(), roots=roots, since_ns=since_ns)
        self._limits = limits
        self._seen: dict[str, list[Scene]] = {}
        self._looked_ns = 0
        self._table = Table()

    def look(self) -> list[Stuck]:
        """Load what has been written, and give what is open; ages are as of now.

        Raises:
            TracekitError: `session-ambiguous`. Whatever else goes wrong stands in `trouble`, and the last answer stands.
        """
        self.trouble = ""
        try:
            self._follower.catch_up()
        except TracekitError as error:
            self.trouble = str(error)
        now_ns = self._clock()
        try:
            with open_store(self._store) as opened:
                self._ask(opened, now_ns)
        except TracekitError as error:
            if error.slug == "session-ambiguous":
                raise
            # A store that is not there yet is an empty one.
            self.trouble = self.trouble if error.slug == "no-store" else str(error)
        return self._judge(now_ns)

    def _ask(self, opened: SpanStore, now_ns: int) -> None:
        session_id = None if self._session is None else find_session(opened, self._session)
        if session_id is not None:
            # The latest session may be another one now.
            self._seen = {known: seen for known, seen in self._seen.items() if known == session_id}
        since_ns = self._looked_ns - _MARGIN_NS if self._looked_ns else 0
        if not self._looked_ns and session_id is None:
            # All at once, the first time: most sessions have nothing open.
            for one in look(opened, as_of_ns=now_ns, limits=self._limits):
                self._seen.setdefault(one.who[0], []).append(one)
        else:
            for row in opened.rows(_LOADED, since_ns=since_ns, session_id=session_id):
                session = str(row["session_id"])
                self._seen[session] = look(opened, Scope(session), as_of_ns=now_ns, limits=self._limits)
        self._looked_ns = now_ns

    def _judge(self, now_ns: int) -> list[Stuck]:
        """Time alone changes verdicts, and so does what runs on this machine: neither needs the store."""
        scenes = [scene for seen in self._seen.values() for scene in seen]
        found = self._open(judged(scenes, as_of_ns=now_ns, limits=self._limits))
        sessions = {one.session_id for one in found}
        before, self._table = self._table, table(sessions)
        here = {session: self._table.here(session, before) for session in sessions}
        if not any(one.client is not None or one.processes for one in here.values()):
            return found
        return self._open(judged([one for one in scenes if one.who[0] in sessions], as_of_ns=now_ns, limits=self._limits, here=here))

    def _open(self, found: Iterable[Stuck]) -> list[Stuck]:
        return [one for one in found if one.state != State.IDLE and one.ended_ns is None and one.since_ns >= self._since_ns]
