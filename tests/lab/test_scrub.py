"""What the lab keeps of a run, and what it does not."""

import json
from typing import Any

from tests.lab import scrub


def kept(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    lines, _ = scrub.scrub_transcript(json.dumps(entry) for entry in entries)
    return [json.loads(line) for line in lines]


def test_what_hung_on_an_entry_that_is_left_out_hangs_on_its_parent() -> None:
    entries = kept(
        {"type": "user", "uuid": "u1", "parentUuid": None},
        {"type": "attachment", "uuid": "u2", "parentUuid": "u1", "attachment": {"type": "environment"}},
        {"type": "attachment", "uuid": "u3", "parentUuid": "u2", "attachment": {"type": "prompt_snapshot"}},
        {"type": "attachment", "uuid": "u4", "parentUuid": "u3", "attachment": {"type": "hook_success"}},
        {"type": "assistant", "uuid": "u5", "parentUuid": "u3"},
    )
    assert [(entry["uuid"], entry["parentUuid"]) for entry in entries] == [("u1", None), ("u4", "u1"), ("u5", "u1")]


def test_a_kind_of_entry_that_nobody_allowed_is_left_out_and_counted() -> None:
    lines, left_out = scrub.scrub_transcript(['{"type":"last-prompt"}', '{"type":"something-new"}', '{"type":"something-new"}'])
    assert (lines, left_out) == ([], {"last-prompt": 1, "something-new": 2})


def test_an_api_request_keeps_who_and_when() -> None:
    (entry,) = kept({"type": "api-request", "id": "r", "timestamp": "t", "params": {"model": "m", "betas": ["b"]}, "tail": ["x"]})
    assert entry == {"type": "api-request", "id": "r", "timestamp": "t", "params": {"model": "m"}}


def test_prose_is_cut_to_what_it_was() -> None:
    assert scrub.cut({"a": ["short", "x" * 500]}) == {"a": ["short", "[500 characters cut]"]}
    assert scrub.cut("answer\n<system-reminder>\nsecret prose\n</system-reminder>\n") == "answer"
    assert scrub.cut("<system-reminder>alone</system-reminder>") == "<system-reminder>[40 characters cut]"
    assert scrub.cut("It was cut off. " + "y" * 100, scrub.LONGEST_ASIDE) == "It was cut off. [116 characters cut]"


def test_the_opening_line_of_a_stream_says_who_and_where_only() -> None:
    said = {"type": "system", "subtype": "init", "session_id": "s", "tools": ["a", "b"], "skills": ["c"], "mcp_servers": []}
    (line,) = scrub.scrub_stream([json.dumps({"arrival_ns": 1, "line": said})])
    assert json.loads(line) == {
        "arrival_ns": 1,
        "line": {"type": "system", "subtype": "init", "session_id": "s", "mcp_servers": [], "tools_count": 2},
    }
