"""A small world: one session whose truth is written down once, and what each witness would have recorded of it.

Times are seconds after the beginning. An end of None is what has not happened yet: the moment that is judged is `now`. Each witness
records what the real one can: a gateway requests and bytes, hooks the beginning and the end of calls and the question in between,
telemetry requests when they are over and decisions when they are made, a transcript blocks and results, stream-json what the client
prints, a tap what reaches a server, and the process table what runs.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tracekit.analysis.stuck import HARNESS, TOOL, Here, Running
from tracekit.model import NO_ATTRIBUTES, Boundary, Source, Span, Status, Value, semconv

SECOND: Final = 1_000_000_000
BEGIN: Final = 1_796_000_000 * SECOND
CLIENT: Final = 4_000
"""Process number of the session's client."""
WITNESSES: Final = ("gateway", "hooks", "otel", "stream_json", "transcript", "mcp_tap", "process")

_NAMED_IN: Final = (semconv.OPENED_AS, semconv.PARENT_TOOL, semconv.HOOK_TOOL)
_MCP: Final = "mcp__"

Seconds = float | None


def at(seconds: float) -> int:
    return BEGIN + round(seconds * SECOND)


def end(seconds: Seconds) -> int | None:
    return None if seconds is None else at(seconds)


@dataclass
class World:
    """One session, as far as it has come at `now`."""

    now: float
    agent: str | None = None
    spans: list[Span] = field(default_factory=list[Span])
    processes: list[Running] = field(default_factory=list[Running])
    sockets: Mapping[str, int] = field(default_factory=lambda: {"ESTABLISHED": 2})
    has_client: bool = True
    turn: str = "turn"
    last: float = 0.0
    silent: frozenset[str] = frozenset()
    """Witnesses that were not there."""
    number: int = 0

    @property
    def here(self) -> Here:
        return Here(CLIENT, tuple(self.processes), self.sockets) if self.has_client else Here()

    # What happens ---------------------------------------------------------------------------------------------------------

    def prompt(self, start: float, over: Seconds = None, *, result: Seconds = None, key: str = "turn") -> None:
        """A turn: `over` when the model was done, `result` when its Stop hooks were."""
        self.turn = key
        named = {"name": "prompt", "parent_key": self.agent or "session"}
        seen: dict[str, Value] = {semconv.CLIENT_VERSION: "2.1.332"}
        self._add("hooks", Boundary.TURN, key, start, over, **named)
        self._add("transcript", Boundary.TURN, key, start, over, attributes=seen, **named)
        self._add("stream_json", Boundary.TURN, key, start, result, attributes=seen, **named)
        self._add("otel", Boundary.TURN, key, start, result, attributes=seen, **named)

    def request(
        self,
        start: float,
        first: Seconds = None,
        stop: Seconds = None,
        *,
        reason: str = "tool_use",
        blocks: int = 0,
        ping: Seconds = None,
        event: Seconds = None,
    ) -> str:
        """A request to the model: when its first byte came, when its message_stop; how many of its blocks are complete."""
        self.number += 1
        key, exchange, chain = f"req_{self.number}", f"exchange:{self.number}", f"request:{self.number}"
        told: dict[str, Value] = {semconv.TOOL_COUNT: 9}
        self._add("gateway", Boundary.REQUEST_ATTEMPT, exchange, start, None, parent_key=chain, attributes=told, name="sonnet")
        streamed = self._streamed(first, ping, event or first)
        if first is not None:
            said = told | streamed | {semconv.OPENED_AS: chain} | ({semconv.STOP_REASON: reason} if stop else {})
            self._add("gateway", Boundary.MODEL_REQUEST, key, start, stop, attributes=said, name="sonnet")
        if stop is not None:
            ended = told | {semconv.OPENED_AS: exchange}
            ok = {"status": Status.OK, "name": "sonnet"}
            self._add("gateway", Boundary.REQUEST_ATTEMPT, key, start, stop, parent_key=chain, attributes=ended, **ok)
            said = {semconv.STOP_REASON: reason, semconv.FIRST_BYTE_NS: at(first or start)}
            self._add("otel", Boundary.MODEL_REQUEST, key, start, stop, parent_key=self.turn, attributes=said, **ok)
        named: dict[str, Any] = {"parent_key": self.turn, "name": "sonnet"}
        arrived = {name: value for name, value in streamed.items() if name == semconv.FIRST_BYTE_NS}
        finished: dict[str, Value] = {semconv.STOP_REASON: reason} if stop else {}
        self._add("stream_json", Boundary.MODEL_REQUEST, key, start, stop, attributes=arrived | finished, **named)
        self._blocks(key, first, stop, blocks)
        if blocks or stop is not None:
            # A line a block: whether the message is whole it cannot say, but what its last line says of the stop.
            self._add("transcript", Boundary.MODEL_REQUEST, key, start, stop or event or first, attributes=finished, **named)
        else:
            self._add("transcript", Boundary.MODEL_REQUEST, f"uuid-{self.number}", start, None, **named)
        self._see(start, first, stop)
        return key

    def failed(self, start: float, failed: float, sleeps_until: float | None) -> None:
        """An attempt that failed, and the sleep before the next."""
        self.number += 1
        key = f"req_{self.number}"
        said: dict[str, Value] = {semconv.HTTP_STATUS: 529, semconv.TOOL_COUNT: 9}
        broken: dict[str, Any] = {"status": Status.ERROR, "name": "sonnet"}
        self._add("gateway", Boundary.REQUEST_ATTEMPT, key, start, failed, parent_key="request:retried", attributes=said, **broken)
        sleep: dict[str, Value] = {semconv.ATTEMPT: 1}
        for witness in ("transcript", "stream_json"):
            self._add(witness, Boundary.REQUEST_ATTEMPT, f"{key}~1", start, failed, parent_key=key, **broken)
            self._add(witness, Boundary.MODEL_REQUEST, key, start, None, parent_key=self.turn, name="sonnet")
            self._add(witness, Boundary.RETRY_WAIT, f"{key}~1", failed, sleeps_until, parent_key=key, attributes=sleep, name="backoff")
        self._see(start, failed)

    def call(  # noqa: PLR0913  (a call has so many moments)
        self,
        key: str,
        name: str,
        ready: float,
        *,
        of: str = "req_1",
        hook: tuple[float, Seconds] | None = None,
        asked: tuple[float, Seconds] | None = None,
        decided: Seconds = None,
        served: tuple[float, Seconds] | None = None,
        done: Seconds = None,
        after: tuple[float, Seconds] | None = None,
        result: Seconds = None,
        pid: int | None = None,
        reads: str = "",
        attributes: Mapping[str, Value] = NO_ATTRIBUTES,
    ) -> None:
        """A tool call: its hooks before, its question, the decision that sets it to work, its server, its hooks after, its result."""
        self._hook(key, f"PreToolUse:{name}", hook)
        self._hook(key, f"PostToolUse:{name}", after)
        said: dict[str, Value] = {semconv.TOOL_NAME: name, semconv.TOOL_INPUT_DIGEST: "d", **attributes}
        named: dict[str, Any] = {"name": name, "attributes": said}
        running = {**named, "parent_key": key}
        self._add("hooks", Boundary.TOOL_SCHEDULE, key, ready, result or done, **named)
        for witness in ("transcript", "stream_json"):
            self._add(witness, Boundary.TOOL_SCHEDULE, key, ready, result, parent_key=of, **named)
            self._add(witness, Boundary.TOOL_EXECUTION, key, ready, result, **running)
            if name.startswith(_MCP):
                self._add(witness, Boundary.MCP_CALL, key, ready, result, **running)
        if asked is not None:
            answer: dict[str, Value] = {} if asked[1] is None or done is None else {semconv.PERMISSION_DECISION: "accept"}
            over = asked[1] if done is not None else None
            self._add("hooks", Boundary.PERMISSION_WAIT, key, asked[0], over, name=name, attributes=answer)
        if decided is not None:
            accepted: dict[str, Value] = {semconv.PERMISSION_DECISION: "accept"}
            self._add("otel", Boundary.PERMISSION_WAIT, key, ready, decided, parent_key=key, name=name, attributes=accepted)
            self._add("otel", Boundary.TOOL_SCHEDULE, key, ready, result, parent_key=of, **named)
            self._add("otel", Boundary.TOOL_EXECUTION, key, decided, done, **running)
        if served is not None:
            tapped = {**running, "attributes": {semconv.MCP_SERVER: name.split("__")[1]}}
            self._add("mcp_tap", Boundary.MCP_CALL, key, *served, **tapped)
        if pid is not None and decided is not None and done is None:
            self.processes.append(Running(pid, "sleep", at(decided), TOOL, reads=reads))
        self._see(ready, result)

    def hook(self, name: str, start: float, answered: Seconds) -> None:
        """Hooks that belong to no call."""
        self._hook(None, name, (start, answered))

    def compaction(self, start: float, over: Seconds) -> None:
        self._add("hooks", Boundary.COMPACTION, "compaction", start, over, name="auto", parent_key=self.turn)
        self._add("stream_json", Boundary.COMPACTION, "compaction", start, over, name="compact", parent_key=self.turn)
        self._see(start, over)

    def connecting(self, server: str, start: float, over: Seconds, stage: str = "") -> None:
        said: dict[str, Value] = {semconv.MCP_SERVER: server}
        if stage:
            said[semconv.MCP_METHOD] = stage
        self._add("mcp_tap", Boundary.MCP_CONNECTION, f"{server}@1", start, over, name=server, attributes=said, parent_key="session")

    def subagent(self, agent: str, parent: str, start: float, over: Seconds = None) -> "World":
        """An agent that a call has started; gives its own world, whose spans are this one's too."""
        said: dict[str, Value] = {semconv.PARENT_TOOL: parent}
        own = World(self.now, agent, self.spans, self.processes, number=self.number + 100)
        for witness in ("hooks", "stream_json"):
            own._add(witness, Boundary.SUBAGENT, agent, start, over, name="general", parent_key=parent, attributes=said)
        for witness in ("transcript", "stream_json"):
            own._add(witness, Boundary.TURN, f"turn-{agent}", start, over, name="agent", parent_key=agent, attributes=said)
        own.turn = f"turn-{agent}"
        return own

    def ended(self, moment: float) -> None:
        """The session is over, as a hook says."""
        self._add("hooks", Boundary.SESSION, "session", 0, moment, attributes={semconv.SESSION_END_REASON: "other"})
        self.has_client = False

    # Who records it -------------------------------------------------------------------------------------------------------

    def _hook(self, key: str | None, name: str, run: tuple[float, Seconds] | None) -> None:
        if run is None:
            return
        event = name.partition(":")[0]
        said: dict[str, Value] = {semconv.HOOK_EVENT: event, semconv.HOOK_NAME: name}
        called: dict[str, Value] = {} if key is None else {semconv.HOOK_TOOL: key}
        number = f"{name}@{run[0]}"
        self._add("stream_json", Boundary.HOOK_REPLY, number, *run, name=name, parent_key=key or self.turn, attributes=said | called)
        self._add("otel", Boundary.HOOK_REPLY, f"otel-{number}", *run, name=name, parent_key=self.turn, attributes=said)
        if run[1] is None:
            self.processes.append(Running(5_000, "sh", at(run[0]), HARNESS))
        self._see(*run)

    def _blocks(self, key: str, first: Seconds, stop: Seconds, blocks: int) -> None:
        if first is None:
            return
        for index in range(blocks or bool(stop)):
            done = stop or first
            for witness in ("gateway", "stream_json", "transcript"):
                block = f"msg_{key}#{index}"
                self._add(witness, Boundary.STREAM_EVENT, block, first, done, parent_key=key, name="text")

    def _streamed(self, first: Seconds, ping: Seconds, event: Seconds) -> dict[str, Value]:
        times = ((semconv.FIRST_BYTE_NS, first), (semconv.LAST_EVENT_NS, event), (semconv.LAST_PING_NS, ping))
        return {name: at(moment) for name, moment in times if moment is not None}

    def _see(self, *moments: Seconds) -> None:
        self.last = max([self.last, *(moment for moment in moments if moment is not None)])

    def _add(self, witness: str, boundary: Boundary, key: str, start: float, over: Seconds, **fields: Any) -> None:
        span = Span(Source(witness), "session", boundary, key, at(start), end(over), agent_id=self.agent)
        self.spans.append(span._replace(**{"position": len(self.spans)} | fields))

    # What is loaded -------------------------------------------------------------------------------------------------------

    def seen_by(self, witnesses: Iterable[str], session: str) -> Iterator[Span]:
        """What is in a store that only these wrote to, under a session id of its own."""
        for span in self.spans:
            if span.source in witnesses:
                yield moved(self._with_last(span), session)

    def _with_last(self, span: Span) -> Span:
        if span.boundary != Boundary.TURN or span.end_ns is not None or span.source == Source.HOOKS:
            return span
        return span._replace(attributes={**span.attributes, semconv.LAST_SEEN_NS: max(at(self.last), span.start_ns)})


def moved(span: Span, session: str) -> Span:
    """Keys are identities of the world: equal ones in two sessions would be copies."""

    def renamed(key: str) -> str:
        return f"{key} in {session}"

    named = {name: renamed(str(value)) if name in _NAMED_IN else value for name, value in span.attributes.items()}
    agent = span.agent_id
    return span._replace(
        session_id=session,
        key=span.key if span.boundary == Boundary.SUBAGENT else renamed(span.key),
        parent_key=None if span.parent_key is None else renamed(span.parent_key),
        agent_id=agent,
        attributes=named,
    )
