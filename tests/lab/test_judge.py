"""The judge's arithmetic, on numbers that can be checked by hand."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.lab import judge

intervals = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted).map(lambda pair: (pair[0], pair[1])), max_size=6)


@given(intervals, st.tuples(st.integers(0, 20), st.integers(20, 40)))
def test_union_and_window_agree_with_counting_instants(tools: list[judge.Interval], window: judge.Interval) -> None:
    covered = {instant for start, end in tools for instant in range(start, end)}
    assert judge.length(judge.union(tools)) == len(covered)
    assert judge.length(judge.within(judge.union(tools), window)) == len(covered & set(range(*window)))


def test_tool_time_of_a_response_that_broke_off_is_kept_apart() -> None:
    request = {
        "read_ns": 100,
        "last_event_ns": 150,
        "message_stop_ns": None,
        "blocks": [{"tool_use_id": "toolu_1"}, {"tool_use_id": "toolu_never_ran"}, {}],
    }
    ran = {"toolu_1": (120, 170), "toolu_of_another": (0, 1000)}
    assert judge.account(request, ran) == {"tool_wall_ns": 50, "hidden_ns": 0, "under_cut_ns": 30, "exposed_ns": 20}
    whole = request | {"message_stop_ns": 160}
    assert judge.account(whole, ran) == {"tool_wall_ns": 50, "hidden_ns": 40, "under_cut_ns": 0, "exposed_ns": 10}


def test_a_request_that_was_never_answered_is_open(tmp_path: Path) -> None:
    line = {"at_ns": 5, "kind": "request", "request_id": "req_1", "session_id": "s", "messages": 1}
    (tmp_path / "truth.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    (request,) = judge.truth(tmp_path)["requests"]
    assert (request["ended"], request["first_event_ns"], request["exposed_ns"]) == ("open", None, 0)
