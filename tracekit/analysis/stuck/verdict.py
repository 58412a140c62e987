"""The names that a wait can have, and which of them say less of the same thing."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Verdict(StrEnum):
    """What an agent waits for. `tracekit explain NAME` has a page for each, with hyphens for the spaces."""

    FINISHED = "finished"
    IDLE = "idle"
    BACKGROUND = "background"
    SUBAGENT = "sub-agent"
    FIRST_BYTE = "first byte"
    MID_STREAM = "mid-stream"
    THINKING = "thinking"
    TOOL = "tool"
    TOOL_TIMEOUT = "tool past its timeout"
    TERMINAL = "tool waits for input"
    PERMISSION = "permission"
    HOOK = "hook"
    MCP = "mcp"
    MCP_CONNECTION = "mcp connection"
    MCP_INITIALIZE = "mcp initialize"
    MCP_DISCOVERY = "mcp discovery"
    MCP_CALL = "mcp call"
    MCP_SESSION_LOST = "mcp session lost"
    RETRY_WAIT = "retry wait"
    COMPACTION = "compaction"
    LOOP = "loop"
    CLIENT = "client"
    LOST_WAKE_UP = "lost wake-up"
    UNKNOWN = "unknown"


class State(StrEnum):
    """Whether a wait is one to worry about."""

    STUCK = "stuck"
    """It lasts longer than its limit, or cannot end by itself."""
    WAITING = "waiting"
    """Something is owed, and within its limit."""
    IDLE = "idle"
    """Nothing is owed."""


class Certainty(StrEnum):
    """How sure a name is."""

    CERTAIN = "certain"
    """A witness saw the thing itself."""
    LIKELY = "likely"
    """Everything else was excluded, or what was seen allows a rare exception."""
    UNKNOWN = "unknown"
    """Several names are possible."""


BROADER: Final[Mapping[Verdict, Verdict]] = {
    Verdict.THINKING: Verdict.MID_STREAM,
    Verdict.TOOL_TIMEOUT: Verdict.TOOL,
    Verdict.TERMINAL: Verdict.TOOL,
    Verdict.MCP_CONNECTION: Verdict.MCP,
    Verdict.MCP_INITIALIZE: Verdict.MCP,
    Verdict.MCP_DISCOVERY: Verdict.MCP,
    Verdict.MCP_CALL: Verdict.MCP,
    Verdict.MCP_SESSION_LOST: Verdict.MCP,
    Verdict.LOST_WAKE_UP: Verdict.CLIENT,
    Verdict.BACKGROUND: Verdict.IDLE,
    Verdict.FINISHED: Verdict.IDLE,
}
"""The name that says less and is true as well."""


def says_no_more_than(weaker: Verdict, stronger: Verdict) -> bool:
    """Whether one name is the other, or the broader name of it.

    Examples:
        >>> says_no_more_than(Verdict.TOOL, Verdict.TOOL_TIMEOUT)
        True
        >>> says_no_more_than(Verdict.TOOL_TIMEOUT, Verdict.TOOL)
        False
    """
    return weaker == stronger or weaker == BROADER.get(stronger)
