"""The traces of agents as trees: who stands in whose turn, and which request asked for which tool."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tracekit.sources.otlp.agents.sighting import Role, Sighting
from tracekit.sources.otlp.records import SpanRecord, SpanRef
from tracekit.sources.otlp.values import text

_SESSION: Final = "session.id"
_CONVERSATION: Final = "gen_ai.conversation.id"


@dataclass(slots=True)
class Node:
    """A span that is a boundary, and what stands above it."""

    record: SpanRecord
    sighting: Sighting
    above: "Node | None" = None
    """The nearest boundary that it stands in."""
    doubled: bool = False
    """An instrumentation inside this one saw the same thing, nearer to it."""
    key: str = ""

    @property
    def role(self) -> Role:
        """The part that it plays."""
        return self.sighting.role

    def upward(self) -> "Iterator[Node]":
        """The boundaries that it stands in, the nearest first."""
        node = self.above
        while node is not None:
            yield node
            node = node.above

    @property
    def agent(self) -> "Node | None":
        """The turn or sub-agent that it stands in."""
        return next((node for node in self.upward() if node.role is Role.AGENT), None)

    @property
    def is_subagent(self) -> bool:
        """Whether this is an agent inside another."""
        return self.role is Role.AGENT and self.agent is not None


@dataclass(slots=True)
class Forest:
    """All that was read together."""

    nodes: list[Node] = field(default_factory=list[Node])
    """In the order of the records."""
    _records: dict[SpanRef, SpanRecord] = field(default_factory=dict[SpanRef, SpanRecord])
    _nodes: dict[SpanRef, Node] = field(default_factory=dict[SpanRef, Node])
    _requests: dict[tuple[str, SpanRef | None], list[Node]] = field(default_factory=lambda: defaultdict(list))
    _callers: dict[tuple[str, str], Node] = field(default_factory=dict[tuple[str, str], Node])
    _sessions: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, records: Sequence[SpanRecord], sight: Callable[[SpanRecord], Sighting | None], hosts: Mapping[SpanRef, str]) -> "Forest":
        """Find the boundaries among these spans and how they stand to each other.

        `hosts` are spans, by their session, in which another client told of the turn itself.
        """
        forest = cls(_records={record.ref: record for record in records})
        for record in records:
            if session := text(record.attributes, _SESSION):
                forest._sessions[record.trace_id].add(session)
            found = sight(record)
            if found is not None:
                forest._plant(record, found)
        forest._link()
        forest._stand_in_for_turns()
        forest._mark_doubles()
        forest._mark_hosts(hosts)
        forest._pass_over_doubles()
        forest._index_requests()
        return forest

    # ------------------------------------------------------------------------------------------------------- building

    def _plant(self, record: SpanRecord, sighting: Sighting) -> None:
        node = Node(record, sighting, key=sighting.key or f"span:{record.span_id}")
        self.nodes.append(node)
        self._nodes[record.ref] = node

    def _link(self) -> None:
        for node in self.nodes:
            node.above = next((self._nodes[above.ref] for above in self._ancestors(node.record) if above.ref in self._nodes), None)

    def _stand_in_for_turns(self) -> None:
        """Where no span is an agent's, the outermost span around the requests is their turn: a chain, a web request, a job."""
        alone = (node for node in self.nodes if node.role is Role.REQUEST and node.agent is None)
        outermost = {above[-1].ref: above[-1] for node in alone if (above := self._ancestors(node.record))}
        for ref, record in outermost.items():
            if ref not in self._nodes:
                self._plant(record, Sighting(Role.AGENT, record.name))
        self._link()

    def _mark_doubles(self) -> None:
        """Two instrumentations of one call nest. The inner one is nearer to the call, but a server's word is not the caller's."""
        for node in self.nodes:
            outer = node.above
            if outer is None:
                continue
            if node.role is Role.MCP_SERVER:
                node.doubled = outer.role in {Role.TOOL, Role.MCP_CLIENT}
            elif _is_same_thing(outer, node):
                outer.doubled = True
                if node.sighting.key is None:
                    node.key = outer.key

    def _mark_hosts(self, hosts: Mapping[SpanRef, str]) -> None:
        for ref, session in hosts.items():
            host = self._records.get(ref)
            for record in (host, *self._ancestors(host)) if host is not None else ():
                node = self._nodes.get(record.ref)
                if node is not None and node.role is Role.AGENT and self.session_of(record) == session:
                    node.doubled = True

    def _pass_over_doubles(self) -> None:
        for node in self.nodes:
            while node.above is not None and node.above.doubled:
                node.above = node.above.above

    def _index_requests(self) -> None:
        for node in self.nodes:
            if node.role is not Role.REQUEST or node.doubled:
                continue
            agent = node.agent
            self._requests[node.record.trace_id, agent.record.ref if agent else None].append(node)
            self._callers |= {(node.record.trace_id, call): node for call in node.sighting.calls}
        for requests in self._requests.values():
            requests.sort(key=lambda node: node.record.start_ns)

    # -------------------------------------------------------------------------------------------------------- asking

    def request_of(self, tool: Node) -> Node | None:
        """The request that asked for a tool: the one that names its call, or that it stands in, or the last one begun before it."""
        named = self._callers.get((tool.record.trace_id, tool.key))
        if named is not None:
            return named
        inside = next((node for node in tool.upward() if node.role in {Role.REQUEST, Role.AGENT}), None)
        if inside is not None and inside.role is Role.REQUEST:
            return inside
        requests = self._requests.get((tool.record.trace_id, inside.record.ref if inside else None), [])
        before = bisect_right(requests, tool.record.start_ns, key=lambda node: node.record.start_ns)
        return requests[before - 1] if before else None

    def session_of(self, record: SpanRecord) -> str:
        """The session of a span: its own word or that of what it stands in, else the conversation's, else its trace."""
        line = [record, *self._ancestors(record)]
        for found in line:
            if session := text(found.attributes, _SESSION) or text(found.resource, _SESSION):
                return session
        in_trace = self._sessions.get(record.trace_id, set())
        if len(in_trace) == 1:
            return next(iter(in_trace))
        # The outermost: an agent that others call may hold a conversation of its own.
        conversations = (conversation for found in reversed(line) if (conversation := text(found.attributes, _CONVERSATION)))
        return next(conversations, record.trace_id)

    def _ancestors(self, record: SpanRecord) -> list[SpanRecord]:
        """The spans around a span, the nearest first; of a span that stands in a circle, none."""
        line: list[SpanRecord] = []
        seen = {record.ref}
        above = self._parent(record)
        while above is not None and above.ref not in seen:
            line.append(above)
            seen.add(above.ref)
            above = self._parent(above)
        return [] if above is not None and above.ref == record.ref else line

    def _parent(self, record: SpanRecord) -> SpanRecord | None:
        return self._records.get(record.parent) if record.parent_id else None


def _is_same_thing(outer: Node, inner: Node) -> bool:
    if outer.role is not inner.role:
        return False
    return outer.role is Role.REQUEST or (outer.role in {Role.TOOL, Role.MCP_CLIENT} and outer.sighting.name == inner.sighting.name)
