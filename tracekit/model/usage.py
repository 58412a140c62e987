"""What the Messages API calls the tokens of a response, and what they are called here: one table for all who read a `usage` object."""

from typing import Final

from tracekit.model import semconv

TOKENS: Final = (
    ("input_tokens", semconv.INPUT_TOKENS),
    ("output_tokens", semconv.OUTPUT_TOKENS),
    ("cache_read_input_tokens", semconv.CACHE_READ_TOKENS),
    ("cache_creation_input_tokens", semconv.CACHE_WRITE_TOKENS),
)
"""Each count's field and attribute. `input_tokens` are the uncached ones."""
CACHE_TIERS: Final = (
    ("ephemeral_5m_input_tokens", semconv.CACHE_WRITE_5M_TOKENS),
    ("ephemeral_1h_input_tokens", semconv.CACHE_WRITE_1H_TOKENS),
)
"""The same for the object `cache_creation` within: what was written to which tier of the cache."""
