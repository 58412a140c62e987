"""The traces of agents as trees: who stands in whose turn, and which request asked for which tool."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tracekit.sources.otlp.agents.sighting import AGENT, MCP_CLIENT, MCP_SERVER, REQUEST, TOOL, Role, Sighting
from tracekit.sources.otlp.records import SpanRecord
from tracekit.sources.otlp.values import text

_SESSION: Final = "session.id"
_CONVERSATION: Final = "gen_ai.conversation.id"


@dataclass(slots=True)
class Node:
    """A span that is a boundary, and what stands above it."""

    record: SpanRecord
    sighting: Sighting
    role: Role
    """The part that it plays."""
    above: "Node | None" = None
    """The nearest boundary that it stands in."""
    doubled: bool = False
    """An instrumentation inside this one saw the same thing, nearer to it."""
    key: str = ""
    agent: "Node | None" = None
    """The turn or sub-agent that it stands in."""
    subagent: "Node | None" = None
    """The sub-agent, an agent inside another, that it is or stands in."""

    def upward(self) -> "Iterator[Node]":
        """The boundaries that it stands in, the nearest first."""
        node = self.above
        while node is not None:
            yield node
            node = node.above


@dataclass(slots=True)
class Forest:
    """All that was read of one trace."""

    nodes: list[Node] = field(default_factory=list[Node])
    """In the order of the records."""
    _records: dict[str, SpanRecord] = field(default_factory=dict[str, SpanRecord])
    """By span id, as all the others."""
    _tangled: bool = False
    """Some span stands in itself, or in two places."""
    _nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    _requests: dict[str | None, list[Node]] = field(default_factory=dict[str | None, list[Node]])
    """By the agent that they stand in, in the order in which they began."""
    _callers: dict[str, Node] = field(default_factory=dict[str, Node])
    """By tool call."""
    _sessions: set[str] = field(default_factory=set[str])

    @classmethod
    def of(cls, records: Sequence[SpanRecord], sight: Callable[[SpanRecord], Sighting | None], hosts: Mapping[str, str]) -> "Forest":
        """Find the boundaries among the spans of a trace and how they stand to each other.

        `hosts` are spans, by their session, in which another client told of the turn itself.
        """
        forest = cls()
        for record in records:
            if session := text(record.attributes, _SESSION):
                forest._sessions.add(session)
            found = sight(record)
            if found is not None:
                forest._plant(record, found)
        if forest.nodes:
            forest._index(records)
            forest._link()
            forest._stand_in_for_turns()
            forest._mark_doubles()
            forest._mark_hosts(hosts)
            forest._pass_over_doubles()
            forest._index_requests()
        return forest

    # ------------------------------------------------------------------------------------------------------- building

    def _plant(self, record: SpanRecord, sighting: Sighting) -> None:
        node = Node(record, sighting, sighting.role, key=sighting.key or f"span:{record.span_id}")
        self.nodes.append(node)
        self._nodes[record.span_id] = node

    def _index(self, records: Sequence[SpanRecord]) -> None:
        """Parents are what senders say that they are: only where they make trees, the way up is sure to end."""
        for record in records:
            same = self._records.get(record.span_id)
            if same is not None and same.parent_id != record.parent_id:
                self._tangled = True
            self._records[record.span_id] = record
        rooted: set[str] = set()
        for start in self._records.values():
            if start.parent_id in rooted or start.parent_id not in self._records:
                rooted.add(start.span_id)
                continue
            way: set[str] = set()
            above: SpanRecord | None = start
            while above is not None and above.span_id not in rooted:
                if above.span_id in way:
                    self._tangled = True
                    break
                way.add(above.span_id)
                above = self._parent(above)
            rooted |= way

    def _link(self) -> None:
        for node in self.nodes:
            node.above = self._nearest(node.record)
        self._place()

    def _nearest(self, record: SpanRecord) -> Node | None:
        """The boundary right above a span."""
        if self._tangled:
            return next((self._nodes[above.span_id] for above in self._ancestors(record) if above.span_id in self._nodes), None)
        above = self._parent(record)
        while above is not None:
            if found := self._nodes.get(above.span_id):
                return found
            above = self._parent(above)
        return None

    def _place(self) -> None:
        """Say of each node in which agent it stands."""
        placed: set[int] = set()
        for node in self.nodes:
            line: list[Node] = []
            at: Node | None = node
            while at is not None and id(at) not in placed:
                line.append(at)
                at = at.above
            for each in reversed(line):
                placed.add(id(each))
                each.agent, each.subagent = _standing(each, each.above)

    def _stand_in_for_turns(self) -> None:
        """Where no span is an agent's, the outermost span around the requests is their turn: a chain, a web request, a job."""
        alone = (node for node in self.nodes if node.agent is None and node.role is REQUEST)
        outermost = {above[-1].span_id: above[-1] for node in alone if (above := self._ancestors(node.record))}
        planted = [record for span, record in outermost.items() if span not in self._nodes]
        for record in planted:
            self._plant(record, Sighting(AGENT, record.name))
        if planted:
            self._link()

    def _mark_doubles(self) -> None:
        """Two instrumentations of one call nest. The inner one is nearer to the call, but a server's word is not the caller's."""
        for node in self.nodes:
            outer = node.above
            if outer is None:
                continue
            if node.role is MCP_SERVER:
                node.doubled = outer.role in {TOOL, MCP_CLIENT}
            elif _is_same_thing(outer, node):
                outer.doubled = True
                if node.sighting.key is None:
                    node.key = outer.key

    def _mark_hosts(self, hosts: Mapping[str, str]) -> None:
        for span, session in hosts.items():
            host = self._records.get(span)
            for record in (host, *self._ancestors(host)) if host is not None else ():
                node = self._nodes.get(record.span_id)
                if node is not None and node.role is AGENT and self.session_of(record) == session:
                    node.doubled = True

    def _pass_over_doubles(self) -> None:
        if not any(node.doubled for node in self.nodes):
            return
        for node in self.nodes:
            while node.above is not None and node.above.doubled:
                node.above = node.above.above
        self._place()

    def _index_requests(self) -> None:
        for node in self.nodes:
            if node.role is not REQUEST or node.doubled:
                continue
            agent = node.agent
            self._requests.setdefault(agent.record.span_id if agent else None, []).append(node)
            for call in node.sighting.calls:
                self._callers[call] = node
        for requests in self._requests.values():
            requests.sort(key=lambda node: node.record.start_ns)

    # -------------------------------------------------------------------------------------------------------- asking

    def request_of(self, tool: Node) -> Node | None:
        """The request that asked for a tool: the one that names its call, or that it stands in, or the last one begun before it."""
        named = self._callers.get(tool.key)
        if named is not None:
            return named
        inside = next((node for node in tool.upward() if node.role is REQUEST or node.role is AGENT), None)
        if inside is not None and inside.role is REQUEST:
            return inside
        requests = self._requests.get(inside.record.span_id if inside else None, [])
        before = bisect_right(requests, tool.record.start_ns, key=lambda node: node.record.start_ns)
        return requests[before - 1] if before else None

    def session_of(self, record: SpanRecord) -> str:
        """The session of a span: its own word or that of what it stands in, else the conversation's, else its trace."""
        if session := text(record.attributes, _SESSION) or text(record.resource, _SESSION):
            return session
        line = [record, *self._ancestors(record)]
        for found in line[1:]:
            if session := text(found.attributes, _SESSION) or text(found.resource, _SESSION):
                return session
        if len(self._sessions) == 1:
            return next(iter(self._sessions))
        # The outermost: an agent that others call may hold a conversation of its own.
        conversations = (conversation for found in reversed(line) if (conversation := text(found.attributes, _CONVERSATION)))
        return next(conversations, record.trace_id)

    def _ancestors(self, record: SpanRecord) -> list[SpanRecord]:
        """The spans around a span, the nearest first; of a span that stands in a circle, none."""
        line: list[SpanRecord] = []
        seen = {record.span_id}
        above = self._parent(record)
        while above is not None and above.span_id not in seen:
            line.append(above)
            if self._tangled:
                seen.add(above.span_id)
            above = self._parent(above)
        return [] if above is not None and above.span_id == record.span_id else line

    def _parent(self, record: SpanRecord) -> SpanRecord | None:
        return self._records.get(record.parent_id) if record.parent_id else None


def _standing(node: Node, above: Node | None) -> tuple[Node | None, Node | None]:
    """The agent that a node stands in and its sub-agent, once the node above has its own."""
    if above is None:
        return None, None
    agent = above if above.role is AGENT else above.agent
    return agent, node if node.role is AGENT and agent is not None else above.subagent


def _is_same_thing(outer: Node, inner: Node) -> bool:
    if outer.role is not inner.role:
        return False
    return outer.role is REQUEST or (outer.role in {TOOL, MCP_CLIENT} and outer.sighting.name == inner.sighting.name)
