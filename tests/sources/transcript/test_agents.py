"""Sub-agents: in files of their own, inside the main file, mirrored by their parent's progress, and in the background."""

import json
from pathlib import Path

import pytest

from tests.sources.transcript.written import (
    EAGER,
    SESSION,
    Entry,
    at,
    between,
    by_key,
    end_range,
    gave,
    one,
    progress,
    prompt,
    said,
    spans,
    start_range,
    told,
    tool,
    words,
)
from tests.sources.transcript.written import lines as lines_of
from tracekit.model import Boundary, Source, Span, Status, semconv
from tracekit.sources.transcript import TranscriptReader, companion_of, is_companion, read
from tracekit.sources.transcript.companion import Companion

TASK = tool(name="Task", subagent_type="explorer", prompt="look around")


def inside(entry: Entry, agent_id: str = "a1") -> Entry:
    return entry | {"isSidechain": True, "agentId": agent_id, "uuid": f"{agent_id}-{entry['uuid']}"}


def mirrored(seconds: float, entry: Entry, agent_id: str = "a1") -> Entry:
    inner = {name: entry[name] for name in ("type", "message", "uuid", "timestamp")}
    return progress(seconds, "agent_progress", agentId=agent_id, message=inner) | {"uuid": f"mirror-{entry['uuid']}"}


def test_the_file_of_an_agent_is_its_turn_under_its_own_name() -> None:
    lines = (
        prompt(0, "look around"),
        said(2, tool("toolu_2", "Read")),
        gave(3, "toolu_2"),
        said(5, words(), message="msg_2", request="req_2"),
    )
    items = told(*map(inside, lines))
    turn = one(items, Boundary.TURN)
    assert (turn.key, turn.name, turn.agent_id, turn.parent_key) == ("a1-user@0", "agent", "a1", "a1")
    assert {span.agent_id for span in items if isinstance(span, Span)} == {"a1"}
    assert {span.session_id for span in items if isinstance(span, Span)} == {SESSION}
    assert set(by_key(items, Boundary.MODEL_REQUEST)) == {"req_1", "req_2"}


def test_an_agents_prompt_id_is_its_parents_and_does_not_name_its_turn() -> None:
    turn = one(told(inside(prompt(0, promptId="p-1")), inside(said(2, words()))), Boundary.TURN)
    assert turn.key == "a1-user@0"


def test_agents_of_one_file_are_read_apart() -> None:
    lines = (
        prompt(0),
        inside(prompt(1, "one"), "a1"),
        inside(prompt(1, "two"), "a2"),
        inside(said(4, words(), message="msg_a", request="req_a"), "a1"),
        inside(said(5, words(), message="msg_b", request="req_b"), "a2"),
        said(6, words()),
    )
    found = by_key(told(*lines), Boundary.MODEL_REQUEST)
    assert {key: (span.agent_id, start_range(span)) for key, span in found.items()} == {
        "req_a": ("a1", between(1, 4)),
        "req_b": ("a2", between(1, 5)),
        "req_1": (None, between(0, 6)),
    }


def test_sidechains_without_a_name_hang_together_by_their_parents() -> None:
    def aside(entry: Entry, uuid: str, parent: str | None) -> Entry:
        return entry | {"isSidechain": True, "uuid": uuid, "parentUuid": parent}

    lines = (
        prompt(0),
        said(1, TASK),
        aside(prompt(1.1, "one"), "s1", None),
        aside(prompt(1.2, "two"), "t1", None),
        aside(said(3, words(), message="msg_s", request="req_s"), "s2", "s1"),
        aside(said(4, words(), message="msg_t", request="req_t"), "t2", "t1"),
        aside(said(5, words(), message="msg_u", request="req_u"), "s3", "s2"),
        gave(6),
    )
    found = by_key(told(*lines), Boundary.MODEL_REQUEST)
    agents = {key: span.agent_id for key, span in found.items()}
    assert agents == {"req_1": None, "req_s": "sidechain-s1", "req_u": "sidechain-s1", "req_t": "sidechain-t1"}


def test_the_result_of_its_call_names_the_agent_and_bounds_its_life() -> None:
    items = told(prompt(0), said(1, TASK), gave(9, toolUseResult={"agentId": "a1", "totalDurationMs": 5_000}))
    agent = one(items, Boundary.SUBAGENT)
    assert (agent.key, agent.agent_id, agent.parent_key, agent.name) == ("a1", "a1", "toolu_1", "explorer")
    assert (start_range(agent), end_range(agent)) == (between(1, 9), between(9, 9))
    assert agent.attributes == {semconv.PARENT_TOOL: "toolu_1", semconv.AGENT_TYPE: "explorer"}


def test_an_agent_that_failed_says_so() -> None:
    items = told(prompt(0), said(1, TASK), gave(9, is_error=True, toolUseResult={"agentId": "a1"}))
    assert one(items, Boundary.SUBAGENT).status == Status.ERROR


def test_an_agent_in_the_background_goes_on_after_its_result() -> None:
    items = told(prompt(0), said(1, TASK), gave(2, toolUseResult={"agentId": "a1", "isAsync": True}))
    agent = one(items, Boundary.SUBAGENT)
    assert (agent.start_ns, agent.end_ns) == (at(1), None)
    assert one(items, Boundary.TOOL_EXECUTION).end_ns == at(2)


@pytest.mark.parametrize("details", ["Error: no", {}, {"agentId": 7}, None])
def test_a_result_that_names_no_agent_tells_of_none(details: object) -> None:
    assert spans(told(prompt(0), said(1, TASK), gave(9, toolUseResult=details)), Boundary.SUBAGENT) == []


# Mirrors ----------------------------------------------------------------------------------------------------------------


def test_an_agents_lines_in_its_parents_progress_are_seen_by_a_witness_of_its_own() -> None:
    lines = (
        mirrored(1.3, prompt(1.2, "look around")),
        mirrored(3.2, said(3, tool("toolu_2", "Read"), message="msg_2", request="req_2")),
        mirrored(4.2, gave(4, "toolu_2")),
        mirrored(6.2, said(6, words(), message="msg_3", request="req_3")),
    )
    items = told(prompt(0), said(1, TASK), *lines, gave(7, toolUseResult={"agentId": "a1"}))
    requests = by_key(items, Boundary.MODEL_REQUEST)
    assert {key: (span.source, span.agent_id) for key, span in requests.items()} == {
        "req_1": (Source.TRANSCRIPT, None),
        "msg_2": (Source.PROGRESS, "a1"),
        "msg_3": (Source.PROGRESS, "a1"),
    }
    run = by_key(items, Boundary.TOOL_EXECUTION)["toolu_2"]
    assert (run.source, run.agent_id, start_range(run)) == (Source.PROGRESS, "a1", between(3, 4))
    turn = next(turn for turn in spans(items, Boundary.TURN) if turn.agent_id == "a1")
    assert (turn.source, turn.name, turn.start_ns, turn.end_ns) == (Source.PROGRESS, "agent", at(1.2), at(6))
    assert (turn.session_id, turn.attributes[semconv.CLIENT_VERSION]) == (SESSION, EAGER)


def test_the_result_of_its_call_ends_an_agent_whose_last_word_was_not_passed_on() -> None:
    lines = (mirrored(1.3, prompt(1.2, "look around")), mirrored(3.2, said(3, tool("toolu_2", "Read"), message="msg_2")))
    open_turn, ended_turn = (
        next(turn for turn in spans(told(prompt(0), said(1, TASK), *lines, *last), Boundary.TURN) if turn.agent_id == "a1")
        for last in ((), (gave(7, toolUseResult={"agentId": "a1"}),))
    )
    assert (open_turn.end_ns, ended_turn.end_ns) == (None, at(3))


def test_an_agent_in_the_background_is_not_ended_by_the_result_of_its_call() -> None:
    lines = (gave(2, toolUseResult={"agentId": "a1", "isAsync": True}), mirrored(3.2, prompt(3, "look around")))
    turns = {turn.agent_id: turn for turn in spans(told(prompt(0), said(1, TASK), *lines), Boundary.TURN)}
    assert turns["a1"].end_ns is None


def test_progress_without_a_line_of_the_agent_tells_only_that_it_runs() -> None:
    items = told(prompt(0), said(1, TASK), progress(3, "agent_progress", agentId="a1", message={"type": "system"}), gave(7))
    assert {span.source for span in items if isinstance(span, Span)} == {Source.TRANSCRIPT}
    assert start_range(one(items, Boundary.TOOL_EXECUTION)) == between(1, 3)


def test_an_agent_without_a_name_goes_by_the_call_that_started_it() -> None:
    line = mirrored(3, said(2.9, words(), message="msg_2"))
    del line["data"]["agentId"]
    assert {turn.agent_id for turn in spans(told(prompt(0), said(1, TASK), line, gave(7)), Boundary.TURN)} == {None, "toolu_1"}


# Beside its file ------------------------------------------------------------------------------------------------------

BESIDE = {"agentType": "explorer", "toolUseId": "toolu_1", "description": "look around", "finished": True}


@pytest.mark.parametrize("before", [(), ({"type": "atis-latch", "sessionId": SESSION},)])
def test_what_stands_beside_an_agents_file_links_it_to_its_call_while_it_works(before: tuple[Entry, ...]) -> None:
    lines = lines_of([*before, inside(prompt(1, "look around"))])
    items = list(read(lines, companion=Companion("toolu_1", "explorer")))
    (agent,) = spans(items, Boundary.SUBAGENT)
    assert (agent.key, agent.agent_id, agent.parent_key, agent.name) == ("a1", "a1", "toolu_1", "explorer")
    assert (agent.start_ns, agent.end_ns, agent.position) == (at(1), None, 0)
    assert agent.attributes == {semconv.PARENT_TOOL: "toolu_1", semconv.AGENT_TYPE: "explorer"}


def test_it_is_told_once_and_of_no_main_agent() -> None:
    grown = TranscriptReader(companion=Companion("toolu_1"), entries=4)
    assert spans([item for line in lines_of([inside(prompt(1, "go"))]) for item in grown.feed(line)], Boundary.SUBAGENT) == []
    main = list(read(lines_of([prompt(1, "go"), said(2, words())]), companion=Companion("toolu_1")))
    assert spans(main, Boundary.SUBAGENT) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"toolUseId": null}'])
def test_a_companion_that_names_no_call_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "agent-a1.meta.json").write_text(text)
    assert companion_of(tmp_path / "agent-a1.jsonl") is None


def test_a_companion_is_one_of_a_file_that_is_there(tmp_path: Path) -> None:
    beside = tmp_path / "agent-a1.meta.json"
    beside.write_text(json.dumps(BESIDE))
    assert companion_of(tmp_path / "agent-a1.jsonl") == Companion("toolu_1", "explorer")
    assert companion_of(tmp_path / "agent-a2.jsonl") is None
    assert not is_companion(beside)
    (tmp_path / "agent-a1.jsonl").touch()
    assert is_companion(beside)
