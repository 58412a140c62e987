"""Which session a tool call belongs to: MCP servers are told the call's id, and nothing of the session."""

from collections import OrderedDict
from typing import Final, NamedTuple

_KEPT: Final = 10_000


class Caller(NamedTuple):
    """Who made a call."""

    session_id: str
    agent_id: str | None


class Calls:
    """Remembers the calls that passed in responses of the model."""

    def __init__(self) -> None:
        self._callers: OrderedDict[str, Caller] = OrderedDict()

    def add(self, call_id: str, session_id: str, agent_id: str | None) -> None:
        """Remember a call; one without an id is none."""
        if call_id:
            self._callers[call_id] = Caller(session_id, agent_id)
            if len(self._callers) > _KEPT:
                self._callers.popitem(last=False)

    def caller(self, call_id: str) -> Caller | None:
        """Who made a call, where it passed here."""
        return self._callers.get(call_id)
