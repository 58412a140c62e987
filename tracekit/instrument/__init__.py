"""Spans at every boundary, from inside the agent's own process.

    import tracekit; tracekit.instrument()

records what the libraries do that an agent is built on. For a loop of one's own there is a handle for each boundary:

    with session("my-session"), turn() as asked:
        with model_request("claude-sonnet-5", stream=True) as request:
            for event in request.stream(client.messages.create(..., stream=True)):
                ...
        with tool_schedule("add", "toolu_1", request=request) as call:
            with call.execution() as execution:
                execution.result(add(1, 2))

Every handle is a `with`, an `async with` and a decorator, for functions, coroutines and generators of either kind; and it has
`start()` and `end(error=None, status=…)` for what begins and ends in different calls. Only inside of `with`, a decorated function or
`inside()` is it what new boundaries become part of; elsewhere they are given it as `parent=`. `adopt(span)` begins a handle on a span
that a library started itself: the span is enriched, and its library ends it. `carried(function)` takes the place of the code along
to another thread; tasks take it along by themselves.

All of it is standard OpenTelemetry: spans of the tracer `tracekit`, by the GenAI and MCP conventions where those have names. What a
handle does never changes what the agent's own code returns or raises.
"""

import sys
from types import ModuleType
from typing import Any

from tracekit.instrument.attempts import Attempt, RetryWait
from tracekit.instrument.blocks import Block
from tracekit.instrument.compactions import Compaction, compaction
from tracekit.instrument.guard import blame, gaps, guarded
from tracekit.instrument.handle import Handle, carried, current
from tracekit.instrument.hooks import HookReply, hook_reply
from tracekit.instrument.mcp_calls import McpCall, mcp_call
from tracekit.instrument.mcp_connections import McpConnection, mcp_connection
from tracekit.instrument.requests import ModelRequest, model_request
from tracekit.instrument.sessions import Session, session
from tracekit.instrument.setup import instrument, uninstrument
from tracekit.instrument.streams import AsyncStream, Stream
from tracekit.instrument.subagents import Subagent, subagent
from tracekit.instrument.tools import PermissionWait, ToolExecution, ToolSchedule, tool_schedule
from tracekit.instrument.turns import Turn, turn

__all__ = [
    "AsyncStream",
    "Attempt",
    "Block",
    "Compaction",
    "Handle",
    "HookReply",
    "McpCall",
    "McpConnection",
    "ModelRequest",
    "PermissionWait",
    "RetryWait",
    "Session",
    "Stream",
    "Subagent",
    "ToolExecution",
    "ToolSchedule",
    "Turn",
    "blame",
    "carried",
    "compaction",
    "current",
    "gaps",
    "guarded",
    "hook_reply",
    "instrument",
    "mcp_call",
    "mcp_connection",
    "model_request",
    "session",
    "subagent",
    "tool_schedule",
    "turn",
    "uninstrument",
]


class _Callable(ModuleType):
    """The room as the call that its users make: `tracekit.instrument()`."""

    def __call__(self, **settings: Any) -> None:
        instrument(**settings)


sys.modules[__name__].__class__ = _Callable
