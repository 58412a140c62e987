"""The tokens of a response, as the Messages API counts them: what clients write down is its `usage` object."""

from collections.abc import Iterator
from typing import Final

from tracekit.model import semconv
from tracekit.sources.fields import Object, mapping, whole

_KINDS: Final = (
    ("input_tokens", semconv.INPUT_TOKENS),
    ("output_tokens", semconv.OUTPUT_TOKENS),
    ("cache_read_input_tokens", semconv.CACHE_READ_TOKENS),
    ("cache_creation_input_tokens", semconv.CACHE_WRITE_TOKENS),
)
_TIERS: Final = (
    ("ephemeral_5m_input_tokens", semconv.CACHE_WRITE_5M_TOKENS),
    ("ephemeral_1h_input_tokens", semconv.CACHE_WRITE_1H_TOKENS),
)


def counted(usage: Object) -> Iterator[tuple[str, int]]:
    """Give each number of a `usage` object with its attribute; of the cache's tiers only those that were written to."""
    for name, attribute in _KINDS:
        if (tokens := whole(usage, name)) is not None:
            yield attribute, tokens
    tiers = mapping(usage, "cache_creation")
    for name, attribute in _TIERS:
        if tokens := whole(tiers, name):
            yield attribute, tokens
