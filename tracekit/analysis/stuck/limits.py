"""How long each wait may last before it is called stuck. Defaults from what clients, bridges and orchestrators use."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from tracekit.analysis.stuck.verdict import Verdict

SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Thresholds, in seconds unless said otherwise: the table `stuck` of a project's configuration.

    Attributes:
        first_byte: Request sent, nothing came. The client itself gives up after 180 s.
        mid_stream: No event and no ping of a stream. Bridges give up after 120 s.
        thinking: Pings come, and nothing else. The client's own limit for a request is 600 s.
        tool: A tool that declares no timeout. Bash's longest is 600 s.
        tool_grace: A tool past its own timeout is given so long to die.
        bash_timeout: What Bash takes where the call asks for nothing.
        permission: A question to a person.
        hook: The hooks of one event.
        mcp_connection: Spawn, initialize, list tools (MCP_TIMEOUT).
        mcp_call: A call to a server. The client's own limit is hours.
        retry_wait: Sleep before the next attempt that is still to come. The client's own backoff ends at 40 s.
        compaction: 3 to 5 minutes are slow and normal.
        client: Nothing is open, and the client has the next step.
        subagent: The parent's wait for an agent; the agent is judged by itself.
        gone: A session of which nothing was seen for so long, and of which nothing runs here, is over.
        loop_repeats: A count: so many times the same call, or the same cycle of calls, with the same result.
        loop_cycle: A count: calls in the longest cycle that is looked for.
        timer_count: A count: so many gaps of one length are somebody's timer.
        timer_seconds: Shorter gaps are none.
    """

    first_byte: float = 180
    mid_stream: float = 120
    thinking: float = 600
    tool: float = 600
    tool_grace: float = 5
    bash_timeout: float = 120
    permission: float = 300
    hook: float = 60
    mcp_connection: float = 30
    mcp_call: float = 300
    retry_wait: float = 60
    compaction: float = 300
    client: float = 60
    subagent: float = 3600
    gone: float = 86_400
    loop_repeats: int = 5
    loop_cycle: int = 5
    timer_count: int = 3
    timer_seconds: float = 30

    def longest_of(self, verdict: Verdict) -> int | None:
        """Give the limit of a wait of which nobody sees the details: a silent stream may be a server that thinks."""
        return self.of(Verdict.THINKING if verdict == Verdict.MID_STREAM else verdict)

    def of(self, verdict: Verdict) -> int | None:
        """Give the limit of a wait in nanoseconds; None where nothing is waited for, or a limit of another kind decides."""
        seconds = getattr(self, _NAMES[verdict], None) if verdict in _NAMES else None
        return None if seconds is None else int(seconds * SECOND)


DEFAULTS: Final = Limits()

_NAMES: Final = {
    Verdict.FIRST_BYTE: "first_byte",
    Verdict.MID_STREAM: "mid_stream",
    Verdict.THINKING: "thinking",
    Verdict.TOOL: "tool",
    Verdict.PERMISSION: "permission",
    Verdict.HOOK: "hook",
    Verdict.MCP: "mcp_call",
    Verdict.MCP_CONNECTION: "mcp_connection",
    Verdict.MCP_INITIALIZE: "mcp_connection",
    Verdict.MCP_DISCOVERY: "mcp_connection",
    Verdict.MCP_CALL: "mcp_call",
    Verdict.RETRY_WAIT: "retry_wait",
    Verdict.COMPACTION: "compaction",
    Verdict.CLIENT: "client",
    Verdict.SUBAGENT: "subagent",
}
_COUNTS: Final = frozenset(field.name for field in fields(Limits) if field.type in ("int", int))


def limits_of(settings: Mapping[str, Any]) -> Limits:
    """Read thresholds that somebody has written down; what is left out keeps its default.

    Raises:
        ValueError: Names the setting that is unknown, or no positive number; its second argument is the word to look for.
    """
    known = {field.name for field in fields(Limits)}
    for name, value in settings.items():
        if name not in known:
            raise ValueError(f"{name!r} is no threshold; there are {', '.join(sorted(known))}", name)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not (whole or (isinstance(value, float) and name not in _COUNTS)) or value <= 0:
            raise ValueError(f"{name!r} is to be a {'whole number' if name in _COUNTS else 'number of seconds'} above zero", name)
    return replace(DEFAULTS, **settings)
