"""Tool calls: what is known between a block and its result."""

from tests.sources.stream_json.told import (
    BUSY,
    QUIET,
    SECOND,
    WITH_TOOL,
    at,
    end_range,
    gave,
    init,
    line,
    live,
    message_delta,
    message_stop,
    one,
    requesting,
    response,
    result,
    said,
    spans,
    start_range,
    system,
    tool,
    words,
)
from tracekit.model import Boundary, Status, semconv
from tracekit.sources.digest import digest, json_bytes


def test_a_tool_call_is_a_schedule_and_an_execution_somewhere_in_it() -> None:
    items = live(*WITH_TOOL, (3.0, gave(meta={"permission_decision": {"decision": "accept", "source": "config"}})), (4, result(4)))
    schedule, execution = one(items, Boundary.TOOL_SCHEDULE), one(items, Boundary.TOOL_EXECUTION)
    arguments = json_bytes({"command": "ls", "timeout": 5000})
    assert (schedule.key, schedule.parent_key, schedule.name, schedule.status) == ("toolu_1", "req_1", "Bash", Status.OK)
    assert (start_range(schedule), end_range(schedule)) == ((at(1) - QUIET, at(1)), (at(3) - BUSY, at(3)))
    assert schedule.attributes == {
        semconv.TOOL_NAME: "Bash",
        semconv.TOOL_INPUT_SIZE: len(arguments),
        semconv.TOOL_INPUT_DIGEST: digest(arguments),
        semconv.TOOL_RESULT_SIZE: 4,
        semconv.TOOL_RESULT_DIGEST: digest(b"done"),
        semconv.TOOL_TIMEOUT_NS: 5 * SECOND,
        semconv.PERMISSION_DECISION: "accept",
        semconv.PERMISSION_SOURCE: "config",
    }
    assert (execution.key, execution.parent_key, start_range(execution)) == ("toolu_1", "toolu_1", (at(1) - QUIET, at(3)))
    assert spans(items, Boundary.PERMISSION_WAIT) == []


def test_a_tool_may_end_while_its_response_streams_and_that_proves_it_for_the_session() -> None:
    told = [
        (0, init()),
        (0.1, requesting()),
        *response(0.5, (1, said(tool())), stop=4)[:-2],
        (2, gave()),
        (4, message_delta()),
        (4, message_stop()),
    ]
    more = [
        (4.1, requesting()),
        *response(4.5, (5, said(words(), message="msg_2", request="req_2")), message="msg_2", stop=5),
        (6, result(6)),
    ]
    requests = spans(live(*told, *more), Boundary.MODEL_REQUEST)
    assert [request.attributes.get(semconv.EAGER_TOOLS) for request in requests] == [True, True]
    assert one(live(*WITH_TOOL, (2, gave()), (3, result(3))), Boundary.MODEL_REQUEST).attributes.get(semconv.EAGER_TOOLS) is None


def test_whole_blocks_prove_it_too() -> None:
    told = [(0, init()), (1, said(tool())), (2, gave()), (3, said(words())), (4, result(4))]
    assert one(live(*told), Boundary.MODEL_REQUEST).attributes[semconv.EAGER_TOOLS] is True


def test_old_clients_start_tools_after_the_whole_message() -> None:
    told = [(0, init(claude_code_version="2.1.23")), *WITH_TOOL[1:], (3, gave()), (4, result(4))]
    items = live(*told)
    assert start_range(one(items, Boundary.TOOL_EXECUTION))[0] == at(1) - QUIET
    assert one(items, Boundary.MODEL_REQUEST).attributes[semconv.TOOLS_WAIT] is True
    late = [
        (0, init(claude_code_version="2.1.23")),
        (0.1, requesting()),
        *response(0.5, (1, said(tool())), stop=9),
        (11, gave()),
        (12, result(12)),
    ]
    assert start_range(one(live(*late), Boundary.TOOL_EXECUTION))[0] == at(9) - BUSY


def test_the_tools_own_measure_narrows_its_start() -> None:
    items = live(*WITH_TOOL, (3, gave(tool_use_result={"durationMs": 400})), (4, result(4)))
    assert start_range(one(items, Boundary.TOOL_EXECUTION)) == (at(2.6) - BUSY, at(2.6))


def test_a_tool_that_is_seen_running_had_begun_by_then() -> None:
    task = system("task_started", task_id="t1", tool_use_id="toolu_1", task_type="local_bash", is_backgrounded=False)
    assert start_range(one(live(*WITH_TOOL, (4, task), (9, gave())), Boundary.TOOL_EXECUTION))[1] == at(4)
    progress = line("tool_progress", tool_use_id="toolu_1", tool_name="Bash", elapsed_time_seconds=2)
    assert start_range(one(live(*WITH_TOOL, (4, progress), (9, gave())), Boundary.TOOL_EXECUTION))[1] == at(3)


def test_an_unanswered_call_is_open() -> None:
    items = live(*WITH_TOOL, (2, {"type": "keep_alive"}))
    assert [
        one(items, boundary).end_ns for boundary in (Boundary.TOOL_SCHEDULE, Boundary.TOOL_EXECUTION, Boundary.TURN, Boundary.SESSION)
    ] == [None] * 4
    assert one(items, Boundary.TURN).attributes[semconv.LAST_SEEN_NS] == at(2)
    assert one(items, Boundary.MODEL_REQUEST).end_ns == at(1.2)


def test_a_client_that_shows_whole_blocks_and_runs_a_tool_waits_for_no_model() -> None:
    assert one(live((0, init()), (1, said(tool()))), Boundary.MODEL_REQUEST).end_ns is not None
    assert one(live((0, init()), (1, said(words()))), Boundary.MODEL_REQUEST).end_ns is None


def test_a_call_without_a_result_ends_with_its_turn() -> None:
    items = live(*WITH_TOOL, (2, result(2, terminal_reason="aborted_tools")))
    schedule, execution = one(items, Boundary.TOOL_SCHEDULE), one(items, Boundary.TOOL_EXECUTION)
    assert (schedule.status, execution.status, schedule.end_ns) == (Status.CANCELLED, Status.CANCELLED, at(2))


def test_a_tool_that_failed() -> None:
    items = live(*WITH_TOOL, (2, gave(content="Exit code 3\nbad", is_error=True, meta={"permission_decision": {"decision": "accept"}})))
    for boundary in (Boundary.TOOL_SCHEDULE, Boundary.TOOL_EXECUTION):
        span = one(items, boundary)
        assert (span.status, span.attributes[semconv.EXIT_CODE], span.attributes[semconv.ERROR_TEXT]) == (
            Status.ERROR,
            3,
            "Exit code 3\nbad",
        )


def test_input_that_the_client_refused_never_ran() -> None:
    items = live(*WITH_TOOL, (2, gave(content="<tool_use_error>InputValidationError: no</tool_use_error>", is_error=True)))
    assert one(items, Boundary.TOOL_SCHEDULE).status == Status.ERROR
    assert spans(items, Boundary.TOOL_EXECUTION) == []


def test_an_interrupted_tool_is_cancelled() -> None:
    items = live(*WITH_TOOL, (2, gave(is_error=True, tool_use_result={"interrupted": True})))
    assert one(items, Boundary.TOOL_EXECUTION).status == Status.CANCELLED


def test_work_in_the_background_is_marked() -> None:
    items = live(*WITH_TOOL, (2, gave(tool_use_result={"backgroundTaskId": "b1"})))
    assert one(items, Boundary.TOOL_EXECUTION).attributes[semconv.TOOL_BACKGROUND] is True


def test_a_call_to_an_mcp_server() -> None:
    told = [(0, init()), (0.1, requesting()), (1, said(tool(name="mcp__demo__add_up"))), (2, gave(content=[{"type": "text", "text": "3"}]))]
    items = live(*told)
    call, execution = one(items, Boundary.MCP_CALL), one(items, Boundary.TOOL_EXECUTION)
    assert (call.name, call.key, call.parent_key, call.attributes[semconv.MCP_SERVER]) == ("add_up", "toolu_1", "toolu_1", "demo")
    assert (start_range(call), end_range(call)) == (start_range(execution), end_range(execution))


def test_a_result_whose_call_was_not_seen() -> None:
    execution = one(live((0, init()), (1, gave("toolu_7", is_error=True, content="no")), (2, result(2))), Boundary.TOOL_EXECUTION)
    assert (execution.key, execution.name, execution.status, execution.attributes[semconv.ERROR_TEXT]) == (
        "toolu_7",
        "unknown",
        Status.ERROR,
        "no",
    )
