"""Spans of other libraries: made ours by an adapter, or stored by the conventions that they follow."""

import json
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.trace import SpanKind, Status, StatusCode, get_current_span

from tracekit.instrument import mcp_call, model_request, session, tool_schedule, turn
from tracekit.model import semconv

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

    from tests.instrument.conftest import World

CHAT: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "m"}


@pytest.fixture
def foreign(world: "World") -> "Tracer":
    """Another library's tracer."""
    return world.provider.get_tracer("somebody")


def hexadecimal(span: "Span") -> str:
    return f"span:{span.get_span_context().span_id:016x}"


# Adopted ---------------------------------------------------------------------------------------------------------------


def test_a_span_that_is_adopted_is_enriched_and_ends_as_one(world: "World", foreign: "Tracer") -> None:
    with session("s"), turn("p"):
        span = foreign.start_span("chat m", attributes=CHAT, start_time=500)
        request = model_request("m", stream=True).adopt(span)
        request.event("message_start")
        request.response(id="msg_1", request_id="req_1", stop_reason="end_turn")
        request.event("message_stop", at_ns=1_500)
        span.set_attribute("theirs", 1)
        span.end(9_999)
    (chat,) = [one for one in world.spans if one.name == "chat m"]
    said = chat.attributes or {}
    assert (said["theirs"], said["tracekit.key"], said["gen_ai.response.finish_reasons"]) == (1, "req_1", ("end_turn",))
    # It ends when its response was over, not when the library got round to it.
    assert (chat.start_time, chat.end_time) == (500, 1_500)
    row = world.one("model_request")
    assert (row["key"], row["parent_key"], row["start_ns"], row["end_ns"], row["status"]) == ("req_1", "p", 500, 1_500, "ok")
    assert row["attributes"]["tracekit.opened_as"] == hexadecimal(span)
    assert {one["key"] for one in world.opened("model_request")} == {hexadecimal(span)}
    assert json.loads(row["events"]) == [[1000, "message_start", {}], [1500, "message_stop", {}]]
    assert "theirs" not in row["attributes"]


def test_what_is_to_be_said_last_can_be_said_when_its_owner_ends_it(world: "World", foreign: "Tracer") -> None:
    span = foreign.start_span("tools/call add")
    call = mcp_call("calc", "add", tool_use_id="toolu_1")

    def finish() -> None:
        call.result(is_error=True, text="no")
        call.end()

    call.adopt(span, finish=finish)
    span.end()
    assert (world.one("mcp_call")["status"], world.one("mcp_call")["key"]) == ("error", "toolu_1")
    assert world.span("mcp_call").status.status_code is StatusCode.ERROR


def test_what_breaks_while_it_is_finished_does_not_keep_it_open(world: "World", foreign: "Tracer", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEKIT_STRICT", "0")

    def finish() -> None:
        raise RuntimeError

    span = foreign.start_span("tools/call add")
    mcp_call("calc", "add").adopt(span, finish=finish)
    span.end()
    assert not span.is_recording()
    assert world.one("mcp_call")["status"] == "ok"


def test_a_span_that_its_owner_ended_is_ended_once(world: "World", foreign: "Tracer", caplog: pytest.LogCaptureFixture) -> None:
    span = foreign.start_span("chat m")
    request = model_request("m").adopt(span)
    span.end()
    request.end(ValueError("late"))
    assert world.one("model_request")["status"] == "ok"
    assert caplog.records == []


def test_a_span_that_records_nothing_is_left_alone(world: "World") -> None:
    nothing = get_current_span()
    with model_request("m").adopt(nothing).inside(), tool_schedule("add", "toolu_1"):
        pass
    assert [row["boundary"] for row in world.rows()] == ["tool_schedule", "tool_schedule"]


# By the conventions ----------------------------------------------------------------------------------------------------


def test_a_genai_span_that_nobody_adopted_is_stored_where_it_stands(world: "World", foreign: "Tracer") -> None:
    usage = {"gen_ai.usage.input_tokens": 20, "gen_ai.usage.cache_read.input_tokens": 5, "gen_ai.usage.output_tokens": 3}
    content = {"gen_ai.input.messages": "[secret plans]", "gen_ai.response.time_to_first_chunk": 0.5}
    with session("s"), turn("p"):
        span = foreign.start_span("chat m", kind=SpanKind.CLIENT, attributes=CHAT | usage | content, start_time=1_000)
        span.set_attributes({"gen_ai.response.id": "msg_1", "gen_ai.response.finish_reasons": ["stop", "length"]})
        span.end(2_000)
    (opened,), row = world.opened("model_request"), world.one("model_request")
    assert (opened["key"], row["key"], row["attributes"]["tracekit.opened_as"]) == (hexadecimal(span), "msg_1", hexadecimal(span))
    assert (row["session_id"], row["parent_key"], row["name"], row["start_ns"], row["end_ns"]) == ("s", "p", "m", 1_000, 2_000)
    assert row["attributes"] == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "m",
        "gen_ai.response.id": "msg_1",
        "gen_ai.response.finish_reasons": "stop,length",
        "gen_ai.usage.cache_read.input_tokens": "5",
        "gen_ai.usage.output_tokens": "3",
        "tracekit.usage.input_tokens": "15",
        "tracekit.response.first_byte_ns": str(1_000 + 500_000_000),
        "tracekit.opened_as": hexadecimal(span),
    }
    assert "secret plans" not in str(world.rows())


def test_a_genai_span_outside_of_all_belongs_to_the_session_that_it_names_else_to_the_process(world: "World", foreign: "Tracer") -> None:
    foreign.start_span("chat m", attributes=CHAT | {"session.id": "theirs"}).end()
    foreign.start_span("chat m", attributes=CHAT).end()
    one, two = world.closed("model_request")
    assert one["session_id"] == "theirs"
    assert two["session_id"] == two["parent_key"]


def test_a_genai_span_inside_our_request_is_the_same_request(world: "World", foreign: "Tracer") -> None:
    with turn("p"), model_request("m"):
        foreign.start_span("chat m", attributes=CHAT).end()
    assert len(world.closed("model_request")) == 1


def test_tools_and_calls_of_other_libraries(world: "World", foreign: "Tracer") -> None:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add", "gen_ai.tool.call.id": "toolu_1"}
    call = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "add"}
    with session("s"), turn("p"):
        foreign.start_span("execute_tool add", attributes=tool).end()
        with tool_schedule("sum", "toolu_2") as ours, ours.execution():
            foreign.start_span("execute_tool sum", attributes=tool).end()
            foreign.start_span("tools/call add", kind=SpanKind.CLIENT, attributes=call).end()
            foreign.start_span("tools/call add", kind=SpanKind.SERVER, attributes=call).end()
    assert [(row["key"], row["name"]) for row in world.closed("tool_execution")] == [("toolu_1", "add"), ("toolu_2", "sum")]
    assert [(row["key"], row["parent_key"], row["name"]) for row in world.closed("mcp_call")] == [("toolu_2", "toolu_2", "add")]


def test_an_agent_of_another_library_is_a_turn(world: "World", foreign: "Tracer") -> None:
    with session("s"):
        span = foreign.start_span("invoke_agent x", attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "x"})
        span.end()
    row = world.one("turn")
    assert (row["key"], row["parent_key"], row["name"], row["attributes"]["tracekit.turn.kind"]) == (
        hexadecimal(span),
        "s",
        "x",
        "prompt",
    )


@pytest.mark.parametrize(
    ("attributes", "code", "status"),
    [
        ({}, StatusCode.UNSET, "unset"),
        ({}, StatusCode.OK, "ok"),
        ({"error.type": "timeout"}, StatusCode.ERROR, "error"),
        ({"error.type": "CancelledError"}, StatusCode.ERROR, "cancelled"),
    ],
)
def test_how_a_span_of_another_library_ended(
    world: "World", foreign: "Tracer", attributes: dict[str, str], code: StatusCode, status: str
) -> None:
    span = foreign.start_span("chat m", attributes=CHAT | attributes)
    span.set_status(Status(code, "token=abcdefghijkl" if code is StatusCode.ERROR else None))
    span.end()
    row = world.one("model_request")
    assert row["status"] == status
    assert row["attributes"].get(semconv.ERROR_TEXT) == ("[secret]" if code is StatusCode.ERROR else None)


def test_a_span_that_is_no_boundary_passes(world: "World", foreign: "Tracer") -> None:
    with foreign.start_as_current_span("GET /"), turn("p"):
        pass
    foreign.start_span("embeddings m", attributes={"gen_ai.operation.name": "embeddings"}).end()
    foreign.start_span("tools/list", attributes={"mcp.method.name": "tools/list"}).end()
    assert {row["boundary"] for row in world.rows()} == {"turn"}
