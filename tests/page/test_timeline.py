"""From moments to what the script draws."""

from collections.abc import Callable, Iterable
from typing import Any

import orjson
import pytest

from tests.page.worlds import NOW, START, asked, at, hostile, huge, ordinary
from tracekit.analysis.scope import Scope
from tracekit.model import Boundary, Span
from tracekit.page.timeline import COLUMNS, LIVE_NS, MAIN_LANES, picture
from tracekit.testing import request, span, tool, turn

US = 1_000_000


def drawn(spans: Iterable[Span], *, as_of_ns: int = NOW, after: int | None = None) -> dict[str, Any]:
    with asked(spans) as ask:
        return picture(ask.timeline(Scope()), ask.context(Scope()), as_of_ns=as_of_ns, after=after)


def bars(picture_: dict[str, Any]) -> list[dict[str, Any]]:
    columns = picture_["bars"]
    return [{name: columns[name][index] for name in COLUMNS} for index in range(len(columns["key"]))]


def bar(picture_: dict[str, Any], key: str, boundary: str = Boundary.TOOL_EXECUTION) -> dict[str, Any]:
    (found,) = [one for one in bars(picture_) if one["key"] == key and one["boundary"] == boundary]
    return found


def test_a_tool_hides_until_its_own_response_ends() -> None:
    found = bar(drawn(ordinary()), "toolu_1")
    assert (found["kind"], found["start"], found["changes"], found["end"]) == ("hidden", 2.5 * US, 4 * US, 6 * US)
    assert found["start_slack"] == US // 4


def test_a_tool_that_began_after_its_response_is_exposed() -> None:
    found = bar(drawn([turn(at(0), at(9)), request(at(0), at(2)), *tool(at(1), at(3), at(5))]), "toolu_1")
    assert (found["kind"], found["changes"]) == ("tool", None)


def test_a_tool_hides_under_a_response_that_still_streams() -> None:
    found = bar(drawn([turn(at(0), None), request(at(0), None), *tool(at(1), at(2), None)]), "toolu_1")
    assert (found["kind"], found["changes"], found["end"]) == ("hidden", None, None)


def test_a_tool_knows_when_its_block_was_complete_and_who_issued_it() -> None:
    found = bar(drawn(ordinary()), "toolu_1")
    assert (found["ready"], found["part_of"]) == (2 * US, "req_1")


def test_a_call_that_ran_is_drawn_once_and_one_that_never_ran_as_a_call() -> None:
    denied = span(Boundary.TOOL_SCHEDULE, "toolu_9", at(1), at(2), name="Write", parent_key="req_1")
    found = bars(drawn([turn(at(0), at(9)), request(at(0), at(3)), *tool(at(1), at(2), at(5)), denied]))
    assert [(one["key"], one["kind"]) for one in found if one["lane"] == "tools"] == [("toolu_9", "schedule"), ("toolu_1", "hidden")]


def test_a_request_waits_until_its_first_byte() -> None:
    found = bar(drawn(ordinary()), "req_1", Boundary.MODEL_REQUEST)
    assert (found["kind"], found["start"], found["changes"], found["end"]) == ("wait", 0, US, 4 * US)


def test_a_request_that_is_open_and_silent_only_waits() -> None:
    assert bar(drawn([turn(at(0), None), request(at(0), None)]), "req_1", Boundary.MODEL_REQUEST)["changes"] is None


def test_a_single_attempt_that_went_well_is_not_drawn_beside_its_request() -> None:
    well = span(Boundary.REQUEST_ATTEMPT, "req_a", at(0), at(1), parent_key="req_1")
    spans = [turn(at(0), at(9)), request(at(0), at(3)), well]
    assert "attempts" not in drawn(spans)["lanes"]
    assert "attempts" in drawn([*spans, well._replace(key="req_b", start_ns=at(1), end_ns=at(2))])["lanes"]


def test_lanes_stand_in_order_and_agents_below_them() -> None:
    lanes = drawn(hostile("x"))["lanes"]
    assert lanes[:-1] == [lane for lane in MAIN_LANES if lane in lanes]
    assert lanes[-1] == "agent x"


def test_what_had_ended_before_is_left_out_and_what_is_open_is_not() -> None:
    found = drawn(ordinary(), after=50 * US)
    assert {one["key"] for one in bars(found)} == {"turn_2", "req_2", "toolu_3"}
    assert found["count"] == len(bars(drawn(ordinary())))


def test_the_clock_begins_with_the_first_thing_seen_and_is_exact() -> None:
    found = drawn(ordinary())
    assert (found["origin_ns"], found["as_of"]) == (str(START), 3_600 * US)


@pytest.mark.parametrize(("after_ns", "is_live"), [(LIVE_NS - 1, True), (LIVE_NS, False)])
def test_what_is_open_grows_unless_nothing_was_seen_for_long(after_ns: int, is_live: bool) -> None:  # noqa: FBT001
    assert drawn([turn(at(0), at(1))], as_of_ns=at(1) + after_ns)["is_live"] is is_live


def test_what_requests_held_is_told_in_order() -> None:
    assert drawn(ordinary())["held"] == [[0, 2_000, None]]


def test_hostile_texts_are_cut_to_one_plain_line() -> None:
    for one in [*bars(drawn(hostile())), *bars(drawn(huge()))]:
        for value in one.values():
            if isinstance(value, str):
                assert len(value) <= 210
                assert value.isprintable() or "\U0001f468" in value
                assert "\u202e" not in value


def test_nothing_seen_is_nothing_drawn() -> None:
    found = picture([], [], as_of_ns=NOW)
    assert (found["lanes"], found["count"], found["last"]) == ([], 0, 0)


def test_the_form_stays_what_it_is(golden: Callable[[str, str], None]) -> None:
    text = orjson.dumps(drawn(ordinary()), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
    golden("page/timeline.json", text + "\n")
