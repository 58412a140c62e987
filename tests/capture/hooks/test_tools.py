"""Tool calls as hooks see them: scheduled, waiting for permission, run, over."""

import pytest

from tests.capture.hooks.payloads import BASH, MS, SECRET, Play, end, start
from tracekit.model import Boundary, Source, Span, Status, semconv
from tracekit.model.digest import digest

HOUR_MS = 3_600_000


def by_boundary(spans: list[Span]) -> dict[str, Span]:
    return {span.boundary: span for span in spans}


def test_a_call_is_scheduled_before_its_hook_and_runs_for_as_long_as_the_client_says() -> None:
    play = Play()
    play.hook(0, "UserPromptSubmit", prompt="do it")
    opened = play.one(2_000, "PreToolUse", tool_use_id="toolu_1", **BASH)
    assert (opened.source, opened.boundary, opened.key, opened.name, opened.status) == (
        Source.HOOKS,
        Boundary.TOOL_SCHEDULE,
        "toolu_1",
        "Bash",
        Status.UNSET,
    )
    # Not before its turn; a hook comes up to 50 ms late.
    assert (start(opened), end(opened)) == ((-50, 2_000), None)
    found = by_boundary(play.hook(3_110, "PostToolUse", tool_use_id="toolu_1", duration_ms=1_038, tool_response={"stdout": "x"}, **BASH))
    ran, over = found[Boundary.TOOL_EXECUTION], found[Boundary.TOOL_SCHEDULE]
    assert (start(ran), end(ran)) == ((3_110 - 1_038 - 51, 3_110 - 1_038), (3_060, 3_110))
    assert (start(over), end(over)) == (start(opened), (3_060, 3_110))
    assert (ran.parent_key, ran.status, over.status) == ("toolu_1", Status.OK, Status.OK)
    assert over.attributes == {
        semconv.TOOL_NAME: "Bash",
        semconv.TOOL_INPUT_SIZE: 38,
        semconv.TOOL_INPUT_DIGEST: opened.attributes[semconv.TOOL_INPUT_DIGEST],
        semconv.TOOL_TIMEOUT_NS: 5_000 * MS,
    }


def test_a_call_of_the_next_response_is_not_older_than_the_last_batch() -> None:
    play = Play()
    play.hook(0, "UserPromptSubmit")
    play.hook(1_000, "PreToolUse", tool_use_id="toolu_1", **BASH)
    play.hook(2_000, "PostToolUse", tool_use_id="toolu_1", duration_ms=900, **BASH)
    play.hook(2_010, "PostToolBatch", tool_calls=[{"tool_use_id": "toolu_1", "tool_response": "done", **BASH}])
    assert start(play.one(3_000, "PreToolUse", tool_use_id="toolu_2", **BASH)) == (1_960, 3_000)
    # Another agent's calls are another response's.
    assert start(play.one(3_000, "PreToolUse", tool_use_id="toolu_3", agent_id="a1", **BASH)) == (-50, 3_000)


def test_a_process_that_knows_nothing_leaves_more_slack_and_nothing_else() -> None:
    play = Play(stays=False)
    play.hook(0, "UserPromptSubmit")
    assert start(play.one(2_000, "PreToolUse", tool_use_id="toolu_1", **BASH)) == (2_000 - 50 - 600_000, 2_000)
    found = by_boundary(play.hook(3_110, "PostToolUse", tool_use_id="toolu_1", duration_ms=1_038, **BASH))
    assert start(found[Boundary.TOOL_EXECUTION]) == (3_110 - 1_038 - 51, 3_110 - 1_038)
    assert start(found[Boundary.TOOL_SCHEDULE]) == (3_110 - 1_038 - 51 - 600_000, 3_110 - 1_038)


def test_without_a_duration_a_tool_began_after_its_hook_or_is_not_said_to_have_run() -> None:
    play = Play()
    play.hook(1_000, "PreToolUse", tool_use_id="toolu_1", **BASH)
    ran = by_boundary(play.hook(3_000, "PostToolUse", tool_use_id="toolu_1", **BASH))[Boundary.TOOL_EXECUTION]
    assert (start(ran), end(ran)) == ((950, 3_000), (2_950, 3_000))
    spans = Play(stays=False).hook(3_000, "PostToolUse", tool_use_id="toolu_1", **BASH)
    assert list(by_boundary(spans)) == [Boundary.TOOL_SCHEDULE]


@pytest.mark.parametrize(("interrupted", "status"), [(False, Status.ERROR), (True, Status.CANCELLED)])
def test_a_tool_that_failed_says_how(interrupted: bool, status: Status) -> None:  # noqa: FBT001
    error = "Exit code 3\nno key sk-ant-REDACTED given"
    spans = Play().hook(9, "PostToolUseFailure", tool_use_id="toolu_1", error=error, is_interrupt=interrupted, duration_ms=5, **BASH)
    for span in spans:
        assert span.status == status
        assert span.attributes[semconv.EXIT_CODE] == 3
        assert span.attributes[semconv.ERROR_TEXT] == "Exit code 3\nno key [secret] given"


def test_a_question_is_about_the_last_open_call_like_it_and_answered_before_the_tool_runs() -> None:
    play = Play()
    play.hook(0, "PreToolUse", tool_use_id="toolu_other", tool_name="Bash", tool_input={"command": "ls"})
    play.hook(10, "PreToolUse", tool_use_id="toolu_1", **BASH)
    play.hook(11, "PreToolUse", tool_use_id="toolu_2", tool_name="Bash", tool_input={"command": "pwd"})
    asked = play.one(50, "PermissionRequest", permission_suggestions=[], **BASH)
    assert (asked.boundary, asked.key, asked.parent_key, asked.name) == (Boundary.PERMISSION_WAIT, "toolu_1", "toolu_1", "Bash")
    assert (start(asked), end(asked)) == ((0, 50), None)
    answered = by_boundary(play.hook(9_000, "PostToolUse", tool_use_id="toolu_1", duration_ms=1_000, **BASH))[Boundary.PERMISSION_WAIT]
    assert (answered.key, start(answered)) == ("toolu_1", (0, 50))
    # The tool ran within a second of the answer.
    assert end(answered) == (9_000 - 1_000 - 51 - 1_000, 8_000)
    assert answered.attributes == {semconv.TOOL_NAME: "Bash", semconv.PERMISSION_DECISION: "accept"}
    assert Boundary.PERMISSION_WAIT not in by_boundary(play.hook(9_100, "PostToolUse", tool_use_id="toolu_2", duration_ms=1, **BASH))


def test_a_question_whose_call_is_not_known_has_a_name_of_its_own_until_the_call_ends() -> None:
    play = Play()
    asked = play.one(50, "PermissionRequest", **BASH)
    assert (asked.key, asked.parent_key) == (f"permission@{asked.start_ns + asked.start_slack_ns}", None)
    answered = by_boundary(play.hook(9_000, "PostToolUse", tool_use_id="toolu_1", duration_ms=1_000, **BASH))[Boundary.PERMISSION_WAIT]
    assert (answered.key, answered.attributes[semconv.OPENED_AS], start(answered)) == ("toolu_1", asked.key, start(asked))
    assert play.known.open("s1", Boundary.PERMISSION_WAIT) == []


def test_a_call_that_was_refused_never_runs_and_its_batch_says_that_it_is_over() -> None:
    play = Play()
    play.hook(0, "PreToolUse", tool_use_id="toolu_1", **BASH)
    play.hook(40, "PermissionRequest", **BASH)
    play.hook(60, "PreToolUse", tool_use_id="toolu_2", tool_name="Read", tool_input={})
    play.hook(70, "PostToolUse", tool_use_id="toolu_2", tool_name="Read", tool_input={}, duration_ms=3)
    calls = [
        {"tool_use_id": "toolu_1", "tool_response": "no!", **BASH},
        {"tool_use_id": "toolu_2", "tool_response": "1", "tool_name": "Read"},
    ]
    found = by_boundary(play.hook(5_000, "PostToolBatch", tool_calls=calls))
    wait, call = found[Boundary.PERMISSION_WAIT], found[Boundary.TOOL_SCHEDULE]
    assert (wait.key, wait.attributes[semconv.PERMISSION_DECISION], end(wait)) == ("toolu_1", "reject", (0 - 10, 5_000))
    assert (call.key, call.status, end(call)) == ("toolu_1", Status.UNSET, (-50, 5_000))
    assert (call.attributes[semconv.TOOL_RESULT_SIZE], call.attributes[semconv.TOOL_RESULT_DIGEST]) == (3, digest(b"no!"))
    assert play.known.open("s1", Boundary.TOOL_SCHEDULE) == []


def test_the_classifier_of_the_auto_mode_refuses_with_a_reason() -> None:
    play = Play()
    play.hook(0, "PreToolUse", tool_use_id="toolu_1", **BASH)
    denied = play.one(800, "PermissionDenied", tool_use_id="toolu_1", reason="it deletes what it did not make", **BASH)
    assert (start(denied), end(denied)) == ((-50, 800), (750, 800))
    assert denied.attributes == {
        semconv.TOOL_NAME: "Bash",
        semconv.PERMISSION_DECISION: "reject",
        semconv.DENIAL_KIND: "automode-blocked",
        semconv.ERROR_TEXT: "it deletes what it did not make",
    }
    assert start(Play(stays=False).one(800, "PermissionDenied", tool_use_id="toolu_1", **BASH)) == (750 - HOUR_MS, 800)


def test_a_notification_of_a_question_is_news_where_no_hook_saw_it_asked() -> None:
    play = Play()
    play.hook(0, "PreToolUse", tool_use_id="toolu_1", **BASH)
    told = play.one(6_100, "Notification", notification_type="permission_prompt", message="Claude needs your permission")
    assert (told.key, told.name, start(told)) == ("toolu_1", "Bash", (6_100 - 50 - 10_000, 6_100))
    assert play.hook(6_200, "Notification", notification_type="permission_prompt", message="again") == []
    assert play.hook(6_300, "Notification", notification_type="auth_success", message="hello") == []


@pytest.mark.parametrize(
    ("fields", "attribute"),
    [
        ({"tool_name": "Bash", "tool_input": {"command": "x", "run_in_background": True}}, semconv.TOOL_BACKGROUND),
        ({"tool_name": "Agent", "tool_input": {}, "tool_response": {"isAsync": True}}, semconv.TOOL_BACKGROUND),
        ({"tool_name": "AskUserQuestion", "tool_input": {}}, semconv.TOOL_INTERACTIVE),
    ],
)
def test_a_call_says_what_sort_of_waiting_it_is(fields: dict[str, object], attribute: str) -> None:
    found = by_boundary(Play().hook(9, "PostToolUse", tool_use_id="toolu_1", duration_ms=1, **fields))
    assert found[Boundary.TOOL_SCHEDULE].attributes[attribute] is True


def test_a_call_to_a_server_names_it() -> None:
    server = {"name": "demo", "source": "dynamic"}
    opened = Play().one(9, "PreToolUse", tool_use_id="toolu_1", tool_name="mcp__demo__add", tool_input={"a": 1}, mcp_server=server)
    assert opened.attributes[semconv.MCP_SERVER] == "demo"


def test_what_a_tool_was_given_is_kept_only_when_asked_for() -> None:
    call = {"tool_name": "Write", "tool_input": {"content": f"{SECRET} password=hunter2hunter2"}, "tool_response": {"text": SECRET}}
    for content in (False, True):
        play = Play(content=content)
        play.hook(0, "UserPromptSubmit", prompt=SECRET)
        play.hook(1, "PreToolUse", tool_use_id="toolu_1", **call)
        play.hook(2, "PermissionRequest", **call)
        play.hook(3, "PostToolUse", tool_use_id="toolu_1", duration_ms=1, **call)
        play.hook(4, "PostToolBatch", tool_calls=[{"tool_use_id": "toolu_1", **call}])
        play.hook(5, "PreCompact", trigger="auto", custom_instructions=SECRET)
        play.hook(6, "PostCompact", trigger="auto", compact_summary=SECRET)
        play.hook(7, "Stop", last_assistant_message=SECRET)
        kept = [value for span in play.spans for value in span.attributes.values() if SECRET in str(value)]
        assert bool(kept) is content
        assert "hunter2" not in str(play.spans)
