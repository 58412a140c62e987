"""What hooks have recorded as begun and not yet as ended: by it an end finds its beginning, and an answer its question.

A process that stays, such as the endpoint for HTTP hooks, keeps it. A command hook lives for a moment: it looks at the records that
the hooks before it left at the end of the spool's file. What cannot be found there leaves more slack, and nothing else.
"""

import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tracekit.model import Boundary, Span, semconv

SESSIONS: Final = 1_000
"""Sessions that are remembered; those that were silent for longest are forgotten first."""
TAIL_BYTES: Final = 2 * 1024 * 1024
"""How far back the records of earlier hooks are looked at: some 2,500 of them."""
OPEN_THINGS: Final = 5_000
"""Of one session. What an interrupted turn left open is forgotten first."""


class Edge(NamedTuple):
    """Between which moments something began or ended, in Unix nanoseconds."""

    earliest: int
    latest: int

    def back(self, duration_ns: int) -> "Edge":
        """So long before."""
        return Edge(self.earliest - duration_ns, self.latest - duration_ns)

    def since(self, earliest: int) -> "Edge":
        """The same, and possibly as early as that."""
        return Edge(min(earliest, self.latest), self.latest)


class Open(NamedTuple):
    """Something that began."""

    boundary: str
    key: str
    agent_id: str | None
    name: str
    start: Edge
    arguments: str | None
    """Digest of the arguments of the call that it belongs to."""
    server: str | None
    """MCP server that it waits for."""
    parent: str | None


class _Session:
    def __init__(self) -> None:
        self.things: OrderedDict[tuple[str, str], Open] = OrderedDict()
        self.batches: dict[str | None, int] = {}


class Known:
    """What is open, by session.

    Attributes:
        is_whole: Whether every hook since the beginning was seen, in order.
    """

    def __init__(self, *, is_whole: bool = True) -> None:
        self.is_whole = is_whole
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    def note(self, span: Span) -> None:
        """A record has been written."""
        things = self._session(span.session_id).things
        if span.end_ns is None:
            things[span.boundary, span.key] = _opened(span)
            things.move_to_end((span.boundary, span.key))
        else:
            things.pop((span.boundary, span.key), None)
            things.pop((span.boundary, str(span.attributes.get(semconv.OPENED_AS))), None)
        if len(things) > OPEN_THINGS:
            things.popitem(last=False)

    def note_batch(self, session_id: str, agent_id: str | None, over_ns: int) -> None:
        """All calls of an agent's response were over: those that come now are of a later one."""
        self._session(session_id).batches[agent_id] = over_ns

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._sessions

    def find(self, session_id: str, boundary: Boundary, key: str | None) -> Open | None:
        """What is open under this key."""
        session = self._sessions.get(session_id)
        return None if session is None else session.things.get((boundary, key or ""))

    def open(self, session_id: str, boundary: Boundary) -> list[Open]:
        """Everything of a kind that is open, the latest first."""
        session = self._sessions.get(session_id)
        things = [] if session is None else list(session.things.values())
        return [thing for thing in reversed(things) if thing.boundary == boundary]

    def last_batch_ns(self, session_id: str, agent_id: str | None) -> int | None:
        """When all calls of an agent's last response were over."""
        session = self._sessions.get(session_id)
        return None if session is None else session.batches.get(agent_id)

    def _session(self, session_id: str) -> _Session:
        session = self._sessions.setdefault(session_id, _Session())
        self._sessions.move_to_end(session_id)
        if len(self._sessions) > SESSIONS:
            self._sessions.popitem(last=False)
        return session


def _opened(span: Span) -> Open:
    arguments, server = (span.attributes.get(name) for name in (semconv.TOOL_INPUT_DIGEST, semconv.MCP_SERVER))
    return Open(
        span.boundary,
        span.key,
        span.agent_id,
        span.name,
        Edge(span.start_ns, span.start_ns + span.start_slack_ns),
        None if arguments is None else str(arguments),
        None if server is None else str(server),
        span.parent_key,
    )


def recall(known: Known, lines: bytes, session_id: str, words: Iterable[str]) -> Known:
    """Learn from records what a session has open.

    Args:
        known: What learns it.
        lines: The end of a file of records. Its first line may be torn.
        session_id: Records of others are passed over.
        words: Only records that hold one of these, as JSON writes it, are looked at: a file holds thousands.
    """
    session = json.dumps(session_id).encode()
    for first, last in sorted({place for word in words for place in _lines_with(lines, json.dumps(word).encode())}):
        line = lines[first:last]
        if session in line:
            for span in _read(line):
                known.note(span)
    return known


def _lines_with(lines: bytes, word: bytes) -> Iterator[tuple[int, int]]:
    """Where the lines begin and end that hold a word. Searching bytes takes a tenth of the time that splitting them does."""
    at = lines.find(word)
    while at >= 0:
        last = lines.find(b"\n", at)
        last = len(lines) if last < 0 else last
        yield lines.rfind(b"\n", 0, at) + 1, last
        at = lines.find(word, last)


def _read(line: bytes) -> Iterator[Span]:
    try:
        row = json.loads(line)
        yield Span(
            row["source"],
            row["session_id"],
            Boundary(row["boundary"]),
            row["key"],
            row["start_ns"],
            row["end_ns"],
            name=row["name"],
            agent_id=row["agent_id"],
            parent_key=row["parent_key"],
            start_slack_ns=row["start_slack_ns"],
            attributes=row["attributes"],
        )
    except (ValueError, KeyError, TypeError):
        return
