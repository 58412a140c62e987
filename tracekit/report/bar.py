"""What a timeline is drawn from: lanes of bars, and how each kind of bar looks without colour and with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple


class Kind(StrEnum):
    """What a stretch of a bar is."""

    WAIT = "wait"
    STREAM = "stream"
    HIDDEN = "hidden"
    TOOL = "tool"
    PERMISSION = "permission"
    HOOK = "hook"
    MCP = "mcp"
    CONNECTION = "connection"
    RETRY = "retry"
    COMPACTION = "compaction"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Bar:
    """One thing that lasted. Times are Unix nanoseconds; slack is as in `Span`.

    Attributes:
        start_ns: Earliest possible start.
        end_ns: Latest possible end; None while it is open.
        kind: What it begins as.
        label: Drawn where it fits; its first word alone where only that fits.
        start_slack_ns: How much later than `start_ns` it may have begun.
        end_slack_ns: How much earlier than `end_ns` it may have ended.
        then: Moments at which it turns into something else, in order: a request that waits begins to stream, a tool
            that was hidden under the stream is exposed.
        failed: Whether it ended in an error.
    """

    start_ns: int
    end_ns: int | None
    kind: Kind
    label: str = ""
    start_slack_ns: int = 0
    end_slack_ns: int = 0
    then: tuple[tuple[int, Kind], ...] = ()
    failed: bool = False

    def ends_by(self, now_ns: int) -> int:
        """Give its end, or for an open bar the moment up to which it is known to last."""
        return now_ns if self.end_ns is None else self.end_ns

    def kind_at(self, moment_ns: int) -> Kind:
        """Tell what it is at a moment."""
        return next((kind for at_ns, kind in reversed(self.then) if at_ns <= moment_ns), self.kind)


@dataclass(frozen=True, slots=True)
class Lane:
    """Bars under one name; those that overlap are drawn in rows of their own."""

    name: str
    bars: Sequence[Bar]


class Look(NamedTuple):
    """A character, its colour where there is colour, and what the legend says of it."""

    glyph: str
    style: str
    meaning: str


LOOKS: Final = {
    Kind.WAIT: Look("░", "blue", "waiting for the first byte"),
    Kind.STREAM: Look("▓", "cyan", "streaming"),
    Kind.HIDDEN: Look("▒", "green", "tool, hidden under the stream"),
    Kind.TOOL: Look("█", "yellow", "tool, exposed"),
    Kind.PERMISSION: Look("?", "magenta", "waiting for permission"),
    Kind.HOOK: Look("+", "bright_blue", "hook"),
    Kind.MCP: Look("◆", "bright_green", "MCP call"),
    Kind.CONNECTION: Look("◇", "bright_green", "MCP connection"),
    Kind.RETRY: Look("~", "bright_red", "waiting to retry"),
    Kind.COMPACTION: Look("≡", "bright_magenta", "compaction"),
    Kind.AGENT: Look("═", "bright_yellow", "sub-agent"),
}
POSSIBLE: Final = Look("·", "", "possible")
OPEN: Final = Look("▶", "", "still open")
FAILED: Final = Look("✗", "bright_red", "failed")
BEFORE: Final = Look("‹", "", "began earlier")
AFTER: Final = Look("›", "", "goes on")
LEGEND: Final = (*LOOKS.values(), POSSIBLE, OPEN, FAILED, BEFORE, AFTER)
"""Every look, in the order of the legend."""
