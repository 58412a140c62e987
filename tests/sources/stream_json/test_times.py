"""When each line happened: by arrival, by its own stamp, or by its neighbours."""

from tests.sources.stream_json.told import (
    BUSY,
    EARLY,
    MILLISECOND,
    QUIET,
    SECOND,
    SIMPLE,
    WITH_TOOL,
    Line,
    at,
    block_start,
    block_stop,
    end_range,
    filed,
    gave,
    init,
    live,
    message_delta,
    message_start,
    message_stop,
    one,
    problems,
    requesting,
    response,
    result,
    said,
    stamp,
    start_range,
    tool,
    words,
)
from tracekit.model import Boundary, Problem, Span, semconv


def test_arrival_is_the_time_and_the_client_may_have_been_late() -> None:
    request = one(live(*SIMPLE), Boundary.MODEL_REQUEST)
    assert start_range(request) == (at(0.1) - QUIET, at(0.35))
    assert end_range(request) == (at(1.2) - QUIET, at(1.2))


def test_the_clients_own_measure_of_the_first_byte_bounds_the_start() -> None:
    told = [(0.0, init()), (0.1, requesting()), (0.5, message_start(ttft_ms=390)), (1.0, said(words()))]
    request = one(live(*told), Boundary.MODEL_REQUEST)
    assert start_range(request) == (at(0.01) - EARLY, at(0.11) + QUIET)


def test_while_tools_are_pending_the_client_may_be_later_still() -> None:
    items = live(*WITH_TOOL, (1.5, gave()))
    assert end_range(one(items, Boundary.MODEL_REQUEST)) == (at(1.0) - QUIET, at(1.2))
    assert end_range(one(items, Boundary.TOOL_SCHEDULE)) == (at(1.5) - BUSY, at(1.5))


def waited(*told: tuple[float, float, Line]) -> list[Span | Problem]:
    """Lines as recorded: when each was read, and for how long it may have lain there."""
    lines = [{"arrival_ns": at(read), "waited_ns": int(seconds * SECOND), "line": value} for read, seconds, value in told]
    return filed(*lines)


def test_a_line_that_lay_unread_happened_any_time_since() -> None:
    items = waited((0, 0, init()), (0.1, 0, requesting()), *((3.5, 3.0, value) for _, value in response(0, (0, said(words())), stop=0)))
    assert end_range(one(items, Boundary.MODEL_REQUEST)) == (at(0.5) - QUIET, at(3.5))


def test_a_line_that_lay_unread_is_none_of_another_clock() -> None:
    items = waited(
        (0, 0, init()), (0.1, 0, requesting()), (4.0, 3.0, said(tool(), timestamp=stamp(1.2))), (4.0, 3.0, gave(timestamp=stamp(2)))
    )
    assert end_range(one(items, Boundary.TOOL_SCHEDULE)) == (at(2) - BUSY, at(2) + EARLY)


def test_a_lines_own_stamp_is_closer_than_its_arrival() -> None:
    items = live(*WITH_TOOL, (9.0, gave(timestamp=stamp(1.4))))
    assert end_range(one(items, Boundary.TOOL_SCHEDULE)) == (at(1.4) - BUSY, at(1.4) + EARLY)


def test_stamps_of_another_clock_are_not_believed() -> None:
    told = [(0.0, init()), (0.1, requesting()), (1.0, said(tool(), timestamp=stamp(40))), (1.5, gave(timestamp=stamp(41)))]
    assert end_range(one(live(*told), Boundary.TOOL_SCHEDULE)) == (at(1.5) - BUSY, at(1.5))


UNSTAMPED = (
    init(),
    requesting(),
    message_start(),
    block_start(0),
    said(words(), timestamp=stamp(2)),
    block_stop(0),
    message_delta(),
    message_stop(),
    result(1.5, ttft_stream_ms=700),
)


def test_without_arrivals_lines_lie_between_their_neighbours_and_the_results_duration_bounds_the_rest() -> None:
    items = filed(*UNSTAMPED)
    block, request, turn = one(items, Boundary.STREAM_EVENT), one(items, Boundary.MODEL_REQUEST), one(items, Boundary.TURN)
    assert end_range(block) == (at(2) - QUIET, at(2) + EARLY)
    turn_began, turn_ended = at(2) - 2 * QUIET - 1500 * MILLISECOND, at(2) + EARLY - 700 * MILLISECOND + 1500 * MILLISECOND + QUIET
    assert start_range(request) == (turn_began, at(2) + EARLY)
    assert end_range(request) == (at(2) - QUIET, turn_ended)
    assert end_range(turn) == (at(2) - QUIET, turn_ended)
    assert semconv.FIRST_BYTE_NS not in request.attributes


def test_the_end_of_a_killed_stream_is_bounded_by_when_the_file_was_written() -> None:
    killed = UNSTAMPED[:-1]
    assert end_range(one(filed(*killed, written_ns=at(7)), Boundary.MODEL_REQUEST)) == (at(2) - QUIET, at(7))
    assert end_range(one(filed(*killed), Boundary.MODEL_REQUEST)) == (at(2) - QUIET, at(2.5) + EARLY)


def test_the_beginning_of_a_killed_stream_is_bounded_by_the_clients_timeout_alone() -> None:
    request = one(filed(*UNSTAMPED[:5]), Boundary.MODEL_REQUEST)
    assert request.end_ns is None
    assert start_range(request) == (at(2) + EARLY - 600 * SECOND, at(2) + EARLY)


def test_a_stream_without_any_time_is_one_problem_and_nothing_is_invented() -> None:
    items = filed(init(), said(words()), result(3), init(), said(words(), message="msg_2"), result(4))
    assert [(problem.line, problem.reason) for problem in problems(items)] == [(0, "no times in the stream")]
    assert len(items) == 1


def test_an_empty_stream_is_silent() -> None:
    assert filed() == []
