"""How a server is connected: spawned, greeted, asked for its tools, ready, closed."""

from collections.abc import Iterator
from typing import Final

from tracekit.capture.mcp_tap.calls import Server, said_wrong
from tracekit.capture.mcp_tap.wire import Line, Message, object_in, text_in
from tracekit.model import Boundary, Event, Source, Span, Status, Value, semconv

INITIALIZE: Final = "initialize"
DISCOVER: Final = "server/discover"
TOOLS: Final = "tools/list"
STAGES: Final = frozenset({INITIALIZE, DISCOVER, TOOLS})
BESIDE: Final = frozenset({"ping", "prompts/list", "resources/list", "resources/templates/list"})
"""Requests that belong to no stage and to no work: clients ask for these whether a server has them or not."""

_INITIALIZED: Final = "notifications/initialized"


class Connection:
    """One server process, from its start on.

    Args:
        server: The server.
        spawned_ns: When its process was asked for.
    """

    def __init__(self, server: Server, spawned_ns: int) -> None:
        self._server = server
        self._spawned_ns = spawned_ns
        self._events = [Event(spawned_ns, "spawn")]
        self._waits_for: dict[str, str] = {}
        """Method of each stage's request that has no answer yet, by its id."""
        self._stage = ""
        self._told: dict[str, Value] = {}
        self._has_tools = False
        self._greeted = False
        self._over = False
        self._noise = 0

    @property
    def is_ready(self) -> bool:
        """Whether it has been told how the connecting ended."""
        return self._over

    def opened(self) -> Span:
        """The process was asked for, and the server is not ready yet."""
        return self._span(self._opened_as, None, {semconv.MCP_METHOD: self._stage} if self._stage else {})

    def asked(self, message: Message, line: Line) -> Iterator[Span]:
        """The client sent a stage's request."""
        self._stage = message.method or ""
        self._waits_for[message.id or ""] = self._stage
        self._events.append(Event(line.first_ns, f"{self._stage} request"))
        yield self.opened()

    def answers(self, message: Message) -> bool:
        """Whether a response is one to a stage's request."""
        return message.id in self._waits_for

    def answered(self, message: Message, line: Line) -> Iterator[Span]:
        """The server answered a stage's request."""
        stage = self._waits_for.pop(message.id or "")
        self._events.append(Event(line.last_ns, f"{stage} {'error' if message.error else 'response'}"))
        if message.error is not None:
            # A server that does not know `server/discover` is one of those that are initialized.
            if stage != DISCOVER:
                self._told = {semconv.MCP_METHOD: stage, **said_wrong(message.error)}
            if stage == TOOLS:
                yield self._ended(line.last_ns, "failed", Status.ERROR, self._told)
        elif stage == TOOLS:
            if text_in(message.result, "nextCursor") is None:
                yield self._connected(line.last_ns)
        elif stage == INITIALIZE or "capabilities" in message.result:
            yield from self._greet(stage, message, line)

    def noticed(self, message: Message, line: Line) -> Iterator[Span]:
        """The client said something that needs no answer."""
        if message.method == _INITIALIZED:
            self._events.append(Event(line.last_ns, "initialized"))
            if self._greeted and not self._has_tools:
                yield self._connected(line.last_ns)

    def used(self) -> Iterator[Span]:
        """The client sets the server to work: if it asked for no tools before, it needed none."""
        if self._greeted:
            yield self._connected(self._events[-1].time_ns)

    def noise(self) -> None:
        """The server wrote a line that is no JSON-RPC."""
        self._noise += 1

    def closed(self, at_ns: int, status: Status, why: str) -> Iterator[Span]:
        """The process is gone: by its own fault (`error`), or because the client left."""
        if self._over:
            told: dict[str, Value] = {semconv.ERROR_TEXT: f"connection closed: {why}"} if status is Status.ERROR else {}
            moment = self._ended(at_ns, "disconnected", status if status is Status.ERROR else Status.UNSET, told)
            attributes = {name: value for name, value in moment.attributes.items() if name != semconv.OPENED_AS}
            yield moment._replace(start_ns=at_ns, attributes=attributes, events=())
            return
        waits_for = next(iter(self._waits_for.values()), None)
        words = f"connection closed: {why} before it {f'answered {waits_for}' if waits_for else 'was ready'}"
        if self._noise:
            words += f"; it wrote {self._noise} lines that are no JSON-RPC"
        stage: dict[str, Value] = {semconv.MCP_METHOD: waits_for} if waits_for else {}
        word = "failed" if status is Status.ERROR else "disconnected"
        yield self._ended(at_ns, word, status, {semconv.ERROR_TEXT: words, **stage, **self._told})

    def failed_to_start(self, at_ns: int, code: str, text: str) -> Span:
        """There is no process."""
        return self._ended(at_ns, "failed", Status.ERROR, {semconv.ERROR_CODE: code, semconv.ERROR_TEXT: text})

    @property
    def _opened_as(self) -> str:
        return f"{self._server.name}@{self._spawned_ns}"

    def _greet(self, stage: str, message: Message, line: Line) -> Iterator[Span]:
        self._greeted = True
        version = text_in(message.result, "protocolVersion")
        self._told = {semconv.MCP_PROTOCOL: version} if version else {}
        self._has_tools = "tools" in object_in(message.result, "capabilities")
        if stage == DISCOVER and not self._has_tools:
            yield self._connected(line.last_ns)

    def _connected(self, at_ns: int) -> Span:
        return self._ended(at_ns, "connected", Status.OK, self._told)

    def _ended(self, at_ns: int, word: str, status: Status, told: dict[str, Value]) -> Span:
        self._over = True
        attributes = {**told, semconv.MCP_STATUS: word, semconv.OPENED_AS: self._opened_as}
        return self._span(f"{self._server.name}@{at_ns}", at_ns, attributes)._replace(status=status)

    def _span(self, key: str, end_ns: int | None, told: dict[str, Value]) -> Span:
        return Span(
            Source.MCP_TAP,
            self._server.session_id,
            Boundary.MCP_CONNECTION,
            key,
            self._spawned_ns,
            end_ns,
            name=self._server.name,
            parent_key=self._server.session_id,
            attributes={semconv.MCP_SERVER: self._server.name, semconv.MCP_TRANSPORT: "pipe", **told},
            events=tuple(self._events),
        )
