"""What is known of one agent at one moment: its open boundaries, what it did last, and who was there to see."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tracekit.analysis.scope import Scope, ask
from tracekit.analysis.stuck.here import Here
from tracekit.model import Boundary, semconv
from tracekit.store import SpanStore

Row = Mapping[str, Any]

CALL: Final = (Boundary.TOOL_SCHEDULE, Boundary.TOOL_EXECUTION, Boundary.PERMISSION_WAIT, Boundary.MCP_CALL)
REQUEST: Final = (Boundary.MODEL_REQUEST, Boundary.REQUEST_ATTEMPT)
NOWHERE: Final = Here()


class Thing(NamedTuple):
    """One boundary that is open, or that belongs to a call that is.

    Attributes:
        start_ns: Earliest start.
        since_ns: Latest start: from when on the wait is sure.
        end_ns: None where it is open; planned where it lies in the future.
        witnesses: Who saw it.
        blocks: Blocks of a response that have come.
        first_start_ns: When the first of them began.
    """

    agent_id: str | None
    boundary: str
    key: str
    parent_key: str | None
    name: str
    attributes: Mapping[str, str]
    start_ns: int
    since_ns: int
    end_ns: int | None
    witnesses: frozenset[str]
    end_source: str | None
    status: str
    blocks: int = 0
    first_start_ns: int | None = None

    @classmethod
    def of(cls, row: Row) -> "Thing":
        """Read a row of `open.sql`."""
        values: dict[str, Any] = {name: row[name] for name in cls._fields}
        values["witnesses"] = frozenset(str(row["witnesses"]).split(","))
        return cls(**values)

    def is_open(self, now_ns: int) -> bool:
        """Whether it is not over yet."""
        return self.end_ns is None or self.end_ns > now_ns

    def seen_by(self, *witnesses: str) -> bool:
        """Whether one of these saw it."""
        return not self.witnesses.isdisjoint(witnesses)

    def number(self, name: str) -> int | None:
        """An attribute that is a number."""
        value = self.attributes.get(name)
        return None if value is None else int(value)

    def is_true(self, name: str) -> bool:
        """An attribute that is a flag."""
        return self.attributes.get(name) == "true"


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call that is not over: every boundary under its key."""

    key: str
    parts: Mapping[str, Thing]

    @property
    def schedule(self) -> Thing:
        """The part that says most of the call as a whole."""
        return next(self.parts[boundary] for boundary in CALL if boundary in self.parts)

    def part(self, boundary: Boundary) -> Thing | None:
        """One boundary of the call."""
        return self.parts.get(boundary)

    @property
    def tool(self) -> str:
        """Name of the tool, as the model calls it where anybody knows that name."""
        names = (self.parts[boundary].name for boundary in CALL[:3] if boundary in self.parts)
        return next((name for name in names if name), self.schedule.name)

    def value(self, name: str) -> str | None:
        """An attribute, from whichever part has it."""
        return next((one.attributes[name] for one in self.parts.values() if name in one.attributes), None)

    @property
    def since_ns(self) -> int:
        """When its block was complete, at the latest."""
        return self.schedule.since_ns

    @property
    def start_ns(self) -> int:
        """When it can have begun at the earliest."""
        return min(one.start_ns for one in self.parts.values())

    @property
    def witnesses(self) -> frozenset[str]:
        """Who saw any of it."""
        return frozenset(witness for one in self.parts.values() for witness in one.witnesses)


class Agent(NamedTuple):
    """A sub-agent, as its parent has to know it.

    Attributes:
        over_ns: When it was over; None: not yet.
        is_apart: Its call returned at once, and it works in the background.
    """

    over_ns: int | None
    is_apart: bool


class Repeat(NamedTuple):
    """One call of the last ones of a turn."""

    key: str
    name: str
    start_ns: int
    input: str | None
    result: str | None
    words: int


@dataclass(frozen=True)
class Scene:
    """One agent.

    Attributes:
        about: Its row of `agents.sql`.
        things: What is open.
        repeats: Its last calls, in order.
        agents: The session's sub-agents by the call that started them.
        tapped: MCP servers whose traffic a tap sees.
        now_ns: The moment that is judged.
        here: What this machine shows of the session.
    """

    about: Row
    things: tuple[Thing, ...] = ()
    repeats: tuple[Repeat, ...] = ()
    agents: Mapping[str, Agent] = field(default_factory=dict[str, Agent])
    tapped: frozenset[str] = frozenset()
    now_ns: int = 0
    here: Here = NOWHERE

    @property
    def who(self) -> tuple[str, str | None]:
        """Session and agent."""
        return self.about["session_id"], self.about["agent_id"]

    def of(self, *boundaries: Boundary) -> list[Thing]:
        """What of these kinds is open now, the oldest first."""
        return [thing for thing in self.things if thing.boundary in boundaries and thing.is_open(self.now_ns)]

    @property
    def hooks(self) -> list[Thing]:
        """Hook runs that are open. A transcript alone tells only that one began, and never that it ended."""
        return [run for run in self.of(Boundary.HOOK_REPLY) if run.witnesses != frozenset({"transcript"})]

    @property
    def calls(self) -> list[Call]:
        """Tool calls that are not over. What the client gave up on is over, also if a server still works for it."""
        parts: defaultdict[str, dict[str, Thing]] = defaultdict(dict)
        for thing in self.things:
            if thing.boundary in CALL:
                parts[thing.key][thing.boundary] = thing
        found = [Call(key, known) for key, known in parts.items()]
        return sorted((call for call in found if call.schedule.is_open(self.now_ns)), key=lambda call: (call.since_ns, call.key))

    # The last turn and the last request ----------------------------------------------------------------------------------

    @property
    def turn_attributes(self) -> Mapping[str, str]:
        """Of the last turn; empty where nobody told of one."""
        return self.about["turn_attributes"] or {}

    @property
    def closed_by(self) -> frozenset[str]:
        """Who saw the last turn end."""
        return frozenset(filter(None, (self.about["turn_closed_by"] or "").split(",")))

    @property
    def has_open_turn(self) -> bool:
        """Whether a turn was begun and nobody saw it end."""
        return self.about["turn_key"] is not None and self.about["turn_end_ns"] is None

    @property
    def request_attributes(self) -> Mapping[str, str]:
        """Of the last request; empty where there is none."""
        return self.about["request_attributes"] or {}

    @property
    def seen_ns(self) -> int:
        """The last thing that was seen of the agent."""
        return int(self.about["seen_ns"] or 0)


def scenes(store: SpanStore, scope: Scope, *, as_of_ns: int, calls: int, every: bool) -> list[Scene]:
    """Read what is known of every agent to whom something may be owed.

    Args:
        store: An open store.
        scope: Bounds.
        as_of_ns: Waits that are planned to end later are open.
        calls: How many of an agent's last calls are looked at for a loop.
        every: Of those too to whom nothing can be owed.
    """
    things: defaultdict[tuple[str, str | None], list[Thing]] = defaultdict(list)
    for row in ask(store, "stuck/open", scope, as_of_ns=as_of_ns):
        things[row["session_id"], row["agent_id"]].append(Thing.of(row))
    known = {(row["session_id"], row["agent_id"]): row for row in ask(store, "stuck/agents", scope, every=int(every))}
    repeats: defaultdict[tuple[str, str | None], list[Repeat]] = defaultdict(list)
    for row in ask(store, "stuck/repeats", scope, calls=calls):
        repeats[row["session_id"], row["agent_id"]].append(Repeat(**{name: row[name] for name in Repeat._fields}))
    taps: defaultdict[str, set[str]] = defaultdict(set)
    for row in ask(store, "stuck/taps", scope):
        taps[row["session_id"]].add(row["server"])
    agents = _agents(known.values())
    return [
        Scene(about, tuple(things[who]), tuple(repeats[who]), agents.get(who[0], {}), frozenset(taps[who[0]]))
        for who, about in sorted(known.items(), key=lambda item: (item[0][0], item[0][1] or ""))
    ]


def _agents(rows: Iterable[Row]) -> dict[str, dict[str, Agent]]:
    """The sub-agents of each session."""
    found: defaultdict[str, dict[str, Agent]] = defaultdict(dict)
    for row in rows:
        if row["agent_id"] is not None and row["agent_parent"] is not None:
            ends = [end_ns for end_ns in (row["agent_end_ns"], row["turn_end_ns"]) if end_ns is not None]
            found[row["session_id"]][row["agent_parent"]] = Agent(max(ends, default=None), bool(row["agent_apart"]))
    return found


def is_interactive(call: Call) -> bool:
    """Whether the tool is itself a question to a person."""
    return call.value(semconv.TOOL_INTERACTIVE) == "true" or call.tool in {"AskUserQuestion", "ExitPlanMode"}
