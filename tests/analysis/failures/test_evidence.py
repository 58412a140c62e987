"""Evidence is the same failure whether it comes from the store or from a pasted text."""

import pytest

from tracekit.analysis.failures import Evidence, Layer, classify
from tracekit.model import Boundary, semconv


def test_a_row_of_the_store_gives_its_attributes() -> None:
    evidence = Evidence.from_attributes(
        "tool_schedule",
        "error",
        "Bash",
        {semconv.EXIT_CODE: "0", semconv.ERROR_TEXT: "Exit code 0", semconv.TOOL_BACKGROUND: "true", semconv.RETRY_DELAY_NS: "1500000000"},
    )
    assert (evidence.tool_name, evidence.exit_code, evidence.is_background, evidence.retry_delay_s) == ("Bash", 0, True, 1.5)


def test_attributes_that_say_no_say_nothing() -> None:
    evidence = Evidence.from_attributes(
        "model_request", "ok", "", {semconv.STREAM_CUT: "false", semconv.ERROR_TEXT: "", semconv.HTTP_STATUS: "x"}
    )
    assert (evidence.stream_cut, evidence.error_text, evidence.http_status) == (None, "", None)


def test_a_name_stands_in_only_for_what_it_names() -> None:
    assert Evidence.from_attributes("mcp_connection", "error", "files", {}).mcp_server == "files"
    assert Evidence.from_attributes("mcp_connection", "error", "files", {}).tool_name is None
    assert Evidence.from_attributes("model_request", "error", "opus", {}).tool_name is None


@pytest.mark.parametrize("boundary", list(Boundary))
def test_every_boundary_shows_in_some_layer_whatever_its_text_says(boundary: Boundary) -> None:
    bare = Evidence(boundary=boundary).shown_in
    assert Evidence("API Error: 529 Overloaded", boundary=boundary).shown_in is bare


def test_the_tool_of_a_server_shows_in_the_call() -> None:
    assert Evidence(boundary="tool_execution", tool_name="mcp__git__log").shown_in is Layer.MCP_CALL
    assert Evidence(tool_name="mcp__git__log").shown_in is Layer.MCP_CALL


def test_the_pending_method_is_the_stage() -> None:
    assert Evidence(boundary="mcp_call", mcp_stage="tools/list").shown_in is Layer.MCP_DISCOVERY
    assert Evidence(mcp_stage="server/discover").shown_in is Layer.MCP_INITIALIZE


@pytest.mark.parametrize(
    ("text", "layer"),
    [
        ("Exit code 1\nAPI Error: 500", Layer.TOOL_EXECUTION),
        ("Error: <tool_use_error>File does not exist.</tool_use_error>", Layer.TOOL_EXECUTION),
        ("PreToolUse:Bash hook error: [x]: y", Layer.HOOK),
        ("MCP error -32000: Connection closed", Layer.MCP_CONNECT),
        ("MCP error -32001: Request timed out", Layer.MCP_CALL),
        ('MCP server "files" failed to fetch tools', Layer.MCP_DISCOVERY),
        ("API Error: 529 Overloaded", Layer.CLIENT),
        ("", Layer.CLIENT),
    ],
)
def test_a_pasted_text_shows_where_it_comes_from(text: str, layer: Layer) -> None:
    assert Evidence(text).shown_in is layer


def test_a_layer_may_be_named_by_its_boundary_or_its_own_name() -> None:
    assert Evidence(layer="hook_reply").shown_in is Layer.HOOK
    assert Evidence(layer="MCP_Connect").shown_in is Layer.MCP_CONNECT
    assert Evidence(layer="SSE").shown_in is Layer.STREAM
    assert Evidence(layer="no such layer").shown_in is Layer.CLIENT


def test_store_and_paste_give_one_verdict() -> None:
    text = "prompt is too long: 210001 tokens > 200000 maximum"
    stored = Evidence.from_attributes("model_request", "error", "opus", {semconv.ERROR_TEXT: text, semconv.HTTP_STATUS: "400"})
    assert classify(stored) == classify(Evidence(text))


@pytest.mark.parametrize(
    ("boundary", "attributes", "label"),
    [
        ("tool_schedule", {semconv.ERROR_TYPE: "ShellError", semconv.ERROR_TEXT: "Shell command failed"}, "tool/execution"),
        ("tool_execution", {semconv.ERROR_TYPE: "tool_error"}, "tool/execution"),
        ("permission_wait", {semconv.PERMISSION_DECISION: "reject", semconv.PERMISSION_SOURCE: "user_reject"}, "user/rejection"),
        ("permission_wait", {semconv.PERMISSION_DECISION: "reject", semconv.PERMISSION_SOURCE: "user_abort"}, "user/interrupt"),
        ("permission_wait", {semconv.PERMISSION_DECISION: "reject", semconv.PERMISSION_SOURCE: "config"}, "tool/permission"),
        ("permission_wait", {semconv.PERMISSION_DECISION: "reject", semconv.PERMISSION_SOURCE: "hook"}, "hook/blocked"),
        ("model_request", {semconv.ERROR_TYPE: "invalid_api_key", semconv.HTTP_STATUS: "401"}, "account/authentication"),
        ("model_request", {semconv.ERROR_TYPE: "request_too_large", semconv.HTTP_STATUS: "413"}, "request/too_large"),
        ("model_request", {semconv.ERROR_TYPE: "server_error", semconv.HTTP_STATUS: "529"}, "network/overloaded"),
        ("model_request", {semconv.STOP_REASON: '["refusal"]'}, "model/refusal"),
        ("model_request", {semconv.STOP_REASON: "max_tokens"}, "model/max_output_tokens"),
        ("request_attempt", {semconv.ERROR_TYPE: "no_details"}, "network/reset"),
        ("mcp_connection", {semconv.MCP_STATUS: "failed"}, "mcp/connect"),
        ("hook_reply", {semconv.HOOK_OUTCOME: "blocking", semconv.EXIT_CODE: "2"}, "hook/blocked"),
        ("hook_reply", {semconv.EXIT_CODE: "2"}, "hook/blocked"),
        ("hook_reply", {semconv.EXIT_CODE: "1"}, "hook/error"),
        ("session", {semconv.RESULT_SUBTYPE: "success", semconv.TERMINAL_REASON: "prompt_too_long"}, "prompt_too_long/prompt_too_long"),
        ("session", {semconv.TERMINAL_REASON: "image_error", semconv.HTTP_STATUS: "413"}, "request/too_large"),
        ("session", {semconv.TERMINAL_REASON: "image_error"}, "request/image"),
        ("session", {semconv.TERMINAL_REASON: "aborted_tools"}, "user/interrupt"),
        ("session", {semconv.TERMINAL_REASON: "hook_stopped"}, "hook/blocked"),
        ("session", {semconv.TERMINAL_REASON: "malformed_tool_use_exhausted"}, "model/malformed_tool_input"),
        ("turn", {semconv.INTERRUPTED: "tool"}, "user/interrupt"),
    ],
)
def test_facts_alone_decide_where_there_is_no_text(boundary: str, attributes: dict[str, str], label: str) -> None:
    verdict = classify(Evidence.from_attributes(boundary, "error", "", attributes))
    assert f"{verdict.family}/{verdict.kind}" == label
