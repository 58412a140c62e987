"""Attempts that a gateway saw belong to the request that the others tell of: one request, one failure."""

from typing import Any

from tracekit.analysis.failed import failures
from tracekit.model import Boundary, Source, Span, Status, semconv
from tracekit.testing import memory_store, request, span, turn

TOO_LONG = {semconv.HTTP_STATUS: 400, semconv.ERROR_TEXT: "prompt is too long: 213456 tokens > 200000 maximum"}
OVERLOADED = {semconv.HTTP_STATUS: 529, semconv.ERROR_TYPE: "overloaded_error"}


def attempt(key: str, start_ns: int, end_ns: int, **said: Any) -> Span:
    attributes = {semconv.OPENED_AS: f"exchange:{key}", **said}
    return span(
        Boundary.REQUEST_ATTEMPT,
        key,
        start_ns,
        end_ns,
        source=Source.GATEWAY,
        parent_key="request:1",
        status=Status.ERROR if said else Status.OK,
        attributes=attributes,
    )


def test_a_request_that_failed_at_once_is_one_failure() -> None:
    failed = request(10, 30, status=Status.ERROR, attributes=TOO_LONG)
    with memory_store([turn(0, 50), failed], [attempt("req_1", 12, 28, **TOO_LONG)]) as store:
        (failure,) = failures(store)
        (row,) = store.rows("SELECT parent_key FROM boundaries WHERE boundary = 'request_attempt'")
    assert (failure.kind, failure.key, failure.recovered) == ("prompt_too_long", "req_1", False)
    assert row["parent_key"] == "req_1"


def test_attempts_until_the_client_gave_up_are_one_failure() -> None:
    failed = request(10, 90, key="req_3", status=Status.ERROR, attributes=OVERLOADED)
    attempts = [attempt(f"req_{number}", 20 * number, 20 * number + 10, **OVERLOADED) for number in (1, 2, 3)]
    with memory_store([turn(0, 100), failed], attempts) as store:
        (failure,) = failures(store)
    assert (failure.kind, failure.key, failure.recovered) == ("overloaded", "req_3", False)


def test_attempts_before_an_answer_are_one_failure_that_was_got_over() -> None:
    answered = request(20, 70, key="req_2", parent_key="turn", status=Status.OK, attributes={semconv.RESPONSE_ID: "msg_1"})
    by_gateway = answered._replace(source=Source.GATEWAY, parent_key=None, attributes={semconv.OPENED_AS: "request:1"})
    attempts = [attempt("req_1", 20, 30, **OVERLOADED), attempt("req_2", 40, 70)]
    with memory_store([turn(0, 100), answered], [*attempts, by_gateway]) as store:
        (failure,) = failures(store)
        parents = {row["parent_key"] for row in store.rows("SELECT parent_key FROM boundaries WHERE boundary = 'request_attempt'")}
    assert (failure.kind, failure.recovered) == ("overloaded", True)
    assert parents == {"req_2"}
