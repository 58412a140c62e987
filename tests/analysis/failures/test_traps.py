"""The mistakes that naive classifiers make, one test each."""

import pytest

from tracekit.analysis.failures import Evidence, Retry, classify, not_a_failure

API = "model-request"


def _label(evidence: Evidence) -> str:
    verdict = classify(evidence)
    return f"{verdict.family}/{verdict.kind}"


def _printed(text: str, tool: str = "Bash") -> Evidence:
    return Evidence(text, boundary="tool_execution", status="error", tool_name=tool)


@pytest.mark.parametrize(
    "output",
    [
        "Exit code 1\nconnect ECONNREFUSED 127.0.0.1:5432",
        "Exit code 1\nAPI Error: 529 Overloaded",
        "Exit code 1\nprompt is too long: 210000 tokens > 200000 maximum",
        "Exit code 1\nThe user doesn't want to proceed with this tool use.",
        "Exit code 1\nPermission to use Bash has been denied.",
        "Exit code 1\nPreToolUse:Bash hook error: [x]: y",
        "Exit code 1\nMCP error -32000: Connection closed",
        "Exit code 1\nlog of 3 May: [Request interrupted by user]",
        "Exit code 22\ncurl: (22) The requested URL returned error: 503",
    ],
)
def test_what_a_command_prints_is_no_evidence(output: str) -> None:
    assert _label(_printed(output)) == "tool/execution"


def test_what_a_page_answered_to_a_tool_is_no_network_failure_of_the_agent() -> None:
    assert _label(_printed("Request failed with status code 503", "WebFetch")) == "tool/execution"
    assert _label(_printed("getaddrinfo ENOTFOUND docs.example", "WebFetch")) == "tool/execution"


def test_an_interrupt_is_known_behind_the_exit_code_that_it_caused() -> None:
    assert _label(_printed("Exit code 137\n[Request interrupted by user for tool use]\nhalf a build")) == "user/interrupt"


def test_the_answers_cap_is_no_prompt_that_is_too_long() -> None:
    assert _label(
        Evidence("max_tokens: 20000 > 8192, which is the maximum allowed number of output tokens", layer=API, http_status=400)
    ) == ("request/invalid")


def test_a_cap_that_breaks_the_context_is_a_prompt_that_is_too_long() -> None:
    text = "max_tokens is too large: 32000. This model's maximum context length is 40960 tokens and your prompt has 12000"
    assert classify(Evidence(text, layer=API, http_status=400)).family == "prompt_too_long"


def test_a_readers_limit_is_no_prompt_that_is_too_long() -> None:
    read = "File content (30000 tokens) exceeds maximum allowed tokens (25000)."
    served = 'MCP tool "search" response (90000 tokens) exceeds maximum allowed tokens (25000).'
    assert _label(_printed(read, "Read")) == "tool/input"
    verdict = classify(_printed(served, "mcp__web__search"))
    assert (verdict.family, verdict.kind, verdict.retry) == ("mcp", "call", Retry.MAY_REPEAT_SIDE_EFFECT)


def test_a_text_wrapped_by_the_terminal_is_still_read() -> None:
    text = 'API Error: 400 {"error":{"message":"input length and `max_tokens`\n  exceed context limit: 193000\n  + 21000 > 200000"}}'
    assert _label(Evidence(text, layer=API)) == "prompt_too_long/context_window_exceeded"


def test_the_edge_that_refuses_an_address_is_no_login_problem() -> None:
    text = 'Please run /login · API Error: 403 {"error":{"type":"forbidden","message":"Request not allowed"}}'
    assert _label(Evidence(text, layer=API, http_status=403)) == "account/organization"
    page = "API Error: 403 <html><head><title>Attention Required!</title></head><body>you have been blocked</body></html>"
    assert _label(Evidence(page, layer=API, http_status=403)) == "account/organization"


def test_a_revoked_token_is_a_login_problem_although_it_wears_403() -> None:
    assert _label(Evidence("OAuth token has been revoked.", layer=API, http_status=403)) == "account/authentication"


def test_413_by_a_reverse_proxy_is_told_from_413_by_the_api() -> None:
    page = "API Error: 413 <html><head><title>413 Request Entity Too Large</title></head><center>nginx</center></html>"
    verdict = classify(Evidence(page, layer=API, http_status=413))
    assert (verdict.kind, "not the API itself" in verdict.evidence_text) == ("too_large", True)
    own = classify(Evidence('API Error: 413 {"error":{"type":"request_too_large"}}', layer=API, http_status=413))
    assert (own.kind, "not the API itself" in own.evidence_text) == ("too_large", False)


def test_200_with_an_error_event_is_no_success() -> None:
    event = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    assert _label(Evidence(event, layer=API, http_status=200)) == "network/stream_error"


def test_a_cut_that_the_client_calls_a_server_error_is_a_cut() -> None:
    text = "API Error: Connection closed mid-response. The response above may be incomplete."
    assert _label(Evidence(text, boundary="model_request", error_type="server_error")) == "network/stream_cut"


def test_a_server_error_mid_response_is_no_cut() -> None:
    text = "API Error: Server error mid-response. The response above may be incomplete."
    assert _label(Evidence(text, boundary="model_request")) == "network/stream_error"


def test_a_plans_limit_is_told_from_a_rate_limit_by_its_reset() -> None:
    wire = Evidence(layer=API, http_status=429, error_type="rate_limit_error")
    assert _label(wire) == "network/rate_limited"
    assert _label(Evidence("You've hit your session limit · resets 1pm", layer="cli", http_status=429, error_type="rate_limit")) == (
        "account/usage_limit"
    )


@pytest.mark.parametrize(("seconds", "label"), [(12, "network/rate_limited"), (300, "network/rate_limited"), (301, "account/usage_limit")])
def test_a_long_wait_is_a_plans_window(seconds: int, label: str) -> None:
    assert _label(Evidence(layer=API, http_status=429, retry_delay_s=seconds)) == label
    text = (
        f'API Error (429 {{"error":{{"type":"rate_limit_error","message":"Slow down"}}}}) · Retrying in {seconds} seconds… (attempt 1/10)'
    )
    assert _label(Evidence(text, layer=API)) == label


def test_a_long_wait_after_another_error_is_no_plans_window() -> None:
    assert _label(Evidence(layer=API, http_status=529, retry_delay_s=900)) == "network/overloaded"


def test_a_quota_by_the_minute_is_no_plans_limit() -> None:
    text = '[{"error":{"code":429,"message":"Quota exceeded for tokens_per_minute. Ask for quota.","status":"RESOURCE_EXHAUSTED"}}]'
    assert _label(Evidence(text, layer=API, http_status=429)) == "network/rate_limited"


def test_an_account_is_recognised_behind_a_400() -> None:
    for text, kind in (
        ("You're out of extra usage.", "usage_limit"),
        ("Your credit balance is too low", "billing"),
        ("This organization has been disabled.", "organization"),
    ):
        assert _label(Evidence(text, layer=API, http_status=400, error_type="invalid_request_error")) == f"account/{kind}"


def test_the_servers_own_inside_is_no_network_failure_of_the_user() -> None:
    text = "API Error (503 upstream connect error or disconnect/reset before headers. reason: Connection refused)"
    assert _label(Evidence(text, layer=API, http_status=503)) == "network/server_error"
    body = (
        'API Error: 522 {"title":"Error 522: Connection timed out","status":522,"error_name":"connection_timeout","cloudflare_error":true}'
    )
    assert _label(Evidence(body, layer=API)) == "network/server_error"


def test_a_proxys_status_is_no_answer_of_the_api() -> None:
    assert _label(Evidence("Request failed with status code 503", layer="proxy/tls/dns", http_status=503)) == "network/proxy"
    assert _label(Evidence("Failed to connect to models.example: Request failed with status code 503")) == "network/proxy"


def test_a_hint_that_stands_under_every_error_is_no_evidence() -> None:
    text = "API Error (Connection error.) · Retrying in 4 seconds… (attempt 4/10) · API_TIMEOUT_MS=600000ms, try increasing it"
    assert _label(Evidence(text, layer=API)) == "network/connect"
    tls = "API Error: unable to get issuer certificate. Check your proxy or corporate SSL certificates"
    assert _label(Evidence(tls, layer=API)) == "network/tls"


def test_a_hook_that_blocks_is_neither_a_failed_tool_nor_a_permission() -> None:
    denied = Evidence(
        "the gate is closed", boundary="tool_execution", tool_name="Bash", denial_kind="permission-rule", permission_source="hook"
    )
    assert _label(denied) == "hook/blocked"


def test_the_reason_of_a_blocking_hook_may_speak_of_anything() -> None:
    for reason in ("JSON validation failed in config.json", "build timed out", "exit 1"):
        assert _label(_printed(f"PreToolUse:Bash hook error: [gate.sh]: {reason}")) == "hook/blocked"


def test_a_hooks_command_line_stays_out_of_the_evidence() -> None:
    verdict = classify(_printed("PreToolUse:Bash hook error: [curl -H 'X: [1]' gate.example]: closed"))
    assert verdict.evidence_text == "PreToolUse:Bash hook error: […]: closed"
    long = classify(_printed(f"PreToolUse:Bash hook error: [gate --key {'k' * 500}]: closed"))
    assert long.evidence_text == verdict.evidence_text


def test_nobody_to_ask_is_no_rejection_by_a_user() -> None:
    text = "Claude requested permissions to write to new.txt, but you haven't granted it yet."
    assert _label(
        Evidence(text, boundary="tool_execution", tool_name="Write", denial_kind="user-rejected", permission_source="config")
    ) == ("tool/permission")


def test_the_operating_systems_permission_is_no_permission_of_the_client() -> None:
    assert _label(_printed("EACCES: permission denied, open 'x'", "Read")) == "tool/execution"


def test_a_cancelled_sibling_is_no_interrupt() -> None:
    assert _label(Evidence("Cancelled", boundary="tool_execution", tool_name="Bash", denial_kind="cancelled")) == "tool/sibling_cancelled"


def test_a_tool_whose_program_is_gone_is_no_missing_file() -> None:
    assert _label(_printed("ENOENT: no such file or directory, posix_spawn '/opt/rg'", "Grep")) == "tool/execution"
    assert _label(_printed("ENOENT: no such file or directory, open 'x'", "Read")) == "tool/input"


def test_one_mcp_text_is_another_failure_at_another_stage() -> None:
    closed, late = "MCP error -32000: Connection closed", "MCP error -32001: Request timed out"
    assert _label(Evidence(closed, layer="mcp-connect")) == "mcp/connect"
    assert _label(Evidence(late, layer="mcp-initialize")) == "mcp/initialize"
    assert _label(Evidence(late, layer="mcp-discovery")) == "mcp/discovery"
    verdict = classify(Evidence(late, layer="mcp-call"))
    assert (verdict.kind, verdict.retry) == ("call", Retry.MAY_REPEAT_SIDE_EFFECT)


def test_a_servers_login_elsewhere_is_no_login_at_the_server() -> None:
    assert _label(_printed("MCP error -32603: tracker says 401 Unauthorized", "mcp__tracker__get")) == "mcp/call"


def test_a_lost_session_is_no_invalid_call_and_no_missing_page() -> None:
    text = '{"error":{"message":"Session not found","code":-32600}}'
    assert _label(Evidence(text, layer="mcp-call", http_status=404)) == "mcp/session_lost"


def test_a_missing_server_is_no_invention_of_the_model() -> None:
    assert (
        _label(_printed("<tool_use_error>Error: No such tool available: mcp__git__log</tool_use_error>", "mcp__git__log")) == "mcp/connect"
    )
    assert _label(_printed("<tool_use_error>Error: No such tool available: Bsah</tool_use_error>", "Bsah")) == "tool/input"


def test_a_hosts_wait_for_its_client_is_no_network_timeout() -> None:
    assert _label(Evidence("Exception: Control request timeout: initialize", layer="cli")) == "client/control_timeout"


def test_the_clients_exit_code_is_no_commands() -> None:
    assert _label(Evidence("Command failed with exit code 1 (exit code: 1)", layer="cli")) == "client/crash"


def test_an_interrupt_that_is_printed_as_an_api_error_is_an_interrupt() -> None:
    assert _label(Evidence("API Error: Operation aborted", layer="cli")) == "user/interrupt"


def test_a_refusal_that_is_printed_as_an_api_error_is_a_refusal() -> None:
    text = "API Error: unable to respond to this request, which appears to violate our Usage Policy"
    assert _label(Evidence(text, layer="cli", http_status=200)) == "model/refusal"


def test_a_window_that_ends_the_answer_is_no_cap_of_the_answer() -> None:
    text = "API Error: The model has reached its context window limit."
    assert _label(Evidence(text, layer="cli", error_type="max_output_tokens")) == "prompt_too_long/context_window_exceeded"


def test_the_cause_inside_a_relays_error_outranks_the_relays_words() -> None:
    inner = '{\\"error\\":{\\"type\\":\\"invalid_request_error\\",\\"message\\":\\"messages.3: empty\\"}}'
    text = f'429 {{"error":{{"type":"overloaded_error","message":"all attempts failed, last: HTTP 400: {inner}"}}}}'
    assert _label(Evidence(text, layer=API, http_status=429)) == "request/invalid"


def test_a_probe_is_no_failed_discovery() -> None:
    probe = Evidence('{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}', layer="mcp-discovery")
    assert not_a_failure(probe)
    asked = Evidence("MCP error -32601: Method not found", layer="mcp-discovery", mcp_stage="tools/list", rpc_code="-32601")
    assert not_a_failure(asked) is None


def test_a_warning_is_no_failure() -> None:
    assert not_a_failure(Evidence("[WARN] Streaming stall detected: 61.0s gap between events (stall #1)"))
    assert not_a_failure(Evidence("API Error: Stream idle timeout - partial response received")) is None


def test_what_ended_well_is_no_failure_unless_something_is_said_of_it() -> None:
    assert not_a_failure(Evidence(boundary="tool_execution", status="ok", tool_name="Bash"))
    assert not_a_failure(Evidence(boundary="model_request", status="ok", stream_cut="true")) is None
