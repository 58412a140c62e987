"""Sessions, turns, sub-agents, compactions and elicitations as hooks see them."""

import pytest

from tests.capture.hooks.payloads import BASH, Play, end, start
from tracekit.model import Boundary, Span, Status, semconv

HOUR_MS = 3_600_000


def test_a_turn_lasts_from_its_prompt_to_its_stop() -> None:
    play = Play()
    opened = play.one(0, "UserPromptSubmit", prompt="do it")
    assert (opened.boundary, opened.key, opened.parent_key, start(opened), end(opened)) == (Boundary.TURN, "p1", "s1", (-50, 0), None)
    closed = play.one(60_000, "Stop", stop_hook_active=False)
    assert (closed.key, closed.status, start(closed), end(closed)) == ("p1", Status.OK, (-50, 0), (59_950, 60_000))
    assert closed.attributes == {semconv.TURN_KIND: "prompt", semconv.PROMPT_ID: "p1", semconv.PROJECT: "/home/demo"}


def test_where_the_client_names_no_prompt_the_last_turn_is_meant() -> None:
    play = Play()
    opened = play.one(0, "UserPromptSubmit", prompt_id=None)
    assert opened.key.startswith("turn:s1@")
    assert play.one(900, "Stop", prompt_id=None).key == opened.key
    assert play.hook(900, "Stop", prompt_id=None) == []


def test_a_stop_that_nobody_saw_begin_says_how_little_it_knows() -> None:
    assert start(Play(stays=False).one(900, "Stop")) == (850 - HOUR_MS, 900)


DETAILS = '400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"},"request_id":"req_22681e"}'


def test_a_turn_that_failed_names_its_error_and_the_request_where_the_server_did() -> None:
    play = Play()
    play.hook(0, "UserPromptSubmit")
    turn, request = play.hook(
        500, "StopFailure", error="invalid_request", error_details=DETAILS, last_assistant_message="Prompt is too long"
    )
    assert (turn.boundary, turn.key, turn.status, end(turn)) == (Boundary.TURN, "p1", Status.ERROR, (450, 500))
    assert (turn.attributes[semconv.ERROR_TYPE], turn.attributes[semconv.ERROR_TEXT]) == ("invalid_request", DETAILS)
    assert turn.attributes[semconv.RESULT_IS_ERROR] is True
    assert (request.boundary, request.key, request.parent_key, request.status) == (Boundary.MODEL_REQUEST, "req_22681e", "p1", Status.ERROR)
    assert (start(request), request.attributes[semconv.HTTP_STATUS]) == ((-50, 500), 400)


def test_without_details_the_words_that_the_user_sees_are_the_error() -> None:
    play = Play()
    turn = play.one(500, "StopFailure", error="server_error", last_assistant_message="API Error: 500 Internal server error")
    assert turn.attributes[semconv.ERROR_TEXT] == "API Error: 500 Internal server error"


def test_a_client_that_waits_for_its_user_has_no_turn_open() -> None:
    play = Play()
    play.hook(0, "UserPromptSubmit")
    idle = play.one(90_000, "Notification", notification_type="idle_prompt", message="Claude is waiting for your input")
    assert (idle.boundary, idle.key, idle.status, end(idle)) == (Boundary.TURN, "p1", Status.UNSET, (0, 90_000))
    assert play.hook(99_000, "Notification", notification_type="idle_prompt", message="still") == []


def test_a_sub_agent_belongs_to_the_only_call_that_can_have_started_it() -> None:
    play = Play()
    play.hook(0, "PreToolUse", tool_use_id="toolu_1", tool_name="Agent", tool_input={"prompt": "count"})
    opened = play.one(40, "SubagentStart", agent_id="a1", agent_type="general-purpose")
    assert (opened.boundary, opened.key, opened.agent_id, opened.parent_key) == (Boundary.SUBAGENT, "a1", "a1", "toolu_1")
    assert opened.attributes == {semconv.AGENT_TYPE: "general-purpose", semconv.PARENT_TOOL: "toolu_1"}
    tool = play.one(300, "PreToolUse", agent_id="a1", tool_use_id="toolu_2", **BASH)
    assert (tool.agent_id, start(tool)) == ("a1", (-10, 300))
    closed = play.one(2_000, "SubagentStop", agent_id="a1", agent_type="general-purpose", stop_hook_active=False)
    assert (closed.key, closed.parent_key, start(closed), end(closed)) == ("a1", "toolu_1", (-10, 40), (1_950, 2_000))


def test_of_two_calls_neither_is_said_to_have_started_a_sub_agent() -> None:
    play = Play()
    for number in range(2):
        play.hook(0, "PreToolUse", tool_use_id=f"toolu_{number}", tool_name="Agent", tool_input={})
    assert play.one(40, "SubagentStart", agent_id="a1", agent_type="Explore").parent_key is None


def test_the_clients_own_agents_are_no_sub_agents() -> None:
    assert Play().hook(9, "SubagentStop", agent_id="a1", agent_type="") == []


def test_a_compaction_inside_a_turn() -> None:
    play = Play()
    opened = play.one(0, "PreCompact", trigger="auto", custom_instructions=None)
    assert (opened.key, opened.name, opened.parent_key) == (f"compaction@{opened.start_ns + opened.start_slack_ns}", "auto", "p1")
    closed = play.one(1_100, "PostCompact", trigger="auto", compact_summary="…")
    assert (closed.key, closed.status, start(closed), end(closed)) == (opened.key, Status.OK, (-50, 0), (1_050, 1_100))
    assert closed.attributes == {semconv.COMPACTION_TRIGGER: "auto", semconv.COMPACTION_KIND: "full"}


def test_a_compaction_that_the_user_asked_for_is_a_turn_too() -> None:
    play = Play()
    began, ended = play.hook(0, "PreCompact", trigger="manual"), play.hook(900, "PostCompact", trigger="manual")
    assert [(span.boundary, span.key, span.end_ns is None) for span in began[1:] + ended[1:]] == [
        (Boundary.TURN, "p1", True),
        (Boundary.TURN, "p1", False),
    ]
    assert {span.attributes[semconv.TURN_KIND] for span in began[1:] + ended[1:]} == {"command"}


def test_processes_that_know_nothing_of_each_other_name_a_compaction_alike() -> None:
    play = Play(stays=False)
    assert play.one(0, "PreCompact", trigger="auto").key == play.one(900, "PostCompact", trigger="auto").key == "compaction:p1"


@pytest.mark.parametrize(("source", "startup_ms"), [("startup", 2_000), ("clear", 0), ("fork", 2_000), (None, 2_000)])
def test_a_session_begins_before_its_hook_and_ends_with_a_reason(source: str | None, startup_ms: int) -> None:
    play = Play()
    opened = play.one(0, "SessionStart", source=source, model="claude-sonnet-4-5", prompt_id=None)
    assert (opened.boundary, opened.key, start(opened), end(opened)) == (Boundary.SESSION, "s1", (-50 - startup_ms, 0), None)
    assert opened.attributes.get(semconv.SESSION_SOURCE) == source
    closed = play.one(9_000, "SessionEnd", reason="prompt_input_exit")
    assert (start(closed), end(closed), closed.status) == (start(opened), (8_950, 9_000), Status.UNSET)
    assert closed.attributes == {semconv.PROJECT: "/home/demo", semconv.SESSION_END_REASON: "prompt_input_exit"}


@pytest.mark.parametrize("source", ["resume", "compact"])
def test_a_session_that_goes_on_does_not_begin(source: str) -> None:
    assert Play().hook(0, "SessionStart", source=source) == []


def test_a_turn_does_not_outlive_its_session() -> None:
    play = Play()
    play.hook(0, "UserPromptSubmit")
    (turn,) = play.hook(9_000, "SessionEnd", reason="other")
    assert (turn.boundary, turn.key, turn.status, end(turn)) == (Boundary.TURN, "p1", Status.UNSET, (0, 9_000))


def test_the_end_of_a_session_whose_beginning_nobody_saw_says_nothing() -> None:
    assert Play().hook(0, "SessionEnd", reason="other") == []


@pytest.mark.parametrize("known", [{"elicitation_id": "e1"}, {}])
@pytest.mark.parametrize(("action", "decision"), [("accept", "accept"), ("decline", "reject"), ("cancel", "reject")])
def test_a_server_that_asks_the_user_waits_for_an_answer(known: dict[str, str], action: str, decision: str) -> None:
    play = Play()
    opened = play.one(0, "Elicitation", mcp_server_name="demo", message="which one?", **known)
    assert (opened.boundary, opened.name, opened.attributes[semconv.MCP_SERVER]) == (Boundary.PERMISSION_WAIT, "elicitation", "demo")
    closed = play.one(5_000, "ElicitationResult", mcp_server_name="demo", action=action, content={"x": 1}, **known)
    assert (closed.key, start(closed), end(closed)) == (opened.key, (-50, 0), (4_950, 5_000))
    assert closed.attributes == {semconv.MCP_SERVER: "demo", semconv.PERMISSION_DECISION: decision}


def test_sessions_are_kept_apart() -> None:
    play = Play()
    play.hook(0, "UserPromptSubmit", session_id="s1")
    play.hook(10, "UserPromptSubmit", session_id="s2")
    closed: Span = play.one(99, "Stop", session_id="s2")
    assert (closed.session_id, start(closed)) == ("s2", (-40, 10))
