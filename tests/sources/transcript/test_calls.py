"""Tool calls: when they can have run, as each client's lines allow, and what they gave."""

import pytest

from tests.sources.transcript.written import (
    EAGER,
    LATE,
    MILLISECOND,
    SECOND,
    SERIAL,
    Entry,
    at,
    between,
    by_key,
    end_range,
    failed,
    gave,
    hook_began,
    hook_ended,
    one,
    progress,
    prompt,
    said,
    spans,
    start_range,
    told,
    tool,
    words,
)
from tracekit.model import Boundary, Span, Status, semconv
from tracekit.sources.digest import digest, json_bytes

RESULT_LATE = 60 * MILLISECOND


def execution(*entries: Entry) -> Span:
    return one(told(*entries), Boundary.TOOL_EXECUTION)


def of_version(version: str, *entries: Entry) -> list[Entry]:
    return [entry | {"version": version} for entry in entries]


def test_a_call_is_a_schedule_and_an_execution_somewhere_in_it() -> None:
    items = told(prompt(0), said(2, tool()), gave(5))
    schedule, run = one(items, Boundary.TOOL_SCHEDULE), one(items, Boundary.TOOL_EXECUTION)
    assert (schedule.key, schedule.name, schedule.parent_key, schedule.status) == ("toolu_1", "Bash", "req_1", Status.OK)
    assert (start_range(schedule), end_range(schedule)) == (between(2, 2), between(5, 5))
    assert (run.key, run.name, run.parent_key, run.status) == ("toolu_1", "Bash", "toolu_1", Status.OK)
    assert (start_range(run), end_range(run)) == (between(2, 5), (at(5) - RESULT_LATE, at(5)))


def test_old_clients_started_no_tool_before_the_last_block() -> None:
    lines = of_version(SERIAL, prompt(0), said(1, tool("toolu_1")), said(6, tool("toolu_2")), gave(8, "toolu_1"), gave(9, "toolu_2"))
    items = told(*lines)
    runs = by_key(items, Boundary.TOOL_EXECUTION)
    assert {key: start_range(run) for key, run in runs.items()} == {"toolu_1": between(6, 8), "toolu_2": between(6, 9)}
    assert one(items, Boundary.MODEL_REQUEST).attributes[semconv.TOOLS_WAIT] is True


@pytest.mark.parametrize("version", [EAGER, LATE, "nightly"])
def test_newer_and_unknown_clients_may_have_started_a_tool_with_its_own_block(version: str) -> None:
    lines = of_version(version, prompt(0), said(1, tool("toolu_1")), said(6, tool("toolu_2")), gave(8, "toolu_1"), gave(9, "toolu_2"))
    items = told(*lines)
    assert start_range(by_key(items, Boundary.TOOL_EXECUTION)["toolu_1"]) == between(1, 8)
    attributes = one(items, Boundary.MODEL_REQUEST).attributes
    assert semconv.TOOLS_WAIT not in attributes
    assert semconv.EAGER_TOOLS not in attributes


def test_a_result_before_the_last_block_proves_that_tools_start_while_the_model_streams() -> None:
    items = told(prompt(0), said(1, tool("toolu_1")), gave(3, "toolu_1"), said(6, tool("toolu_2")), gave(8, "toolu_2"))
    assert one(items, Boundary.MODEL_REQUEST).attributes[semconv.EAGER_TOOLS] is True
    assert start_range(by_key(items, Boundary.TOOL_EXECUTION)["toolu_1"]) == between(1, 3)


def test_progress_of_bash_narrows_the_start_to_the_second_it_tells() -> None:
    run = execution(
        prompt(0),
        said(1, tool()),
        progress(6.1, "bash_progress", elapsedTimeSeconds=3),
        progress(7.2, "bash_progress", elapsedTimeSeconds=4),
        gave(9),
    )
    assert start_range(run) == between(7.2 - 4 - 1 - 0.25, 6.1 - 3)


def test_progress_never_moves_the_start_before_the_block() -> None:
    run = execution(prompt(0), said(2, tool()), progress(5, "bash_progress", elapsedTimeSeconds=30), gave(9))
    assert start_range(run) == between(2, 2)


def test_progress_of_an_agent_proves_that_it_had_begun() -> None:
    lines = (progress(4, "agent_progress", agentId="a1"), progress(5, "agent_progress", agentId="a1"))
    assert start_range(execution(prompt(0), said(2, tool(name="Task")), *lines, gave(9))) == between(2, 4)


def test_an_mcp_server_is_told_when_it_was_called() -> None:
    items = told(
        prompt(0),
        said(2, tool(name="mcp__files__read_one")),
        progress(4, "mcp_progress", status="started", serverName="files", toolName="read_one"),
        gave(6),
    )
    run, call = one(items, Boundary.TOOL_EXECUTION), one(items, Boundary.MCP_CALL)
    assert start_range(run) == start_range(call) == between(4, 4)
    assert (call.key, call.parent_key, call.name) == ("toolu_1", "toolu_1", "read_one")
    assert (call.attributes[semconv.MCP_SERVER], call.attributes[semconv.MCP_METHOD]) == ("files", "tools/call")


def test_the_time_an_mcp_server_took_bounds_its_start() -> None:
    lines = (progress(6, "mcp_progress", status="completed", elapsedTimeMs=1500), gave(6))
    run = execution(prompt(0), said(2, tool(name="mcp__files__read")), *lines)
    assert start_range(run) == (at(4.5) - RESULT_LATE, at(4.5))


@pytest.mark.parametrize("name", ["durationMs", "totalDurationMs", "durationSeconds"])
def test_a_tool_that_says_how_long_it_ran_began_that_long_before_its_result(name: str) -> None:
    details = {name: 1.5 if name == "durationSeconds" else 1500}
    run = execution(prompt(0), said(2, tool(name="WebFetch")), gave(6, toolUseResult=details))
    assert start_range(run) == (at(4.5) - RESULT_LATE, at(4.5))
    assert end_range(run) == (at(6) - RESULT_LATE, at(6))


@pytest.mark.parametrize("duration", [60_000, -5, "1500", True, None, 10**400])
def test_a_duration_that_cannot_be_is_not_believed(duration: object) -> None:
    run = execution(prompt(0), said(2, tool(name="WebFetch")), gave(6, toolUseResult={"durationMs": duration}))
    assert start_range(run) == between(2, 6)


def test_a_hook_before_the_tool_moves_its_start() -> None:
    run = execution(prompt(0), said(2, tool()), hook_began(2.4, "PreToolUse"), gave(6))
    assert start_range(run) == between(2.4, 6)


def test_a_hook_after_the_tool_leaves_the_end_of_old_clients_alone() -> None:
    # They stamp the result first and write the hook's line before it.
    run = execution(prompt(0), said(2, tool()), hook_began(6.01, "PostToolUse"), gave(6))
    assert end_range(run) == (at(6) - RESULT_LATE, at(6))


def test_where_hooks_ran_before_the_result_was_stamped_the_tool_may_have_ended_at_any_time() -> None:
    run = execution(prompt(0), said(2, tool()), hook_ended(6, "PostToolUse", durationMs=900), gave(6))
    assert end_range(run) == between(2, 6)


def test_a_result_at_once_is_an_execution_of_no_length() -> None:
    run = execution(prompt(0), said(2, tool()), gave(2))
    assert (start_range(run), end_range(run)) == (between(2, 2), between(2, 2))


def test_a_result_stamped_before_its_call_never_turns_time_around() -> None:
    items = told(prompt(0), said(2, tool()), gave(1.9))
    for boundary in (Boundary.TOOL_SCHEDULE, Boundary.TOOL_EXECUTION):
        span = one(items, boundary)
        assert span.end_ns is not None
        assert span.start_ns + span.start_slack_ns <= span.end_ns
        assert span.start_ns <= span.end_ns - span.end_slack_ns


# What is kept of arguments and results ----------------------------------------------------------------------------------


def test_of_arguments_and_results_only_size_and_digest_are_kept() -> None:
    items = told(prompt(0), said(2, tool(command="ls")), gave(5, content="done"))
    attributes = one(items, Boundary.TOOL_SCHEDULE).attributes
    assert attributes[semconv.TOOL_INPUT_SIZE] == len(b'{"command":"ls"}')
    assert attributes[semconv.TOOL_INPUT_DIGEST] == digest(b'{"command":"ls"}')
    assert attributes[semconv.TOOL_RESULT_SIZE] == len(b"done")
    assert attributes[semconv.TOOL_RESULT_DIGEST] == digest(b"done")


def test_a_result_of_parts_has_their_size_and_its_error_their_text() -> None:
    parts = [words("first"), {"type": "image", "source": {"data": "AAAA"}}, words("second")]
    attributes = one(told(prompt(0), said(2, tool()), gave(5, content=parts, is_error=True)), Boundary.TOOL_SCHEDULE).attributes
    assert attributes[semconv.ERROR_TEXT] == "first\nsecond"
    assert attributes[semconv.TOOL_RESULT_SIZE] == len(json_bytes(parts))


def test_the_timeout_that_bash_was_given_is_kept_and_that_of_no_other_tool() -> None:
    lines = (said(2, tool("toolu_1", timeout=90_000)), said(3, tool("toolu_2", "Other", timeout=90_000)))
    runs = by_key(told(prompt(0), *lines, gave(5), gave(6, "toolu_2")), Boundary.TOOL_EXECUTION)
    assert runs["toolu_1"].attributes[semconv.TOOL_TIMEOUT_NS] == 90 * SECOND
    assert semconv.TOOL_TIMEOUT_NS not in runs["toolu_2"].attributes


def test_how_long_the_arguments_streamed_is_kept_where_the_client_says() -> None:
    items = told(prompt(0), said(2, tool(), toolInputStreamMs=320), gave(5))
    assert one(items, Boundary.TOOL_SCHEDULE).attributes[semconv.INPUT_STREAM_NS] == 320 * MILLISECOND


@pytest.mark.parametrize("asked", [True, False])
def test_a_tool_that_went_into_the_background_is_marked(asked: bool) -> None:  # noqa: FBT001
    details = {} if asked else {"backgroundTaskId": "b1"}
    items = told(prompt(0), said(2, tool(run_in_background=asked)), gave(3, toolUseResult=details))
    assert one(items, Boundary.TOOL_EXECUTION).attributes[semconv.TOOL_BACKGROUND] is True


def test_a_tool_that_failed_says_how() -> None:
    items = told(prompt(0), said(2, tool()), failed(5, "Exit code 2\nno such file"))
    for boundary in (Boundary.TOOL_SCHEDULE, Boundary.TOOL_EXECUTION):
        span = one(items, boundary)
        assert span.status == Status.ERROR
        assert (span.attributes[semconv.EXIT_CODE], span.attributes[semconv.ERROR_TEXT]) == (2, "Exit code 2\nno such file")


def test_a_second_result_for_a_call_changes_nothing() -> None:
    once = told(prompt(0), said(2, tool()), gave(5))
    twice = told(prompt(0), said(2, tool()), gave(5), failed(5, "again", uuid="again"))
    boundaries = (Boundary.TOOL_SCHEDULE, Boundary.TOOL_EXECUTION)
    assert [spans(once, boundary) for boundary in boundaries] == [spans(twice, boundary) for boundary in boundaries]


def test_a_result_whose_call_is_in_no_line_ended_a_tool_that_began_before_the_file() -> None:
    items = told(said(1, words()), gave(4, "toolu_9"), failed(6, "no", "toolu_8"))
    runs = by_key(items, Boundary.TOOL_EXECUTION)
    assert {key: (start_range(run), run.end_ns, run.status) for key, run in runs.items()} == {
        "toolu_9": (between(1, 4), at(4), Status.OK),
        "toolu_8": (between(1, 6), at(6), Status.ERROR),
    }
    assert spans(items, Boundary.TOOL_SCHEDULE) == []
    assert (runs["toolu_9"].name, runs["toolu_8"].attributes) == ("unknown", {semconv.ERROR_TEXT: "no"})


# Calls without an answer ------------------------------------------------------------------------------------------------


def test_a_call_without_a_result_at_the_end_of_the_file_is_open() -> None:
    items = told(prompt(0), said(2, tool()))
    assert [one(items, boundary).end_ns for boundary in (Boundary.TOOL_SCHEDULE, Boundary.TOOL_EXECUTION, Boundary.TURN)] == [None] * 3


def test_a_call_without_a_result_in_the_middle_of_the_file_was_given_up_with_its_turn() -> None:
    items = told(prompt(0), said(2, tool()), said(3, words()), prompt(60), said(61, words(), message="msg_2", request="req_2"))
    schedule = one(items, Boundary.TOOL_SCHEDULE)
    assert (schedule.end_ns, schedule.status) == (at(3), Status.CANCELLED)
    assert one(items, Boundary.TOOL_EXECUTION).end_ns == at(3)


def test_a_result_may_come_in_a_later_turn() -> None:
    items = told(prompt(0), said(2, tool()), prompt(60), gave(65), said(70, words(), message="msg_2", request="req_2"))
    assert one(items, Boundary.TOOL_SCHEDULE).end_ns == at(65)
    assert [turn.end_ns for turn in spans(items, Boundary.TURN)] == [at(2), at(70)]
