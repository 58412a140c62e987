"""What a dialect says of one span, before anything is known of the spans around it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from tracekit.model import NO_ATTRIBUTES, Value


class Role(StrEnum):
    """The part that a span plays in an agent."""

    AGENT = "agent"
    REQUEST = "request"
    TOOL = "tool"
    MCP_CLIENT = "mcp client"
    MCP_SERVER = "mcp server"


# By themselves, since Python 3.11 looks a member of an enum up for longer than all the rest of a comparison takes.
AGENT: Final = Role.AGENT
REQUEST: Final = Role.REQUEST
TOOL: Final = Role.TOOL
MCP_CLIENT: Final = Role.MCP_CLIENT
MCP_SERVER: Final = Role.MCP_SERVER


class Sighting(NamedTuple):
    """A span that is a boundary of an agent."""

    role: Role
    name: str
    """The agent's, the model's or the tool's."""
    key: str | None = None
    """The identity that the world gave it: a request, message or tool call id."""
    attributes: Mapping[str, Value] = NO_ATTRIBUTES
    calls: tuple[str, ...] = ()
    """Of a request: the tool calls that its response asks for."""
    is_mcp: bool = False
    """Of a tool: the span is the call to its MCP server too."""
