"""What messages cost by the price list, offline, and what is said where it cannot say."""

import lzma
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from tracekit.analysis.cost import Message, PriceList, price_list
from tracekit.analysis.tokens import GROUPS, Tokens, tokens
from tracekit.ingest import import_paths
from tracekit.model import Span, semconv
from tracekit.store import open_store
from tracekit.testing import memory_store, request

genai_prices = pytest.importorskip("genai_prices", reason="comes with the extra `prices`")

SPOTTER = Path(__file__).parents[1] / "data" / "transcripts" / "spotter"
FEBRUARY_2026 = 1_770_900_000_000_000_000
NOVEMBER_2026 = 1_796_061_903_000_000_000
FLAT, TIERED = "claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929"


@pytest.fixture
def prices() -> PriceList:
    found = price_list()
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        pytest.fail("the price list asked the network")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def message(model: str = FLAT, /, *, start_ns: int = NOVEMBER_2026, **counts: Any) -> Message:
    zeros = dict.fromkeys([name for name in Message._fields if name.endswith("_tokens")], 0)
    return Message(model, start_ns, **(zeros | counts))


def spoke(key: str, model: str = FLAT, /, **more: Any) -> Span:
    counts = {semconv.INPUT_TOKENS: 1_000, semconv.OUTPUT_TOKENS: 100, semconv.CACHE_READ_TOKENS: 10_000}
    return request(NOVEMBER_2026, NOVEMBER_2026 + 1, key=f"req_{key}", name=model, attributes=counts | more)


def ask(*spans: Span, by: str = "agent") -> list[Tokens]:
    with memory_store(spans) as store:
        return list(tokens(store, by=by))


# Dollars of a million tokens: 5 in, 25 out, 0.5 read, 6.25 written for five minutes, 10 for an hour.
@pytest.mark.parametrize(
    ("counts", "dollars"),
    [
        ({"input_tokens": 1_000_000}, 5.0),
        ({"output_tokens": 1_000_000}, 25.0),
        ({"cache_read_tokens": 1_000_000}, 0.5),
        ({"cache_write_tokens": 1_000_000}, 6.25),
        ({"cache_write_tokens": 1_000_000, "cache_write_1h_tokens": 1_000_000}, 10.0),
        ({"input_tokens": 200_000, "output_tokens": 40_000, "cache_write_tokens": 200_000, "cache_write_1h_tokens": 100_000}, 3.625),
    ],
)
def test_each_kind_of_token_has_its_price(counts: dict[str, int], dollars: float, prices: PriceList) -> None:
    assert prices.of(message(**counts)) == pytest.approx(dollars)
    assert prices.is_flat(message(**counts))


def test_a_price_that_depends_on_the_size_of_the_request_is_followed(prices: PriceList) -> None:
    small, large = message(TIERED, input_tokens=100_000), message(TIERED, input_tokens=300_000)
    assert not prices.is_flat(small)
    assert [prices.of(small), prices.of(large)] == pytest.approx([0.3, 1.8])


def test_a_price_is_that_of_its_time(prices: PriceList) -> None:
    february, november = (prices.of(message("claude-opus-4-6", start_ns=at, input_tokens=300_000)) for at in (FEBRUARY_2026, NOVEMBER_2026))
    assert [february, november] == pytest.approx([3.0, 1.5])


def test_an_unknown_model_has_no_price_and_no_tokens_cost_nothing(prices: PriceList) -> None:
    assert prices.of(message("a-model-of-nobody", input_tokens=1)) is None
    assert prices.is_flat(message("a-model-of-nobody", input_tokens=1))
    assert prices.of(message("<synthetic>")) == 0


def test_a_session_costs_what_is_known_of_it(tmp_path: Path) -> None:
    # Counted by two independent programs, both tiers of the cache included: $10.11 with its sub-agents.
    session = "4d5611e5-241a-462a-8d15-5122611a9569"
    for path in [SPOTTER / f"{session}.jsonl.xz", *(SPOTTER / session).rglob("*.xz")]:
        unpacked = tmp_path / path.relative_to(SPOTTER).with_suffix("")
        unpacked.parent.mkdir(parents=True, exist_ok=True)
        unpacked.write_bytes(lzma.decompress(path.read_bytes()))
    store = str(tmp_path / "store.duckdb")
    import_paths([tmp_path], store)
    with open_store(store) as opened:
        sums = {by: sum(row.estimate_usd or 0 for row in tokens(opened, by=by) if row.session_id in (session, None)) for by in GROUPS}
    assert sums == {by: pytest.approx(10.1137, abs=0.00005) for by in GROUPS}


@pytest.mark.parametrize("by", GROUPS)
def test_an_estimate_stands_where_the_client_reported_nothing_and_names_its_list(by: str) -> None:
    (found,) = ask(spoke("1"), by=by)
    assert found.cost_usd is None
    assert found.estimate_usd == pytest.approx(0.0125)
    assert found.prices == f"genai-prices {genai_prices.__version__}"
    (reported,) = ask(spoke("1", **{semconv.COST_USD: 0.5}), by=by)
    assert (reported.cost_usd, reported.estimate_usd, reported.prices) == (0.5, None, None)


def test_a_group_with_a_model_that_the_list_does_not_know_has_no_estimate() -> None:
    (found,) = ask(spoke("1"), spoke("2", "a-model-of-nobody"), by="session")
    assert (found.estimate_usd, found.prices) == (None, None)


def test_messages_of_a_tiered_model_are_not_priced_together() -> None:
    large = {semconv.INPUT_TOKENS: 150_000, semconv.CACHE_READ_TOKENS: 0, semconv.OUTPUT_TOKENS: 0}
    (found,) = ask(spoke("1", TIERED, **large), spoke("2", TIERED, **large), by="model")
    assert found.estimate_usd == pytest.approx(0.9)


def test_without_the_package_there_is_no_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert price_list() is None
    (found,) = ask(spoke("1"))
    assert (found.cost_usd, found.estimate_usd, found.prices) == (None, None, None)
