"""Calls that a person, a rule, a hook or a sibling kept from running: no execution is invented for them."""

import pytest

from tests.sources.transcript.written import Entry, at, between, failed, gave, one, prompt, said, spans, start_range, told, tool, user
from tracekit.model import Boundary, Problem, Span, Status, semconv

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT"
    " written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)


def after_call(name: str, *entries: Entry) -> list[Span | Problem]:
    return told(prompt(0), said(2, tool(name=name)), *entries)


def test_a_call_that_the_user_rejected_waited_for_the_user_and_did_not_run() -> None:
    items = after_call("Edit", failed(9, REJECTED), user(9.001, "[Request interrupted by user for tool use]"))
    assert spans(items, Boundary.TOOL_EXECUTION) == []
    wait = one(items, Boundary.PERMISSION_WAIT)
    assert (wait.key, wait.parent_key, wait.name) == ("toolu_1", "toolu_1", "Edit")
    assert (start_range(wait), wait.end_ns) == (between(2, 2), at(9))
    assert wait.attributes[semconv.PERMISSION_DECISION] == "reject"
    assert one(items, Boundary.TOOL_SCHEDULE).status == Status.ERROR


def test_late_clients_say_that_it_was_the_user_whatever_the_words() -> None:
    decision = {"decision": "reject", "source": "user"}
    items = after_call("Edit", failed(9, "No, thanks.", toolDenialKind="user-rejected", permissionDecision=decision))
    wait = one(items, Boundary.PERMISSION_WAIT)
    assert (wait.attributes[semconv.PERMISSION_DECISION], wait.attributes[semconv.PERMISSION_SOURCE]) == ("reject", "user")
    assert spans(items, Boundary.TOOL_EXECUTION) == []
    assert one(items, Boundary.TOOL_SCHEDULE).attributes[semconv.DENIAL_KIND] == "user-rejected"


@pytest.mark.parametrize("name", ["AskUserQuestion", "ExitPlanMode"])
def test_the_time_of_a_question_to_the_user_is_the_users(name: str) -> None:
    items = after_call(name, gave(40))
    wait = one(items, Boundary.PERMISSION_WAIT)
    assert (start_range(wait), wait.end_ns, wait.attributes[semconv.PERMISSION_DECISION]) == (between(2, 2), at(40), "accept")
    assert wait.attributes[semconv.TOOL_INTERACTIVE] is True
    assert one(items, Boundary.TOOL_SCHEDULE).attributes[semconv.TOOL_INTERACTIVE] is True
    assert spans(items, Boundary.TOOL_EXECUTION) == []


def test_a_question_that_is_still_asked_is_an_open_wait() -> None:
    wait = one(after_call("AskUserQuestion"), Boundary.PERMISSION_WAIT)
    assert (wait.end_ns, wait.attributes[semconv.PERMISSION_DECISION]) == (None, "unanswered")


def test_old_clients_asked_only_once_the_message_was_whole() -> None:
    lines = (said(2, tool(name="AskUserQuestion"), version="2.1.17"), said(4, tool("toolu_2", "Read"), version="2.1.17"))
    items = told(prompt(0), *lines, gave(40), gave(41, "toolu_2"))
    assert start_range(one(items, Boundary.PERMISSION_WAIT)) == between(2, 4)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Permission to use Bash with command make all has been denied.", {}),
        ("Claude requested permissions to write to a.txt, but you haven't granted it yet.", {}),
        ("Denied.", {"toolDenialKind": "permission-rule"}),
        ("Denied.", {"toolDenialKind": "automode-blocked"}),
        ("Cancelled.", {"toolDenialKind": "cancelled"}),
        ("<tool_use_error>File does not exist.</tool_use_error>", {}),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", {}),
        ("PreToolUse:Bash hook error: [check-it]: not on a Friday", {}),
    ],
)
def test_a_call_that_was_refused_before_it_began_did_not_run_and_nobody_waited(text: str, fields: Entry) -> None:
    items = after_call("Bash", failed(2.1, text, **fields))
    assert spans(items, Boundary.TOOL_EXECUTION) == []
    assert spans(items, Boundary.PERMISSION_WAIT) == []
    schedule = one(items, Boundary.TOOL_SCHEDULE)
    assert (schedule.status, schedule.end_ns) == (Status.ERROR, at(2.1))


@pytest.mark.parametrize(
    "text",
    [
        "Exit code 1\nPermission to use it has been denied.",
        "the log says: <tool_use_error>no</tool_use_error>",
        f"> {REJECTED}",
        "cat: PreToolUse:Bash hook error: [x]: y",
    ],
)
def test_such_words_inside_a_longer_text_are_the_tools_own(text: str) -> None:
    items = after_call("Bash", failed(5, text))
    assert one(items, Boundary.TOOL_EXECUTION).status == Status.ERROR
    assert spans(items, Boundary.PERMISSION_WAIT) == []


def test_such_words_in_a_result_that_is_no_error_are_its_content() -> None:
    items = after_call("Bash", gave(5, content=REJECTED))
    assert one(items, Boundary.TOOL_EXECUTION).status == Status.OK


def test_a_running_tool_that_the_user_stopped_ran_until_then() -> None:
    items = after_call("Bash", failed(7, "Exit code 137\n[Request interrupted by user for tool use]\nhalf of it"))
    run = one(items, Boundary.TOOL_EXECUTION)
    assert (run.status, run.end_ns, run.attributes[semconv.EXIT_CODE]) == (Status.CANCELLED, at(7), 137)


def test_a_call_that_was_allowed_says_who_allowed_it() -> None:
    items = after_call("Bash", gave(5, permissionDecision={"decision": "accept", "source": "config"}))
    attributes = one(items, Boundary.TOOL_SCHEDULE).attributes
    assert (attributes[semconv.PERMISSION_DECISION], attributes[semconv.PERMISSION_SOURCE]) == ("accept", "config")


def test_a_call_that_was_stopped_while_it_ran_was_not_refused() -> None:
    text = f"{REJECTED} Correction to the text above: this call was stopped while running, not refused before it ran."
    items = after_call("Bash", failed(9, text, toolDenialKind="user-rejected"))
    assert one(items, Boundary.TOOL_EXECUTION).status is Status.ERROR
    assert spans(items, Boundary.PERMISSION_WAIT) == []
