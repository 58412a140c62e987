"""What this machine shows of a session: its client's processes and sockets. Found by whoever may look, judged here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

TOOL: Final = "tool"
"""Started for a tool call."""
HARNESS: Final = "harness"
"""Started by the client for itself: a hook, an MCP server."""

CONNECTED: Final = frozenset({"ESTABLISHED", "SYN_SENT"})
"""States of a socket on which an answer can still come."""


@dataclass(frozen=True, slots=True)
class Running:
    """One process below a client.

    Attributes:
        pid: Its number.
        name: Of its program; no arguments.
        start_ns: When it began, Unix nanoseconds.
        kind: `tool`, `harness`, or empty where the client does not say.
        top: Whether the client itself is its parent.
        bottom: Whether it has no children: what is being waited for, in the end.
        busy: Whether it used the processor while it was looked at; None where it was looked at once.
        reads: `terminal` or `input` where it is blocked in reading that, else empty.
    """

    pid: int
    name: str
    start_ns: int
    kind: str = ""
    top: bool = True
    bottom: bool = True
    busy: bool | None = None
    reads: str = ""


@dataclass(frozen=True, slots=True)
class Here:
    """One session on this machine.

    Attributes:
        client: Process number of its client; None where none was found: it is elsewhere, or no more.
        processes: What runs below it.
        sockets: How many TCP connections the client has in each state, listening ones left out; None where nobody may look.
    """

    client: int | None = None
    processes: tuple[Running, ...] = ()
    sockets: Mapping[str, int] | None = field(default=None)

    def begun(self, since_ns: int, *kinds: str) -> list[Running]:
        """What was started since then, the outermost processes only; those of no known kind count as each."""
        return [one for one in self.processes if one.top and one.start_ns >= since_ns and (one.kind in kinds or not one.kind)]

    @property
    def is_connected(self) -> bool | None:
        """Whether an answer can still come over any connection; None where nobody knows."""
        if self.client is None or self.sockets is None:
            return None
        return any(self.sockets.get(state) for state in CONNECTED)

    def connections(self) -> str:
        """The client's sockets, for eyes: `2 established, 1 close_wait`."""
        if not self.sockets:
            return "no TCP connection"
        return ", ".join(f"{count} {state.lower()}" for state, count in sorted(self.sockets.items()))
