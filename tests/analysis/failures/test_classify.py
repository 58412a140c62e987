"""One example a rule: what each kind looks like when it is met."""

import pytest

from tracekit.analysis.failures import RULES, Evidence, Rule, classify

API = "model-request"
STREAM = "sse-stream"
TOOL = "tool_execution"
MCP = "mcp-call"

EXAMPLES: dict[str, list[Evidence]] = {
    "network/dns": [Evidence("getaddrinfo ENOTFOUND models.example", layer="proxy/tls/dns", error_code="ENOTFOUND")],
    "network/connect": [
        Evidence("Unable to connect to API (ConnectionRefused) · Retrying in 3s · attempt 2/10", layer=API),
        Evidence("Connection error.", boundary="model_request", error_type="connection_error"),
        Evidence("the line is dead", layer="proxy/tls/dns"),
    ],
    "network/tls": [Evidence("Unable to connect to API: self-signed certificate in certificate chain", layer="cli")],
    "network/proxy": [Evidence("407 Proxy Authentication Required", layer="proxy/tls/dns", http_status=407)],
    "network/timeout": [Evidence("API Error (Request timed out.) · Retrying in 1 seconds… (attempt 1/10)", layer=API)],
    "network/reset": [
        Evidence("read ECONNRESET", boundary="request_attempt", error_code="ECONNRESET"),
        Evidence(boundary="request_attempt", error_type="no_details"),
    ],
    "network/stream_cut": [
        Evidence("API Error: Connection lost mid-response. The response above may be incomplete.", layer=STREAM, http_status=200),
        Evidence(boundary="model_request", status="ok", stream_cut="true"),
        Evidence("the second half never came", layer=STREAM),
    ],
    "network/stream_stall": [Evidence("API Error: Stream idle timeout - no chunks received", layer=STREAM, http_status=200)],
    "network/stream_error": [
        Evidence('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', layer=STREAM, http_status=200),
        Evidence(boundary="request_attempt", status="error", error_type="overloaded_error", stream_cut="error event", http_status=200),
        Evidence(boundary="request_attempt", status="error", stream_cut="error event"),
    ],
    "network/overloaded": [
        Evidence('API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', layer=API)
    ],
    "network/rate_limited": [Evidence("Number of request tokens has exceeded your per-minute rate limit", layer=API, http_status=429)],
    "network/server_error": [Evidence("API Error: 500 Internal server error.", layer="cli", http_status=500)],
    "prompt_too_long/prompt_too_long": [Evidence("prompt is too long: 210001 tokens > 200000 maximum", layer=API, http_status=400)],
    "prompt_too_long/context_window_exceeded": [
        Evidence("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", layer=API, http_status=400),
        Evidence(boundary="model_request", status="ok", stop_reason="model_context_window_exceeded"),
    ],
    "prompt_too_long/compaction_too_long": [
        Evidence("Error during compaction: Error: Conversation too long.", layer="cli"),
        Evidence("prompt is too long: 210001 tokens > 200000 maximum", boundary="compaction", status="error", trigger="auto"),
    ],
    "tool/input": [
        Evidence("<tool_use_error>File has not been read yet. Read it first.</tool_use_error>", boundary=TOOL, tool_name="Edit")
    ],
    "tool/permission": [
        Evidence("Permission to use Bash with command make has been denied.", boundary=TOOL, tool_name="Bash"),
        Evidence(boundary=TOOL, tool_name="Bash", denial_kind="automode-blocked"),
        Evidence("not now", layer="tool-permission"),
    ],
    "tool/execution": [Evidence("Exit code 2\nmake: *** [all] Error 2", boundary=TOOL, tool_name="Bash")],
    "tool/timeout": [Evidence("Exit code 143\nCommand timed out after 2m 0s\ncompiling", boundary=TOOL, tool_name="Bash")],
    "tool/sandbox": [Evidence("Exit code 1\nbwrap: No permissions to create new namespace", boundary=TOOL, tool_name="Bash")],
    "tool/sibling_cancelled": [Evidence("<tool_use_error>Cancelled: parallel tool call Bash(ls) errored</tool_use_error>", boundary=TOOL)],
    "tool/side_effect_uncertain": [
        Evidence("<tool_use_error>Error: Streaming fallback - tool execution discarded</tool_use_error>", boundary=TOOL),
        Evidence("no result was written", boundary=TOOL, tool_name="Bash", denial_kind="interrupted"),
    ],
    "mcp/spawn": [Evidence("spawn uvx ENOENT", boundary="mcp_connection", error_code="ENOENT", mcp_server="files")],
    "mcp/connect": [
        Evidence("connect ECONNREFUSED 127.0.0.1:3000", boundary="mcp_connection", error_code="ECONNREFUSED"),
        Evidence("<tool_use_error>Error: No such tool available: mcp__files__read</tool_use_error>", boundary=TOOL),
    ],
    "mcp/auth": [Evidence("Error POSTing to endpoint (HTTP 401): invalid_token", layer="mcp-connect", http_status=401)],
    "mcp/initialize": [Evidence("MCP error -32001: Request timed out", layer="mcp-connect", mcp_stage="initialize", rpc_code="-32001")],
    "mcp/discovery": [
        Evidence("MCP error -32603: Internal error", layer="mcp-discovery", rpc_code="-32603"),
        Evidence("Method not found", layer="mcp-call", mcp_stage="prompts/list", rpc_code="-32601"),
    ],
    "mcp/call": [
        Evidence("MCP error -32603: no such issue", boundary=TOOL, tool_name="mcp__tracker__get"),
        Evidence("MCP error -32000: Connection closed", boundary=TOOL, tool_name="mcp__tracker__get"),
    ],
    "mcp/session_lost": [Evidence("Bad Request: No valid session ID provided", layer=MCP, http_status=400)],
    "request/invalid": [
        Evidence("messages.3: `tool_use` ids were found without `tool_result` blocks", layer=API, http_status=400),
        Evidence("max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens", layer=API, http_status=400),
    ],
    "request/too_large": [Evidence("Request exceeds the maximum size", layer=API, http_status=413, error_type="request_too_large")],
    "request/image": [Evidence("messages.4.content.0.image.source.base64: image exceeds 5 MB maximum", layer=API, http_status=400)],
    "request/document": [
        Evidence("A maximum of 100 PDF pages may be provided.", layer=API, http_status=400),
        Evidence("Could not process PDF", layer=API, http_status=400),
    ],
    "request/unsupported_field": [Evidence("output_config.effort: Extra inputs are not permitted", layer=API, http_status=400)],
    "account/authentication": [
        Evidence("invalid x-api-key", layer=API, http_status=401, error_type="authentication_error"),
        Evidence("Authentication error · This may be a temporary network issue, please try again", layer="cli"),
    ],
    "account/billing": [Evidence("Your credit balance is too low to access the API.", layer=API, http_status=400)],
    "account/usage_limit": [Evidence("You've hit your weekly limit · resets Mon 9am", layer="cli", http_status=429)],
    "account/organization": [
        Evidence("This organization has been disabled.", layer=API, http_status=400),
        Evidence("no reason given", layer=API, http_status=403),
    ],
    "hook/blocked": [
        Evidence("PreToolUse:Bash hook error: [check.sh]: not on Fridays", boundary=TOOL, tool_name="Bash", denial_kind="permission-rule")
    ],
    "hook/error": [
        Evidence(
            "Failed with non-blocking status code: check.sh: line 3: jq: command not found", boundary="hook_reply", hook_outcome="error"
        ),
        Evidence("PostToolUse:Edit hook error", layer="hook"),
    ],
    "hook/timeout": [Evidence(boundary="hook_reply", hook_event="Stop", hook_outcome="cancelled")],
    "hook/invalid_output": [Evidence("Stop hook error: JSON validation failed: Invalid input", layer="hook")],
    "hook/unknown_callback": [Evidence("No hook callback found for ID: hook_7", layer="hook")],
    "model/refusal": [Evidence(boundary="model_request", status="ok", stop_reason="refusal")],
    "model/content_filter": [
        Evidence("Output blocked by content filtering policy", layer=API, http_status=400, error_type="invalid_request_error")
    ],
    "model/max_output_tokens": [Evidence("API Error: Claude's response exceeded the 32000 output token maximum.", layer="cli")],
    "model/malformed_tool_input": [Evidence("The model's tool call could not be parsed (retry also failed).", layer="cli")],
    "user/interrupt": [
        Evidence("[Request interrupted by user]", boundary="turn", interrupted="streaming"),
        Evidence("stopped", layer="user-interrupt"),
        Evidence(
            "The user doesn't want to proceed with this tool use. The tool use was rejected. Correction to the text above: this call was"
            " stopped while running, not refused before it ran.",
            boundary=TOOL,
            tool_name="Bash",
            denial_kind="user-rejected",
        ),
    ],
    "user/rejection": [
        Evidence("The user doesn't want to proceed with this tool use. The tool use was rejected.", boundary=TOOL, tool_name="Edit")
    ],
    "client/crash": [
        Evidence("error: unknown option '--no-such'", layer="cli"),
        Evidence("Claude Code process exited with code 1", layer="cli", error_type="ProcessError"),
    ],
    "client/max_turns": [Evidence(boundary="session", result_subtype="error_max_turns", terminal_reason="max_turns")],
    "client/incomplete_run": [
        Evidence("Agent 2: Last message was not an assistant message", boundary=TOOL, tool_name="Task"),
        Evidence(boundary="session", result_subtype="error_during_execution"),
    ],
    "client/control_timeout": [Evidence("Control request timeout: initialize", layer="cli", error_type="Exception")],
    "unknown/unknown": [Evidence("the cat sat on the keyboard", layer=API)],
}
CASES = [(label, evidence) for label, examples in EXAMPLES.items() for evidence in examples]


def _decides(evidence: Evidence) -> Rule:
    return next(rule for rule in RULES if rule.match(evidence) is not None)


@pytest.mark.parametrize(("label", "evidence"), CASES, ids=[f"{label}-{number}" for number, (label, _) in enumerate(CASES)])
def test_each_kind_is_known_by_its_own_evidence(label: str, evidence: Evidence) -> None:
    verdict = classify(evidence)
    assert f"{verdict.family}/{verdict.kind}" == label
    assert verdict.evidence_text


def test_every_rule_decides_some_example() -> None:
    deciding = {id(_decides(evidence)) for _, evidence in CASES}
    assert [f"{rule.family}/{rule.kind}" for rule in RULES if id(rule) not in deciding] == []


def test_the_line_of_evidence_holds_no_secret() -> None:
    verdict = classify(Evidence("Invalid bearer token: authorization=abcdefghijklmnop", layer=API, http_status=400))
    assert "abcdefghijklmnop" not in verdict.evidence_text


def test_a_failure_of_which_nothing_is_known_is_unknown_and_not_a_guess() -> None:
    verdict = classify(Evidence(boundary="model_request", status="error"))
    assert (verdict.family, verdict.evidence_text) == ("unknown", "nothing is known of it")
