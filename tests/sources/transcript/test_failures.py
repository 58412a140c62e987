"""Failed attempts, retries, and the client's word that it gave up or that a response was cut."""

import pytest

from tests.sources.transcript.written import (
    LATE,
    MILLISECOND,
    Entry,
    api_error,
    api_request,
    at,
    between,
    by_key,
    end_range,
    gave,
    gave_up,
    in_a_row,
    one,
    prompt,
    said,
    spans,
    start_range,
    told,
    tool,
    user,
    words,
)
from tracekit.model import Boundary, Span, Status, Value, semconv
from tracekit.sources.transcript.attempt import failure_attributes

OVERLOADED = {
    "status": 529,
    "requestID": "req_a",
    "error": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_a"},
}
LATE_OVERLOADED = {"message": "529 {…}", "status": 529, "requestId": "req_a", "formatted": "529 Overloaded", "connection": None}
RESET = {
    "message": "Connection error.",
    "formatted": "Connection error (ECONNRESET)",
    "status": None,
    "connection": {"code": "ECONNRESET", "message": "socket hang up", "isSSLError": False},
    "isNetworkDown": False,
}


@pytest.mark.parametrize(
    ("error", "fields", "expected"),
    [
        ({}, {}, {semconv.ERROR_TYPE: "no_details"}),
        (None, {}, {semconv.ERROR_TYPE: "no_details"}),
        ({"cause": {}}, {"cause": {}}, {semconv.ERROR_TYPE: "no_details"}),
        (
            OVERLOADED,
            {},
            {semconv.HTTP_STATUS: 529, semconv.ERROR_TYPE: "overloaded_error", semconv.ERROR_TEXT: "Overloaded"},
        ),
        (
            {"status": 500, "error": {"type": "api_error", "message": "Internal server error"}},
            {},
            {semconv.HTTP_STATUS: 500, semconv.ERROR_TYPE: "api_error", semconv.ERROR_TEXT: "Internal server error"},
        ),
        (LATE_OVERLOADED, {}, {semconv.HTTP_STATUS: 529, semconv.ERROR_TEXT: "529 Overloaded"}),
        (
            RESET,
            {},
            {
                semconv.ERROR_CODE: "ECONNRESET",
                semconv.ERROR_TYPE: "ECONNRESET",
                semconv.ERROR_TEXT: "Connection error (ECONNRESET)",
            },
        ),
        (
            {"cause": {"code": "ENOTFOUND"}},
            {},
            {semconv.ERROR_CODE: "ENOTFOUND", semconv.ERROR_TYPE: "ENOTFOUND", semconv.ERROR_TEXT: "ENOTFOUND"},
        ),
        ({}, {"cause": {"code": "EPIPE"}}, {semconv.ERROR_CODE: "EPIPE", semconv.ERROR_TYPE: "EPIPE", semconv.ERROR_TEXT: "EPIPE"}),
        (
            {"error": {"error": {"error": {"type": "rate_limit_error"}}}, "status": "429"},
            {},
            {semconv.ERROR_TYPE: "rate_limit_error"},
        ),
    ],
    ids=["empty", "none", "empty cause", "nested twice", "nested once", "late", "late network", "cause", "cause beside", "deep"],
)
def test_every_shape_of_a_failed_attempt_says_what_it_can(error: object, fields: Entry, expected: dict[str, Value]) -> None:
    found = failure_attributes(api_error(1, error, **fields))
    assert found == {**expected, semconv.ATTEMPT: 1, semconv.MAX_RETRIES: 10}


def test_secrets_in_the_text_of_an_error_are_masked() -> None:
    found = failure_attributes(api_error(1, {"message": "bad key sk-ant-REDACTED"}))
    assert found[semconv.ERROR_TEXT] == "bad key [secret]"


# Chains -----------------------------------------------------------------------------------------------------------------


def test_attempts_and_waits_of_a_request_that_was_answered_in_the_end() -> None:
    entries = in_a_row(
        prompt(0),
        api_error(2, OVERLOADED, 500, 1),
        api_error(4, {}, 1000, 2),
        said(8, words()),
    )
    items = told(*entries)
    request = one(items, Boundary.MODEL_REQUEST)
    assert (request.key, request.status, request.attributes[semconv.ATTEMPTS]) == ("req_1", Status.UNSET, 3)
    assert start_range(request) == between(0, 2)
    attempts, waits = by_key(items, Boundary.REQUEST_ATTEMPT), by_key(items, Boundary.RETRY_WAIT)
    assert {key: (start_range(span), end_range(span)) for key, span in attempts.items()} == {
        "req_1~1": (between(0, 2), between(2, 2)),
        "req_1~2": (between(2.5, 4), between(4, 4)),
    }
    assert {key: (span.start_ns, span.end_ns) for key, span in waits.items()} == {
        "req_1~1": between(2, 2.5),
        "req_1~2": between(4, 5),
    }
    assert {span.parent_key for span in (*attempts.values(), *waits.values())} == {"req_1"}
    assert {span.status for span in attempts.values()} == {Status.ERROR}
    assert [span.attributes[semconv.RETRY_DELAY_NS] for span in waits.values()] == [500 * MILLISECOND, 1000 * MILLISECOND]


def test_an_attempt_has_the_request_id_that_the_server_gave_it_and_no_other() -> None:
    items = told(prompt(0), api_error(2, OVERLOADED), api_error(4, {}), said(8, words()))
    attempts = by_key(items, Boundary.REQUEST_ATTEMPT)
    assert [span.attributes.get(semconv.REQUEST_ID) for span in attempts.values()] == ["req_a", None]


def test_late_clients_say_when_each_attempt_began() -> None:
    items = told(
        prompt(0),
        api_request(1, "ref-1"),
        api_error(2, LATE_OVERLOADED, 500, version=LATE),
        api_request(3, "ref-2"),
        api_error(4, RESET, 500, 2, version=LATE),
        api_request(5, "ref-3"),
        said(8, words(), version=LATE, requestRef="ref-3"),
    )
    assert start_range(one(items, Boundary.MODEL_REQUEST)) == between(0.75, 1.02)
    assert {key: start_range(span) for key, span in by_key(items, Boundary.REQUEST_ATTEMPT).items()} == {
        "req_1~1": between(0.75, 1.02),
        "req_1~2": between(2.75, 3.02),
    }
    assert {key: (span.start_ns, span.end_ns) for key, span in by_key(items, Boundary.RETRY_WAIT).items()} == {
        "req_1~1": between(2, 2.5),
        "req_1~2": between(4, 4.5),
    }


def test_a_wait_is_no_longer_than_until_the_next_thing_happened() -> None:
    items = told(prompt(0), api_error(2, OVERLOADED, 60_000), said(4, words()))
    assert one(items, Boundary.RETRY_WAIT).end_ns == at(4)


def test_a_request_that_failed_until_the_client_gave_up() -> None:
    items = told(
        prompt(0),
        api_error(2, OVERLOADED, 500, 1),
        api_error(4, OVERLOADED, 1000, 2),
        gave_up(9, "API Error: 529 Overloaded", error="unknown", requestId="req_z", apiErrorStatus=529),
    )
    request = one(items, Boundary.MODEL_REQUEST)
    assert (request.key, request.status, request.end_ns) == ("req_z", Status.ERROR, at(9))
    assert request.attributes[semconv.GAVE_UP] is True
    assert (request.attributes[semconv.HTTP_STATUS], request.attributes[semconv.ERROR_TYPE]) == (529, "unknown")
    assert request.attributes[semconv.ERROR_TEXT] == "API Error: 529 Overloaded"
    # The third, after which it gave up, is the request's own end.
    assert (len(by_key(items, Boundary.REQUEST_ATTEMPT)), request.attributes[semconv.ATTEMPTS]) == (2, 3)
    assert one(items, Boundary.TURN).end_ns == at(9)


def test_a_request_that_fails_for_good_at_once_has_no_attempts_but_itself() -> None:
    items = told(*in_a_row(prompt(0), gave_up(1, "Prompt is too long", error="invalid_request", errorDetails="205000 tokens > 200000")))
    request = one(items, Boundary.MODEL_REQUEST)
    assert (request.key, request.status, start_range(request), request.end_ns) == ("assistant@1", Status.ERROR, between(0, 1), at(1))
    assert request.attributes[semconv.ERROR_TEXT] == "Prompt is too long\n205000 tokens > 200000"
    assert spans(items, Boundary.REQUEST_ATTEMPT) == []


def test_late_clients_give_up_on_the_request_that_they_announced() -> None:
    items = told(prompt(0), api_request(1), gave_up(3, "API Error: 400", apiErrorType="invalid_request_error", version=LATE))
    request = one(items, Boundary.MODEL_REQUEST)
    assert (request.name, start_range(request), request.attributes[semconv.QUERY_SOURCE]) == ("model-x", between(0.75, 1.02), "sdk")
    assert request.attributes[semconv.ERROR_TYPE] == "invalid_request_error"


def test_failures_that_nothing_followed_are_a_request_that_is_open() -> None:
    items = told(prompt(0), api_error(2, OVERLOADED, 500))
    request = one(items, Boundary.MODEL_REQUEST)
    assert (request.key, request.end_ns, start_range(request)) == ("req_a", None, between(0, 2))
    assert one(items, Boundary.REQUEST_ATTEMPT).parent_key == "req_a"
    wait = one(items, Boundary.RETRY_WAIT)
    assert (wait.start_ns, wait.end_ns) == between(2, 2.5)
    assert request.attributes[semconv.ATTEMPTS] == 1
    assert one(items, Boundary.TURN).end_ns is None


def test_a_request_that_is_tried_again_is_one_that_is_open() -> None:
    items = told(prompt(0), api_request(1, "ref-1"), api_error(2, LATE_OVERLOADED, 500, version=LATE), api_request(2.6, "ref-2"))
    request = one(items, Boundary.MODEL_REQUEST)
    assert (request.key, request.name, request.end_ns, request.attributes[semconv.ATTEMPTS]) == ("req_a", "model-x", None, 2)
    assert start_range(request) == between(0.75, 1.02)


def test_failures_that_the_user_did_not_wait_for_are_a_request_that_failed() -> None:
    items = told(prompt(0), api_error(2, OVERLOADED, 30_000), user(3, "[Request interrupted by user]"), prompt(60))
    request = one(items, Boundary.MODEL_REQUEST)
    assert (request.status, request.attributes[semconv.HTTP_STATUS], request.end_ns) == (Status.ERROR, 529, at(3))
    assert one(items, Boundary.RETRY_WAIT).end_ns == at(3)


# Cuts -------------------------------------------------------------------------------------------------------------------


def test_an_error_right_after_a_block_is_that_response_being_cut() -> None:
    items = told(*in_a_row(prompt(0), said(2, words("half of")), gave_up(5, "API Error: Connection lost mid-response.")))
    request = one(items, Boundary.MODEL_REQUEST)
    assert (request.key, request.status, request.end_ns) == ("req_1", Status.ERROR, at(5))
    assert request.attributes[semconv.STREAM_CUT] == "true"
    assert request.attributes[semconv.ERROR_TEXT] == "API Error: Connection lost mid-response."


def test_late_clients_name_the_cause_of_a_cut_even_behind_results() -> None:
    entries = in_a_row(
        prompt(0),
        said(2, tool(), version=LATE),
        gave(4),
        gave_up(5, "API Error: Connection lost mid-response.", streamCutCause="stale_connection", apiError="connection_failed"),
    )
    request = one(told(*entries), Boundary.MODEL_REQUEST)
    assert (request.key, request.attributes[semconv.STREAM_CUT]) == ("req_1", "stale_connection")
    assert request.attributes[semconv.ERROR_TYPE] == "connection_failed"


def test_an_error_behind_a_result_is_a_request_of_its_own_where_no_cut_is_named() -> None:
    items = told(*in_a_row(prompt(0), said(2, tool()), gave(4), gave_up(9, "API Error: 500")))
    found = by_key(items, Boundary.MODEL_REQUEST)
    assert {key: span.status for key, span in found.items()} == {"req_1": Status.UNSET, "assistant@9": Status.ERROR}
    assert start_range(found["assistant@9"]) == between(4, 9)


def test_an_error_after_failed_attempts_is_theirs_and_no_cut_of_the_response_before() -> None:
    entries = in_a_row(prompt(0), said(2, words()), api_error(3, OVERLOADED), gave_up(5, "API Error: 529"))
    entries[-1]["parentUuid"] = entries[1]["uuid"]
    found = by_key(told(*entries), Boundary.MODEL_REQUEST)
    assert semconv.STREAM_CUT not in found["req_1"].attributes
    assert found["assistant@5"].attributes[semconv.ATTEMPTS] == 2


def test_the_clients_note_to_the_model_tells_of_a_cut_too() -> None:
    note = "Your response above was cut off mid-stream. Go on."
    second = said(8, words(), message="msg_2", request="req_2")
    found = by_key(told(prompt(0), said(2, words("half of")), user(5, note, isMeta=True), second), Boundary.MODEL_REQUEST)
    assert (found["req_1"].attributes[semconv.STREAM_CUT], found["req_1"].end_ns) == ("true", at(5))
    assert semconv.STREAM_CUT not in found["req_2"].attributes


def test_a_user_who_says_the_same_cuts_nothing() -> None:
    note = "Your response above was cut off mid-stream. Go on."
    items = told(prompt(0), said(2, words("half of")), prompt(5, note))
    assert semconv.STREAM_CUT not in one(items, Boundary.MODEL_REQUEST).attributes


def test_a_note_that_no_response_was_asked_for_is_no_error() -> None:
    items = told(prompt(0), said(2, words()), gave_up(5, "No response requested.") | {"isApiErrorMessage": False})
    assert [span.key for span in spans(items, Boundary.MODEL_REQUEST)] == ["req_1"]
    assert {span.status for span in items if isinstance(span, Span)} == {Status.UNSET}
