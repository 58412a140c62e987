"""Every cause and every "not stuck" cause, played: what happened, and the names that are true of it at that moment."""

from collections.abc import Callable
from typing import Final, NamedTuple

from tests.analysis.stuck.world import World
from tracekit.analysis.stuck import State, Verdict
from tracekit.model import Source, Status, Value, semconv

LONG: Final = 1_000.0
MCP: Final = "mcp__demo__slow"
SECOND: Final = 1_000_000_000


class Play(NamedTuple):
    """One played session.

    Attributes:
        truth: The name of each thing that is waited for, as all witnesses together tell it, and whether it is stuck.
    """

    world: World
    truth: dict[Verdict, State]


PLAYS: Final[dict[str, Play]] = {}


def play(name: str, now: float, **truth: str) -> Callable[[Callable[[World], None]], None]:
    """Play a session up to `now`; `truth` are names of verdicts with their states."""

    def add(build: Callable[[World], None]) -> None:
        world = World(now)
        build(world)
        PLAYS[name] = Play(world, {Verdict[verdict]: State(state) for verdict, state in truth.items()})

    return add


def asked_for(world: World, *, answered: float = 3.0) -> None:
    """A prompt and a whole response that asks for a tool."""
    world.prompt(0)
    world.hook("UserPromptSubmit", 0, 0.1)
    world.request(1, 2, answered)


def _rounds(world: World, inputs: list[str]) -> None:
    for number, digest in enumerate(inputs):
        begin = 1 + 4 * number
        key = world.request(begin, begin + 0.5, begin + 1)
        said: dict[str, Value] = {semconv.TOOL_INPUT_DIGEST: digest, semconv.TOOL_RESULT_DIGEST: f"result of {digest}"}
        call = f"toolu_{number}"
        world.call(call, "Bash", begin + 1, of=key, decided=begin + 1.1, done=begin + 2, result=begin + 2.1, attributes=said)


# The model


@play("a request without a byte", 60, FIRST_BYTE="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, decided=3.1, done=4, result=4.1)
    world.request(5)


@play("a request without a byte for too long", 5 + LONG, FIRST_BYTE="stuck")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, decided=3.1, done=4, result=4.1)
    world.request(5)


@play("a request whose socket is dead", 60, FIRST_BYTE="stuck")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, decided=3.1, done=4, result=4.1)
    world.request(5)
    world.sockets = {"CLOSE_WAIT": 1}


@play("the first request of a session", 30, FIRST_BYTE="waiting")
def _(world: World) -> None:
    world.prompt(0)
    world.request(1)


@play("a response that streams", 9, MID_STREAM="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, decided=3.1, done=4, result=4.1)
    world.request(5, 6, blocks=1, event=8.5)


@play("a response that fell silent", 8.5 + LONG, MID_STREAM="stuck")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, decided=3.1, done=4, result=4.1)
    world.request(5, 6, event=8.5)


@play("a response that fell silent after a block", 8.5 + 200, MID_STREAM="stuck")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, decided=3.1, done=4, result=4.1)
    world.request(5, 6, blocks=2, event=8.5)


@play("a server that thinks and pings", 300, THINKING="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, decided=3.1, done=4, result=4.1)
    world.request(5, 6, event=8.5, ping=290)


# A tool


@play("a tool that runs", 60, TOOL="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, decided=3.2, pid=4_100)


@play("a tool within the timeout that it asked for", 500, TOOL="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, decided=3.2, pid=4_100, attributes={semconv.TOOL_TIMEOUT_NS: 600 * SECOND})


@play("a tool past the timeout that it asked for", 500, TOOL_TIMEOUT="stuck")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, decided=3.2, pid=4_100, attributes={semconv.TOOL_TIMEOUT_NS: 60 * SECOND})


@play("a tool that reads a terminal", 40, TERMINAL="stuck")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, decided=3.2, pid=4_100, reads="terminal")


@play("a tool that runs after a person allowed it", 60, TOOL="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, asked=(3.1, 20), decided=20, pid=4_100)


@play("a fetch that takes its time", 60, TOOL="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "WebFetch", 3, decided=3.1)


@play("one tool of two", 60, TOOL="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 2.8, decided=2.9, done=8, result=8.1)
    world.call("toolu_2", "Bash", 3, decided=3.1, pid=4_100)


# A person


@play("a person who is asked", 60, PERMISSION="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, asked=(3.1, None))


@play("a person who is asked after a hook", 60, PERMISSION="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, hook=(3, 3.5), asked=(3.6, None))


@play("a person who never answers", LONG, PERMISSION="stuck")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Write", 3, asked=(3.1, None))


@play("a person who is asked for an MCP tool", 60, PERMISSION="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.connecting("demo", 0.1, 0.5, "tools/list")
    world.call("toolu_1", MCP, 3, asked=(3.1, None))


@play("a person who is asked for an agent", 60, PERMISSION="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Task", 3, asked=(3.1, None))


# A hook


@play("a hook before a tool", 30, HOOK="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, hook=(3.1, None))


@play("a hook before a tool for too long", LONG, HOOK="stuck")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, hook=(3.1, None))


@play("a hook after a tool", 30, HOOK="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, hook=(3, 3.2), decided=3.3, done=5, after=(5, None))


@play("a hook at a prompt", 30, HOOK="waiting")
def _(world: World) -> None:
    world.prompt(0)
    world.hook("UserPromptSubmit", 0.1, None)


@play("a hook at the end of a turn", 90, HOOK="stuck")
def _(world: World) -> None:
    world.prompt(0, 4)
    world.request(1, 2, 3.9, reason="end_turn")
    world.hook("Stop", 4, None)


# MCP


@play("a server that does not answer a call", LONG, MCP_CALL="stuck")
def _(world: World) -> None:
    asked_for(world)
    world.connecting("demo", 0.1, 0.5, "tools/list")
    world.call("toolu_1", MCP, 3, decided=3.1, served=(3.2, None))


@play("a server that is spawned when it is called", 60, MCP_CONNECTION="stuck")
def _(world: World) -> None:
    asked_for(world)
    world.connecting("demo", 3.2, None)
    world.call("toolu_1", MCP, 3, decided=3.1)


@play("a server that does not greet", 60, MCP_INITIALIZE="stuck")
def _(world: World) -> None:
    asked_for(world)
    world.connecting("demo", 3.2, None, "initialize")
    world.call("toolu_1", MCP, 3, decided=3.1)


@play("a server that does not list its tools", 60, MCP_DISCOVERY="stuck")
def _(world: World) -> None:
    world.prompt(0)
    world.connecting("demo", 0.2, None, "tools/list")


@play("a server that has forgotten the session", 60, MCP_SESSION_LOST="stuck")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", MCP, 3, decided=3.1)
    called = next(span for span in world.spans if span.boundary == "mcp_call")
    lost: dict[str, Value] = {semconv.MCP_SERVER: "demo", semconv.HTTP_STATUS: 404}
    answered = called.start_ns + SECOND
    world.spans.append(called._replace(source=Source.GATEWAY, end_ns=answered, status=Status.ERROR, attributes=lost))


# The client itself


@play("a sleep before the next attempt", 10, RETRY_WAIT="waiting")
def _(world: World) -> None:
    world.prompt(0)
    world.failed(1, 2, 40)


@play("a sleep of three quarters of an hour", 10, RETRY_WAIT="stuck")
def _(world: World) -> None:
    world.prompt(0)
    world.failed(1, 2, 2_892)


@play("a compaction", 40, COMPACTION="waiting", FIRST_BYTE="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, decided=3.1, done=4, result=4.1)
    world.compaction(5, None)
    world.request(5.1)


@play("a compaction that streams for too long", LONG, COMPACTION="stuck", MID_STREAM="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, decided=3.1, done=4, result=4.1)
    world.compaction(5, None)
    world.request(5.1, 6, event=LONG - 10)


@play("a result after which nothing comes", 5 + LONG, LOST_WAKE_UP="stuck")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, hook=(3, 3.2), decided=3.3, done=4, result=4.1)
    world.sockets = {}


@play("a result after which nothing has come yet", 9, CLIENT="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, hook=(3, 3.2), decided=3.3, done=4, result=4.1)


@play("a call that was never dispatched", 90, LOST_WAKE_UP="stuck")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Bash", 3, hook=(3, 3.2))


@play("the same call again and again", 60, LOOP="stuck", FIRST_BYTE="waiting")
def _(world: World) -> None:
    world.prompt(0)
    _rounds(world, ["d"] * 6)
    world.request(50)


@play("two calls in turns, again and again", 60, LOOP="stuck", FIRST_BYTE="waiting")
def _(world: World) -> None:
    world.prompt(0)
    _rounds(world, ["d", "e"] * 5)
    world.request(50)


@play("many different calls", 60, FIRST_BYTE="waiting")
def _(world: World) -> None:
    world.prompt(0)
    _rounds(world, list("abcdefgh"))
    world.request(50)


# Nothing is wrong


@play("a turn that was answered", 60, IDLE="idle")
def _(world: World) -> None:
    world.prompt(0, 4, result=4.2)
    world.request(1, 2, 3.9, reason="end_turn")


@play("a turn that was answered yesterday", 36_000, IDLE="idle")
def _(world: World) -> None:
    world.prompt(0, 4, result=4.2)
    world.request(1, 2, 3.9, reason="end_turn")


@play("a session that has ended", 60, FINISHED="idle")
def _(world: World) -> None:
    world.prompt(0, 4, result=4.2)
    world.request(1, 2, 3.9, reason="end_turn")
    world.ended(5)


@play("an agent at work", 60, SUBAGENT="waiting", TOOL="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Task", 3, decided=3.1)
    own = world.subagent("a1", "toolu_1", 3.3)
    key = own.request(4, 5, 6)
    own.call("toolu_2", "Bash", 6, of=key, decided=6.1, pid=4_100)


@play("an agent that waits for its first byte", 60, SUBAGENT="waiting", FIRST_BYTE="waiting")
def _(world: World) -> None:
    asked_for(world)
    world.call("toolu_1", "Task", 3, decided=3.1)
    own = world.subagent("a1", "toolu_1", 3.3)
    key = own.request(4, 5, 6)
    own.call("toolu_2", "Bash", 6, of=key, decided=6.1, done=7, result=7.1)
    own.request(8)


@play("an agent in the background", 60, BACKGROUND="idle", FIRST_BYTE="waiting")
def _(world: World) -> None:
    world.prompt(0, 6, result=6.2)
    first = world.request(1, 2, 3)
    world.call("toolu_1", "Task", 3, of=first, decided=3.1, done=3.4, result=3.5, attributes={semconv.TOOL_BACKGROUND: True})
    own = world.subagent("a1", "toolu_1", 3.4)
    own.request(4)
    world.request(4, 5, 5.9, reason="end_turn")
