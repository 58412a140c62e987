"""A turn: from a prompt to the last thing that the agent did for it."""

from opentelemetry.trace import SpanKind

from tracekit.instrument.guard import guarded
from tracekit.instrument.handle import Handle, Told
from tracekit.instrument.kept import kept_content
from tracekit.instrument.place import Place
from tracekit.model import Boundary, semconv

INVOKE_AGENT = "invoke_agent"


class Turn(Handle):
    """A turn. See `turn`."""

    boundary = Boundary.TURN
    kind = SpanKind.INTERNAL

    def __init__(
        self, prompt_id: str | None = None, *, kind: str = "prompt", agent: str | None = None, parent: Handle | None = None
    ) -> None:
        said: dict[str, Told] = {semconv.OPERATION: INVOKE_AGENT, semconv.TURN_KIND: kind}
        if prompt_id is not None:
            said[semconv.PROMPT_ID] = prompt_id
        if agent is not None:
            said[semconv.AGENT_TYPE] = agent
        super().__init__(f"{INVOKE_AGENT} {agent}" if agent else INVOKE_AGENT, key=prompt_id, parent=parent, attributes=said)

    @guarded
    def prompt(self, words: object) -> None:
        """Tell what is asked, which is kept only with content."""
        self.say(kept_content(words))

    def _standing(self) -> Place:
        if self._outer.is_named:
            self._to_say[semconv.CONVERSATION_ID] = self._outer.session_id
        return self._outer._replace(around=self._opened_as, request=None, tool=None)

    def _part_of(self) -> str | None:
        return self._outer.agent_id or self._outer.session_id


def turn(prompt_id: str | None = None, *, kind: str = "prompt", agent: str | None = None, parent: Handle | None = None) -> Turn:
    """From a prompt to the last thing that the agent did for it.

    Args:
        prompt_id: The id that others know the prompt by; None: nobody else does.
        kind: `prompt`, `command`, or `agent` for a sub-agent's task.
        agent: The agent's name.
        parent: The session or sub-agent; None: what the code stands in.
    """
    return Turn(prompt_id, kind=kind, agent=agent, parent=parent)
