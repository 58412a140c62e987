"""Turns: what begins one, what belongs to it, when it ends, and that a user's idle time is in none."""

from typing import Any

import pytest

from tests.sources.transcript.written import (
    LATE,
    SECOND,
    SESSION,
    Entry,
    api_request,
    at,
    by_key,
    entry,
    gave,
    gave_up,
    hook_began,
    hook_ended,
    one,
    progress,
    prompt,
    said,
    spans,
    system,
    thought,
    told,
    tool,
    user,
    words,
)
from tracekit.model import Boundary, Span, Status, semconv

HOUR = 3600.0


def turns(*entries: Entry) -> list[Span]:
    return sorted(spans(told(*entries), Boundary.TURN), key=lambda turn: turn.start_ns)


def walls(*entries: Entry) -> list[tuple[int, int | None]]:
    return [(turn.start_ns, turn.end_ns) for turn in turns(*entries)]


def after(turn_end: float, *late: Entry) -> tuple[Entry, ...]:
    """A turn that ends with a text, something hours later, and the next prompt."""
    again = said(2 * HOUR + 1, words(), message="msg_2", request="req_2")
    return prompt(0), said(turn_end, words()), *late, prompt(2 * HOUR, "and now?"), again


def test_a_prompt_begins_a_turn_and_its_last_line_ends_it() -> None:
    first, second = turns(prompt(0), said(3, words()), prompt(60, "more"), said(64, words(), message="msg_2", request="req_2"))
    assert (first.key, first.parent_key, first.name, first.agent_id) == ("user@0", SESSION, "prompt", None)
    assert [(turn.start_ns, turn.end_ns) for turn in (first, second)] == [(at(0), at(3)), (at(60), at(64))]
    assert first.attributes[semconv.TURN_KIND] == "prompt"
    assert (first.attributes[semconv.PROJECT], first.attributes[semconv.CLIENT_VERSION]) == ("/home/demo/project", "2.1.25")


def test_late_clients_name_a_prompt_and_write_it_in_several_entries() -> None:
    parts = (prompt(0.5, promptId="p-1"), user(0, [{"type": "image", "source": {}}], promptId="p-1", uuid="image"))
    (turn,) = turns(*parts, said(3, words()))
    assert (turn.key, turn.start_ns, turn.end_ns) == ("p-1", at(0), at(3))


def test_a_prompt_of_nothing_but_a_picture_is_one() -> None:
    assert len(turns(prompt(0), said(1, words()), user(9, [{"type": "image", "source": {}}]))) == 2


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("do it", "prompt"),
        ("<command-name>/review</command-name>", "command"),
        ("<command-message>review</command-message>", "command"),
        ("<bash-input>ls</bash-input>", "command"),
        ("<task-notification>done</task-notification>", "notification"),
    ],
)
def test_a_turn_says_what_began_it(text: str, kind: str) -> None:
    assert [turn.name for turn in turns(prompt(0, text))] == [kind]


def test_a_file_that_begins_inside_a_turn_has_one_without_a_prompt() -> None:
    first, second = turns(said(5, words()), prompt(60))
    assert (first.name, first.start_ns, first.end_ns) == ("implicit", at(5), at(5))
    assert second.name == "prompt"


@pytest.mark.parametrize(
    "fields", [{"isMeta": True}, {"isCompactSummary": True}, {"isVisibleInTranscriptOnly": True}], ids=lambda fields: next(iter(fields))
)
def test_a_users_line_that_no_user_wrote_begins_no_turn(fields: Entry) -> None:
    assert walls(prompt(0), said(3, words()), user(HOUR, "by the way", **fields)) == [(at(0), at(3))]


@pytest.mark.parametrize(
    "late",
    [
        user(HOUR, "Continue from where you left off.", isMeta=True),
        gave_up(HOUR, "No response requested.") | {"isApiErrorMessage": False},
        user(HOUR, "<local-command-stdout>ok</local-command-stdout>"),
        user(HOUR, "<local-command-caveat>Caveat</local-command-caveat>", isMeta=True),
        user(HOUR, "<bash-stdout>ok</bash-stdout>"),
        system(HOUR, "local_command", content="/help"),
        system(HOUR, "away_summary", content="you were away"),
        entry("attachment", HOUR, attachment={"type": "date"}),
        hook_began(HOUR, "SessionStart", "s-1"),
        hook_ended(HOUR, "SessionEnd", key="s-1"),
        progress(HOUR, "waiting_for_task", "toolu_unknown"),
        {"type": "queue-operation", "operation": "enqueue", "timestamp": "2027-01-15T09:00:00.000Z", "content": "more"},
    ],
    ids=lambda late: str(late.get("subtype") or late.get("uuid") or late["type"]),
)
def test_what_is_written_while_the_user_is_away_does_not_stretch_a_turn(late: Entry) -> None:
    assert walls(*after(3, late)) == [(at(0), at(3)), (at(2 * HOUR), at(2 * HOUR + 1))]


def test_the_time_between_a_command_and_the_next_is_the_users() -> None:
    lines = (
        prompt(0, "<command-name>/model</command-name>"),
        user(1, "<local-command-stdout>set</local-command-stdout>"),
        user(HOUR, "<local-command-caveat>Caveat</local-command-caveat>", isMeta=True),
        prompt(HOUR + 1, "<command-name>/cost</command-name>"),
        user(HOUR + 2, "<local-command-stdout>much</local-command-stdout>", uuid="cost"),
    )
    assert walls(*lines) == [(at(0), at(1)), (at(HOUR + 1), at(HOUR + 2))]


def test_progress_of_what_runs_on_in_the_background_does_not_stretch_a_turn() -> None:
    lines = (said(1, tool(name="Task")), gave(2, toolUseResult={"agentId": "a1", "isAsync": True}))
    answer = said(3, words(), message="msg_2", request="req_2")
    later = prompt(2 * HOUR), said(2 * HOUR + 1, words(), message="msg_3", request="req_3")
    assert walls(prompt(0), *lines, answer, progress(HOUR, "agent_progress", agentId="a1"), *later)[0] == (at(0), at(3))


def test_progress_of_an_earlier_turns_call_does_not_stretch_this_one() -> None:
    lines = (prompt(60), said(61, words(), message="msg_2", request="req_2"))
    later = progress(HOUR, "bash_progress", elapsedTimeSeconds=9)
    assert walls(prompt(0), said(1, tool()), *lines, later, prompt(2 * HOUR))[1] == (at(60), at(61))


def test_the_clients_own_measure_of_a_turn_is_kept_beside() -> None:
    lines = (said(40, words()), system(40.2, "stop_hook_summary", toolUseID="h"), system(40.3, "turn_duration", durationMs=40_000))
    (turn,) = turns(prompt(0), *lines)
    assert (turn.end_ns, turn.attributes[semconv.TURN_DURATION_NS]) == (at(40.3), 40 * SECOND)


# Whether it is over -----------------------------------------------------------------------------------------------------


def test_a_turn_whose_last_word_is_the_models_is_over_at_the_end_of_the_file() -> None:
    (turn,) = turns(prompt(0), said(3, words()))
    assert (turn.end_ns, semconv.LAST_SEEN_NS in turn.attributes) == (at(3), False)


@pytest.mark.parametrize(
    "lines",
    [
        (),
        (said(1, thought()),),
        (said(1, tool()),),
        (said(1, tool()), gave(3)),
        (api_request(2),),
    ],
    ids=["prompt", "thinking", "call", "result", "request"],
)
def test_a_turn_in_which_somebody_still_owes_something_is_open(lines: tuple[Entry, ...]) -> None:
    (turn,) = turns(prompt(0), *lines)
    last = [at(0), *(at(3) if "toolUseResult" in line or line["type"] == "user" else at(1) for line in lines)][-1]
    last = at(2) if lines and lines[-1]["type"] == "api-request" else last
    assert (turn.end_ns, turn.attributes[semconv.LAST_SEEN_NS]) == (None, last)


def test_a_turn_that_a_later_prompt_follows_is_over_whatever_was_owed() -> None:
    assert walls(prompt(0), said(1, tool()), gave(3), prompt(HOUR))[0] == (at(0), at(3))


def test_a_turn_is_over_when_its_stop_hooks_are_unless_they_made_it_go_on() -> None:
    lines = (prompt(0), said(1, thought()), hook_began(1.1, "Stop", "h"))
    (over,) = turns(*lines, system(1.5, "stop_hook_summary", toolUseID="h"))
    (on,) = turns(*lines, system(1.5, "stop_hook_summary", toolUseID="h", preventedContinuation=True))
    assert (over.end_ns, on.end_ns) == (at(1.5), None)


# Interrupts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marker", "what"), [("[Request interrupted by user]", "streaming"), ("[Request interrupted by user for tool use]", "tool")]
)
def test_an_interrupt_ends_a_turn_and_says_what_it_stopped(marker: str, what: str) -> None:
    (turn,) = turns(prompt(0), said(1, thought()), user(4, [words(marker)]))
    assert (turn.end_ns, turn.status) == (at(4), Status.CANCELLED)
    assert (turn.attributes[semconv.INTERRUPTED], turn.attributes[semconv.INTERRUPTS]) == (what, 1)


def test_an_interrupt_is_no_prompt() -> None:
    assert len(turns(prompt(0), said(1, thought()), user(4, "[Request interrupted by user]"))) == 1


@pytest.mark.parametrize(
    "text",
    ["why does it say [Request interrupted by user] here?", "[Request interrupted by user]\nand then?", "[request interrupted by user]"],
)
def test_the_marker_quoted_in_a_text_interrupts_nothing(text: str) -> None:
    found = turns(prompt(0), said(1, words()), prompt(9, text))
    assert [semconv.INTERRUPTED in turn.attributes for turn in found] == [False, False]
    assert len(found) == 2


def test_the_marker_quoted_by_a_tool_or_the_model_interrupts_nothing() -> None:
    marker = "[Request interrupted by user]"
    (turn,) = turns(prompt(0), said(1, tool()), gave(2, content=marker), said(3, words(marker), message="msg_2", request="req_2"))
    assert (turn.status, turn.end_ns) == (Status.UNSET, at(3))


def test_a_call_that_was_interrupted_without_a_result_was_given_up() -> None:
    items = told(prompt(0), said(1, tool()), user(4, "[Request interrupted by user for tool use]"))
    schedule = one(items, Boundary.TOOL_SCHEDULE)
    assert (schedule.end_ns, schedule.status) == (at(4), Status.CANCELLED)
    assert one(items, Boundary.TURN).end_ns == at(4)


# Sessions, copies and silent lines --------------------------------------------------------------------------------------


def test_two_sessions_in_one_file_stay_two() -> None:
    other = "5e551000-0000-4000-8000-000000000002"
    lines = (prompt(60, sessionId=other), said(61, tool("toolu_2"), message="msg_2", request="req_2", sessionId=other))
    items = told(prompt(0), said(1, tool()), gave(2), *lines, gave(62, "toolu_2", sessionId=other))
    for boundary, keys in {Boundary.TURN: ("user@0", "user@60"), Boundary.TOOL_EXECUTION: ("toolu_1", "toolu_2")}.items():
        found = by_key(items, boundary)
        assert [found[key].session_id for key in keys] == [SESSION, other]


def test_a_line_that_is_repeated_counts_once() -> None:
    lines = (prompt(0), said(1, words(), tokens=5), said(2, tool()), gave(3))
    assert told(*lines, *(line | {"timestamp": "2027-01-15T12:00:00.000Z"} for line in lines)) == told(*lines)


@pytest.mark.parametrize(
    "silent",
    [
        {"type": "summary", "summary": "a title", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {"timestamp": "2027-01-15T12:00:00.000Z"}},
        {"type": "queue-operation", "operation": "enqueue", "timestamp": "2027-01-15T12:00:00.000Z", "sessionId": SESSION},
        {"type": "last-prompt", "lastPrompt": "do it", "sessionId": SESSION},
        {"type": "ai-title", "aiTitle": "a title", "sessionId": SESSION},
        {"type": "mode", "mode": "default", "sessionId": SESSION},
        {"type": "permission-mode", "permissionMode": "default", "sessionId": SESSION},
        {"type": "pr-link", "prNumber": 1, "sessionId": SESSION, "timestamp": "2027-01-15T12:00:00.000Z"},
        {"type": "something-new", "sessionId": SESSION, "timestamp": "2027-01-15T12:00:00.000Z"},
        {"type": 7},
        {"type": ["user"]},
        {},
    ],
    ids=lambda silent: str(silent.get("type")),
)
def test_kinds_that_mean_nothing_in_time_are_passed_over_in_silence(silent: Entry) -> None:
    lines = (prompt(0), said(1, tool()), gave(3))
    items = told(*lines[:2], silent, lines[2])
    assert [item for item in items if not isinstance(item, Span)] == []
    assert [(span.key, span.start_ns, span.end_ns) for span in items if isinstance(span, Span)] == [
        (span.key, span.start_ns, span.end_ns) for span in told(*lines) if isinstance(span, Span)
    ]


@pytest.mark.parametrize("stamp", [None, "", "yesterday", 1_800_000_000, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"])
@pytest.mark.parametrize("kind", ["user", "assistant", "system", "progress", "attachment", "api-request"])
def test_an_entry_that_means_something_at_its_time_and_has_none_is_a_problem(kind: str, stamp: Any) -> None:
    (problem, *rest) = told(entry(kind, 0) | {"timestamp": stamp})
    assert rest == []
    assert (problem[0], problem[2], problem[3]) == (1, "no timestamp", f"an entry of type {kind}")


@pytest.mark.parametrize("kind", ["user", "assistant", "system", "progress", "attachment", "api-request"])
@pytest.mark.parametrize("broken", [None, 7, "x", [], ["x", None, 3], {}, {"content": 7, "type": []}, {"content": [None, {"type": None}]}])
def test_fields_of_the_wrong_kind_break_nothing(kind: str, broken: Any) -> None:
    names = (
        "message",
        "data",
        "attachment",
        "params",
        "error",
        "toolUseResult",
        "compactMetadata",
        "hookErrors",
        "durationMs",
        "retryInMs",
    )
    subtypes = ("api_error", "compact_boundary", "microcompact_boundary", "stop_hook_summary", "turn_duration")
    odd = [entry(kind, 5, **dict.fromkeys(names, broken), subtype=subtype, uuid=subtype) for subtype in subtypes]
    items = told(prompt(0), said(1, words(), version=LATE), *odd)
    assert by_key(items, Boundary.TURN)["user@0"].start_ns == at(0)
    assert by_key(items, Boundary.MODEL_REQUEST)["req_1"].attributes[semconv.OUTPUT_TOKENS] == 1


def test_the_clients_running_total_is_the_session() -> None:
    cost = {"type": "cost-state", "sessionId": SESSION, "startTime": at(0) / 10**6, "totalDuration": 61_500, "totalCostUSD": 0.25}
    span = one(told(cost), Boundary.SESSION)
    assert (span.key, span.start_ns, span.end_ns, span.attributes) == (SESSION, at(0), at(61.5), {semconv.COST_USD: 0.25})


@pytest.mark.parametrize("name", ["startTime", "totalDuration", "totalCostUSD"])
def test_a_running_total_with_a_number_missing_is_passed_over(name: str) -> None:
    cost = {"type": "cost-state", "sessionId": SESSION, "startTime": at(0) / 10**6, "totalDuration": 61_500, "totalCostUSD": 0.25}
    assert told(cost | {name: None}) == []
