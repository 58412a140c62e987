"""Whatever a hook is told, what is recorded of it is sound; what is recorded can be found again."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture.hooks.payloads import BASH, MS, T0, Play, payload
from tracekit.capture.hooks.entries import EVENTS, NOT_FOR_RECORDERS, command_hooks, http_hooks, is_ours
from tracekit.capture.hooks.known import OPEN_THINGS, SESSIONS, Edge, Known, recall
from tracekit.capture.hooks.observing import HANDLERS, Said
from tracekit.errors import TracekitError
from tracekit.model import Boundary, Source, Span, semconv
from tracekit.spool import span_row

NAMES = {value for name, value in vars(semconv).items() if name.isupper()}
JUNK = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8) | st.just("x" * 3_000)
VALUE = (
    JUNK
    | st.lists(JUNK | st.dictionaries(st.just("tool_use_id"), JUNK), max_size=3)
    | st.dictionaries(st.text(max_size=5), JUNK, max_size=3)
)
FIELDS = st.dictionaries(
    st.sampled_from(
        [
            *(
                "prompt_id",
                "agent_id",
                "agent_type",
                "tool_use_id",
                "tool_name",
                "tool_input",
                "tool_response",
                "tool_calls",
                "duration_ms",
            ),
            *(
                "error",
                "is_interrupt",
                "reason",
                "source",
                "trigger",
                "notification_type",
                "error_details",
                "mcp_server",
                "mcp_server_name",
            ),
            *("elicitation_id", "action", "cwd", "model", "prompt"),
        ]
    ),
    VALUE,
)
IDS = st.fixed_dictionaries({}, optional={"tool_use_id": st.sampled_from(["t1", "t2"]), "prompt_id": st.sampled_from(["p1", "p2"])})


@given(
    st.lists(st.tuples(st.integers(0, 5_000_000), st.sampled_from(sorted(HANDLERS)), FIELDS, IDS), max_size=12),
    st.booleans(),
)
def test_any_hooks_give_sound_observations(hooks: list[tuple[int, str, dict[str, Any], dict[str, str]]], stays: bool) -> None:  # noqa: FBT001
    play = Play(stays=stays, content=True)
    for at_ms, event, fields, ids in hooks:
        for span in play.hook(at_ms, event, **{**fields, **ids}):
            assert span.source == Source.HOOKS
            assert span.key
            assert 0 < span.start_ns <= span.start_ns + span.start_slack_ns <= T0 + at_ms * MS
            assert span.end_ns is None or span.start_ns <= span.end_ns - span.end_slack_ns <= span.end_ns <= T0 + at_ms * MS
            assert span.end_ns is None or span.start_ns + span.start_slack_ns <= span.end_ns
            assert min(span.start_slack_ns, span.end_slack_ns) >= 0
            assert set(span.attributes) <= NAMES
            json.dumps(span_row(span))


@given(st.binary(max_size=60) | JUNK.map(json.dumps).map(str.encode) | st.lists(JUNK).map(json.dumps).map(str.encode))
def test_what_is_no_input_of_a_hook_tells_nothing(body: bytes) -> None:
    assert Said.read(body, "Stop") is None


def test_an_event_that_is_not_known_tells_nothing() -> None:
    assert Said.read(payload("EventOfTheFuture")) is None
    assert Said.read(payload("Stop", session_id=None)) is None
    assert Said.read(b"[" * 100_000) is None


def test_the_path_names_the_event_where_the_input_does_not() -> None:
    said = Said.read(payload("Stop", hook_event_name=None), "UserPromptSubmit")
    assert said is not None
    assert said.event == "UserPromptSubmit"


# What is remembered, and found again


def span(key: str, *, session_id: str = "s1", end_ns: int | None = None, **attributes: str) -> Span:
    return Span(Source.HOOKS, session_id, Boundary.PERMISSION_WAIT, key, 1, end_ns, name="Bash", attributes=attributes)


def lines(*spans: Span) -> bytes:
    return b"".join(json.dumps(span_row(one), separators=(",", ":")).encode() + b"\n" for one in spans)


def test_records_tell_what_is_open_in_a_session() -> None:
    told = lines(span("a"), span("b"), span("a", session_id="s2"), span("b", end_ns=5), span("c"))
    known = recall(Known(), b'torn","session_id":"s1", "a"}\n' + told + b'{"session_id":"s1","key":"a"', "s1", ["a", "b"])
    assert [thing.key for thing in known.open("s1", Boundary.PERMISSION_WAIT)] == ["a"]
    assert known.open("s2", Boundary.PERMISSION_WAIT) == []


def test_what_was_opened_under_another_name_is_closed_by_its_own() -> None:
    known = Known()
    known.note(span("permission@1"))
    known.note(span("toolu_1", end_ns=9, **{semconv.OPENED_AS: "permission@1"}))
    assert known.open("s1", Boundary.PERMISSION_WAIT) == []


def test_memory_is_bounded_and_the_oldest_goes_first() -> None:
    known = Known()
    for number in range(OPEN_THINGS + 5):
        known.note(span(f"k{number}"))
    opened = known.open("s1", Boundary.PERMISSION_WAIT)
    assert (len(opened), opened[0].key, opened[-1].key) == (OPEN_THINGS, f"k{OPEN_THINGS + 4}", "k5")
    for number in range(SESSIONS):
        known.note(span("k", session_id=f"session {number}"))
    assert "s1" not in known
    assert "session 0" in known


@pytest.mark.parametrize("event", sorted(HANDLERS))
def test_a_process_that_looks_back_tells_the_same_as_one_that_stayed(event: str) -> None:
    """Every end finds its beginning in the records too, but for what needs the order of all hooks."""
    before: list[tuple[str, dict[str, Any]]] = [
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {}),
        ("PreToolUse", {"tool_use_id": "toolu_1", **BASH}),
        ("PermissionRequest", dict(BASH)),
        ("PreToolUse", {"tool_use_id": "toolu_2", "tool_name": "Agent", "tool_input": {}}),
        ("SubagentStart", {"agent_id": "a1", "agent_type": "Explore"}),
        ("PreCompact", {"trigger": "auto"}),
        ("Elicitation", {"mcp_server_name": "demo"}),
    ]
    fields = {
        "tool_use_id": "toolu_1",
        "tool_calls": [{"tool_use_id": "toolu_1", **BASH}],
        "agent_id": "a1" if event in {"SubagentStart", "SubagentStop"} else None,
        "agent_type": "Explore",
        "notification_type": "permission_prompt",
        "trigger": "auto",
        "mcp_server_name": "demo",
        "action": "accept",
        "source": "startup",
        "duration_ms": 10,
        **BASH,
    }
    play = Play()
    for number, (name, more) in enumerate(before):
        play.hook(number * 1_000, name, **more)
    said = Said.read(payload(event, **fields))
    assert said is not None
    at = Edge(T0 + 60_000 * MS, T0 + 60_050 * MS)
    noise = lines(*(span("toolu_1", session_id="another"), span("toolu_9"))) * 50
    recalled = recall(Known(), noise + lines(*play.spans) + noise, "s1", said.words())
    assert said.spans(at, recalled) == said.spans(at, play.known)


# What stands in the settings


def test_the_events_of_the_reference_are_installed_but_those_where_listening_changes_something() -> None:
    assert len(EVENTS) + len(NOT_FOR_RECORDERS) == 34
    assert set(HANDLERS) <= set(EVENTS)
    assert not set(EVENTS) & set(NOT_FOR_RECORDERS)


def test_nobody_waits_for_a_command_but_at_an_end() -> None:
    hooks = command_hooks(EVENTS, command="/opt/bin/tracekit-hook")
    assert {event for event, hook in hooks.items() if not hook.get("async")} == {"Stop", "StopFailure", "SessionEnd"}
    assert hooks["PreToolUse"] == {"type": "command", "timeout": 10, "command": "/opt/bin/tracekit-hook", "args": [], "async": True}
    # Only a shell understands quotes, and with arguments there is none.
    assert command_hooks(["PreToolUse"], command="/my bin/tracekit-hook")["PreToolUse"] == {
        "type": "command",
        "timeout": 10,
        "command": "'/my bin/tracekit-hook'",
        "async": True,
    }


def test_every_hook_is_known_again_and_no_other() -> None:
    ours = [command_hooks(EVENTS), command_hooks(EVENTS, command="/a b/tracekit-hook"), http_hooks(EVENTS, "http://h/hook")]
    assert all(is_ours(hook) for hooks in ours for hook in hooks.values())
    others: list[dict[str, Any]] = [
        {},
        {"type": "http", "url": "http://127.0.0.1:4318/hook"},
        {"type": "http", "headers": 3},
        {"type": "command", "command": "hook"},
    ]
    assert not any(is_ours(hook) for hook in others)


@pytest.mark.parametrize("event", [*NOT_FOR_RECORDERS, "Pre Tool", ""])
def test_some_events_are_refused(event: str) -> None:
    with pytest.raises(TracekitError) as caught:
        command_hooks([event])
    assert caught.value.slug == "hook-event-refused"
