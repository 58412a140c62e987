"""The views: what each witness saw becomes one row a boundary, and no contradiction is averaged away."""

from collections.abc import Iterable
from typing import Any

import pytest

from tracekit.model import Boundary, Source, Span, Status, semconv
from tracekit.testing import memory_store, request, span, tool, turn

Row = dict[str, Any]


def fused(*files: Iterable[Span]) -> dict[tuple[str, str], Row]:
    with memory_store(*files) as store:
        return {(row["session_id"], row["key"]): row for row in store.rows("SELECT * FROM boundaries")}


def one(*spans: Span) -> Row:
    (row,) = fused(spans).values()
    return row


def run(start_ns: int, end_ns: int | None, **fields: Any) -> Span:
    return span(Boundary.TOOL_EXECUTION, "toolu_1", start_ns, end_ns, **fields)


# Edges ---------------------------------------------------------------------------------------------------------------


def test_a_single_witness_is_taken_at_its_word() -> None:
    row = one(run(10, 30, start_slack_ns=5, end_slack_ns=2, source=Source.TRANSCRIPT))
    assert (row["start_ns"], row["start_slack_ns"], row["end_ns"], row["end_slack_ns"]) == (10, 5, 30, 2)
    assert (row["start_source"], row["end_source"], row["witnesses"], row["witness_count"]) == ("transcript", "transcript", "transcript", 1)


def test_each_edge_comes_from_the_witness_with_the_least_slack() -> None:
    row = one(
        run(10, 40, start_slack_ns=0, end_slack_ns=20, source=Source.TRANSCRIPT),
        run(0, 30, start_slack_ns=15, end_slack_ns=0, source=Source.OTEL),
    )
    assert (row["start_ns"], row["start_slack_ns"], row["start_source"]) == (10, 0, "transcript")
    assert (row["end_ns"], row["end_slack_ns"], row["end_source"]) == (30, 0, "otel")


def test_of_witnesses_with_equal_slack_the_better_ranked_gives_the_edge() -> None:
    row = one(run(10, 30, source=Source.TRANSCRIPT), run(11, 31, source=Source.OTEL))
    assert (row["start_ns"], row["start_source"], row["end_ns"], row["end_source"]) == (11, "otel", 31, "otel")


def test_witnesses_that_agree_narrow_each_others_bounds() -> None:
    row = one(
        run(0, 50, start_slack_ns=10, end_slack_ns=20, source=Source.OTEL),
        run(5, 45, start_slack_ns=15, end_slack_ns=10, source=Source.TRANSCRIPT),
    )
    assert (row["start_ns"], row["start_slack_ns"], row["start_source"]) == (5, 5, "otel")
    assert (row["end_ns"], row["end_slack_ns"], row["end_source"]) == (45, 10, "transcript")
    assert (row["start_disagreement_ns"], row["end_disagreement_ns"]) == (0, 0)


def test_bounds_that_only_touch_agree_on_the_moment_between_them() -> None:
    row = one(run(0, 50, start_slack_ns=10, source=Source.OTEL), run(10, 50, start_slack_ns=10, source=Source.TRANSCRIPT))
    assert (row["start_ns"], row["start_slack_ns"], row["start_disagreement_ns"]) == (10, 0, 0)


def test_witnesses_that_contradict_keep_the_better_edge_and_say_how_far_they_are_apart() -> None:
    row = one(
        run(0, 50, start_slack_ns=2, end_slack_ns=5, source=Source.OTEL),
        run(10, 80, start_slack_ns=7, end_slack_ns=10, source=Source.TRANSCRIPT),
    )
    assert (row["start_ns"], row["start_slack_ns"], row["start_disagreement_ns"]) == (0, 2, 8)
    assert (row["end_ns"], row["end_slack_ns"], row["end_disagreement_ns"]) == (50, 5, 20)


# Open ----------------------------------------------------------------------------------------------------------------


def test_what_no_witness_saw_end_is_open() -> None:
    row = one(run(0, None, source=Source.OTEL), run(3, None, source=Source.TRANSCRIPT))
    assert (row["end_ns"], row["end_slack_ns"], row["end_source"], row["end_disagreement_ns"]) == (None, 0, None, 0)


def test_one_witness_that_saw_the_end_closes_it() -> None:
    row = one(run(0, None, source=Source.OTEL), run(0, 30, end_slack_ns=9, source=Source.TRANSCRIPT))
    assert (row["end_ns"], row["end_slack_ns"], row["end_source"]) == (30, 9, "transcript")


def test_of_two_copies_by_one_witness_the_closed_one_counts() -> None:
    row = fused([run(0, None)], [run(0, 30)])["session", "toolu_1"]
    assert (row["end_ns"], row["witness_count"]) == (30, 1)


def test_of_two_closed_copies_by_one_witness_the_later_end_counts() -> None:
    row = fused([run(0, 30)], [run(0, 20)])["session", "toolu_1"]
    assert (row["end_ns"], row["witness_count"]) == (30, 1)


# What they say -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ((Status.OK, Status.ERROR), "error"),
        ((Status.CANCELLED, Status.OK), "cancelled"),
        ((Status.UNSET, Status.OK), "ok"),
        ((Status.UNSET, Status.UNSET), "unset"),
    ],
)
def test_the_worst_that_a_witness_says_is_the_status(said: tuple[Status, Status], told: str) -> None:
    assert one(run(0, 1, status=said[0]), run(0, 1, status=said[1], source=Source.TRANSCRIPT))["status"] == told


def test_attributes_are_merged_and_the_better_witness_has_the_last_word() -> None:
    row = one(
        run(0, 1, source=Source.TRANSCRIPT, attributes={"a": "transcript", "b": "transcript"}),
        run(0, 1, source=Source.STAMPS, attributes={"c": "stamps", "b": "stamps"}),
        run(0, 1, source=Source.OTEL, attributes={"a": "otel", "b": "otel"}),
    )
    assert row["attributes"] == {"a": "otel", "b": "stamps", "c": "stamps"}
    assert (row["witnesses"], row["witness_count"]) == ("stamps,otel,transcript", 3)


def test_the_same_key_is_another_thing_in_another_boundary() -> None:
    with memory_store(tool(0, 1, 2)) as store:
        assert store.rows("SELECT boundary, witness_count FROM boundaries ORDER BY boundary") == [
            {"boundary": "tool_execution", "witness_count": 1},
            {"boundary": "tool_schedule", "witness_count": 1},
        ]


# Mirrors -------------------------------------------------------------------------------------------------------------


def test_a_mirror_is_no_second_opinion() -> None:
    row = one(run(5, 30, start_slack_ns=20, source=Source.TRANSCRIPT), run(7, 29, source=Source.PROGRESS, status=Status.ERROR))
    assert (row["witnesses"], row["start_ns"], row["start_slack_ns"], row["status"]) == ("transcript", 5, 20, "unset")


def test_a_mirror_counts_where_the_agents_own_witness_is_missing() -> None:
    row = one(run(7, 29, source=Source.PROGRESS))
    assert (row["witnesses"], row["start_ns"], row["end_ns"]) == ("progress", 7, 29)


# Copies --------------------------------------------------------------------------------------------------------------

ORIGINAL = (
    turn(0, 90, key="prompt_1", session_id="original", source=Source.TRANSCRIPT),
    request(10, 50, parent_key="prompt_1", session_id="original", source=Source.TRANSCRIPT),
)
FORK = (
    turn(0, 50, key="prompt_1", session_id="fork", source=Source.TRANSCRIPT),
    request(10, 50, parent_key="prompt_1", session_id="fork", source=Source.TRANSCRIPT),
    request(60, 70, key="req_2", parent_key="prompt_1", session_id="fork", source=Source.TRANSCRIPT),
)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["original-first", "fork-first"])
def test_a_fork_owns_what_it_did_itself_whichever_file_came_first(order: tuple[int, int]) -> None:
    earlier = turn(-100, -90, key="prompt_0", session_id="original", source=Source.TRANSCRIPT)
    files = [[earlier, *ORIGINAL], FORK]
    found = fused(*(files[number] for number in order))
    assert set(found) == {("original", "prompt_0"), ("original", "prompt_1"), ("original", "req_1"), ("fork", "req_2")}


def test_of_two_that_began_at_once_one_owns_what_they_share() -> None:
    assert sorted(fused(ORIGINAL, FORK)) == [("fork", "prompt_1"), ("fork", "req_1"), ("fork", "req_2")]


def test_copies_say_who_owns_them() -> None:
    with memory_store([turn(-9, -8, key="p0", session_id="original"), *ORIGINAL], FORK) as store:
        assert store.rows("SELECT session_id, boundary, key, owner FROM copies ORDER BY key") == [
            {"session_id": "fork", "boundary": "turn", "key": "prompt_1", "owner": "original"},
            {"session_id": "fork", "boundary": "model_request", "key": "req_1", "owner": "original"},
        ]


@pytest.mark.parametrize("boundary", [Boundary.SESSION, Boundary.SUBAGENT, Boundary.MCP_CONNECTION])
def test_names_that_two_sessions_may_share_by_chance_are_no_copies(boundary: Boundary) -> None:
    both = [span(boundary, "a1b2c3d", 0, 1, session_id=name, source=Source.TRANSCRIPT) for name in ("one", "two")]
    assert sorted(fused(both)) == [("one", "a1b2c3d"), ("two", "a1b2c3d")]


# Aliases -------------------------------------------------------------------------------------------------------------

MESSAGE = {semconv.RESPONSE_ID: "msg_1"}


def test_requests_with_one_message_id_are_one_named_by_its_request_id() -> None:
    found = fused(
        [
            request(0, 50, key="msg_1", source=Source.TRANSCRIPT, attributes=MESSAGE, end_slack_ns=20),
            request(5, 45, key="req_1", attributes=MESSAGE),
            span(Boundary.STREAM_EVENT, "msg_1#0", 10, 20, parent_key="msg_1", source=Source.TRANSCRIPT),
        ],
    )
    assert {key for _, key in found} == {"req_1", "msg_1#0"}
    assert found["session", "req_1"]["witnesses"] == "otel,transcript"
    assert found["session", "msg_1#0"]["parent_key"] == "req_1"


def test_a_request_without_any_id_gives_way_to_its_message() -> None:
    made_up = request(0, 50, key="uuid", source=Source.TRANSCRIPT, attributes=MESSAGE)
    found = fused([made_up, request(5, 45, key="msg_1", source=Source.STREAM_JSON, attributes=MESSAGE)])
    assert {key for _, key in found} == {"msg_1"}


def test_the_turn_of_a_stream_and_of_the_transcript_meet_in_a_request_that_both_hold() -> None:
    found = fused(
        [
            turn(0, 90, key="prompt_1", source=Source.TRANSCRIPT),
            request(10, 50, parent_key="prompt_1", source=Source.TRANSCRIPT),
            turn(2, 88, key="turn:session#1", source=Source.STREAM_JSON),
            request(12, 48, parent_key="turn:session#1", source=Source.STREAM_JSON),
        ],
    )
    assert {key for _, key in found} == {"prompt_1", "req_1"}
    assert found["session", "prompt_1"]["witnesses"] == "stream_json,transcript"
    assert found["session", "req_1"]["parent_key"] == "prompt_1"


def test_turns_meet_also_where_their_requests_have_two_names() -> None:
    found = fused(
        [
            turn(0, 90, key="prompt_1", source=Source.TRANSCRIPT),
            request(10, 50, key="msg_1", parent_key="prompt_1", source=Source.TRANSCRIPT, attributes=MESSAGE),
            turn(2, 88, key="span:abc"),
            request(12, 48, key="req_1", parent_key="span:abc", attributes=MESSAGE),
        ],
    )
    assert {key for _, key in found} == {"prompt_1", "req_1"}


def test_turns_without_a_request_meet_in_the_compaction_that_both_hold() -> None:
    found = fused(
        [
            turn(0, 90, key="prompt_1", source=Source.TRANSCRIPT),
            span(Boundary.COMPACTION, "uuid", 10, 50, parent_key="prompt_1", source=Source.TRANSCRIPT),
            turn(2, 88, key="turn:session#1", source=Source.STREAM_JSON),
            span(Boundary.COMPACTION, "uuid", 12, 48, parent_key="turn:session#1", source=Source.STREAM_JSON),
        ],
    )
    assert {key for _, key in found} == {"prompt_1", "uuid"}


def test_two_turns_that_the_world_named_stay_two_though_they_hold_one_request() -> None:
    found = fused(
        [
            turn(0, 90, key="prompt_1", source=Source.TRANSCRIPT),
            request(10, 50, parent_key="prompt_1", source=Source.TRANSCRIPT),
            turn(2, 88, key="prompt_2"),
            request(12, 48, parent_key="prompt_2"),
        ],
    )
    assert {key for _, key in found} == {"prompt_1", "prompt_2", "req_1"}


def test_a_made_up_turn_without_a_request_in_common_stays_alone() -> None:
    found = fused([turn(0, 90, key="prompt_1", source=Source.TRANSCRIPT), turn(2, 88, key="turn:session#1", source=Source.STREAM_JSON)])
    assert {key for _, key in found} == {"prompt_1", "turn:session#1"}


def test_equal_message_ids_in_two_sessions_are_not_confused() -> None:
    found = fused(
        [
            request(0, 50, key="req_1", session_id="one", attributes=MESSAGE),
            request(0, 50, key="req_9", session_id="two", attributes=MESSAGE),
        ],
    )
    assert sorted(found) == [("one", "req_1"), ("two", "req_9")]


# Things that each witness names in its own way --------------------------------------------------------------------------

MS = 1_000_000
STOP = "Stop"


def hook(end_ms: float, key: str, source: Source, name: str = STOP, **fields: Any) -> Span:
    return span(Boundary.HOOK_REPLY, key, int((end_ms - 5) * MS), int(end_ms * MS), source=source, name=name, **fields)


def test_a_hook_that_three_witnesses_name_in_three_ways_is_one() -> None:
    row = one(
        hook(1000, "hook@1", Source.OTEL),
        hook(1001, "3b1f", Source.STREAM_JSON),
        hook(1002, "9ab9:Stop", Source.TRANSCRIPT),
    )
    assert (row["key"], row["witnesses"]) == ("9ab9:Stop", "otel,stream_json,transcript")


def test_a_hook_of_a_call_is_part_of_the_call_whoever_knows_that() -> None:
    known = {semconv.HOOK_TOOL: "toolu_1"}
    row = one(
        hook(1000, "hook@1", Source.OTEL, "PreToolUse:Bash", parent_key="turn"),
        hook(1001, "toolu_1:PreToolUse:Bash", Source.STREAM_JSON, "PreToolUse:Bash", parent_key="toolu_1", attributes=known),
    )
    assert (row["key"], row["parent_key"], row["witness_count"]) == ("toolu_1:PreToolUse:Bash", "toolu_1", 2)


def test_a_compaction_is_one_whatever_its_witnesses_call_it() -> None:
    row = one(
        span(Boundary.COMPACTION, "compaction@9", 0, 1010 * MS, name="manual"),
        span(Boundary.COMPACTION, "uuid", 100 * MS, 1000 * MS, name="compact", source=Source.TRANSCRIPT),
    )
    assert (row["key"], row["witnesses"]) == ("uuid", "otel,transcript")


@pytest.mark.parametrize(
    "other",
    [
        hook(1051, "b", Source.TRANSCRIPT),
        hook(1000, "b", Source.TRANSCRIPT, "SubagentStop"),
        hook(1000, "b", Source.TRANSCRIPT, agent_id="a1"),
        hook(1000, "b", Source.TRANSCRIPT, session_id="another"),
        hook(1000, "b", Source.OTEL),
        hook(1000, "b", Source.TRANSCRIPT)._replace(end_ns=None),
    ],
    ids=["later", "another hook", "another agent", "another session", "the same witness", "open"],
)
def test_what_may_be_two_hooks_stays_two(other: Span) -> None:
    assert {key for _, key in fused([hook(1000, "hook@1", Source.OTEL), other])} == {"hook@1", "b"}


def test_where_two_of_a_kind_ended_together_nobody_knows_which_is_which() -> None:
    found = fused(
        [
            hook(1000, "hook@1", Source.OTEL, "PostToolUse:Read"),
            hook(1010, "hook@2", Source.OTEL, "PostToolUse:Read"),
            hook(1001, "toolu_1:PostToolUse:Read", Source.TRANSCRIPT, "PostToolUse:Read"),
            hook(1011, "toolu_2:PostToolUse:Read", Source.TRANSCRIPT, "PostToolUse:Read"),
        ],
    )
    assert len(found) == 4


def test_a_file_that_comes_later_makes_them_meet() -> None:
    found = fused([hook(1000, "hook@1", Source.OTEL)], [hook(1001, "9ab9:Stop", Source.TRANSCRIPT)])
    assert [(key, row["witness_count"]) for (_, key), row in found.items()] == [("9ab9:Stop", 2)]


# Streams that go on ----------------------------------------------------------------------------------------------------

STOPPED = {semconv.STOP_REASON: "end_turn"}


@pytest.mark.parametrize(
    ("closer", "farther"),
    [
        (Source.GATEWAY, Source.TRANSCRIPT),
        (Source.INSTRUMENT, Source.TRANSCRIPT),
        (Source.GATEWAY, Source.STREAM_JSON),
        (Source.STREAM_JSON, Source.TRANSCRIPT),
    ],
)
def test_the_last_block_is_no_end_for_who_sees_the_stream_go_on(closer: Source, farther: Source) -> None:
    row = one(request(10, None, source=closer), request(0, 50, source=farther, start_slack_ns=20))
    assert (row["start_ns"], row["end_ns"], row["end_source"], row["witness_count"]) == (10, None, None, 2)


@pytest.mark.parametrize(
    ("spans", "source"),
    [
        ([request(10, None, source=Source.GATEWAY), request(0, 50, source=Source.TRANSCRIPT, attributes=STOPPED)], "transcript"),
        ([request(10, None, source=Source.GATEWAY), request(0, 50)], "otel"),
        ([request(10, None, source=Source.GATEWAY), request(10, 50, source=Source.INSTRUMENT)], "instrument"),
        ([request(10, None, source=Source.STREAM_JSON), request(0, 50, source=Source.GATEWAY)], "gateway"),
        ([request(10, None), request(0, 50, source=Source.TRANSCRIPT)], "transcript"),
    ],
    ids=["a stop reason came", "telemetry", "two that see bytes", "who sees more", "telemetry has not told yet"],
)
def test_who_knows_of_the_end_ends_it(spans: list[Span], source: str) -> None:
    row = one(*spans)
    assert (row["end_ns"], row["end_source"]) == (50, source)


def test_of_other_boundaries_every_witness_may_tell_the_end() -> None:
    row = one(run(10, None, source=Source.GATEWAY), run(10, 50, source=Source.TRANSCRIPT))
    assert row["end_ns"] == 50
