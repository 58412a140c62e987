"""A sub-agent: an agent started by a tool call of another, with requests and tools of its own."""

from tracekit.instrument.handle import Handle, Told
from tracekit.instrument.place import Place
from tracekit.instrument.turns import INVOKE_AGENT
from tracekit.model import Boundary, semconv


class Subagent(Handle):
    """A sub-agent. See `subagent`."""

    boundary = Boundary.SUBAGENT

    def __init__(self, agent_id: str, agent_type: str, *, parent_tool: str | None = None, parent: Handle | None = None) -> None:
        said: dict[str, Told] = {semconv.OPERATION: INVOKE_AGENT, semconv.AGENT_TYPE: agent_type}
        if parent_tool is not None:
            said[semconv.PARENT_TOOL] = parent_tool
        super().__init__(f"{INVOKE_AGENT} {agent_type}", key=agent_id, parent=parent, attributes=said)
        self._parent_tool = parent_tool

    def _standing(self) -> Place:
        return self._outer._replace(agent_id=self.key, around=self.key, request=None, tool=None)

    def _part_of(self) -> str | None:
        return self._parent_tool or self._outer.tool or self._outer.around


def subagent(agent_id: str, agent_type: str, *, parent_tool: str | None = None, parent: Handle | None = None) -> Subagent:
    """An agent inside another. It is the turn of its task as well: what it does is part of it, without a `turn` in between.

    Args:
        agent_id: Its id.
        agent_type: What kind of agent it is.
        parent_tool: Tool use id of the call that started it; None: the call that the code stands in.
        parent: What it is part of; None: what the code stands in.
    """
    return Subagent(agent_id, agent_type, parent_tool=parent_tool, parent=parent)
