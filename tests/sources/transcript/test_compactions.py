"""Compactions: one line when each was finished, and what bounds its beginning."""

import pytest

from tests.sources.transcript.written import (
    SECOND,
    Entry,
    at,
    between,
    by_key,
    end_range,
    gave,
    in_a_row,
    one,
    prompt,
    said,
    spans,
    start_range,
    system,
    told,
    tool,
    user,
    words,
)
from tracekit.model import Boundary, Span, Status, semconv

HOUR = 3600.0


def compacted(seconds: float, trigger: str = "auto", after: str | None = None, **data: object) -> Entry:
    metadata = {"trigger": trigger, "preTokens": 155_000, **data}
    return system(seconds, "compact_boundary", logicalParentUuid=after, compactMetadata=metadata, uuid="boundary")


def cleared(seconds: float) -> Entry:
    metadata = {"trigger": "auto", "preTokens": 90_000, "tokensSaved": 30_000, "compactedToolIds": ["toolu_1"]}
    return system(seconds, "microcompact_boundary", microcompactMetadata=metadata, uuid="boundary")


def summary(seconds: float) -> Entry:
    return user(seconds, "This session is being continued…", isCompactSummary=True, isVisibleInTranscriptOnly=True, uuid="summary")


def compaction(*entries: Entry) -> Span:
    return one(told(*entries), Boundary.COMPACTION)


def test_a_compaction_began_after_the_line_that_it_follows_and_ended_with_its_own() -> None:
    span = compaction(prompt(0), said(2, tool()), gave(5), compacted(65, after="user@5"), summary(65), said(70, words(), message="msg_2"))
    assert (span.key, span.name, span.parent_key, span.status) == ("boundary", "compact", "user@0", Status.OK)
    assert (start_range(span), end_range(span)) == (between(5, 65), between(65, 65))
    assert span.attributes == {
        semconv.COMPACTION_KIND: "full",
        semconv.COMPACTION_TRIGGER: "auto",
        semconv.PRE_TOKENS: 155_000,
    }


def test_where_the_line_that_it_follows_is_not_here_it_began_after_the_last_that_is() -> None:
    assert start_range(compaction(prompt(0), said(2, tool()), gave(5), compacted(65, after="elsewhere"))) == between(5, 65)


def test_late_clients_say_how_long_it_took_and_what_was_left() -> None:
    span = compaction(prompt(0), said(2, words()), compacted(65, durationMs=40_000, postTokens=9_000))
    assert (start_range(span), end_range(span)) == (between(25, 25), between(65, 65))
    assert span.attributes[semconv.POST_TOKENS] == 9_000


def test_an_automatic_compaction_and_its_summary_begin_no_turn() -> None:
    lines = (prompt(0), said(2, tool()), gave(5), compacted(65), summary(65), said(70, words(), message="msg_2", request="req_2"))
    assert [(turn.key, turn.end_ns) for turn in spans(told(*lines), Boundary.TURN)] == [("user@0", at(70))]


def test_a_file_may_begin_with_a_compaction() -> None:
    items = told(compacted(65, after="elsewhere"), summary(65), prompt(70))
    assert start_range(one(items, Boundary.COMPACTION)) == between(65, 65)


def test_clearing_old_results_takes_no_time_that_the_client_tells() -> None:
    span = compaction(prompt(0), said(2, tool()), gave(5), cleared(9))
    assert (span.name, start_range(span), end_range(span)) == ("microcompact", between(9, 9), between(9, 9))
    assert span.attributes == {
        semconv.COMPACTION_KIND: "micro",
        semconv.COMPACTION_TRIGGER: "auto",
        semconv.PRE_TOKENS: 90_000,
        semconv.TOKENS_SAVED: 30_000,
    }


def manual(**command: object) -> tuple[Entry, ...]:
    """A turn, and an hour later a compaction that the user asks for: its command is written last, with the time when it was given."""
    return (
        *in_a_row(prompt(0), said(3, words())),
        compacted(HOUR + 60, "manual", after="assistant@3"),
        summary(HOUR + 60),
        user(HOUR, "<command-name>/compact</command-name>", uuid="command", **command),
        user(HOUR + 60.1, "<local-command-stdout>Compacted</local-command-stdout>", uuid="output"),
    )


def test_a_manual_compaction_is_a_turn_of_its_own_that_began_with_its_command() -> None:
    items = told(*manual())
    turns = by_key(items, Boundary.TURN)
    assert {key: (turn.name, turn.start_ns, turn.end_ns) for key, turn in turns.items()} == {
        "user@0": ("prompt", at(0), at(3)),
        "boundary": ("command", at(HOUR), at(HOUR + 60.1)),
    }
    span = one(items, Boundary.COMPACTION)
    assert (span.parent_key, start_range(span), end_range(span)) == ("boundary", between(HOUR, HOUR + 60), between(HOUR + 60, HOUR + 60))


def test_the_prompt_id_of_its_command_names_the_turn_of_a_manual_compaction() -> None:
    items = told(*manual(promptId="p-2"))
    assert set(by_key(items, Boundary.TURN)) == {"user@0", "p-2"}
    assert one(items, Boundary.COMPACTION).parent_key == "p-2"


def test_a_manual_compaction_whose_command_is_not_written_still_parts_the_turns() -> None:
    items = told(*manual()[:4], prompt(2 * HOUR, uuid="next"))
    assert {key: (turn.start_ns, turn.end_ns) for key, turn in by_key(items, Boundary.TURN).items()} == {
        "user@0": (at(0), at(3)),
        "boundary": (at(HOUR + 60), at(HOUR + 60)),
        "next": (at(2 * HOUR), None),
    }


@pytest.mark.parametrize("lines", [manual()[:4], manual(promptId="p-2")], ids=["without a command", "with one"])
def test_a_command_that_comes_later_is_not_the_one_that_asked_for_the_compaction(lines: tuple[Entry, ...]) -> None:
    lines = tuple(line | {"promptId": "p-2"} if line.get("uuid") == "boundary" else line for line in lines)
    items = told(*lines, user(2 * HOUR, "<command-name>/cost</command-name>", uuid="later", promptId="p-3"))
    later = by_key(items, Boundary.TURN)["p-3"]
    assert (later.start_ns, later.name) == (at(2 * HOUR), "command")


def test_a_duration_of_a_compaction_may_not_be_a_number() -> None:
    assert start_range(compaction(prompt(0), compacted(65, durationMs="long"))) == between(0, 65)
    assert start_range(compaction(prompt(0), compacted(65, durationMs=70 * SECOND * SECOND))) == between(0, 65)
