"""Sessions, turns and sub-agents: what everything else is part of."""

from typing import TYPE_CHECKING

from opentelemetry.trace import SpanKind, StatusCode

from tracekit.instrument import model_request, session, subagent, tool_schedule, turn
from tracekit.instrument.place import Place
from tracekit.instrument.runtime import RUNTIME

if TYPE_CHECKING:
    from tests.instrument.conftest import World


def test_a_session_is_written_when_it_begins_and_whole_when_it_ends(world: "World") -> None:
    with session("s1", project="/home/me/p"):
        (opened,) = world.rows()
        world.clock.advance(50)
    assert opened == {
        "source": "instrument",
        "session_id": "s1",
        "agent_id": None,
        "boundary": "session",
        "key": "s1",
        "parent_key": None,
        "name": "",
        "start_ns": 1_000,
        "start_slack_ns": 0,
        "end_ns": None,
        "end_slack_ns": 0,
        "status": "unset",
        "attributes": {"tracekit.project": "/home/me/p"},
    }
    assert world.rows()[1:] == [opened | {"end_ns": 1_050, "status": "ok"}]


def test_a_turn_by_the_conventions(world: "World") -> None:
    with session("s1"), turn("prompt-1", agent="helper"):
        world.clock.advance(7)
    span, outer = world.span("turn"), world.span("session")
    assert (span.name, span.kind, span.start_time, span.end_time) == ("invoke_agent helper", SpanKind.INTERNAL, 1_000, 1_007)
    assert span.status.status_code is StatusCode.UNSET
    assert span.parent == outer.context
    assert dict(span.attributes or {}) == {
        "tracekit.boundary": "turn",
        "tracekit.key": "prompt-1",
        "tracekit.parent_key": "s1",
        "session.id": "s1",
        "gen_ai.conversation.id": "s1",
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "helper",
        "tracekit.turn.kind": "prompt",
        "tracekit.prompt.id": "prompt-1",
    }
    assert span.instrumentation_scope is not None
    assert span.instrumentation_scope.name == "tracekit"


def test_a_session_that_nobody_named_is_the_processs_and_is_given_to_nobody_as_a_conversation(world: "World") -> None:
    with turn():
        pass
    with session(), turn():
        pass
    alone, inside = world.closed("turn")
    assert alone["session_id"] == inside["session_id"] == alone["parent_key"] == RUNTIME.place().session_id
    assert all("gen_ai.conversation.id" not in (span.attributes or {}) for span in world.spans)


def test_a_session_of_its_own_hides_the_one_around(world: "World") -> None:
    with session("outer"), session("inner"), turn("p"):
        pass
    assert (world.one("turn")["session_id"], world.one("turn")["parent_key"]) == ("inner", "inner")


def test_a_subagent_is_the_turn_of_its_task_too(world: "World") -> None:
    with session("s"), turn("p"), tool_schedule("Task", "toolu_1"), subagent("agent-7", "explorer") as agent:
        with model_request("m"):
            pass
        assert agent.place == Place("s", is_named=True, agent_id="agent-7", around="agent-7")
    sub, request = world.one("subagent"), world.one("model_request")
    (turn_of_agent,) = [row for row in world.closed("turn") if row["agent_id"] == "agent-7"]
    assert (sub["key"], sub["parent_key"], sub["name"], sub["agent_id"]) == ("agent-7", "toolu_1", "explorer", "agent-7")
    assert (turn_of_agent["key"], turn_of_agent["parent_key"], turn_of_agent["attributes"]) == (
        "agent-7",
        "agent-7",
        {"tracekit.turn.kind": "agent"},
    )
    assert (request["agent_id"], request["parent_key"]) == ("agent-7", "agent-7")
    assert world.span("subagent").name == "invoke_agent explorer"
    assert (world.span("model_request").parent, world.span("subagent").parent) == (
        world.span("subagent").context,
        world.span("tool_schedule").context,
    )


def test_the_tool_that_started_a_subagent_can_be_told(world: "World") -> None:
    with turn("p"), subagent("a", "t", parent_tool="toolu_9"):
        pass
    assert world.one("subagent")["parent_key"] == "toolu_9"
    assert world.one("subagent")["attributes"]["tracekit.agent.parent_tool"] == "toolu_9"


def test_without_a_call_around_a_subagent_is_part_of_its_turn(world: "World") -> None:
    with turn("p"), subagent("a", "t"):
        pass
    assert world.one("subagent")["parent_key"] == "p"
