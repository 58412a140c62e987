"""What messages cost by a price list, for clients that do not say. An estimate: list prices, at the ordinary speed and tier.

The list is the package `genai-prices` (extra `prices`), as it was installed: nothing is asked of the network, where it would fetch
newer prices only if a program started its updater.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple

_MILLION: Final = 1_000_000
_HOUR_NS: Final = 3_600_000_000_000
_HOUR: Final = 3_600

_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "input": ("input_tokens",),
    "output": ("output_tokens",),
    "cache_read": ("input_tokens", "cache_read_tokens"),
    "cache_write": ("input_tokens", "cache_write_tokens"),
    "cache_write_1h": ("input_tokens", "cache_write_tokens", "cache_write_1h_tokens"),
}
"""What is priced alike, and under which names the list counts a token of it: a cached one is an input token too."""


class Message(NamedTuple):
    """The tokens of one message, or of several within an hour. What was cached for an unknown time is priced as for five minutes."""

    model: str
    start_ns: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cache_write_1h_tokens: int
    """Part of `cache_write_tokens`."""

    def kinds(self) -> dict[str, int]:
        """Tokens by what is priced alike."""
        return {
            "input": self.input_tokens,
            "output": self.output_tokens,
            "cache_read": self.cache_read_tokens,
            "cache_write": self.cache_write_tokens - self.cache_write_1h_tokens,
            "cache_write_1h": self.cache_write_1h_tokens,
        }


@dataclass(slots=True)
class PriceList:
    """The prices of the package that is installed.

    Attributes:
        name: The package and its version, fit to stand beside an estimate.
    """

    name: str
    _rates: dict[tuple[str, int], dict[str, Decimal] | None] = field(default_factory=dict[tuple[str, int], "dict[str, Decimal] | None"])
    """Dollars a token by model and hour; None where they depend on the size of the message."""

    def is_flat(self, message: Message) -> bool:
        """Whether messages of its model can be priced together: their size does not change what a token costs."""
        try:
            return not any(message.kinds().values()) or self._rates_of(message) is not None
        except LookupError:
            return True

    def of(self, message: Message) -> float | None:
        """Give the dollars of one message; None for a model that the list does not know."""
        kinds = message.kinds()
        if not any(kinds.values()):
            return 0.0
        try:
            rates = self._rates_of(message)
            return float(_total(message, kinds) if rates is None else sum(rates[kind] * count for kind, count in kinds.items()))
        except LookupError:
            return None

    def _rates_of(self, message: Message) -> dict[str, Decimal] | None:
        place = message.model, message.start_ns // _HOUR_NS
        if place not in self._rates:
            is_tiered = _is_tiered(message)
            self._rates[place] = None if is_tiered else {kind: _total(message, {kind: _MILLION}) / _MILLION for kind in _KINDS}
        return self._rates[place]


def price_list() -> PriceList | None:
    """Open the price list; None where the extra `prices` is not installed."""
    try:
        import genai_prices  # noqa: PLC0415  (an extra)
    except ImportError:
        return None
    return PriceList(f"genai-prices {genai_prices.__version__}")


def _is_tiered(message: Message) -> bool:
    from genai_prices.types import TieredPrices  # noqa: PLC0415

    prices: dict[str, object] = _priced(message, {"input": 1}).model_price.__dict__
    return any(isinstance(price, TieredPrices) for price in prices.values())


def _total(message: Message, kinds: Mapping[str, int]) -> Decimal:
    found: Decimal = _priced(message, kinds).total_price
    return found


def _priced(message: Message, kinds: Mapping[str, int]) -> Any:
    """Ask the package. Raises LookupError for a model that it does not know."""
    from genai_prices import Usage, calc_price  # noqa: PLC0415

    counts: dict[str, int] = {}
    for kind, tokens in kinds.items():
        for name in _KINDS[kind]:
            counts[name] = counts.get(name, 0) + tokens
    when = datetime.fromtimestamp(message.start_ns // _HOUR_NS * _HOUR, tz=UTC)
    return calc_price(Usage(**counts), message.model, genai_request_timestamp=when)
