"""Tokens: each message once, sub-agents apart, and no cost where the client reported only some of it."""

from typing import Any

import pytest

from tracekit.analysis.scope import Scope
from tracekit.analysis.tokens import GROUPS, Tokens, tokens
from tracekit.model import Boundary, Source, Span, semconv
from tracekit.testing import memory_store, request, span


def said(output: int | None, cost: float | None = None, **more: Any) -> dict[str, Any]:
    known = {semconv.OUTPUT_TOKENS: output, semconv.COST_USD: cost} | more
    return {name: value for name, value in known.items() if value is not None}


def spoke(key: str, output: int | None, cost: float | None = None, **fields: Any) -> Span:
    return request(0, 10, key=f"req_{key}", attributes=said(output, cost), **fields)


def ask(*spans: Span, by: str = "agent", scope: Scope | None = None) -> list[Tokens]:
    with memory_store(spans) as store:
        return list(tokens(store, scope or Scope(), by=by))


def test_a_store_without_responses_has_no_tokens() -> None:
    assert ask(spoke("1", None)) == []


def test_all_four_kinds_add_up() -> None:
    kinds = {semconv.INPUT_TOKENS: 1, semconv.CACHE_READ_TOKENS: 100, semconv.CACHE_WRITE_TOKENS: 1000}
    (found,) = ask(*(request(0, 10, key=key, attributes=said(10) | kinds) for key in ("req_1", "req_2")))
    assert (found.input_tokens, found.output_tokens, found.cache_read_tokens, found.cache_write_tokens) == (2, 20, 200, 2000)
    assert (found.messages, found.session_id, found.model, found.partial) == (2, "session", "model", False)


def test_a_missing_kind_counts_nothing() -> None:
    (found,) = ask(request(0, 10, attributes={semconv.INPUT_TOKENS: 7}))
    assert (found.input_tokens, found.output_tokens) == (7, 0)


def test_a_message_that_two_witnesses_saw_counts_once() -> None:
    (found,) = ask(spoke("1", 10), spoke("1", 10, source=Source.TRANSCRIPT))
    assert (found.messages, found.output_tokens) == (1, 10)


def test_a_sub_agent_is_a_row_of_its_own_with_its_type() -> None:
    agents = span(Boundary.SUBAGENT, "a1", 0, 10, name="Explore", agent_id="a1")
    found = {row.agent_id: row for row in ask(spoke("1", 10), spoke("2", 30, agent_id="a1"), agents)}
    assert (found[None].output_tokens, found[None].agent_type) == (10, None)
    assert (found["a1"].output_tokens, found["a1"].agent_type) == (30, "Explore")


def test_an_agent_that_only_its_parent_shows_is_partial() -> None:
    (found,) = ask(spoke("1", 10, agent_id="a1", source=Source.PROGRESS))
    assert (found.partial, found.output_tokens) == (True, 10)


def test_the_mirror_of_an_agent_whose_own_file_is_there_adds_nothing() -> None:
    own = [spoke("1", 10, agent_id="a1", source=Source.TRANSCRIPT)]
    mirror = [spoke(key, 10, agent_id="a1", source=Source.PROGRESS) for key in ("1", "2")]
    (found,) = ask(*own, *mirror)
    assert (found.partial, found.messages, found.output_tokens) == (False, 1, 10)


def test_models_are_summed_over_sessions() -> None:
    found = ask(spoke("1", 10), spoke("2", 20, session_id="other"), spoke("3", 5, name="small"), by="model")
    assert {row.model: (row.output_tokens, row.session_id) for row in found} == {"model": (30, None), "small": (5, None)}


def test_sessions_are_summed_over_agents_and_models() -> None:
    found = ask(spoke("1", 10), spoke("2", 20, agent_id="a1"), spoke("3", 5, name="small"), by="session")
    assert [(row.session_id, row.output_tokens, row.messages) for row in found] == [("session", 35, 3)]


def test_a_message_is_a_row_of_its_own() -> None:
    found = ask(spoke("1", 10, 0.25), spoke("2", 20, agent_id="a1"), by="message")
    assert [(row.request_key, row.agent_id, row.output_tokens, row.messages, row.cost_usd) for row in found] == [
        *(("req_1", None, 10, 1, 0.25), ("req_2", "a1", 20, 1, None)),
    ]


@pytest.mark.parametrize("by", GROUPS)
def test_what_was_cached_is_told_by_tier_where_that_is_known_of_all_of_it(by: str) -> None:
    tiers = {semconv.CACHE_WRITE_TOKENS: 100, semconv.CACHE_WRITE_5M_TOKENS: 40, semconv.CACHE_WRITE_1H_TOKENS: 60}
    (known,) = ask(request(0, 10, attributes=said(1) | tiers), by=by)
    assert (known.cache_write_tokens, known.cache_write_5m_tokens, known.cache_write_1h_tokens) == (100, 40, 60)
    (unknown,) = ask(request(0, 10, attributes=said(1) | {semconv.CACHE_WRITE_TOKENS: 100}), by=by)
    assert (unknown.cache_write_tokens, unknown.cache_write_5m_tokens, unknown.cache_write_1h_tokens) == (100, None, None)
    (nothing,) = ask(spoke("1", 10), by=by)
    assert (nothing.cache_write_5m_tokens, nothing.cache_write_1h_tokens) == (0, 0)


@pytest.mark.parametrize("by", ["agent", "model", "session"])
def test_the_cost_is_known_where_the_client_reported_every_message(by: str) -> None:
    (found,) = ask(spoke("1", 10, 0.25), spoke("2", 20, 0.5), by=by)
    assert found.cost_usd == 0.75


@pytest.mark.parametrize("by", ["agent", "model", "session"])
def test_the_cost_is_unknown_where_one_message_has_none(by: str) -> None:
    (found,) = ask(spoke("1", 10, 0.25), spoke("2", 20), by=by)
    assert found.cost_usd is None


def test_a_sessions_own_running_total_stands_in_for_its_messages() -> None:
    totals = [span(Boundary.SESSION, "session", 0, end, attributes={semconv.COST_USD: cost}) for end, cost in ((5, 0.5), (9, 2.0))]
    with memory_store([spoke("1", 10)], totals[:1], totals[1:]) as store:
        (by_session,), (by_agent,) = tokens(store, by="session"), tokens(store, by="agent")
    assert (by_session.cost_usd, by_agent.cost_usd) == (2.0, None)


def test_a_message_counts_by_the_start_of_its_request() -> None:
    spans = [spoke("1", 10), request(100, 110, key="req_2", attributes=said(20))]
    with memory_store(spans) as store:
        found = [sum(row.output_tokens for row in tokens(store, scope)) for scope in (Scope(since_ns=100), Scope(until_ns=100), Scope("x"))]
    assert found == [20, 10, 0]
