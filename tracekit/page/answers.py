"""What the page answers: a path and a query in, bytes out. Nothing here knows of servers, so any process can do it."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import orjson
from jinja2 import PackageLoader

from tracekit.analysis.scope import Scope
from tracekit.analysis.sessions import Session
from tracekit.errors import TracekitError
from tracekit.page.listing import SINCE, STATES, Found, Listing, Wanted
from tracekit.page.parts import PARTS, Asked
from tracekit.page.questions import Questions
from tracekit.page.timeline import picture
from tracekit.report.html import environment, path_part

HTML: Final = "text/html"
JSON: Final = "application/json"
TEMPLATES: Final = environment(PackageLoader("tracekit.page"))

_ABSENT: Final = frozenset({"no-store", "session-unknown"})
_BUSY: Final = frozenset({"store-busy"})


class Answer(NamedTuple):
    """What goes back to the browser."""

    status: int
    content_type: str
    body: bytes


class Pages:
    """Answers for everything that the page shows.

    Args:
        ask: Who answers questions about the store.
        clock: Gives Unix nanoseconds.
    """

    def __init__(self, ask: Questions, *, clock: Callable[[], int] = time.time_ns) -> None:
        self._ask = ask
        self._clock = clock
        self._listing = Listing(ask)

    def sessions(self, query: Mapping[str, str]) -> Answer:
        """The list of sessions; with `part` in the query, its rows alone."""
        wanted = Wanted.from_query(query)
        alone = "part" in query
        now_ns = self._clock()
        try:
            found = self._listing.find(wanted, as_of_ns=now_ns)
        except TracekitError as error:
            if error.slug != "no-store":
                return trouble(error, alone=alone)
            # Nothing has been recorded yet: what comes is shown as it comes.
            found = Found([], 0, 0, 1, 1)
        template = "rows.html" if alone else "sessions.html"
        return page(template, found=found, wanted=wanted, states=STATES, since=tuple(SINCE), as_of_ns=now_ns)

    def opening(self, session_id: str) -> Answer:
        """The beginning of a session's page: everything above its parts."""
        try:
            session = self._session(session_id)
        except TracekitError as error:
            return trouble(error)
        return page("opening.html", session=session, parts=PARTS, prefix="")

    def part(self, session_id: str, name: str) -> Answer:
        """One part of a session's page."""
        try:
            asked = Asked(self._ask, self._listing, self._session(session_id), self._clock())
            return page("part.html", prefix="", **part_context(name, asked))
        except TracekitError as error:
            return trouble(error, alone=True)

    def frame(self, session_id: str) -> Answer:
        """What the timeline's script draws in."""
        try:
            session = self._session(session_id)
        except TracekitError as error:
            return trouble(error, alone=True)
        return page("timeline_live.html", prefix="", session=session, source=f"/sessions/{path_part(session_id)}/timeline.json")

    def closing(self) -> Answer:
        """The end of a session's page."""
        return page("closing.html")

    def timeline(self, session_id: str, query: Mapping[str, str]) -> Answer:
        """What the timeline's script draws.

        `stamp` in the query is that of the last answer: where the store is still the same, so is the picture. `after` leaves out what
        had ended before a moment of the picture's clock.
        """
        stamp = self._ask.stamp()
        if query.get("stamp") == stamp:
            return data({"stamp": stamp, "is_same": True, "as_of_ns": str(self._clock())})
        try:
            scope = Scope(self._session(session_id).session_id)
            moments, context = self._ask.timeline(scope), self._ask.context(scope)
        except TracekitError as error:
            return data({"error": str(error), "slug": error.slug}, status=_status(error))
        after = query.get("after", "")
        drawn = picture(moments, context, as_of_ns=self._clock(), after=int(after) if after.isdecimal() and len(after) < 20 else None)  # noqa: PLR2004
        return data({"stamp": stamp, "is_same": False, **drawn})

    def _session(self, session_id: str) -> Session:
        found = self._ask.sessions(Scope(session_id))
        if not found:
            message = "the store holds no session of this id; it may not have been imported yet"
            raise TracekitError(message, slug="session-unknown")
        return found[0]


def part_context(name: str, asked: Asked) -> dict[str, Any]:
    """Give what a part's template is filled with."""
    part = PARTS[name]
    return {"name": name, "title": part.title, "session": asked.session, "as_of_ns": asked.as_of_ns, **part.context(asked)}


def page(template: str, *, status: int = 200, **named: Any) -> Answer:
    """Fill a template."""
    return Answer(status, HTML, TEMPLATES.get_template(template).render(**named).encode("utf-8", "replace"))


def data(value: Mapping[str, Any], *, status: int = 200) -> Answer:
    """Write a value for the script."""
    return Answer(status, JSON, orjson.dumps(value))


def trouble(error: TracekitError, *, alone: bool = False) -> Answer:
    """Say what went wrong, as a page, or alone as the part of one."""
    return page("trouble_part.html" if alone else "trouble.html", status=_status(error), error=error, slug=error.slug)


def _status(error: TracekitError) -> int:
    if error.slug in _ABSENT:
        return 404
    return 503 if error.slug in _BUSY else 500
