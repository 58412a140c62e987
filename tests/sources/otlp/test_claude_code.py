"""What Claude Code's spans and events say together, and what is still said when some of them are missing."""

from typing import Any

import pytest

from tests.sources.otlp.bodies import MS, PROMPT, SESSION, SentEvent, SentSpan, at, event, logs, own, span_id, traces
from tracekit.model import Boundary, Span
from tracekit.sources.otlp import read_group

TURN, ASK, TOOL, WAIT, RUN, AFTER = range(1, 7)
TOOL_USE = {"tool_use_id": "toolu_1"}

INTERACTION = own("interaction", TURN, 0, 2000, {"interaction.sequence": 1, "user_prompt": "<REDACTED>"})
REQUEST_SAYS = {
    "model": "m-1",
    "gen_ai.request.model": "m-1",
    "gen_ai.response.model": "m-1-20990101",
    "gen_ai.response.id": "req_1",
    "gen_ai.usage.input_tokens": 138,
    "request_id": "req_1",
    "query_source_safe": "sdk",
    "success": True,
    "attempt": 1,
    "ttft_ms": 200,
    "first_content_ms": 205,
    "stop_reason": "tool_use",
    "input_tokens": 120,
    "output_tokens": 42,
    "cache_read_tokens": 7,
    "cache_creation_tokens": 11,
}
REQUEST = own("llm_request", ASK, 100, 1000, REQUEST_SAYS, parent=TURN, events=[(116, "gen_ai.request.attempt", {"attempt": 1})])
CALL = own("tool", TOOL, 400, 900, {"tool_name": "Bash", "gen_ai.tool.name": "Bash", **TOOL_USE}, parent=TURN)
ASKED = own("tool.blocked_on_user", WAIT, 401, 450, {"decision": "accept", "source": "config"}, parent=TOOL)
RAN = own("tool.execution", RUN, 452, 899, {"success": True, **TOOL_USE}, parent=TOOL)

PROMPTED = event("user_prompt", 300, {"prompt_length": "12", "prompt": "<REDACTED>"}, under=TURN)
PAID = event(
    "api_request",
    999,
    {
        "request_id": "req_1",
        "model": "m-1",
        "cost_usd": 0.25,
        "duration_ms": 880,
        "ttft_ms": 200,
        "query_source": "sdk",
        "output_tokens": 42,
    },
    under=TURN,
)
DECIDED = event(
    "tool_decision",
    449,
    {"decision": "accept", "source": "config", "tool_name": "Bash", "request_id": "req_1", **TOOL_USE},
    under=WAIT,
)
RESULT = event(
    "tool_result",
    902,
    {
        "tool_name": "Bash",
        "success": "true",
        "duration_ms": "447",
        "request_id": "req_1",
        "tool_input_size_bytes": "31",
        "tool_result_size_bytes": "58",
        **TOOL_USE,
    },
    under=TURN,
)
ALL_SPANS = (REQUEST, ASKED, RAN, CALL, INTERACTION)
ALL_EVENTS = (PROMPTED, PAID, DECIDED, RESULT)


def told(*sent: SentSpan | SentEvent, content: bool = False) -> list[Span]:
    """Everything that is told of what was sent, spans and events in bodies of their own."""
    bodies = [
        ("1.logs.pb", logs(*(item for item in sent if isinstance(item, SentEvent)))),
        ("2.traces.pb", traces(*(item for item in sent if isinstance(item, SentSpan)))),
    ]
    found = [item for _, item in read_group(bodies, content=content)]
    assert all(isinstance(item, Span) for item in found), found
    return [item for item in found if isinstance(item, Span)]


def one(found: list[Span], boundary: str) -> Span:
    (span,) = [span for span in found if span.boundary == boundary]
    return span


def edges(span: Span) -> tuple[float, float, float | None, float | None]:
    """Earliest and latest start, earliest and latest end, in milliseconds of the test's clock."""
    start = (span.start_ns - at(0)) / MS
    if span.end_ns is None:
        return start, start + span.start_slack_ns / MS, None, None
    end = (span.end_ns - at(0)) / MS
    return start, start + span.start_slack_ns / MS, end - span.end_slack_ns / MS, end


# ------------------------------------------------------------------------------------------------------- all together


def test_spans_and_events_of_one_turn_tell_of_each_thing_once() -> None:
    found = told(*ALL_SPANS, *ALL_EVENTS)
    assert sorted((span.boundary, span.key, span.parent_key) for span in found) == [
        ("model_request", "req_1", PROMPT),
        ("permission_wait", "toolu_1", "toolu_1"),
        ("tool_execution", "toolu_1", "toolu_1"),
        ("tool_schedule", "toolu_1", "req_1"),
        ("turn", PROMPT, SESSION),
    ]
    assert {span.source for span in found} == {"otel"}
    assert {span.session_id for span in found} == {SESSION}
    assert {span.agent_id for span in found} == {None}


def test_each_observation_comes_with_the_name_of_its_body() -> None:
    bodies = [("b.pb", traces(CALL, RAN)), ("a.pb", logs(DECIDED)), ("c.pb", traces(REQUEST, INTERACTION))]
    found = [(name, item.boundary) for name, item in read_group(bodies) if isinstance(item, Span)]
    assert found == [
        ("b.pb", "tool_schedule"),
        ("b.pb", "tool_execution"),
        ("a.pb", "permission_wait"),
        ("c.pb", "model_request"),
        ("c.pb", "turn"),
    ]


def test_the_order_of_bodies_changes_nothing() -> None:
    bodies = [("t", traces(*ALL_SPANS)), ("l", logs(*ALL_EVENTS))]
    assert sorted(map(repr, read_group(bodies))) == sorted(map(repr, read_group(reversed(bodies))))


def test_a_request_has_its_span_s_times_and_its_event_s_cost() -> None:
    request = one(told(*ALL_SPANS, *ALL_EVENTS), Boundary.MODEL_REQUEST)
    assert edges(request) == (100, 100, 500, 1000)
    assert request.status == "ok"
    assert dict(request.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "m-1",
        "gen_ai.response.model": "m-1-20990101",
        "gen_ai.response.finish_reasons": "tool_use",
        "gen_ai.usage.output_tokens": 42,
        "gen_ai.usage.cache_read.input_tokens": 7,
        "gen_ai.usage.cache_write.input_tokens": 11,
        "tracekit.usage.input_tokens": 120,
        "tracekit.cost.usd": 0.25,
        "tracekit.request.id": "req_1",
        "tracekit.request.attempts": 1,
        "tracekit.request.query_source": "sdk",
        "tracekit.response.first_byte_ns": at(316),
        "tracekit.response.first_content_ns": at(321),
    }


def test_the_first_byte_counts_from_the_last_attempt() -> None:
    attempts = [(110, "gen_ai.request.attempt", {"attempt": 1}), (700, "gen_ai.request.attempt", {"attempt": 2})]
    retried = own("llm_request", ASK, 100, 1000, {**REQUEST_SAYS, "attempt": 2}, parent=TURN, events=attempts)
    request = one(told(retried), Boundary.MODEL_REQUEST)
    assert request.attributes["tracekit.response.first_byte_ns"] == at(900)
    assert [(moment.time_ns, dict(moment.attributes)) for moment in request.events] == [
        (at(110), {"attempt": 1}),
        (at(700), {"attempt": 2}),
    ]
    silent = own("llm_request", ASK, 100, 1000, {**REQUEST_SAYS, "attempt": 2}, parent=TURN)
    assert "tracekit.response.first_byte_ns" not in one(told(silent), Boundary.MODEL_REQUEST).attributes


def test_a_tool_s_parts_have_the_times_of_their_spans() -> None:
    found = told(*ALL_SPANS, *ALL_EVENTS)
    assert edges(one(found, Boundary.TOOL_EXECUTION)) == (452, 452, 899, 899)
    assert edges(one(found, Boundary.PERMISSION_WAIT)) == (401, 401, 450, 450)


def test_a_tool_s_block_was_complete_between_its_request_s_start_and_its_own() -> None:
    schedule = one(told(*ALL_SPANS, *ALL_EVENTS), Boundary.TOOL_SCHEDULE)
    assert edges(schedule) == (100, 400, 900, 960)
    assert schedule.attributes["tracekit.tool.input_size"] == 31
    assert schedule.attributes["tracekit.tool.result_size"] == 58
    assert schedule.attributes["tracekit.permission.decision"] == "accept"


def test_a_failed_tool_has_its_error() -> None:
    failed = own(
        "tool.execution",
        RUN,
        452,
        899,
        {"success": False, "error": "boom api_key=abcdef123456", "error_class": "ShellError"},
        parent=TOOL,
        status=2,
    )
    execution = one(told(CALL, failed, REQUEST), Boundary.TOOL_EXECUTION)
    assert execution.status == "error"
    assert execution.attributes["error.type"] == "ShellError"
    assert execution.attributes["tracekit.error.text"] == "boom [secret]"


def test_an_mcp_tool_is_a_call_to_its_server_too() -> None:
    call = own("tool", TOOL, 400, 900, {"tool_name": "mcp__srv__add", "gen_ai.tool.name": "add", **TOOL_USE}, parent=TURN)
    found = told(INTERACTION, REQUEST, call, RAN)
    execution, inner = one(found, Boundary.TOOL_EXECUTION), one(found, Boundary.MCP_CALL)
    assert (execution.name, inner.name) == ("mcp__srv__add", "add")
    assert (inner.key, inner.parent_key) == ("toolu_1", "toolu_1")
    assert inner.attributes["tracekit.mcp.server"] == "srv"
    assert inner.attributes["gen_ai.tool.name"] == "mcp__srv__add"
    assert edges(inner) == (452, 502, 849, 899)


def test_a_refused_call_waited_and_never_ran() -> None:
    refused = own("tool.blocked_on_user", WAIT, 401, 450, {"decision": "reject", "source": "hook"}, parent=TOOL)
    decided = event("tool_decision", 450, {"decision": "reject", "source": "hook", "request_id": "req_1", **TOOL_USE}, under=WAIT)
    found = told(INTERACTION, REQUEST, CALL, refused, decided, PROMPTED)
    assert one(found, Boundary.TOOL_SCHEDULE).status == "cancelled"
    assert one(found, Boundary.PERMISSION_WAIT).attributes["tracekit.permission.source"] == "hook"
    assert Boundary.TOOL_EXECUTION not in {span.boundary for span in found}


def test_a_sub_agent_s_things_are_its_own() -> None:
    agent = {"gen_ai.conversation.id": "a0b1c2"}
    call = own("tool", TOOL, 400, 1900, {"tool_name": "Agent", **TOOL_USE}, parent=TURN)
    run = own("tool.execution", RUN, 452, 1899, {"success": True, **TOOL_USE}, parent=TOOL)
    inner = own("llm_request", 20, 500, 1100, {**REQUEST_SAYS, **agent, "request_id": "req_2", "agent_id": "a0b1c2"}, parent=RUN)
    inner_call = own("tool", 21, 700, 1000, {"tool_name": "Read", "tool_use_id": "toolu_2", **agent}, parent=RUN)
    inner_run = own("tool.execution", 22, 710, 990, {"success": True, "tool_use_id": "toolu_2", **agent}, parent=21)
    done = event("subagent_completed", 1890, {"agent_id": "a0b1c2", "agent_type": "explorer", "duration_ms": 1400}, under=RUN)
    found = told(INTERACTION, REQUEST, call, run, inner, inner_call, inner_run, done, PROMPTED)
    keys = {(str(span.boundary), span.key): span for span in found}
    assert keys["subagent", "a0b1c2"].parent_key == "toolu_1"
    assert keys["subagent", "a0b1c2"].name == "explorer"
    assert edges(keys["subagent", "a0b1c2"]) == (390, 490, 1790, 1890)
    assert (keys["model_request", "req_2"].agent_id, keys["model_request", "req_2"].parent_key) == ("a0b1c2", "a0b1c2")
    assert (keys["tool_schedule", "toolu_2"].agent_id, keys["tool_schedule", "toolu_2"].parent_key) == ("a0b1c2", "req_2")
    assert keys["tool_execution", "toolu_2"].agent_id == "a0b1c2"
    assert keys["tool_execution", "toolu_1"].agent_id is None


def test_a_command_is_a_turn_of_its_kind() -> None:
    prompted = event("user_prompt", 300, {"command_name": "compact", "command_source": "builtin"}, under=TURN)
    turn = one(told(INTERACTION, prompted), Boundary.TURN)
    assert (turn.name, turn.attributes["tracekit.turn.kind"], turn.attributes["tracekit.prompt.id"]) == ("command", "command", PROMPT)


# ------------------------------------------------------------------------------------------------------ only the spans


def test_without_events_a_turn_has_the_key_of_its_span() -> None:
    found = told(*ALL_SPANS)
    assert one(found, Boundary.TURN).key == f"span:{span_id(TURN)}"
    assert one(found, Boundary.MODEL_REQUEST).parent_key == f"span:{span_id(TURN)}"


def test_the_interaction_that_is_not_here_yet_is_the_parent_all_the_same() -> None:
    assert one(told(REQUEST), Boundary.MODEL_REQUEST).parent_key == f"span:{span_id(TURN)}"


def test_without_events_a_tool_s_request_is_the_last_that_could_have_asked_for_it() -> None:
    title = own("llm_request", 30, 390, 600, {"request_id": "req_title", "stop_reason": "end_turn"}, parent=TURN)
    later = own("llm_request", 31, 1200, 1400, {"request_id": "req_3", "stop_reason": "tool_use"}, parent=TURN)
    assert one(told(*ALL_SPANS, title, later), Boundary.TOOL_SCHEDULE).parent_key == "req_1"


def test_a_tool_of_which_nothing_earlier_is_known_has_no_schedule() -> None:
    assert [span.boundary for span in told(CALL, ASKED, RAN)] == ["permission_wait", "tool_execution"]


def test_a_caller_s_span_above_the_interaction_changes_nothing() -> None:
    called = own("interaction", TURN, 0, 2000, parent=99)
    found = told(called, REQUEST)
    assert one(found, Boundary.MODEL_REQUEST).parent_key == one(found, Boundary.TURN).key == f"span:{span_id(TURN)}"


def test_two_prompts_in_one_trace_are_two_turns() -> None:
    second = own("interaction", 50, 3000, 4000, parent=99)
    first = own("interaction", TURN, 0, 2000, parent=99)
    other = event("user_prompt", 3100, {"prompt.id": "another-prompt"}, under=50)
    found = told(first, second, PROMPTED, other)
    assert sorted((span.key, span.start_ns) for span in found) == [(PROMPT, at(0)), ("another-prompt", at(3000))]


# ----------------------------------------------------------------------------------------------------- only the events


def test_without_spans_a_request_is_as_certain_as_its_event() -> None:
    request = one(told(*ALL_EVENTS), Boundary.MODEL_REQUEST)
    # The prompt came 180 ms before: no time for a first attempt and its backoff.
    assert edges(request) == (19, 120, 499, 999)
    assert (request.key, request.parent_key, request.status) == ("req_1", PROMPT, "ok")
    assert request.attributes["tracekit.cost.usd"] == 0.25
    assert request.attributes["tracekit.response.first_byte_ns"] == at(320)


def test_without_spans_a_request_may_have_begun_with_the_thing_that_it_answers() -> None:
    late = event("api_request", 5000, {"request_id": "req_9", "duration_ms": 500, "query_source": "sdk", "model": "m"}, under=TURN)
    assert edges(one(told(PROMPTED, late), Boundary.MODEL_REQUEST))[:2] == (300, 4501)
    assert edges(one(told(late), Boundary.MODEL_REQUEST))[:2] == (4400, 4501)


def test_what_a_request_answers_is_of_its_own_thread() -> None:
    late = event("api_request", 5000, {"request_id": "req_9", "duration_ms": 500, "query_source": "sdk"}, under=TURN)
    title = event("api_request", 4000, {"request_id": "req_t", "duration_ms": 100, "query_source": "title"}, under=TURN)
    agent = event("tool_result", 4100, {"request_id": "req_a", "agent_id": "a1", "tool_use_id": "toolu_a", "duration_ms": "1"}, under=TURN)
    streamed = event("tool_result", 4200, {"request_id": "req_9", "tool_use_id": "toolu_9", "duration_ms": "1"}, under=TURN)
    result = event("tool_result", 2000, {"request_id": "req_8", "tool_use_id": "toolu_8", "duration_ms": "1"}, under=TURN)
    found = [span for span in told(PROMPTED, late, title, agent, streamed, result) if span.key == "req_9"]
    assert edges(one(found, Boundary.MODEL_REQUEST))[0] == 2000


def test_without_spans_a_failed_chain_is_as_long_as_its_events_say() -> None:
    says = {"model": "m", "error": "Internal server error", "status_code": 500, "query_source": "sdk"}
    failed = event("api_error", 2000, {**says, "duration_ms": 16, "attempt": 3, "request_id": "req_1"}, under=TURN)
    gave_up = event(
        "api_retries_exhausted", 2000, {**says, "total_attempts": 3, "total_retry_duration_ms": 1700, "event.sequence": 9}, under=TURN
    )
    request = one(told(PROMPTED, failed, gave_up), Boundary.MODEL_REQUEST)
    assert edges(request) == (200, 301, 1500, 2000)
    assert request.status == "error"
    assert request.attributes["tracekit.request.attempts"] == 3
    assert request.attributes["http.response.status_code"] == 500
    assert request.attributes["tracekit.error.text"] == "Internal server error"


def test_a_failed_request_without_an_id_is_told_once() -> None:
    says = {"model": "m", "error": "Connection error.", "attempt": 1}
    failed = own("llm_request", ASK, 100, 1000, {**says, "success": False, "error_class": "connection_error"}, parent=TURN, status=2)
    heard = event("api_error", 999, {**says, "duration_ms": 900, "query_source": "sdk"}, under=TURN)
    request = one(told(INTERACTION, failed, heard), Boundary.MODEL_REQUEST)
    assert request.key == f"span:{span_id(ASK)}"
    assert request.attributes["error.type"] == "connection_error"
    assert request.attributes["tracekit.request.query_source"] == "sdk"
    assert one(told(heard), Boundary.MODEL_REQUEST).key == f"api_error@{at(999)}"


def test_without_spans_a_tool_is_known_from_its_result() -> None:
    found = told(*ALL_EVENTS)
    assert edges(one(found, Boundary.TOOL_EXECUTION)) == (355, 456, 802, 902)
    assert edges(one(found, Boundary.PERMISSION_WAIT)) == (19, 449, 349, 449)
    schedule = one(found, Boundary.TOOL_SCHEDULE)
    assert edges(schedule) == (19, 449, 802, 962)
    assert schedule.parent_key == "req_1"


def test_an_mcp_tool_s_name_is_in_its_parameters() -> None:
    parameters = '{"mcp_server_name":"srv","mcp_tool_name":"add"}'
    result = event("tool_result", 902, {**RESULT.attributes, "tool_name": "mcp_tool", "tool_parameters": parameters}, under=TURN)
    call = one(told(PROMPTED, result), Boundary.MCP_CALL)
    assert (call.name, call.attributes["gen_ai.tool.name"], call.attributes["tracekit.mcp.server"]) == ("add", "mcp__srv__add", "srv")
    gated = event("tool_result", 902, {**RESULT.attributes, "tool_name": "mcp_tool"}, under=TURN)
    assert one(told(PROMPTED, gated), Boundary.MCP_CALL).attributes["tracekit.mcp.server"] == "unknown"


def test_a_tool_that_was_allowed_and_never_heard_of_again_is_running() -> None:
    found = told(REQUEST, ASKED, PROMPTED, PAID, DECIDED)
    execution = one(found, Boundary.TOOL_EXECUTION)
    assert (execution.key, edges(execution)) == ("toolu_1", (449, 549, None, None))
    assert edges(one(found, Boundary.TOOL_SCHEDULE)) == (100, 449, None, None)
    # Its permission's span names no tool and its parent was never exported: the decision was written under it.
    wait = one(found, Boundary.PERMISSION_WAIT)
    assert (wait.key, edges(wait)) == ("toolu_1", (401, 401, 450, 450))


def test_a_call_that_was_refused_is_not_running() -> None:
    decided = event("tool_decision", 449, {"decision": "reject", "source": "user_abort", "request_id": "req_1", **TOOL_USE}, under=WAIT)
    found = told(REQUEST, PROMPTED, decided)
    assert one(found, Boundary.TOOL_SCHEDULE).status == "cancelled"
    assert edges(one(found, Boundary.TOOL_SCHEDULE)) == (100, 449, 449, 509)
    assert one(found, Boundary.PERMISSION_WAIT).status == "cancelled"
    assert Boundary.TOOL_EXECUTION not in {span.boundary for span in found}


def test_a_call_of_a_turn_or_agent_that_is_over_is_not_running() -> None:
    following = event("user_prompt", 5000, {"prompt.id": "next"}, under=50)
    assert Boundary.TOOL_EXECUTION in {span.boundary for span in told(PROMPTED, DECIDED)}
    for later in (following, INTERACTION):
        assert Boundary.TOOL_EXECUTION not in {span.boundary for span in told(PROMPTED, DECIDED, later)}
    inside = event("tool_decision", 449, {**DECIDED.attributes, "agent_id": "a1"}, under=WAIT)
    done = event("subagent_completed", 900, {"agent_id": "a1", "duration_ms": 600}, under=RUN)
    # What a sub-agent in the background does outlives the turn.
    assert Boundary.TOOL_EXECUTION in {span.boundary for span in told(PROMPTED, inside, INTERACTION)}
    assert Boundary.TOOL_EXECUTION not in {span.boundary for span in told(PROMPTED, inside, done)}


def test_old_clients_events_name_no_call() -> None:
    nameless = {"tool_name": "Bash", "success": "true", "duration_ms": "447", "decision": "accept", "source": "config"}
    found = told(PROMPTED, event("tool_decision", 449, nameless), event("tool_result", 902, nameless))
    assert [(span.boundary, span.key) for span in found[1:]] == [
        ("permission_wait", f"tool_decision@{at(449)}"),
        ("tool_execution", f"tool_result@{at(902)}"),
    ]
    assert edges(found[2]) == (355, 456, 802, 902)
    assert {span.name for span in found[1:]} == {"Bash"}


def test_a_turn_without_its_span_is_open_until_the_next_prompt() -> None:
    turn = one(told(PROMPTED, PAID), Boundary.TURN)
    assert (turn.key, edges(turn)) == (PROMPT, (-700, 300, None, None))
    assert turn.attributes["tracekit.turn.last_seen_ns"] == at(999)
    following = event("user_prompt", 4000, {"prompt.id": "next"}, under=50)
    swept = event("retention_sweep", 3500, under=TURN)
    first, second = told(PROMPTED, PAID, following, swept)[0], told(PROMPTED, following)[-1]
    assert edges(first) == (-700, 300, 999, 4000)
    assert edges(second) == (3000, 4000, None, None)


def test_an_event_with_no_trace_and_no_session_is_a_problem() -> None:
    lost = SentEvent("user_prompt", 5, {"event.name": "user_prompt", "prompt.id": PROMPT})
    ((name, problem),) = read_group([("lost", logs(lost))])
    assert (name, getattr(problem, "reason", "")) == ("lost", "no session id")


def test_events_that_tell_of_nothing_here_are_passed_over() -> None:
    assert told(event("plugin_loaded", 1), event("skill_activated", 2), event("something_new", 3)) == []


# ------------------------------------------------------------------------------------------ hooks, servers, compaction


def hook(edge: str, time: float, name: str = "PreToolUse:Bash", **says: Any) -> SentEvent:
    return event(
        f"hook_execution_{edge}", time, {"hook_event": name.partition(":")[0], "hook_name": name, "num_hooks": "1", **says}, under=TURN
    )


@pytest.mark.parametrize(
    ("counts", "outcome", "status"),
    [
        ({"num_success": "1"}, "success", "ok"),
        ({"num_success": "1", "num_blocking": "1"}, "blocking", "ok"),
        ({"num_non_blocking_error": "1"}, "error", "error"),
        ({"num_cancelled": "1"}, "cancelled", "cancelled"),
    ],
)
def test_a_hook_s_run_is_a_pair_of_events(counts: dict[str, str], outcome: str, status: str) -> None:
    run = one(told(hook("start", 500), hook("complete", 900, total_duration_ms="395", **counts)), Boundary.HOOK_REPLY)
    assert (run.key, run.parent_key, run.name) == (f"hook@{at(500)}", PROMPT, "PreToolUse:Bash")
    assert edges(run) == (500, 505, 895, 900)
    assert (run.attributes["tracekit.hook.outcome"], run.status) == (outcome, status)


def test_runs_of_one_hook_at_once_are_told_apart_by_their_durations() -> None:
    events = [
        hook("start", 500),
        hook("start", 700),
        hook("complete", 800, total_duration_ms="98"),
        hook("complete", 900, total_duration_ms="399"),
    ]
    runs = told(*events)
    assert [(edges(run)[0], edges(run)[3]) for run in runs] == [(500, 900), (700, 800)]


def test_a_hook_that_only_began_is_open_and_one_that_only_ended_is_bounded() -> None:
    assert edges(one(told(hook("start", 500)), Boundary.HOOK_REPLY)) == (500, 500, None, None)
    assert [span.boundary for span in told(hook("start", 500), PROMPTED, INTERACTION)] == ["turn"]
    assert edges(one(told(hook("complete", 900, total_duration_ms="395")), Boundary.HOOK_REPLY)) == (405, 505, 800, 900)


def test_a_hook_that_a_span_measured_is_told_once() -> None:
    says = {"hook_event": "Stop", "hook_name": "Stop", "num_hooks": 1, "num_success": 0, "num_non_blocking_error": 1}
    span = own("hook", 70, 501, 899, says, parent=TURN)
    runs = [
        found
        for found in told(INTERACTION, span, hook("start", 500, "Stop"), hook("complete", 900, "Stop"))
        if found.boundary == "hook_reply"
    ]
    (run,) = runs
    assert edges(run) == (501, 501, 899, 899)
    assert run.attributes["tracekit.hook.outcome"] == "error"


def test_a_server_s_connection_ended_when_its_event_was_written() -> None:
    says = {"status": "connected", "transport_type": "stdio", "server_name": "demo", "duration_ms": "350"}
    connection = one(told(event("mcp_server_connection", 600, says)), Boundary.MCP_CONNECTION)
    assert (connection.key, connection.parent_key, connection.status) == (f"demo@{at(600)}", SESSION, "ok")
    assert edges(connection) == (150, 250, 500, 600)
    assert connection.attributes["network.transport"] == "pipe"


def test_a_server_that_failed_says_why() -> None:
    says = {
        "status": "failed",
        "transport_type": "http",
        "duration_ms": "87",
        "error_code": "ECONNREFUSED",
        "error": "ECONNREFUSED: Unable to connect.",
    }
    connection = one(told(event("mcp_server_connection", 600, says)), Boundary.MCP_CONNECTION)
    assert (connection.name, connection.status) == ("unknown", "error")
    assert connection.attributes["tracekit.error.code"] == "ECONNREFUSED"
    assert connection.attributes["tracekit.error.text"] == "ECONNREFUSED: Unable to connect."


def test_a_connection_s_life_is_not_the_time_it_took_to_connect() -> None:
    says = {"status": "disconnected", "server_name": "demo", "duration_ms": "60000"}
    connection = one(told(event("mcp_server_connection", 600, says)), Boundary.MCP_CONNECTION)
    assert edges(connection) == (500, 600, 500, 600)


def test_a_compaction_has_its_trigger_and_its_sizes() -> None:
    says = {"trigger": "manual", "success": "true", "duration_ms": "1152", "pre_tokens": "2673", "post_tokens": "1754"}
    compaction = one(told(event("compaction", 2000, says, under=TURN)), Boundary.COMPACTION)
    assert (compaction.key, compaction.parent_key, compaction.status) == (f"compaction@{at(2000)}", PROMPT, "ok")
    assert edges(compaction) == (748, 848, 1900, 2000)
    assert (compaction.attributes["tracekit.compaction.pre_tokens"], compaction.attributes["tracekit.compaction.post_tokens"]) == (
        2673,
        1754,
    )


# --------------------------------------------------------------------------------------------------------------- privacy

WORDS = "the-users-own-words"
TALKING = (
    own("interaction", TURN, 0, 2000, {"user_prompt": WORDS, "new_context": WORDS, "interaction.sequence": 1}),
    own("llm_request", ASK, 100, 1000, {**REQUEST_SAYS, "response.model_output": WORDS, "system_prompt": WORDS}, parent=TURN),
    own(
        "tool",
        TOOL,
        400,
        900,
        {"tool_name": "Bash", "full_command": WORDS, "file_path": WORDS, "tool_input": WORDS, **TOOL_USE},
        parent=TURN,
        events=[(890, "tool.output", {"output": WORDS, "bash_command": WORDS, "size": 5})],
    ),
    RAN,
    own("hook", 70, 501, 899, {"hook_name": "Stop", "hook_definitions": WORDS}, parent=TURN),
    event("user_prompt", 300, {"prompt": WORDS, "prompt_text": WORDS}, under=TURN),
    event("assistant_response", 999, {"request_id": "req_1", "response": WORDS}, under=TURN),
    event("tool_result", 902, {**RESULT.attributes, "tool_input": WORDS, "tool_parameters": WORDS}, under=TURN),
)


def test_content_stays_out_unless_it_is_asked_for() -> None:
    assert WORDS not in repr(told(*TALKING))
    told_all = told(*TALKING, content=True)
    for boundary in ("turn", "model_request", "tool_schedule", "hook_reply"):
        assert WORDS in str(one(told_all, boundary).attributes["tracekit.content"])
    assert all(WORDS not in repr(span._replace(attributes={})) for span in told_all)


def test_content_that_the_client_kept_back_is_none() -> None:
    assert "tracekit.content" not in one(told(*ALL_SPANS, *ALL_EVENTS, content=True), Boundary.TURN).attributes


def test_secrets_in_content_are_masked() -> None:
    spoken = own("interaction", TURN, 0, 2000, {"user_prompt": "use sk-ant-abcdefghijklmnop please"})
    assert one(told(spoken, content=True), Boundary.TURN).attributes["tracekit.content"] == '{"user_prompt": "use [secret] please"}'
