"""Requests to the model: blocks, retries, errors and streams that were cut."""

from tests.sources.stream_json.told import (
    BUSY,
    MILLISECOND,
    QUIET,
    SECOND,
    SESSION,
    SIMPLE,
    Arrived,
    at,
    block_start,
    block_stop,
    end_range,
    event,
    failed,
    gave,
    init,
    line,
    live,
    message_delta,
    message_start,
    message_stop,
    one,
    requesting,
    response,
    result,
    retry,
    said,
    spans,
    start_range,
    tool,
    words,
)
from tracekit.model import Boundary, Status, semconv


def test_a_request_and_its_blocks() -> None:
    told = [
        (0.0, init()),
        (0.1, requesting()),
        (0.5, message_start()),
        (0.5, block_start(0)),
        (0.6, event("content_block_delta", index=0, delta={"type": "text_delta", "text": "hel"})),
        (1.0, said(words("héllo"))),
        (1.0, block_stop(0)),
        (1.0, block_start(1, "thinking")),
        (1.4, said({"type": "thinking", "thinking": "hm"})),
        (1.4, block_stop(1)),
        (1.5, message_delta("end_turn", 80)),
        (1.6, message_stop()),
        (2.0, result(2)),
    ]
    items = live(*told)
    request = one(items, Boundary.MODEL_REQUEST)
    assert (request.key, request.name, request.status, request.parent_key) == ("req_1", "model-x", Status.OK, f"turn:{SESSION}#1")
    assert request.attributes == {
        semconv.REQUEST_MODEL: "model-x",
        semconv.RESPONSE_ID: "msg_1",
        semconv.REQUEST_ID: "req_1",
        semconv.STOP_REASON: "end_turn",
        semconv.FIRST_BYTE_NS: at(0.5),
        semconv.FIRST_CONTENT_NS: at(0.6),
        semconv.LAST_BLOCK_NS: at(1.4),
        semconv.INPUT_TOKENS: 7,
        semconv.OUTPUT_TOKENS: 80,
        semconv.CACHE_READ_TOKENS: 3,
        semconv.CACHE_WRITE_TOKENS: 2,
    }
    blocks = spans(items, Boundary.STREAM_EVENT)
    assert [(block.key, block.name, block.attributes[semconv.BLOCK_SIZE]) for block in blocks] == [
        ("msg_1#0", "text", 6),
        ("msg_1#1", "thinking", 2),
    ]
    assert [(start_range(block)[1], end_range(block)[1]) for block in blocks] == [(at(0.5), at(1.0)), (at(1.0), at(1.4))]
    assert {block.parent_key for block in blocks} == {"req_1"}


def test_without_a_request_id_the_message_is_the_key() -> None:
    for named in (None, "REDACTED"):
        told = [(0, init()), (0.1, requesting()), (1, said(words(), request=named)), (2, result(2))]
        assert one(live(*told), Boundary.MODEL_REQUEST).key == "msg_1"


def test_whole_blocks_alone_bound_the_end_by_what_came_next() -> None:
    told = [
        (0, init()),
        (1, said(words())),
        (2, said(tool())),
        (3, gave()),
        (5, said(words(), message="msg_2", request="req_2")),
        (6, result(6)),
    ]
    first, second = spans(live(*told), Boundary.MODEL_REQUEST)
    assert (first.key, second.key) == ("req_1", "req_2")
    assert end_range(first) == (at(2) - QUIET, at(5))
    assert start_range(second) == (at(3) - BUSY, at(5))
    assert [block.key for block in spans(live(*told), Boundary.STREAM_EVENT)] == ["msg_1#0", "msg_1#1", "msg_2#0"]


def test_several_blocks_on_one_line() -> None:
    items = live((0, init()), (1, said(words(), tool())), (2, result(2)))
    assert [block.key for block in spans(items, Boundary.STREAM_EVENT)] == ["msg_1#0", "msg_1#1"]


def test_a_retry_is_a_failed_attempt_and_a_wait() -> None:
    told = [(0, init()), (0.1, requesting()), (0.3, retry(1, 500)), (1.0, retry(2, 1000)), *response(2.2, (3, said(words())), stop=3.1)]
    items = live(*told, (3.2, result(3.2)))
    attempts, waits = spans(items, Boundary.REQUEST_ATTEMPT), spans(items, Boundary.RETRY_WAIT)
    assert [attempt.key for attempt in attempts] == [wait.key for wait in waits] == ["req_1~1", "req_1~2"]
    assert {span.parent_key for span in (*attempts, *waits)} == {"req_1"}
    assert attempts[0].attributes == {
        semconv.ATTEMPT: 1,
        semconv.MAX_RETRIES: 10,
        semconv.HTTP_STATUS: 529,
        semconv.ERROR_TYPE: "overloaded",
        semconv.RETRY_DELAY_NS: 500 * MILLISECOND,
    }
    assert [end_range(attempt)[1] for attempt in attempts] == [at(0.3), at(1.0)]
    assert end_range(waits[0]) == (at(0.8) - QUIET, at(0.9))
    assert end_range(waits[1]) == (at(2.0) - QUIET, at(2.1))
    assert start_range(attempts[1]) == end_range(waits[0])
    assert one(items, Boundary.MODEL_REQUEST).attributes[semconv.ATTEMPTS] == 3


def test_a_retry_that_is_under_way_is_an_open_wait() -> None:
    items = live((0, init()), (0.1, requesting("u-open")), (0.3, retry(1, 30_000)))
    wait, request = one(items, Boundary.RETRY_WAIT), one(items, Boundary.MODEL_REQUEST)
    assert wait.end_ns is None
    assert wait.attributes[semconv.RETRY_DELAY_NS] == 30 * SECOND
    assert (request.key, request.end_ns, request.status) == ("u-open", None, Status.UNSET)


def test_a_stream_that_broke_before_a_block_and_is_tried_again_is_one_request() -> None:
    told = [(0, init()), (0.1, requesting()), (0.3, message_start("msg_0")), (0.3, block_start(0)), (0.5, retry(1, 100))]
    items = live(*told, *response(1, (2, said(words())), stop=2.1), (2.2, result(2.2)))
    request = one(items, Boundary.MODEL_REQUEST)
    assert (request.key, request.status, request.attributes[semconv.RESPONSE_ID]) == ("req_1", Status.OK, "msg_1")
    assert [block.key for block in spans(items, Boundary.STREAM_EVENT)] == ["msg_1#0"]


def test_retries_that_are_exhausted() -> None:
    text = "API Error: 500 Internal server error"
    last = failed(text, error="server_error", request_id="req_9", api_error_status=500, api_error_type="api_error")
    items = live((0, init()), (0.1, requesting()), (0.3, retry(1, 500)), (1, last), (1.1, result(1.1, is_error=True, result=text)))
    request = one(items, Boundary.MODEL_REQUEST)
    assert (request.key, request.status, end_range(request)[1]) == ("req_9", Status.ERROR, at(1))
    expected = {semconv.ERROR_TYPE: "api_error", semconv.HTTP_STATUS: 500, semconv.ERROR_TEXT: text, semconv.ATTEMPTS: 2}
    assert expected.items() <= request.attributes.items()
    assert one(items, Boundary.TURN).status == Status.ERROR


def test_an_error_without_a_request_id_is_known_by_its_line() -> None:
    told = [(0, init()), (0.1, requesting()), (1, failed("odd", error="unknown", uuid="u-error")), (2, result(2, is_error=True))]
    assert one(live(*told), Boundary.MODEL_REQUEST).key == "u-error"


def test_words_of_the_client_that_are_no_error_are_no_request() -> None:
    quiet = line("assistant", message={"id": "x", "model": "<synthetic>", "content": [words("No response requested.")]})
    assert spans(live((0, init()), (1, quiet), (2, result(2))), Boundary.MODEL_REQUEST) == []


def test_a_client_that_announces_nothing_has_sent_another_request_after_its_tools() -> None:
    told = [(0, init()), (1, said(tool())), (2, gave()), (3, failed("API Error: 529", error="unknown", request_id="req_2")), (4, result(4))]
    first, second = spans(live(*told), Boundary.MODEL_REQUEST)
    assert (first.key, first.status, second.key, second.status) == ("req_1", Status.OK, "req_2", Status.ERROR)


def cut_response(*after: Arrived) -> list[Arrived]:
    return [
        (0, init()),
        (0.1, requesting()),
        (0.5, message_start()),
        (0.5, block_start(0)),
        (1.0, said(words())),
        (1.0, block_stop(0)),
        (1.0, block_start(1)),
        (1.2, block_stop(1)),
        (1.2, message_stop() | {"abandoned_blocks": {"from_block_index": 1}}),
        *after,
        (3.0, result(3.0)),
    ]


def test_a_response_without_message_delta_was_cut() -> None:
    synthetic = line("user", message={"content": [words("Your response above was cut off mid-stream.")]}, isSynthetic=True)
    items = live(*cut_response((1.3, synthetic)))
    request = one(items, Boundary.MODEL_REQUEST)
    assert (request.status, request.attributes[semconv.STREAM_CUT], end_range(request)[1]) == (Status.ERROR, True, at(1.2))
    assert request.attributes[semconv.LAST_BLOCK_NS] == at(1.0)
    kept, lost = spans(items, Boundary.STREAM_EVENT)
    assert (kept.status, lost.status, lost.attributes[semconv.STREAM_CUT]) == (Status.OK, Status.ERROR, True)


def test_the_client_names_the_cause_of_a_cut() -> None:
    cause = failed("API Error: Connection lost mid-response.", error="server_error", api_error="connection_failed")
    request = one(live(*cut_response((1.3, cause))), Boundary.MODEL_REQUEST)
    assert (request.key, request.attributes[semconv.STREAM_CUT]) == ("req_1", "connection_failed")
    assert request.attributes[semconv.ERROR_TEXT] == "API Error: Connection lost mid-response."


def test_a_stream_that_another_request_follows_without_message_stop_was_cut() -> None:
    told = [*SIMPLE[:5], (4, requesting()), *response(4.5, (5, said(words(), message="msg_2", request="req_2")), message="msg_2", stop=5)]
    first, second = spans(live(*told, (6, result(6))), Boundary.MODEL_REQUEST)
    assert (first.status, first.attributes[semconv.STREAM_CUT], end_range(first)) == (Status.ERROR, True, (at(1) - QUIET, at(4)))
    assert second.status == Status.OK


def test_an_error_event_ends_the_response() -> None:
    broken = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
    request = one(live(*SIMPLE[:5], (1.1, broken), (2, result(2))), Boundary.MODEL_REQUEST)
    assert (request.status, request.attributes[semconv.ERROR_TYPE], request.attributes[semconv.ERROR_TEXT]) == (
        Status.ERROR,
        "overloaded_error",
        "Overloaded",
    )


def test_what_the_model_did_wrong_is_told_on_its_whole_response() -> None:
    told = [(0, init()), (0.1, requesting()), *response(0.5, (1, said(words())), stop=1.2, reason="model_context_window_exceeded")]
    items = live(*told, (1.3, failed("too much", error="max_output_tokens")), (2, result(2, is_error=True)))
    request = one(items, Boundary.MODEL_REQUEST)
    assert (request.status, request.attributes[semconv.ERROR_TYPE]) == (Status.ERROR, "max_output_tokens")
    assert semconv.STREAM_CUT not in request.attributes
