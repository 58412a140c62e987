"""Who was asked, who refused, and what did not run."""

from tests.sources.stream_json.told import (
    BUSY,
    WITH_TOOL,
    Line,
    at,
    end_range,
    gave,
    init,
    live,
    one,
    requesting,
    result,
    said,
    spans,
    start_range,
    system,
    tool,
)
from tracekit.model import Boundary, Status, semconv

ASKS: Line = {
    "type": "control_request",
    "request_id": "1",
    "request": {"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "toolu_1"},
}


def test_a_question_for_permission_is_a_wait_until_the_tool_began() -> None:
    answered = gave(meta={"permission_decision": {"decision": "accept", "source": "user_temporary"}})
    items = live(*WITH_TOOL, (2, ASKS), (9, answered), (10, result(10)))
    wait, execution = one(items, Boundary.PERMISSION_WAIT), one(items, Boundary.TOOL_EXECUTION)
    assert (start_range(wait), end_range(wait)) == ((at(2) - BUSY, at(2)), (at(2) - BUSY, at(9)))
    assert (wait.attributes[semconv.PERMISSION_DECISION], wait.attributes[semconv.PERMISSION_SOURCE]) == ("accept", "user_temporary")
    assert start_range(execution) == (at(2) - BUSY, at(9))


def test_a_question_nobody_answered_is_an_open_wait_and_no_execution() -> None:
    items = live(*WITH_TOOL, (2, ASKS))
    assert one(items, Boundary.PERMISSION_WAIT).end_ns is None
    assert spans(items, Boundary.TOOL_EXECUTION) == []


def test_a_rule_that_refuses() -> None:
    text = "Claude requested permissions to write"
    denied = system("permission_denied", tool_use_id="toolu_1", tool_name="Bash", message=text)
    meta = {"non_execution_kind": "user-rejected", "permission_decision": {"decision": "reject", "source": "config"}}
    items = live(*WITH_TOOL, (1.5, denied), (1.6, gave(content=text, is_error=True, meta=meta)), (2, result(2)))
    wait, schedule = one(items, Boundary.PERMISSION_WAIT), one(items, Boundary.TOOL_SCHEDULE)
    assert (wait.attributes[semconv.PERMISSION_DECISION], end_range(wait)) == ("reject", (at(1.5) - BUSY, at(1.6)))
    assert (schedule.attributes[semconv.DENIAL_KIND], schedule.status) == ("user-rejected", Status.ERROR)
    assert spans(items, Boundary.TOOL_EXECUTION) == []


def test_a_hook_that_refuses_is_no_wait_for_a_person() -> None:
    meta = {"non_execution_kind": "permission-rule", "permission_decision": {"decision": "reject", "source": "hook"}}
    items = live(*WITH_TOOL, (1.6, gave(content="PreToolUse:Bash hook error: no", is_error=True, meta=meta)))
    assert one(items, Boundary.TOOL_SCHEDULE).attributes[semconv.DENIAL_KIND] == "permission-rule"
    assert spans(items, Boundary.PERMISSION_WAIT) == spans(items, Boundary.TOOL_EXECUTION) == []


def test_a_refusal_that_only_the_result_tells() -> None:
    items = live(*WITH_TOOL, (2, result(2, permission_denials=[{"tool_name": "Bash", "tool_use_id": "toolu_1"}])))
    schedule = one(items, Boundary.TOOL_SCHEDULE)
    assert (schedule.status, schedule.attributes[semconv.DENIAL_KIND], schedule.attributes[semconv.PERMISSION_DECISION]) == (
        Status.ERROR,
        "permission-rule",
        "reject",
    )
    assert spans(items, Boundary.TOOL_EXECUTION) == []


def test_a_tool_that_is_a_question_takes_a_persons_time() -> None:
    items = live((0, init()), (0.1, requesting()), (1, said(tool(name="AskUserQuestion"))), (9, gave()))
    wait = one(items, Boundary.PERMISSION_WAIT)
    assert (wait.attributes[semconv.TOOL_INTERACTIVE], start_range(wait)[1], end_range(wait)[1]) == (True, at(1), at(9))
    assert spans(items, Boundary.TOOL_EXECUTION) == []


def test_the_command_line_of_a_hook_that_blocked_is_no_error_text() -> None:
    text = "PreToolUse:Bash hook error: [check --token quince]: not allowed"
    items = live(*WITH_TOOL, (1.6, gave(content=text, is_error=True)))
    assert one(items, Boundary.TOOL_SCHEDULE).attributes[semconv.ERROR_TEXT] == "PreToolUse:Bash hook error: […]: not allowed"
    assert spans(items, Boundary.TOOL_EXECUTION) == []


def test_a_call_that_was_stopped_while_it_ran_was_not_refused() -> None:
    text = (
        "The user doesn't want to proceed with this tool use. Correction: this call was stopped while running, not refused before it ran."
    )
    items = live(*WITH_TOOL, (1.6, gave(content=text, is_error=True, meta={"non_execution_kind": "user-rejected"})))
    assert end_range(one(items, Boundary.TOOL_EXECUTION))[1] == at(1.6)
    assert spans(items, Boundary.PERMISSION_WAIT) == []
