"""What a conversation held of its model's window, and what is known of the window."""

from typing import Any

import pytest

from tracekit.analysis.context import GROUPS, Context, RepeatedFailure, context, repeated_failures
from tracekit.analysis.context_windows import Window, told_windows, window
from tracekit.analysis.scope import Scope
from tracekit.model import Boundary, Span, Status, semconv
from tracekit.testing import memory_store, request, span, tool

OPUS = "claude-opus-4-5-20251101"


def held(key: str, start: int, uncached: int, read: int = 0, written: int = 0, **fields: Any) -> Span:
    counts = {semconv.INPUT_TOKENS: uncached, semconv.CACHE_READ_TOKENS: read, semconv.CACHE_WRITE_TOKENS: written}
    counts[semconv.OUTPUT_TOKENS] = 10
    more: dict[str, Any] = {"name": OPUS} | fields
    return request(start, start + 5, key=f"req_{key}", **more | {"attributes": counts | more.get("attributes", {})})


def ask(*spans: Span, by: str = "request", scope: Scope | None = None) -> list[Context]:
    with memory_store(spans) as store:
        return list(context(store, scope or Scope(), by=by))


def repeated(*spans: Span) -> list[RepeatedFailure]:
    with memory_store(spans) as store:
        return list(repeated_failures(store))


# Requests ------------------------------------------------------------------------------------------------------------


def test_a_request_holds_what_it_gave_to_the_model_cached_or_not() -> None:
    first, second = ask(held("1", 0, 100, written=19_880), held("2", 10, 10, read=19_980, written=3_000))
    assert (first.context_tokens, first.grown_tokens, first.window_tokens, first.window_source) == (19_980, None, 200_000, "reference")
    assert (second.context_tokens, second.grown_tokens) == (22_990, 3_010)
    assert second.filled == pytest.approx(0.115)


def test_each_agent_has_a_conversation_of_its_own() -> None:
    rows = ask(held("1", 0, 100), held("a", 5, 50, agent_id="a1"), held("b", 8, 90, agent_id="a1"), held("2", 10, 300))
    assert [(row.agent_id, row.context_tokens, row.grown_tokens) for row in rows] == [
        *((None, 100, None), (None, 300, 200)),
        *(("a1", 50, None), ("a1", 90, 40)),
    ]


@pytest.mark.parametrize("source", ["compact", "generate_session_title"])
def test_what_is_beside_the_conversation_does_not_grow_it(source: str) -> None:
    aside = held("x", 5, 9_000, attributes={semconv.QUERY_SOURCE: source})
    talk = [held(key, start, size, attributes={semconv.QUERY_SOURCE: "sdk"}) for key, start, size in (("1", 0, 100), ("2", 10, 300))]
    assert [(row.aside, row.grown_tokens) for row in ask(*talk, aside)] == [(False, None), (True, None), (False, 200)]
    assert [row.context_tokens for row in ask(*talk, aside, by="turn")] == [300]


def test_a_turn_is_its_fullest_request_and_grows_from_the_turn_before() -> None:
    first = [held("1", 0, 100), held("2", 10, 500), held("3", 20, 400)]
    second = [held("4", 30, 700, parent_key="turn 2"), held("5", 40, 650, parent_key="turn 2")]
    rows = ask(*first, *second, by="turn")
    assert [(row.turn_key, row.request_key, row.requests, row.start_ns, row.context_tokens, row.grown_tokens) for row in rows] == [
        ("turn", "req_2", 3, 0, 500, 300),
        ("turn 2", "req_4", 2, 30, 700, 250),
    ]


def test_a_request_without_tokens_holds_nothing_and_a_scope_bounds_starts() -> None:
    assert [ask(request(0, 5), by=by) for by in GROUPS] == [[], []]
    assert [row.request_key for row in ask(held("1", 0, 100), held("2", 10, 100), scope=Scope(since_ns=10))] == ["req_2"]


def test_the_client_s_own_word_on_the_window_counts() -> None:
    about = span(Boundary.SESSION, "session", 0, 20, attributes={semconv.CONTEXT_WINDOWS: f"small=5,{OPUS}=1000"})
    (row,) = ask(held("1", 0, 90), about)
    assert (row.window_tokens, row.window_source, row.filled) == (1_000, "client", 0.1)


def test_an_automatic_compaction_shows_which_of_two_windows_there_was() -> None:
    def compacted(trigger: str) -> Context:
        about = {semconv.COMPACTION_KIND: "full", semconv.COMPACTION_TRIGGER: trigger, semconv.PRE_TOKENS: 167_000}
        (row,) = ask(held("1", 0, 90, name="claude-opus-4-6"), span(Boundary.COMPACTION, "c", 10, 20, attributes=about))
        return row

    assert (compacted("auto").window_tokens, compacted("auto").window_source) == (200_000, "compaction")
    assert (compacted("manual").window_tokens, compacted("manual").window_source, compacted("manual").filled) == (None, None, None)


# Windows -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-3-5-sonnet-20241022", 200_000),
        ("claude-opus-4-20250514", 200_000),
        ("claude-opus-4-1-20250805", 200_000),
        ("claude-opus-4-5-20251101", 200_000),
        ("claude-haiku-4-5-20251001", 200_000),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 200_000),
        ("claude-opus-4-5@20251101", 200_000),
        ("claude-opus-4-8", 1_000_000),
        ("claude-sonnet-5", 1_000_000),
        ("claude-fable-5-2", 1_000_000),
        ("claude-haiku-5-5", 1_000_000),
        ("claude-sonnet-4-20250514", None),
        ("claude-sonnet-4-5-20250929", None),
        ("claude-opus-4-6", None),
        ("claude-opus-9", None),
        ("gpt-5", None),
        ("<synthetic>", None),
        ("", None),
    ],
)
def test_what_is_known_of_a_model(model: str, tokens: int | None) -> None:
    assert window(model, told={}, held=[10], compacted_at=[]) == Window(tokens, "reference" if tokens else None)


def test_a_request_that_held_more_than_the_smaller_window_had_the_larger() -> None:
    assert window("claude-opus-4-6", told={}, held=[200_001], compacted_at=[190_000]) == Window(1_000_000, "use")
    assert window("claude-opus-4-6[1m]", told={}, held=[], compacted_at=[]) == Window(1_000_000, "use")
    assert window("claude-opus-4-6", told={}, held=[10], compacted_at=[900_000]) == Window(None, None)


@pytest.mark.parametrize(
    ("text", "told"),
    [(None, {}), ("", {}), ("m=5", {"m": 5}), ("a=b=5,c=7", {"a=b": 5, "c": 7}), ("m,=5,m=x,n=9", {"n": 9})],
)
def test_what_a_client_said_of_windows(text: str | None, told: dict[str, int]) -> None:
    assert told_windows(text) == told


# Failures ------------------------------------------------------------------------------------------------------------


def failed(number: int, arguments: str, result: str, **fields: Any) -> Span:
    known: dict[str, Any] = {semconv.TOOL_INPUT_DIGEST: arguments, semconv.TOOL_RESULT_DIGEST: result}
    known |= {semconv.TOOL_INPUT_SIZE: 10, semconv.TOOL_RESULT_SIZE: 90}
    more: dict[str, Any] = {"status": Status.ERROR, "attributes": known} | fields
    return tool(number, number, number + 1, key=f"toolu_{number}", **more)[0]


def test_the_same_call_that_fails_three_times_fills_the_window() -> None:
    (row,) = repeated(*(failed(number, "a", "r") for number in range(3)))
    assert (row.name, row.alike, row.times, row.filled_bytes, row.first_ns, row.last_ns) == ("Bash", "arguments", 3, 300, 0, 3)


def test_the_same_answer_to_other_calls_fills_it_too() -> None:
    (row,) = repeated(*(failed(number, f"a{number}", "r") for number in range(4)))
    assert (row.alike, row.times) == ("result", 4)
    rows = repeated(*(failed(number, "a", "r") for number in range(3)), failed(3, "b", "r"))
    assert {(row.alike, row.times) for row in rows} == {("arguments", 3), ("result", 4)}


@pytest.mark.parametrize(
    "spans",
    [
        [failed(number, "a", "r") for number in range(2)],
        [failed(number, "a", "r", status=Status.OK) for number in range(3)],
        [failed(number, "a", "r", agent_id=f"a{number}") for number in range(3)],
        [failed(number, "a", "r", name=f"tool {number}") for number in range(3)],
    ],
    ids=["twice", "no failure", "of several agents", "of several tools"],
)
def test_what_is_not_repeated(spans: list[Span]) -> None:
    assert repeated(*spans) == []
