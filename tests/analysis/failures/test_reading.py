"""What a text says of itself, in the forms that clients and gateways print."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.failures import Evidence, classify
from tracekit.analysis.failures.reading import name_word, read_error, read_result


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("API Error: 529 Overloaded", 529),
        ("API Error (503 no healthy upstream)", 503),
        ("Request rejected (429)", 429),
        ("Request failed with status code 407", 407),
        ("Error code: 400 - {'type': 'error'}", 400),
        ("[400]: bad", 400),
        ("407 Proxy Authentication Required", 407),
        ("returned HTTP 200 and no body", 200),
        ('{"$metadata":{"httpStatusCode":429,"attempts":3}}', 429),
        ('{"isApiErrorMessage":true,"apiErrorStatus":529,...,"text":"cut', 529),
        ("Pane is dead (status 143)", None),
        ("exceeded the limit of 404000 tokens", None),
        ("line 1 column 23370 (char 23369)", None),
        ("took 503 ms", None),
    ],
)
def test_a_status_is_read_only_where_it_is_one(text: str, status: int | None) -> None:
    assert read_error(text).status == status


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"no"}}', "invalid_request_error"),
        ("Error code: 429 - {'error': {'type': 'rate_limit_error', 'message': None}}", "rate_limit_error"),
        ('{"error":{"type":"upstream_error","message":"cut in the mid', "upstream_error"),
        ('{"error":{"message":"{\\"error\\":{\\"code\\":\\"too_many_tokens\\"}}","type":"relay"}}', "too_many_tokens"),
        ("botocore.errorfactory.ThrottlingException: slow down", "ThrottlingException"),
        ("Unable to connect to API (ConnectionRefused)", "ConnectionRefused"),
        ("connect ECONNREFUSED 127.0.0.1:1", "ECONNREFUSED"),
        ('{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}', "-32601"),
        ('[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]', "RESOURCE_EXHAUSTED"),
    ],
)
def test_names_are_read_out_of_bodies_and_prose(text: str, name: str) -> None:
    assert read_error(text).names[name_word(name)] == name


def test_the_name_that_a_relay_quotes_hides_the_relays_own() -> None:
    reading = read_error(
        '{"error":{"type":"overloaded_error","message":"HTTP 400: {\\"error\\":{\\"type\\":\\"invalid_request_error\\"}}"}}'
    )
    assert (list(reading.names.values()), reading.relayed_status) == (["invalid_request_error"], 400)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}', "Overloaded"),
        ('{"error":{"message":"{\\"error\\":{\\"message\\":\\"too many tokens\\"}}","type":"relay"}}', "too many tokens"),
        ("API Error: 500 Internal server error", "Internal server error"),
        ("Connection error.", "Connection error."),
    ],
)
def test_a_message_is_one_sentence(text: str, message: str) -> None:
    assert read_error(text).message == message


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Retrying in 2892 seconds… (attempt 1/10)", 2892),
        ("Retrying in 11s · attempt 8/10", 11),
        ("retrying in 3h", 10800),
        ('{"retryable":true,"retry_after":120}', 120),
        ("retry later", None),
    ],
)
def test_a_wait_is_read(text: str, seconds: float | None) -> None:
    assert read_error(text).retry_delay_s == seconds


def test_pages_are_told_from_answers() -> None:
    assert read_error("API Error: 502 <html><head><title>502 Bad Gateway</title></head></html>").page
    assert not read_error('API Error: 502 {"error":{"type":"api_error"}}').page


def test_a_result_gives_its_head_and_no_more() -> None:
    reading = read_result("Error: Exit code 3\nAPI Error: 529 ECONNRESET")
    assert (reading.exit_code, reading.status, dict(reading.names)) == (3, None, {})
    assert read_result("<tool_use_error>no\nsuch file</tool_use_error>") == read_result("<tool_use_error>no such\n file</tool_use_error>")
    assert read_result("<tool_use_error>x</tool_use_error>").tagged


def test_escaped_and_real_line_ends_are_spaces() -> None:
    assert read_error("too\\n   long").words == read_error("too\n long").words == "too long"


@given(st.text(max_size=300), st.sampled_from(["", "API Error: ", "{", "Exit code 1 ", '{"error":{"type":"', "MCP error -32000: "]))
def test_no_text_breaks_the_reading(noise: str, head: str) -> None:
    for layer in (None, "model-request", "tool_execution", "mcp_call", "hook"):
        assert classify(Evidence(head + noise, layer=layer)).family


def test_a_long_text_of_brackets_is_read_at_once() -> None:
    assert classify(Evidence("{" * 2000, layer="model-request")).family == "unknown"


@pytest.mark.parametrize("text", ["a" * 2000, "Aa0" * 660, "lorem ipsum " * 160, '"type": "' * 220, "Error: " * 280, "session [" * 220])
def test_no_text_takes_long(text: str) -> None:
    start = time.process_time()
    for layer in ("cli", "hook", "mcp-call", "tool_execution"):
        classify(Evidence(text, layer=layer))
    assert time.process_time() - start < 2
