"""The trace opens in Perfetto without a warning, and says what happened."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.exporters.perfetto_rules import broken_rules
from tests.exporters.world import HOSTILE, SECOND, at, session, stored, trace
from tracekit.model import Boundary
from tracekit.testing import memory_store, request, span
from tracekit_exporters import perfetto

Json = dict[str, Any]


def _events(text: str) -> list[Json]:
    found: list[Json] = json.loads(text)["traceEvents"]
    return found


def test_the_trace_of_a_session_as_it_is_written(golden: Callable[[str, str], None]) -> None:
    text = "".join(perfetto.export(trace(session())))
    golden("exporters/perfetto.json", text)
    assert broken_rules(text) == []


def test_the_validator_sees_what_is_broken() -> None:
    head: Json = {"ph": "M", "pid": 1, "ts": 0}
    names = [{**head, "name": "process_name", "args": {"name": "a"}}, {**head, "tid": 9, "name": "thread_name", "args": {"name": "t"}}]
    overlapping: list[Json] = [{"ph": "X", "pid": 1, "tid": 9, "name": "s", "ts": start, "dur": 2} for start in (0, 1)]
    lonely: Json = {"ph": "b", "pid": 1, "name": "s", "cat": "c", "id2": {"local": "i"}, "ts": 0}
    cases: list[tuple[Json, str]] = [
        (overlapping[1], "slices that overlap"),
        (lonely, "a begin without an end"),
        (lonely | {"id2": {}, "ph": "e", "id": ""}, "an id"),
        ({"ph": "C", "pid": 1, "name": "n", "ts": 0, "args": {"x": "many"}}, "numbers"),
        ({"ph": "X", "pid": 2, "tid": 9, "name": "s", "ts": 9, "dur": 1}, "a track of two processes"),
    ]
    for event, rule in cases:
        found = _broken([*names, overlapping[0], event])
        assert any(one.startswith(rule) for one in found), (rule, found)
    assert _broken([*names, overlapping[0]]) == []


def _broken(events: list[Json]) -> list[str]:
    return broken_rules(json.dumps({"traceEvents": events}))


def test_tools_that_overlap_are_asynchronous_under_their_ids() -> None:
    events = _events("".join(perfetto.export(trace(session()))))
    begun = {(event["cat"], event["id2"]["local"]): event for event in events if event["ph"] == "b"}
    assert {key for kind, key in begun if kind == "tool_execution"} == {"toolu_1", "toolu_2", "toolu_3", "toolu_4"}
    assert begun["mcp_call", "toolu_2"]["name"] == "read: MCP call"
    assert begun["permission_wait", "toolu_1"]["name"] == "Bash: permission"
    assert begun["tool_execution", "toolu_1"]["ts"] == 4_500_000


def test_what_is_open_lasts_to_the_last_that_was_seen_and_says_so() -> None:
    events = _events("".join(perfetto.export(trace(session()))))
    (begun,) = [event for event in events if event["ph"] == "b" and event["id2"]["local"] == "toolu_4" and event["cat"] == "tool_execution"]
    (ended,) = [event for event in events if event["ph"] == "e" and event["id2"]["local"] == "toolu_4" and event["cat"] == "tool_execution"]
    assert begun["args"]["open"] is True
    assert ended["ts"] == 60_000_000


def test_slack_is_told() -> None:
    events = _events("".join(perfetto.export(trace(session()))))
    (block,) = [event for event in events if event.get("cat") == "stream_event"]
    assert block["name"] == "tool_use"
    assert block["args"]["start slack ms"] == 200


def test_tracks_are_in_order_and_an_agent_is_a_process() -> None:
    events = _events("".join(perfetto.export(trace(session()))))
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert list(names.values()) == ["main agent, session 7f3a", "agent a1, session 7f3a"]
    tracks = sorted((event["tid"], event["args"]["name"]) for event in events if event["name"] == "thread_name" and event["pid"] == 1)
    assert [name for _, name in tracks] == ["session", "turns", "model requests", "blocks", "hooks", "compactions"]
    order = {event["tid"]: event["args"]["sort_index"] for event in events if event["name"] == "thread_sort_index"}
    assert [order[tid] for tid, _ in tracks] == sorted(order[tid] for tid, _ in tracks)


def test_counters_add_each_response_once_and_show_what_was_sent() -> None:
    events = [event for event in _events("".join(perfetto.export(trace(session())))) if event["ph"] == "C"]
    tokens = [event["args"] for event in events if event["name"] == "tokens"]
    assert tokens == [
        {"input": 100, "output": 50, "cache read": 1_000, "cache write": 10},
        {"input": 100, "output": 57, "cache read": 1_000, "cache write": 10},
    ]
    context = [(event["ts"], event["args"]["tokens"]) for event in events if event["name"] == "context"]
    assert context[0] == (1_000_000, 1_110)


def test_what_overlaps_on_one_track_gets_a_further_one() -> None:
    beside = [request(at(0), at(5), key="req_a"), request(at(1), at(3), key="req_b"), request(at(2), at(9), key="req_c")]
    text = "".join(perfetto.export(trace(beside)))
    assert broken_rules(text) == []
    names = [event["args"]["name"] for event in _events(text) if event["name"] == "thread_name"]
    assert names == ["model requests", "model requests (2)", "model requests (3)"]


def test_nanoseconds_are_kept() -> None:
    events = "".join(perfetto.export(trace([request(at(0), at(0) + 5 * SECOND + 1)])))
    assert '"dur":5000000.001' in events


def test_two_sessions_may_call_two_things_alike() -> None:
    text = "".join(perfetto.export(trace(session("one"), session("two"))))
    assert broken_rules(text) == []
    assert {event["pid"] for event in _events(text) if event["ph"] == "b"} == {1, 3}


def test_the_trace_of_what_a_store_holds_is_whole() -> None:
    with memory_store(session()) as store:
        text = "".join(perfetto.export(stored(store)))
    assert broken_rules(text) == []
    assert json.loads(text)["otherData"]["base_unix_ns"] == str(at(0))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_inert(text: str) -> None:
    hostile = [
        one._replace(name=text, key=one.key + text, session_id=f"s{text}", attributes={**one.attributes, "tracekit.error.text": text})
        for one in session()
    ] + [span(Boundary.SUBAGENT, "x", at(1), at(2), agent_id=text or "-")]
    written = "".join(perfetto.export(trace([one._replace(session_id=f"s{text}") for one in hostile])))
    assert broken_rules(written) == []
    assert written.isascii()
    assert "\x1b" not in written
    assert max(len(line) for line in written.splitlines()) < 4_000
