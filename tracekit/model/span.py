"""Span: what one witness saw of one boundary. The one thing that walks from the sources to the store."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from tracekit.model.boundary import Boundary


class Status(StrEnum):
    """How an observation ended, in its witness's own words; `unset` where the witness says nothing."""

    UNSET = "unset"
    OK = "ok"
    ERROR = "error"
    CANCELLED = "cancelled"


class Source(StrEnum):
    """Who saw it. The order is the rank: an earlier witness wins an edge when slack is equal."""

    STAMPS = "stamps"
    GATEWAY = "gateway"
    MCP_TAP = "mcp_tap"
    INSTRUMENT = "instrument"
    OTEL = "otel"
    HOOKS = "hooks"
    STREAM_JSON = "stream_json"
    TRANSCRIPT = "transcript"
    PROGRESS = "progress"
    """A parent's transcript that mirrors its sub-agent: a partial witness, counted only where the agent's own is missing."""
    MARKS = "marks"
    """Whoever checked the work from outside. It saw nothing of the session itself, and is no witness of any edge."""


ERROR_EVENT = "error event"
"""Why a response was cut (`semconv.STREAM_CUT`): the server said in the stream that it cannot go on."""

Value = str | int | float | bool
NO_ATTRIBUTES: Mapping[str, Value] = MappingProxyType({})


class Event(NamedTuple):
    """A moment inside a span that its witness marked."""

    time_ns: int
    name: str
    attributes: Mapping[str, Value] = NO_ATTRIBUTES


class Span(NamedTuple):
    """One witness's observation of one boundary. Never altered after it is stored.

    Times are Unix nanoseconds. Slack makes them honest: the boundary began between `start_ns` and
    `start_ns + start_slack_ns`, and ended between `end_ns - end_slack_ns` and `end_ns`. Slack 0 means measured.
    """

    source: str
    session_id: str
    boundary: Boundary
    key: str
    """The identity that the world gave the thing: `req_…`, `msg_…#3`, `toolu_…`, a prompt id, a hook run."""
    start_ns: int
    end_ns: int | None
    """None: the witness saw it begin and not end."""
    name: str = ""
    agent_id: str | None = None
    """None: the main agent of the session."""
    parent_key: str | None = None
    start_slack_ns: int = 0
    end_slack_ns: int = 0
    status: str = Status.UNSET
    attributes: Mapping[str, Value] = NO_ATTRIBUTES
    events: tuple[Event, ...] = ()
    position: int = 0
    """Byte offset in its file of the first line that this observation rests on."""


class Problem(NamedTuple):
    """Something in a file that could not be read. The rest of the file was."""

    line: int
    """Line number, from 1; 0 where the file as a whole is meant."""
    position: int
    """Byte offset of the line."""
    reason: str
    """A short fixed word or phrase, fit to be counted: `truncated line`, `not JSON`, `no timestamp`."""
    detail: str = ""
    """What the parser said. Never the line's text."""
