"""What is open right now, looked at again and again: only what has been loaded since the last look is asked anew."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from tracekit.analysis.scope import Scope
from tracekit.analysis.stuck import Stuck, stuck
from tracekit.cli.options import find_session
from tracekit.errors import TracekitError
from tracekit.ingest import Follower, default_roots
from tracekit.spool import spool_folder
from tracekit.store import SpanStore, open_store

_MARGIN_NS: Final = 30_000_000_000
"""A load says when it began, and commits later."""
_JUDGED_AGAIN_NS: Final = 5_000_000_000
"""Time alone changes some verdicts."""
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
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        roots = default_roots() if roots is None else list(roots)
        self.trouble = ""
        self._store = store
        self._session = session
        self._since_ns = since_ns
        self._clock = clock
        self._follower = Follower(store, spool=spool or spool_folder(), roots=roots, since_ns=since_ns)
        self._open: dict[str, Sequence[Stuck]] = {}
        self._looked_ns = 0
        self._judged_ns = 0

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
        found = [one for session in self._open.values() for one in session]
        return [_aged(one, now_ns) for one in sorted(found, key=lambda one: (one.since_ns, one.session_id, one.key))]

    def _ask(self, opened: SpanStore, now_ns: int) -> None:
        session_id = None if self._session is None else find_session(opened, self._session)
        if session_id is not None:
            # The latest session may be another one now.
            self._open = {known: waits for known, waits in self._open.items() if known == session_id}
        since_ns = self._looked_ns - _MARGIN_NS if self._looked_ns else 0
        if not self._looked_ns and session_id is None:
            # All at once, the first time: most sessions have nothing open.
            for one in stuck(opened, Scope(None, since_ns=self._since_ns), as_of_ns=now_ns):
                self._open[one.session_id] = [*self._open.get(one.session_id, ()), one]
            self._judged_ns = now_ns
        else:
            changed = {str(row["session_id"]) for row in opened.rows(_LOADED, since_ns=since_ns, session_id=session_id)}
            if now_ns - self._judged_ns >= _JUDGED_AGAIN_NS:
                changed |= self._open.keys()
                self._judged_ns = now_ns
            for session in changed:
                self._open[session] = stuck(opened, Scope(session, since_ns=self._since_ns), as_of_ns=now_ns)
        self._looked_ns = now_ns


def _aged(one: Stuck, now_ns: int) -> Stuck:
    """The same wait, later."""
    later_ns = now_ns - one.since_ns - one.age_ns
    return replace(one, age_ns=max(0, one.age_ns + later_ns), quiet_ns=None if one.quiet_ns is None else one.quiet_ns + later_ns)
