"""What is known of one session while its stream is read."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tracekit.model import Boundary, Source, Span, Status, Value
from tracekit.sources.fields import Object, text
from tracekit.sources.stream_json.call import Call
from tracekit.sources.stream_json.clock import Moment, Timed
from tracekit.sources.stream_json.compaction import Compaction
from tracekit.sources.stream_json.edges import between, edges
from tracekit.sources.stream_json.hook import HookRun
from tracekit.sources.stream_json.request import Request
from tracekit.sources.stream_json.turn import Agent, Turn
from tracekit.sources.timestamps import SECOND

STARTUP_NS: Final = 2 * SECOND
"""The client says its first word 0.2 to 1.4 s after its process began."""

CONNECTING_NS: Final = 30 * SECOND
"""The client's own timeout for a connection (MCP_TIMEOUT): where servers are configured, `init` may wait for them."""

SHUTDOWN_NS: Final = 2 * SECOND
"""The client's process is still busy up to 90 ms after its last word, longer where hooks run at its end."""


@dataclass(slots=True)
class Session:
    """Everything that is still open, and what the client said of itself."""

    id: str
    position: int
    first: Moment
    content: bool = False
    last: Moment = field(init=False)
    seen: dict[str | None, Moment] = field(default_factory=dict[str | None, Moment])
    """The last line of each agent."""
    about: dict[str, Value] = field(default_factory=dict[str, Value])
    """Project and version, on the session and on each turn."""
    outcome: dict[str, Value] = field(default_factory=dict[str, Value])
    status: Status = Status.UNSET
    model: str = ""
    serial: bool = False
    """The client is one that starts tools only after the whole message."""
    announced: bool = False
    """The client tells when it sends a request."""
    eager: bool = False
    """A tool's result came while its response was still streaming."""
    turn: Turn | None = None
    turns: int = 0
    requests: dict[str | None, Request] = field(default_factory=dict[str | None, Request])
    """The last request of each agent: told when the next begins, since lines that belong to it may follow message_stop."""
    calls: dict[str, Call] = field(default_factory=dict[str, Call])
    """Calls that wait for their result."""
    hooks: dict[str, HookRun] = field(default_factory=dict[str, HookRun])
    run_of_hook: dict[str, str] = field(default_factory=dict[str, str])
    agents: dict[str, Agent] = field(default_factory=dict[str, Agent])
    agent_of_tool: dict[str, str] = field(default_factory=dict[str, str])
    servers: dict[str, str] = field(default_factory=dict[str, str])
    """MCP servers and their status, as last told."""
    compaction: Compaction | None = None

    def __post_init__(self) -> None:
        self.last = self.first

    # Where a line belongs --------------------------------------------------------------------------------------------

    def agent_of(self, line: Timed) -> str | None:
        """The sub-agent that a line belongs to; None is the main agent."""
        tool = text(line.value, "parent_tool_use_id")
        named = text(line.value, "agent_id")
        if tool is None and named is None:
            return None
        agent_id = self.agent_of_tool.get(tool or "") or named or tool or ""
        return self.agent(agent_id, tool, line, text(line.value, "subagent_type")).id

    def agent(self, agent_id: str, tool: str | None, line: Timed, kind: str | None) -> Agent:
        """The sub-agent of this id: begun by this line if it is new, resumed by it if it had ended."""
        if tool is not None:
            self.agent_of_tool.setdefault(tool, agent_id)
        found = self.agents.get(agent_id)
        if found is None:
            call = self.calls.get(tool or "")
            start = line.moment if call is None else between(call.ready, line.moment)
            kind = kind or (call.agent_type if call else None) or "agent"
            turn = Turn(self.id, f"turn:{agent_id}", "agent", line.position, start, agent_id, dict(self.about))
            found = self.agents[agent_id] = Agent(agent_id, tool, kind, turn, line.moment)
        found.last, found.end = max(found.last, line.moment), None
        return found

    def turn_key(self, agent_id: str | None) -> str:
        """Key of the turn that an agent is in; between two turns of the main agent, the session's."""
        if agent_id is not None and agent_id in self.agents:
            return self.agents[agent_id].turn.key
        return self.turn.key if self.turn is not None else self.id

    def begin_turn(self, line: Timed, *, inside: bool = False) -> Turn:
        """The turn that runs; a new one where none does. `inside`: this line cannot be a turn's first."""
        if self.turn is None:
            self.turns += 1
            joined = inside and self.turns == 1
            key = f"turn:{self.id}#{self.turns}"
            self.turn = Turn(self.id, key, "implicit" if joined else "prompt", line.position, line.moment)
        self.turn.attributes |= self.about
        return self.turn

    def note(self, agent_id: str | None, moment: Moment) -> None:
        """An agent's line was read."""
        self.seen[agent_id] = max(self.seen.get(agent_id, moment), moment)

    # Requests --------------------------------------------------------------------------------------------------------

    def open_request(self, line: Timed, agent_id: str | None, start: Moment | None = None) -> Iterator[Span]:
        """A request begins, so the one before it is over. Without an announcement it began after its agent's last line."""
        yield from self.close_request(agent_id, line.moment)
        since = self.seen.get(agent_id) or (self.agents[agent_id].turn.start if agent_id in self.agents else self.first)
        began = start or between(since, line.moment)
        uuid = text(line.value, "uuid") or f"request@{began.latest}"
        model = "" if agent_id is not None else self.model
        self.requests[agent_id] = Request(self.id, agent_id, uuid, line.position, began, model, serial=self.serial)

    def close_request(self, agent_id: str | None, end: Moment | None, status: Status | None = None) -> Iterator[Span]:
        """Tell an agent's last request. `end` is what came next; None where nothing did."""
        request = self.requests.pop(agent_id, None)
        if request is not None:
            request.eager = request.eager or self.eager
            yield from request.spans(self.turn_key(agent_id), end, status)

    # Ends ------------------------------------------------------------------------------------------------------------

    def end_agent(self, agent: Agent, moment: Moment, status: str | None) -> Iterator[Span]:
        """A sub-agent is over."""
        agent.ended(moment, status)
        yield from self.close_request(agent.id, moment)

    def end_turn(self, line: Timed, status: Status | None) -> Iterator[Span]:
        """The main agent's turn is over, and with it everything that it waited for."""
        yield from self.close_request(None, line.moment, status)
        for call in [call for call in self.calls.values() if call.request.agent_id is None]:
            call.gave_up = line.moment
            del self.calls[call.id]
            yield from call.spans(line.moment)
        for key in [key for key, run in self.hooks.items() if run.done]:
            yield self.hooks.pop(key).span(self.id, self.turn_key(None))
        if self.turn is not None:
            yield self.turn.span(self.last)
        self.turn = None

    def finish(self) -> Iterator[Span]:
        """The stream ends here: tell what is still open."""
        for agent_id, request in list(self.requests.items()):
            # Whole blocks say nothing of message_stop, but a client that runs a tool is not waiting for the model.
            waits_for_tool = not request.streamed and request.has_tools
            yield from self.close_request(agent_id, self.last if waits_for_tool else None)
        for call in self.calls.values():
            yield from call.spans(self.last)
        for run in self.hooks.values():
            yield run.span(self.id, self.turn_key(None))
        if self.compaction is not None:
            yield self.compaction.span(self.id, self.turn_key(None))
        for agent in self.agents.values():
            yield from agent.spans()
        if self.turn is not None:
            yield self.turn.span(self.last)
        yield self._span()

    def _span(self) -> Span:
        start = Moment(self.first.earliest - (CONNECTING_NS if self.servers else STARTUP_NS), self.first.latest)
        end = Moment(self.last.earliest, self.last.latest + SHUTDOWN_NS) if self.turn is None else None
        return Span(
            Source.STREAM_JSON,
            self.id,
            Boundary.SESSION,
            self.id,
            **edges(start, end)._asdict(),
            status=self.status,
            attributes={**self.about, **self.outcome},
            position=self.position,
        )


def is_synthetic(value: Object, message: Object) -> bool:
    """Whether the client wrote an assistant's line itself."""
    return message.get("model") == "<synthetic>" or value.get("is_api_error_message") is True
