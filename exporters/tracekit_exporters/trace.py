"""What an exporter is given, and what it has to be: boundaries and answers go in, text comes out, and no file is opened."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tracekit.model import NO_ATTRIBUTES, Finding, Status, Value


class BoundaryRow(NamedTuple):
    """One boundary, fused from its witnesses: a row of the store's view `boundaries`.

    Times are Unix nanoseconds. It began between `start_ns` and `start_ns + start_slack_ns`, and ended between
    `end_ns - end_slack_ns` and `end_ns`; slack 0 is measured.
    """

    session_id: str
    boundary: str
    """A value of `tracekit.model.Boundary`."""
    key: str
    start_ns: int
    end_ns: int | None
    """None: it is open."""
    name: str = ""
    agent_id: str | None = None
    """None: the main agent."""
    parent_key: str | None = None
    start_slack_ns: int = 0
    end_slack_ns: int = 0
    status: str = Status.UNSET
    attributes: Mapping[str, Value] = NO_ATTRIBUTES
    """By the names of `tracekit.model.semconv`. The store keeps all values as text."""
    witnesses: str = ""
    """Who saw it, the best first: `otel,transcript`."""


@dataclass(frozen=True, slots=True)
class SessionTrace:
    """One session.

    Attributes:
        session_id: Its id.
        first_ns: When anything of it was first seen.
        last_ns: When anything of it was last seen; what is open is drawn up to here.
        boundaries: Its boundaries in order of start. May be gone through more than once, and reads the store each time, so that a
            session of any size passes through without being held.
    """

    session_id: str
    first_ns: int
    last_ns: int
    boundaries: Iterable[BoundaryRow]


Answers: TypeAlias = Callable[[str, str | None], Sequence[Finding]]
"""Ask a question by its name (`failures`, `stuck`, `metrics`), of one session or of all that are exported."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that is to be exported.

    Attributes:
        sessions: The earliest first. Each reads its boundaries from the store when they are gone through.
        as_of_ns: The moment that the export is about.
        ask: Gives the answers to a question.
    """

    sessions: Sequence[SessionTrace]
    as_of_ns: int
    ask: Answers


Exporter: TypeAlias = Callable[[Trace], Iterator[str]]
"""Gives the text of the export in pieces, so that none of it need be held."""
