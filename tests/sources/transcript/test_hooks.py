"""Hooks: old clients write when each begins, new ones when each has ended; the hooks of one event run together."""

import pytest

from tests.sources.transcript.written import (
    SESSION,
    at,
    between,
    by_key,
    end_range,
    gave,
    hook_began,
    hook_ended,
    one,
    prompt,
    said,
    spans,
    start_range,
    system,
    told,
    tool,
    words,
)
from tracekit.model import Boundary, Status, semconv


def test_a_hook_of_an_old_client_began_at_its_line_and_ended_before_what_its_tool_gave() -> None:
    items = told(prompt(0), said(2, tool()), hook_began(2.1, "PreToolUse", name="PreToolUse:Bash"), gave(6))
    run = one(items, Boundary.HOOK_REPLY)
    assert (run.key, run.name, run.parent_key) == ("toolu_1:PreToolUse:Bash", "PreToolUse:Bash", "toolu_1")
    assert (start_range(run), end_range(run)) == (between(2.1, 2.1), between(2.1, 6))
    assert (run.status, run.attributes) == (
        Status.UNSET,
        {
            semconv.HOOK_EVENT: "PreToolUse",
            semconv.HOOK_NAME: "PreToolUse:Bash",
            semconv.HOOK_COUNT: 1,
            semconv.HOOK_TOOL: "toolu_1",
        },
    )


def test_hooks_after_a_tool_had_ended_when_the_next_request_began() -> None:
    lines = (hook_began(6.01, "PostToolUse"), gave(6), said(9, words(), message="msg_2", request="req_2"))
    assert end_range(one(told(prompt(0), said(2, tool()), *lines), Boundary.HOOK_REPLY)) == between(6.01, 9)


def test_hooks_of_one_event_and_tool_are_one_run() -> None:
    lines = (hook_began(2.1, "PreToolUse"), hook_began(2.2, "PreToolUse", uuid="second"), gave(6))
    run = one(told(prompt(0), said(2, tool()), *lines), Boundary.HOOK_REPLY)
    assert (run.start_ns, run.attributes[semconv.HOOK_COUNT]) == (at(2.1), 2)


def test_a_hook_of_a_new_client_says_how_long_it_took() -> None:
    run = one(told(prompt(0), said(2, tool()), hook_ended(6, "PostToolUse", durationMs=400, exitCode=0), gave(6)), Boundary.HOOK_REPLY)
    assert (start_range(run), end_range(run), run.status) == (between(5.6, 5.6), between(6, 6), Status.OK)
    assert (run.attributes[semconv.HOOK_OUTCOME], run.attributes[semconv.EXIT_CODE]) == ("success", 0)


def test_of_a_hook_over_http_it_is_not_known_how_long_it_took() -> None:
    run = one(told(prompt(0), said(2, tool()), hook_ended(6, "PostToolUse", exitCode=200), gave(6)), Boundary.HOOK_REPLY)
    assert (start_range(run), end_range(run)) == (between(2, 6), between(6, 6))


@pytest.mark.parametrize(
    ("kind", "outcome", "status"),
    [
        ("hook_success", "success", Status.OK),
        ("hook_blocking_error", "blocking", Status.OK),
        ("hook_non_blocking_error", "error", Status.ERROR),
        ("hook_error_during_execution", "error", Status.ERROR),
        ("hook_cancelled", "cancelled", Status.CANCELLED),
    ],
)
def test_each_kind_of_ending_is_an_outcome(kind: str, outcome: str, status: Status) -> None:
    run = one(told(prompt(0), said(2, tool()), hook_ended(6, "PostToolUse", kind), gave(6)), Boundary.HOOK_REPLY)
    assert (run.attributes[semconv.HOOK_OUTCOME], run.status) == (outcome, status)


def test_of_several_hooks_the_worst_is_the_outcome_whatever_came_last() -> None:
    lines = (
        hook_ended(6, "PostToolUse", "hook_success", durationMs=100),
        hook_ended(6.1, "PostToolUse", "hook_non_blocking_error", stderr="no such script", exitCode=1, durationMs=300),
        hook_ended(6.2, "PostToolUse", "hook_success", durationMs=50),
    )
    run = one(told(prompt(0), said(2, tool()), *lines, gave(6)), Boundary.HOOK_REPLY)
    assert (start_range(run), end_range(run)) == (between(5.8, 5.8), between(6.2, 6.2))
    assert (run.attributes[semconv.HOOK_OUTCOME], run.attributes[semconv.HOOK_COUNT]) == ("error", 3)
    assert (run.attributes[semconv.ERROR_TEXT], run.attributes[semconv.EXIT_CODE]) == ("no such script", 1)


def test_what_a_hook_says_that_blocks_is_kept_without_its_command() -> None:
    said_no = {"blockingError": "[check-it --all [x]]: not on a Friday", "command": "check-it --all [x]"}
    items = told(prompt(0), said(2, tool()), hook_ended(6, "PostToolUse", "hook_blocking_error", blockingError=said_no), gave(6))
    assert one(items, Boundary.HOOK_REPLY).attributes[semconv.ERROR_TEXT] == "[…]: not on a Friday"


@pytest.mark.parametrize("command", ["check-it --all", "check [a] | b: [c]", "one\ntwo"])
def test_a_tool_that_a_hook_refused_says_why_without_the_hooks_command(command: str) -> None:
    text = f"PreToolUse:Bash hook error: [{command}]: not on a Friday"
    items = told(prompt(0), said(2, tool()), gave(3, content=text, is_error=True))
    assert one(items, Boundary.TOOL_SCHEDULE).attributes[semconv.ERROR_TEXT] == "PreToolUse:Bash hook error: […]: not on a Friday"


def test_stop_hooks_end_with_the_line_that_sums_them_up() -> None:
    lines = (hook_began(3.1, "Stop", "h-1"), system(4, "stop_hook_summary", toolUseID="h-1", hookErrors=[], preventedContinuation=False))
    items = told(prompt(0), said(3, words()), *lines)
    run = one(items, Boundary.HOOK_REPLY)
    assert (run.parent_key, start_range(run), end_range(run), run.status) == ("user@0", between(3.1, 3.1), between(4, 4), Status.OK)
    assert one(items, Boundary.TURN).end_ns == at(4)


def test_stop_hooks_that_failed_say_how() -> None:
    errors = ["Failed with non-blocking status code: no such script"]
    lines = (hook_began(3.1, "Stop", "h-1"), system(4, "stop_hook_summary", toolUseID="h-1", hookErrors=errors))
    run = one(told(prompt(0), said(3, words()), *lines), Boundary.HOOK_REPLY)
    assert (run.status, run.attributes[semconv.HOOK_OUTCOME], run.attributes[semconv.ERROR_TEXT]) == (Status.ERROR, "error", errors[0])


def test_a_summary_of_stop_hooks_that_had_ended_changes_nothing_of_them() -> None:
    ended = hook_ended(3.5, "Stop", "hook_non_blocking_error", key="h-1", durationMs=300, stderr="oh")
    run = one(told(prompt(0), said(3, words()), ended, system(4, "stop_hook_summary", toolUseID="h-1")), Boundary.HOOK_REPLY)
    assert (end_range(run), run.attributes[semconv.HOOK_OUTCOME]) == (between(3.5, 3.5), "error")


def test_hooks_of_a_start_belong_to_the_session_and_to_no_turn() -> None:
    items = told(hook_began(0, "SessionStart", "s-1"), prompt(5), said(6, words()), hook_ended(60, "SessionEnd", key="s-2", durationMs=500))
    runs = by_key(items, Boundary.HOOK_REPLY)
    assert {run.parent_key for run in runs.values()} == {SESSION}
    assert start_range(runs["s-2:SessionEnd"]) == between(59.5, 59.5)
    assert [(turn.start_ns, turn.end_ns) for turn in spans(items, Boundary.TURN)] == [between(5, 6)]


def test_a_hook_that_nothing_followed_is_open() -> None:
    run = one(told(prompt(0), said(2, tool()), hook_began(2.1, "PreToolUse")), Boundary.HOOK_REPLY)
    assert run.end_ns is None


@pytest.mark.parametrize("kind", ["hook_additional_context", "hook_system_message", "date", "queued_command", "something_new"])
def test_attachments_that_end_no_hook_are_passed_over(kind: str) -> None:
    assert spans(told(prompt(0), hook_ended(1, "PostToolUse", kind), said(2, words())), Boundary.HOOK_REPLY) == []
