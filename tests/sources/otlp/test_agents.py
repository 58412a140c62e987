"""Agents of any make: the conventions that they follow, and how their spans stand to each other."""

from typing import Any

import pytest

from tests.sources.otlp.bodies import SESSION, TRACE, SentSpan, at, own, span_id, traces
from tracekit.model import Boundary, Span
from tracekit.sources.otlp import read_protobuf

CLIENT, SERVER = 3, 2
SDK = "com.anthropic.sdk.python"


def sent(name: str, number: int, start: float, end: float | None, attributes: dict[str, Any] | None = None, **more: Any) -> SentSpan:
    more.setdefault("scope", "some.agent")
    return SentSpan(name, number, start, end, attributes or {}, **more)


def agent(number: int, start: float, end: float, name: str = "helper", **more: Any) -> SentSpan:
    says = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **more.pop("says", {})}
    return sent(f"invoke_agent {name}", number, start, end, says, **more)


def chat(number: int, start: float, end: float | None, response: str = "", **more: Any) -> SentSpan:
    says = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", **({"gen_ai.response.id": response} if response else {})}
    return sent("chat m-1", number, start, end, {**says, **more.pop("says", {})}, **more)


def tool(number: int, start: float, end: float, call: str = "", name: str = "search", **more: Any) -> SentSpan:
    says = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **({"gen_ai.tool.call.id": call} if call else {})}
    return sent(f"execute_tool {name}", number, start, end, {**says, **more.pop("says", {})}, **more)


def told(*spans: SentSpan, content: bool = False) -> list[Span]:
    found = list(read_protobuf(traces(*spans), content=content))
    assert all(isinstance(item, Span) for item in found), found
    return [item for item in found if isinstance(item, Span)]


def one(found: list[Span], boundary: str) -> Span:
    (span,) = [span for span in found if span.boundary == boundary]
    return span


def outline(found: list[Span]) -> list[tuple[str, str, str | None]]:
    return [(str(span.boundary), span.key, span.parent_key) for span in found]


def key(number: int) -> str:
    return f"span:{span_id(number)}"


# ---------------------------------------------------------------------------------------------------------- GenAI spans


def test_an_agent_s_loop_is_a_turn_of_requests_and_tools() -> None:
    found = told(
        agent(1, 0, 1000),
        chat(2, 10, 300, "msg_1", parent=1),
        tool(3, 310, 500, "call_1", parent=1),
        chat(4, 510, 990, "msg_2", parent=1),
    )
    assert outline(found) == [
        ("turn", key(1), TRACE),
        ("model_request", "msg_1", key(1)),
        ("tool_execution", "call_1", "msg_1"),
        ("model_request", "msg_2", key(1)),
    ]
    assert {span.session_id for span in found} == {TRACE}
    turn = one(found, Boundary.TURN)
    assert (turn.name, turn.attributes["tracekit.turn.kind"], turn.attributes["gen_ai.agent.name"]) == ("helper", "prompt", "helper")
    assert (turn.start_ns, turn.end_ns, turn.start_slack_ns, turn.end_slack_ns) == (at(0), at(1000), 0, 0)


def test_the_tokens_that_a_cache_gave_are_not_input_tokens() -> None:
    for names in (
        ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_write.input_tokens"),
        ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens"),
        ("gen_ai.usage.cache_read_input_tokens", "gen_ai.usage.cache_creation_input_tokens"),
    ):
        usage = {"gen_ai.usage.input_tokens": 138, "gen_ai.usage.output_tokens": 42, names[0]: 7, names[1]: 11}
        says = one(told(chat(2, 0, 10, says=usage)), Boundary.MODEL_REQUEST).attributes
        assert says["tracekit.usage.input_tokens"] == 120
        assert (says["gen_ai.usage.cache_read.input_tokens"], says["gen_ai.usage.cache_write.input_tokens"]) == (7, 11)
        assert says["gen_ai.usage.output_tokens"] == 42
        assert "gen_ai.usage.input_tokens" not in says


def test_a_total_that_is_less_than_its_parts_was_none() -> None:
    usage = {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.cache_read.input_tokens": 7}
    assert one(told(chat(2, 0, 10, says=usage)), Boundary.MODEL_REQUEST).attributes["tracekit.usage.input_tokens"] == 5


def test_older_names_are_read_too() -> None:
    says = {"gen_ai.system": "anthropic", "gen_ai.usage.prompt_tokens": 5, "gen_ai.usage.completion_tokens": 6}
    request = one(told(chat(2, 0, 10, says=says)), Boundary.MODEL_REQUEST)
    assert request.attributes["gen_ai.provider.name"] == "anthropic"
    assert (request.attributes["tracekit.usage.input_tokens"], request.attributes["gen_ai.usage.output_tokens"]) == (5, 6)


def test_the_first_chunk_is_counted_from_the_start() -> None:
    says = {"gen_ai.response.time_to_first_chunk": 0.25, "gen_ai.response.finish_reasons": ["stop", "length"]}
    request = one(told(chat(2, 100, 900, says=says)), Boundary.MODEL_REQUEST)
    assert request.attributes["tracekit.response.first_byte_ns"] == at(350)
    assert request.attributes["gen_ai.response.finish_reasons"] == "stop,length"


def test_an_error_is_the_status_s_text_or_the_exception_s() -> None:
    thrown = [
        (
            9,
            "exception",
            {"exception.type": "ReadTimeout", "exception.message": "no byte; password=hunter2222", "exception.stacktrace": "File x"},
        )
    ]
    found = told(
        chat(2, 0, 10, status=2, status_text="Overloaded", says={"error.type": "overloaded_error", "http.response.status_code": 529}),
        chat(3, 20, 30, status=2, events=thrown),
        chat(4, 40, 50, status=1),
        chat(5, 60, 70, status=2, says={"error.type": "CancelledError"}),
    )
    first, second, third, fourth = found
    assert (first.status, first.attributes["error.type"], first.attributes["tracekit.error.text"]) == (
        "error",
        "overloaded_error",
        "Overloaded",
    )
    assert first.attributes["http.response.status_code"] == 529
    assert (second.attributes["error.type"], second.attributes["tracekit.error.text"]) == ("ReadTimeout", "no byte; [secret]")
    assert dict(second.events[0].attributes) == {"exception.type": "ReadTimeout", "exception.message": "no byte; [secret]"}
    assert (third.status, fourth.status) == ("ok", "cancelled")


def test_a_span_that_has_not_ended_is_open() -> None:
    assert one(told(chat(2, 0, None)), Boundary.MODEL_REQUEST).end_ns is None


def test_a_span_that_ends_before_it_begins_lasts_no_time() -> None:
    request = one(told(chat(2, 10, 5)), Boundary.MODEL_REQUEST)
    assert request.start_ns == request.end_ns == at(10)


@pytest.mark.parametrize("operation", ["embeddings", "create_agent", "plan", ""])
def test_other_operations_are_no_boundaries(operation: str) -> None:
    assert told(sent("x", 1, 0, 10, {"gen_ai.operation.name": operation})) == []


def test_arguments_and_results_leave_their_sizes_and_digests() -> None:
    def call(number: int, arguments: str) -> SentSpan:
        return tool(number, 0, 10, says={"gen_ai.tool.call.arguments": arguments, "gen_ai.tool.call.result": "found"})

    first, second, third = told(call(1, '{"q": "secret-words"}'), call(2, '{"q": "secret-words"}'), call(3, "{}"))
    assert first.attributes["tracekit.tool.input_digest"] == second.attributes["tracekit.tool.input_digest"]
    assert first.attributes["tracekit.tool.input_digest"] != third.attributes["tracekit.tool.input_digest"]
    assert (first.attributes["tracekit.tool.input_size"], first.attributes["tracekit.tool.result_size"]) == (21, 5)
    assert "secret-words" not in repr([first, second, third])
    assert "secret-words" in str(told(call(1, "secret-words"), content=True)[0].attributes["tracekit.content"])


# ------------------------------------------------------------------------------------------------ who stands where


def test_a_tool_belongs_to_the_last_request_that_began_before_it() -> None:
    found = told(
        agent(1, 0, 1000),
        chat(2, 10, 300, "msg_1", parent=1),
        chat(3, 400, 900, "msg_2", parent=1),
        tool(4, 450, 500, "early", parent=1),
        tool(5, 350, 360, "between", parent=1),
        tool(6, 5, 6, "before", parent=1),
    )
    assert {span.key: span.parent_key for span in found if span.boundary == "tool_execution"} == {
        "early": "msg_2",
        "between": "msg_1",
        "before": None,
    }


def test_a_tool_in_a_request_s_span_is_that_request_s() -> None:
    found = told(
        agent(1, 0, 1000), chat(2, 10, 900, "msg_1", parent=1), chat(3, 20, 800, "msg_2", parent=1), tool(4, 100, 200, "call", parent=2)
    )
    assert one(found, Boundary.TOOL_EXECUTION).parent_key == "msg_1"


def test_another_trace_s_requests_have_no_part_in_a_tool() -> None:
    found = told(chat(2, 10, 300, "msg_1", trace="b2" * 16), tool(3, 310, 400, "call"))
    assert one(found, Boundary.TOOL_EXECUTION).parent_key is None


def test_an_agent_in_an_agent_is_a_sub_agent_with_a_turn_of_its_own() -> None:
    found = told(
        agent(1, 0, 1000),
        chat(2, 10, 100, "msg_1", parent=1),
        tool(3, 110, 900, "call_1", name="delegate", parent=1),
        agent(4, 120, 880, "explorer", parent=3),
        chat(5, 130, 400, "msg_2", parent=4),
        tool(6, 410, 420, "call_2", parent=4),
    )
    assert outline(found)[3:] == [
        ("subagent", key(4), "call_1"),
        ("turn", key(4), key(4)),
        ("model_request", "msg_2", key(4)),
        ("tool_execution", "call_2", "msg_2"),
    ]
    assert [span.agent_id for span in found] == [None, None, None, key(4), key(4), key(4), key(4)]
    assert found[4].attributes["tracekit.turn.kind"] == "agent"


def test_spans_that_are_no_boundaries_are_looked_through() -> None:
    found = told(
        agent(1, 0, 1000), sent("middleware", 2, 1, 999, parent=1), sent("POST", 3, 2, 998, parent=2), chat(4, 10, 100, "msg_1", parent=3)
    )
    assert outline(found) == [("turn", key(1), TRACE), ("model_request", "msg_1", key(1))]


def test_without_an_agent_the_outermost_span_stands_for_the_turn() -> None:
    found = told(
        sent("POST /ask", 1, 0, 1000),
        sent("step", 2, 1, 999, parent=1),
        chat(3, 10, 100, "msg_1", parent=2),
        tool(4, 110, 120, "call", parent=2),
    )
    assert sorted(outline(found)) == [
        ("model_request", "msg_1", key(1)),
        ("tool_execution", "call", "msg_1"),
        ("turn", key(1), TRACE),
    ]
    turn = one(found, Boundary.TURN)
    assert (turn.name, turn.attributes["tracekit.turn.kind"]) == ("POST /ask", "implicit")


def test_a_request_alone_has_no_turn() -> None:
    assert outline(told(chat(3, 10, 100, "msg_1", parent=77))) == [("model_request", "msg_1", None)]


def test_a_circle_of_parents_comes_to_an_end() -> None:
    assert len(told(sent("a", 1, 0, 9, parent=2), sent("b", 2, 0, 9, parent=1), chat(3, 1, 2, parent=1))) == 2


def test_a_thing_that_two_instrumentations_saw_is_told_once_by_the_inner_one() -> None:
    found = told(
        agent(1, 0, 1000),
        sent("ChatModel", 2, 10, 310, {"openinference.span.kind": "LLM", "llm.model_name": "m-1"}, parent=1),
        chat(3, 12, 300, "msg_1", parent=2),
        sent("search", 4, 320, 510, {"openinference.span.kind": "TOOL", "tool.name": "search", "tool.id": "call_1"}, parent=1),
        tool(5, 322, 500, parent=4),
    )
    assert outline(found) == [("turn", key(1), TRACE), ("model_request", "msg_1", key(1)), ("tool_execution", "call_1", "msg_1")]
    assert one(found, Boundary.TOOL_EXECUTION).start_ns == at(322)


def test_a_tool_that_calls_another_is_a_tool_of_its_own() -> None:
    found = told(tool(1, 0, 100, "outer", name="python"), tool(2, 10, 90, "inner", name="search", parent=1))
    assert [span.key for span in found] == ["outer", "inner"]


# -------------------------------------------------------------------------------------------------------------- session


def test_the_session_is_what_names_itself_one() -> None:
    conversation = {"gen_ai.conversation.id": "conv-outer"}
    inner = {"gen_ai.conversation.id": "conv-inner"}
    spans = (agent(1, 0, 1000, says=conversation), agent(2, 10, 900, "sub", parent=1, says=inner), chat(3, 20, 100, "msg_1", parent=2))
    assert {span.session_id for span in told(*spans)} == {"conv-outer"}
    assert {span.session_id for span in told(*spans, sent("leaf", 4, 30, 40, {"session.id": "sess-1"}, parent=3))} == {"sess-1"}
    named = agent(1, 0, 1000, says={**conversation, "session.id": "sess-2"})
    assert {span.session_id for span in told(named, *spans[1:])} == {"sess-2"}
    assert {span.session_id for span in told(chat(3, 20, 100, resource={"session.id": "sess-3"}))} == {"sess-3"}


def test_a_trace_of_two_sessions_keeps_them_apart() -> None:
    found = told(
        sent("batch", 1, 0, 1000),
        agent(2, 10, 400, parent=1, says={"session.id": "sess-1"}),
        chat(3, 20, 100, "msg_1", parent=2),
        agent(4, 500, 900, parent=1, says={"session.id": "sess-2"}),
        chat(5, 520, 600, "msg_2", parent=4),
    )
    assert {span.key: span.session_id for span in found if span.boundary == "model_request"} == {"msg_1": "sess-1", "msg_2": "sess-2"}


def test_no_conversation_is_ever_made_up() -> None:
    assert all("gen_ai.conversation.id" not in span.attributes for span in told(agent(1, 0, 9), chat(2, 1, 2, parent=1)))


# -------------------------------------------------------------------------------------------------- Anthropic's own SDK


def message(number: int, start: float, end: float, says: dict[str, Any] | None = None, **more: Any) -> SentSpan:
    base = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "m-1"}
    return sent("anthropic.messages.create", number, start, end, {**base, **(says or {})}, scope=SDK, kind=CLIENT, **more)


def test_the_sdk_names_its_requests_by_their_header() -> None:
    says = {
        "anthropic.request.id": "req_1",
        "gen_ai.response.id": "msg_1",
        "anthropic.message.stop_reason": "tool_use",
        "gen_ai.response.time_to_first_chunk": 0.5,
        "http.request.resend_count": 0,
        "anthropic.usage.cache_creation.ephemeral_5m_input_tokens": 0,
        "anthropic.usage.cache_creation.ephemeral_1h_input_tokens": 30,
    }
    request = one(told(message(1, 0, 1000, says)), Boundary.MODEL_REQUEST)
    assert request.attributes["tracekit.usage.cache_write_1h_tokens"] == 30
    assert "tracekit.usage.cache_write_5m_tokens" not in request.attributes
    assert (request.key, request.attributes["gen_ai.response.id"]) == ("req_1", "msg_1")
    assert request.attributes["gen_ai.response.finish_reasons"] == "tool_use"
    assert request.attributes["tracekit.request.attempts"] == 1
    assert request.attributes["tracekit.response.first_content_ns"] == at(500)
    assert "tracekit.response.first_byte_ns" not in request.attributes


def test_after_a_resend_nobody_knows_what_the_first_chunk_is_counted_from() -> None:
    says = {"gen_ai.response.time_to_first_chunk": 0.5, "http.request.resend_count": 2}
    request = one(told(message(1, 0, 1000, says)), Boundary.MODEL_REQUEST)
    assert request.attributes["tracekit.request.attempts"] == 3
    assert "tracekit.response.first_content_ns" not in request.attributes


def test_an_error_after_status_200_is_a_stream_that_was_cut() -> None:
    cut = {"error.type": "api_error", "http.response.status_code": 200}
    refused = {"error.type": "rate_limit_error", "http.response.status_code": 429}
    assert one(told(message(1, 0, 10, cut, status=2)), Boundary.MODEL_REQUEST).attributes["tracekit.response.cut"] == "api_error"
    assert "tracekit.response.cut" not in one(told(message(1, 0, 10, refused, status=2)), Boundary.MODEL_REQUEST).attributes


def test_the_sdk_s_runner_is_a_turn_and_its_counting_nothing() -> None:
    found = told(
        sent("anthropic.messages.tool_runner", 1, 0, 1000, {"gen_ai.operation.name": "invoke_agent"}, scope=SDK),
        message(2, 10, 300, {"anthropic.request.id": "req_1"}, parent=1),
        sent(
            "anthropic.tool_use add",
            3,
            310,
            320,
            {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add", "gen_ai.tool.call.id": "toolu_1"},
            parent=1,
            scope=SDK,
        ),
        sent("anthropic.messages.count_tokens", 4, 1, 2, {"gen_ai.provider.name": "anthropic"}, parent=1, scope=SDK),
    )
    assert outline(found) == [("turn", key(1), TRACE), ("model_request", "req_1", key(1)), ("tool_execution", "toolu_1", "req_1")]


# ---------------------------------------------------------------------------------------------------------------- MCP

CALL = {"mcp.method.name": "tools/call", "jsonrpc.request.id": "7"}


def test_a_call_outside_of_any_tool_s_span_is_the_execution_too() -> None:
    found = told(
        agent(1, 0, 1000), chat(2, 10, 100, "msg_1", parent=1), sent("MCP send tools/call add", 3, 110, 200, CALL, parent=1, kind=CLIENT)
    )
    assert outline(found)[2:] == [("tool_execution", key(3), "msg_1"), ("mcp_call", key(3), key(3))]
    call = one(found, Boundary.MCP_CALL)
    assert (call.name, call.attributes["gen_ai.tool.name"], call.attributes["mcp.method.name"]) == ("add", "add", "tools/call")
    assert call.attributes["jsonrpc.request.id"] == "7"


def test_a_call_in_a_tool_s_span_is_that_tool_s() -> None:
    found = told(tool(1, 0, 100, "call_1", name="add"), sent("tools/call add", 2, 10, 90, CALL, parent=1, kind=CLIENT))
    assert outline(found) == [("tool_execution", "call_1", None), ("mcp_call", "call_1", "call_1")]


def test_a_tool_s_span_with_mcp_attributes_is_both() -> None:
    found = told(
        tool(1, 0, 100, "call_1", name="add", says={"mcp.method.name": "tools/call", "mcp.session.id": "s-1", "network.transport": "pipe"})
    )
    call = one(found, Boundary.MCP_CALL)
    assert (call.key, call.attributes["mcp.session.id"], call.attributes["network.transport"]) == ("call_1", "s-1", "pipe")


def test_a_server_s_word_counts_only_where_no_client_s_is() -> None:
    served = {**CALL, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add", "error.type": "tool_error"}
    beside = told(
        sent("MCP send tools/call add", 1, 0, 100, CALL, kind=CLIENT), sent("tools/call add", 2, 10, 90, served, parent=1, kind=SERVER)
    )
    assert outline(beside) == [("tool_execution", key(1), None), ("mcp_call", key(1), key(1))]
    alone = told(sent("tools/call add", 2, 10, 90, served, kind=SERVER, status=2))
    assert outline(alone) == [("mcp_call", key(2), None)]
    assert (alone[0].status, alone[0].attributes["error.type"]) == ("error", "tool_error")


def test_other_mcp_methods_are_no_calls() -> None:
    assert told(sent("MCP send tools/list", 1, 0, 10, {"mcp.method.name": "tools/list"}, kind=CLIENT)) == []


# ------------------------------------------------------------------------------------------------------ OpenInference


def test_openinference_spans_say_what_they_are() -> None:
    asked = "llm.output_messages.0.message.tool_calls.0.tool_call.id"
    found = told(
        sent("graph", 1, 0, 1000, {"openinference.span.kind": "CHAIN", "input.value": "secret-words"}),
        sent("agent", 2, 1, 999, {"openinference.span.kind": "AGENT", "agent.name": "planner"}, parent=1),
        sent(
            "ChatAnthropic",
            3,
            10,
            500,
            {
                "openinference.span.kind": "LLM",
                "llm.model_name": "m-1",
                "llm.provider": "anthropic",
                "llm.token_count.prompt": 138,
                "llm.token_count.completion": 42,
                "llm.token_count.prompt_details.cache_read": 7,
                "llm.token_count.prompt_details.cache_write": 11,
                "llm.finish_reason": "tool_use",
                "llm.cost.total": 0.5,
                asked: "toolu_1",
                "llm.input_messages.0.message.content": "secret-words",
            },
            parent=2,
            events=[(15, "other", {}), (30, "First Token Stream Event", {})],
        ),
        sent("ChatAnthropic", 4, 20, 600, {"openinference.span.kind": "LLM"}, parent=2),
        sent(
            "search",
            5,
            700,
            800,
            {
                "openinference.span.kind": "TOOL",
                "tool.name": "search",
                "tool.id": "toolu_1",
                "input.value": "secret-words",
                "output.value": "y",
            },
            parent=2,
        ),
        sent("retrieve", 6, 800, 900, {"openinference.span.kind": "RETRIEVER"}, parent=2),
    )
    assert outline(found) == [
        ("turn", key(2), TRACE),
        ("model_request", key(3), key(2)),
        ("model_request", key(4), key(2)),
        # The later request began before the tool too, but the earlier one names the call.
        ("tool_execution", "toolu_1", key(3)),
    ]
    request = found[1].attributes
    assert (request["tracekit.usage.input_tokens"], request["gen_ai.usage.output_tokens"], request["tracekit.cost.usd"]) == (120, 42, 0.5)
    assert (request["gen_ai.request.model"], request["gen_ai.provider.name"], request["gen_ai.response.finish_reasons"]) == (
        "m-1",
        "anthropic",
        "tool_use",
    )
    assert request["tracekit.response.first_content_ns"] == at(30)
    assert found[3].attributes["tracekit.tool.input_size"] == len("secret-words")
    assert "secret-words" not in repr(found)


def test_a_chain_around_requests_is_a_turn_where_no_agent_is() -> None:
    chain = sent("RunnableSequence", 1, 0, 1000, {"openinference.span.kind": "CHAIN", "session.id": "sess-1"})
    found = told(chain, sent("ChatModel", 2, 10, 20, {"openinference.span.kind": "LLM"}, parent=1))
    assert sorted(outline(found)) == [("model_request", key(2), key(1)), ("turn", key(1), "sess-1")]


# ----------------------------------------------------------------------------------------- around Claude Code's own spans


def test_an_agent_span_around_claude_code_s_own_turn_of_the_same_session_is_that_turn() -> None:
    wrapped = sent("ClaudeAgentSDK.query", 1, 0, 1000, {"openinference.span.kind": "AGENT", "session.id": SESSION})
    inner = own("interaction", 2, 10, 990, parent=1)
    assert outline(told(wrapped, inner)) == [("turn", key(2), SESSION)]
    foreign = sent("orchestrator", 1, 0, 1000, {"openinference.span.kind": "AGENT", "session.id": "another"})
    assert sorted(outline(told(foreign, inner))) == [("turn", key(1), "another"), ("turn", key(2), SESSION)]
