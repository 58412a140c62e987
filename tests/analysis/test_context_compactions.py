"""What compactions did to a conversation."""

from typing import Any

import pytest

from tracekit.analysis.context_compactions import Compaction, compactions
from tracekit.analysis.scope import Scope
from tracekit.model import Boundary, Source, Span, semconv
from tracekit.testing import memory_store, request, span, turn

S = 1_000_000_000
OPUS = "claude-opus-4-5-20251101"


def held(start: int, tokens: int, *, key: str | None = None, source: str = "sdk", **fields: Any) -> Span:
    known = {semconv.INPUT_TOKENS: tokens, semconv.OUTPUT_TOKENS: 100, semconv.QUERY_SOURCE: source} | fields.pop("attributes", {})
    return request(start * S, (start + 5) * S, key=key or f"req_{start}", name=OPUS, attributes=known, **fields)


def compaction(start: int, end: int, trigger: str = "auto", *, key: str = "c", before: int | None = 167_000, **fields: Any) -> Span:
    known: dict[str, Any] = {semconv.COMPACTION_KIND: "full", semconv.COMPACTION_TRIGGER: trigger}
    known |= {} if before is None else {semconv.PRE_TOKENS: before}
    known |= fields.pop("attributes", {})
    return span(Boundary.COMPACTION, key, start * S, end * S, name="compact", parent_key="turn", attributes=known, **fields)


def ask(*spans: Span, scope: Scope | None = None) -> list[Compaction]:
    with memory_store(spans) as store:
        return list(compactions(store, scope or Scope()))


def test_before_is_the_client_s_count_and_next_is_what_was_measured() -> None:
    (row,) = ask(held(0, 160_000), compaction(10, 20, attributes={semconv.POST_TOKENS: 4_000}), held(21, 40_000))
    assert (row.before_tokens, row.after_tokens, row.next_tokens, row.came_back_tokens) == (167_000, 4_000, 40_000, 36_000)
    assert (row.trigger, row.kind, row.turn_key, row.time_lower_ns, row.time_best_ns) == ("auto", "full", "turn", 10 * S, 10 * S)


def test_without_a_count_before_is_what_the_last_request_held_and_after_is_unknown() -> None:
    (row,) = ask(held(0, 160_000), compaction(10, 20, before=None, start_slack_ns=10 * S))
    assert (row.before_tokens, row.after_tokens, row.next_tokens, row.came_back_tokens) == (160_000, None, None, None)
    assert (row.time_lower_ns, row.time_best_ns, row.time_upper_ns) == (0, None, 10 * S)


def test_cleared_results_tell_what_they_freed() -> None:
    about = {semconv.COMPACTION_KIND: "micro", semconv.TOKENS_SAVED: 20_000}
    (row,) = ask(held(0, 160_000), compaction(10, 10, before=60_000, attributes=about), held(21, 140_000))
    assert (row.kind, row.before_tokens, row.after_tokens, row.came_back_tokens, row.thrash) == ("micro", 60_000, 40_000, None, False)


@pytest.mark.parametrize("summary", [{"source": "compact"}, {"agent_id": "acompact-1f"}], ids=["telemetry", "transcript"])
def test_the_request_that_wrote_the_summary_is_the_cost(summary: dict[str, Any]) -> None:
    wrote = held(11, 170_000, key="req_c", attributes={semconv.COST_USD: 0.5}, **summary)
    (row,) = ask(held(0, 160_000), compaction(10, 20), wrote, held(21, 40_000))
    assert (row.cost_input_tokens, row.cost_output_tokens, row.cost_usd, row.cost_source) == (170_000, 100, 0.5, "client")
    assert (row.before_tokens, row.next_tokens) == (167_000, 40_000)


def test_a_cost_that_the_client_did_not_report_is_estimated_and_one_that_nobody_saw_is_unknown() -> None:
    pytest.importorskip("genai_prices", reason="comes with the extra `prices`")
    (row,) = ask(held(0, 160_000), compaction(10, 20), held(11, 170_000, source="compact"))
    assert row.cost_usd == pytest.approx(0.8525)
    assert (row.cost_source or "").startswith("genai-prices ")
    (row,) = ask(held(0, 160_000), compaction(10, 20))
    assert (row.cost_input_tokens, row.cost_usd, row.cost_source) == (None, None, None)


@pytest.mark.parametrize(
    ("turns", "trigger", "told"),
    [(3, "auto", (3, True)), (4, "auto", (4, False)), (0, "auto", (0, True)), (2, "manual", (None, False))],
)
def test_a_conversation_that_is_full_again_within_three_turns_thrashes(turns: int, trigger: str, told: tuple[int | None, bool]) -> None:
    between = [turn((30 + number) * S, (31 + number) * S, key=f"turn {number}") for number in range(turns)]
    rows = ask(turn(0, 30 * S), compaction(10, 20), *between, compaction(50, 60, trigger, key="c2"))
    assert [(row.refilled_turns, row.thrash) for row in rows] == [told, (None, False)]


def test_agents_and_sessions_fill_their_own_windows() -> None:
    others = [compaction(50, 60, key="c2", agent_id="a1"), compaction(50, 60, key="c3", session_id="other")]
    assert {row.refilled_turns for row in ask(compaction(10, 20), *others)} == {None}


def test_two_witnesses_without_a_common_id_saw_one_compaction() -> None:
    seen = compaction(10, 20, "manual", before=2_640, key="compaction@20", end_slack_ns=S // 10)._replace(name="manual")
    for spans in ([seen], [seen, compaction(10, 20, "manual", before=190_050, source=Source.TRANSCRIPT)]):
        (row,) = ask(*spans)
    assert (row.before_tokens, len(ask(seen, compaction(30, 40, source=Source.TRANSCRIPT)))) == (190_050, 2)


def test_a_scope_bounds_ends_and_no_compaction_is_no_row() -> None:
    rows = ask(compaction(10, 20), compaction(30, 40, key="c2"), scope=Scope(since_ns=25 * S))
    assert [row.end_ns for row in rows] == [40 * S]
    assert ask(held(0, 10)) == []
