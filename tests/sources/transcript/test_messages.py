"""Responses: which lines are one, what they add up to, and between which moments the request ran."""

import pytest

from tests.sources.transcript.written import (
    EAGER,
    LATE,
    MILLISECOND,
    SERIAL,
    api_request,
    at,
    between,
    by_key,
    end_range,
    gave,
    hook_began,
    in_a_row,
    one,
    prompt,
    said,
    spans,
    start_range,
    thought,
    told,
    tool,
    words,
)
from tracekit.model import Boundary, Span, semconv
from tracekit.sources.transcript.timing import last_block_estimate, version_of, waits_for_message


def requests(*entries: dict[str, object]) -> dict[str, Span]:
    return by_key(told(*entries), Boundary.MODEL_REQUEST)


def test_the_lines_of_one_message_are_one_request_with_a_block_each() -> None:
    items = told(prompt(0), said(1, thought("hmm")), said(2, words("hello")), said(4, tool()), gave(5))
    assert one(items, Boundary.MODEL_REQUEST).key == "req_1"
    blocks = spans(items, Boundary.STREAM_EVENT)
    assert [(block.key, block.name, block.end_ns, block.attributes[semconv.BLOCK_SIZE]) for block in blocks] == [
        ("msg_1#0", "thinking", at(1), 3),
        ("msg_1#1", "text", at(2), 5),
        ("msg_1#2", "tool_use", at(4), 2),
    ]
    assert {block.parent_key for block in blocks} == {"req_1"}


def test_a_block_ran_somewhere_between_the_one_before_it_and_its_line() -> None:
    items = told(prompt(0), said(1, thought()), said(4, words()))
    first, second = spans(items, Boundary.STREAM_EVENT)
    assert start_range(first) == between(0, 1)
    assert start_range(second) == between(1, 4)
    assert end_range(second) == between(3.5, 4)


def test_lines_of_others_between_the_blocks_do_not_part_a_message() -> None:
    items = told(
        prompt(0),
        said(1, tool("toolu_1")),
        said(1.5, words(), message="msg_2", request="req_2", uuid="a"),
        gave(2),
        said(3, tool("toolu_2"), uuid="b"),
        gave(4, "toolu_2", uuid="c"),
    )
    assert set(by_key(items, Boundary.MODEL_REQUEST)) == {"req_1", "req_2"}
    assert [block.key for block in spans(items, Boundary.STREAM_EVENT)] == ["msg_1#0", "msg_1#1", "msg_2#0"]


def test_several_blocks_on_one_line_are_complete_at_one_time() -> None:
    items = told(prompt(0), said(2, thought(), words(), tool("toolu_1"), tool("toolu_2")), gave(3), gave(4, "toolu_2"))
    assert [(block.key, block.end_ns) for block in spans(items, Boundary.STREAM_EVENT)] == [(f"msg_1#{n}", at(2)) for n in range(4)]
    assert set(by_key(items, Boundary.TOOL_SCHEDULE)) == {"toolu_1", "toolu_2"}


def test_late_clients_number_their_blocks() -> None:
    items = told(prompt(0), said(1, words(), apiBlockIndex=1), said(2, tool(), apiBlockIndex=2), gave(3))
    assert [block.key for block in spans(items, Boundary.STREAM_EVENT)] == ["msg_1#1", "msg_1#2"]


def test_a_bare_text_in_place_of_blocks_is_one() -> None:
    line = said(1)
    line["message"]["content"] = "hello"
    assert [block.name for block in spans(told(prompt(0), line), Boundary.STREAM_EVENT)] == ["text"]


@pytest.mark.parametrize("request_id", ["REDACTED", None, 17, ""])
def test_where_the_request_id_is_none_the_message_id_is_the_key(request_id: str | None) -> None:
    assert set(requests(prompt(0), said(1, words(), request=request_id))) == {"msg_1"}


def test_a_request_id_that_only_a_later_line_has_counts() -> None:
    assert set(requests(prompt(0), said(1, words(), request=None), said(2, words()))) == {"req_1"}


def test_a_request_id_that_a_second_message_repeats_names_only_the_first() -> None:
    found = requests(prompt(0), said(1, words()), said(2, words(), message="msg_2"))
    assert {key: span.attributes[semconv.RESPONSE_ID] for key, span in found.items()} == {"req_1": "msg_1", "msg_2": "msg_2"}


def test_of_each_number_of_usage_the_largest_counts_once() -> None:
    lines = (
        said(1, words(), tokens=5, usage={"cache_read_input_tokens": 90}),
        said(2, words(), tokens=44, usage={"cache_read_input_tokens": 90, "cache_creation_input_tokens": 3}),
        said(3, words(), tokens=1, usage={"cache_read_input_tokens": "90", "cache_creation_input_tokens": None}),
    )
    attributes = one(told(prompt(0), *lines), Boundary.MODEL_REQUEST).attributes
    names = (semconv.INPUT_TOKENS, semconv.OUTPUT_TOKENS, semconv.CACHE_READ_TOKENS, semconv.CACHE_WRITE_TOKENS)
    assert [attributes[name] for name in names] == [7, 44, 90, 3]


def test_a_request_carries_its_model_and_why_it_stopped() -> None:
    span = one(told(prompt(0), said(1, words()), said(2, words(), stop_reason="end_turn")), Boundary.MODEL_REQUEST)
    assert (span.name, span.attributes[semconv.STOP_REASON]) == ("model-x", "end_turn")
    assert (span.parent_key, span.attributes[semconv.LAST_BLOCK_NS]) == ("user@0", at(2))


def test_a_message_without_an_id_is_a_problem_and_the_rest_is_read() -> None:
    line = said(1, words())
    del line["message"]["id"]
    (problem,) = (item for item in told(prompt(0), line, said(2, words())) if not isinstance(item, Span))
    assert (problem.line, problem.reason) == (2, "message without an id")


# When it began ----------------------------------------------------------------------------------------------------------


def test_the_line_before_a_request_is_its_start_within_what_was_measured() -> None:
    span = one(told(prompt(0), api_request(0.4), said(2, words(), version=LATE)), Boundary.MODEL_REQUEST)
    assert start_range(span) == between(0.15, 0.42)
    assert span.attributes[semconv.QUERY_SOURCE] == "sdk"


def test_a_request_does_not_begin_before_what_it_waited_for() -> None:
    entries = in_a_row(prompt(0), api_request(0.1), said(2, words(), version=LATE))
    assert start_range(one(told(*entries), Boundary.MODEL_REQUEST)) == between(0, 0.12)


def test_a_request_does_not_begin_before_its_turn_wherever_its_parent_stands() -> None:
    second = said(64, words(), message="msg_2", request="req_2", parentUuid="assistant@1")
    assert start_range(requests(prompt(0), said(1, words()), prompt(60), second)["req_2"]) == between(60, 64)


def test_an_answer_names_the_request_that_it_answers() -> None:
    lines = (
        api_request(0.5, "ref-1"),
        api_request(1.5, "ref-2"),
        said(3, words(), message="msg_2", request="req_2", requestRef="ref-2"),
        said(4, words(), requestRef="ref-1"),
    )
    found = requests(prompt(0), *lines)
    assert {key: start_range(span)[1] for key, span in found.items()} == {"req_2": at(1.52), "req_1": at(0.52)}


def test_without_such_a_line_it_began_between_its_parent_and_its_first_block() -> None:
    entries = in_a_row(prompt(0), said(3, words()), said(4, words()))
    assert start_range(one(told(*entries), Boundary.MODEL_REQUEST)) == between(0, 3)


def test_a_request_that_carries_results_waited_for_the_last_of_them() -> None:
    calls = (said(1, tool("toolu_1")), said(2, tool("toolu_2")))
    late, early = gave(6, "toolu_1"), gave(5, "toolu_2")
    answer = said(9, words(), message="msg_2", request="req_2", parentUuid=early["uuid"])
    assert start_range(requests(prompt(0), *calls, late, early, answer)["req_2"]) == between(6, 9)


def test_a_result_that_came_after_the_answer_was_none_that_it_waited_for() -> None:
    calls = (said(1, tool("toolu_1")), said(2, tool("toolu_2")))
    answer = said(9, words(), message="msg_2", request="req_2", parentUuid="user@5")
    found = requests(prompt(0), *calls, gave(5, "toolu_1"), answer, gave(12, "toolu_2"))
    assert start_range(found["req_2"]) == between(5, 9)


# When it ended ----------------------------------------------------------------------------------------------------------


def test_the_end_lies_between_the_last_block_and_the_next_request() -> None:
    found = requests(
        prompt(0),
        said(2, tool(), version=LATE),
        gave(5),
        api_request(5.2),
        said(7, words(), message="msg_2", request="req_2", version=LATE),
    )
    assert end_range(found["req_1"]) == between(1.5, 5.22)


def test_without_a_line_before_it_the_next_request_bounds_the_end_by_its_first_block() -> None:
    found = requests(prompt(0), said(2, tool()), gave(5), said(7, words(), message="msg_2", request="req_2"))
    assert end_range(found["req_1"]) == between(1.5, 7)


def test_the_last_response_had_ended_when_the_stop_hooks_began() -> None:
    span = one(told(prompt(0), said(2, words()), hook_began(2.1, "Stop", "hooks-1"), prompt(60)), Boundary.MODEL_REQUEST)
    assert end_range(span) == between(1.5, 2.1)


def test_an_open_request_after_it_bounds_the_end_of_the_last_response() -> None:
    items = told(prompt(0), said(2, tool(), version=LATE), gave(3), api_request(3.1))
    assert end_range(by_key(items, Boundary.MODEL_REQUEST)["req_1"]) == between(1.5, 3.12)


def test_old_clients_had_the_whole_message_when_a_tool_gave_its_result() -> None:
    entries = (prompt(0), said(2, tool()), gave(5), said(7, words(), message="msg_2", request="req_2"))
    for entry in entries:
        entry["version"] = SERIAL
    assert end_range(requests(*entries)["req_1"]) == between(1.5, 5)


def test_a_request_is_never_shorter_than_nothing() -> None:
    span = one(told(prompt(0), said(0, words())), Boundary.MODEL_REQUEST)
    assert (start_range(span), end_range(span)) == (between(0, 0), between(0, 0))


def test_a_request_without_an_answer_is_open_at_the_end_of_the_file() -> None:
    span = one(told(prompt(0), api_request(1)), Boundary.MODEL_REQUEST)
    assert (span.key, span.name, span.end_ns) == ("ref-1", "model-x", None)
    assert start_range(span) == between(0.75, 1.02)


def test_a_request_that_the_next_prompt_overtook_is_an_attempt_and_not_open() -> None:
    items = told(prompt(0), api_request(1), prompt(30, "something else"))
    assert spans(items, Boundary.MODEL_REQUEST) == []
    span = one(items, Boundary.REQUEST_ATTEMPT)
    assert (span.key, span.parent_key) == ("ref-1", "user@0")
    assert span.end_ns is not None


# What is made of clients and clocks -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "waits"),
    [
        ("1.0.51", True),
        (SERIAL, True),
        ("2.1.23-beta.1", True),
        ("2.1.24", False),
        (EAGER, False),
        (LATE, False),
        ("3.0.0", False),
        ("nightly", False),
        ("", False),
        (None, False),
        (2, False),
    ],
)
def test_only_clients_that_are_known_to_wait_for_the_message_are_said_to(version: object, waits: bool) -> None:  # noqa: FBT001
    assert waits_for_message(version_of(version)) is waits
    span = one(told(prompt(0), said(1, words(), version=version)), Boundary.MODEL_REQUEST)
    assert span.attributes.get(semconv.TOOLS_WAIT, False) is waits


def test_the_last_block_is_where_its_line_is_unless_a_busy_client_wrote_several_at_once() -> None:
    calm = [at(1), at(2), at(3)]
    burst = [at(1), at(3), at(3) + 2 * MILLISECOND]
    assert last_block_estimate(calm, at(0)) == at(3)
    assert last_block_estimate(burst, at(0)) == (at(1) + at(3) + 2 * MILLISECOND) // 2
    assert last_block_estimate([at(3), at(3)], at(2.9)) == (at(2.9) + at(3)) // 2
    assert last_block_estimate([at(3), at(3)], at(0)) == (at(2.5) + at(3)) // 2
