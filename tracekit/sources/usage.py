"""The tokens of a response, as the Messages API counts them: what clients write down is its `usage` object."""

from collections.abc import Iterator

from tracekit.model.usage import CACHE_TIERS, TOKENS
from tracekit.sources.fields import Object, mapping, whole


def counted(usage: Object) -> Iterator[tuple[str, int]]:
    """Give each number of a `usage` object with its attribute; of the cache's tiers only those that were written to."""
    for name, attribute in TOKENS:
        if (tokens := whole(usage, name)) is not None:
            yield attribute, tokens
    tiers = mapping(usage, "cache_creation")
    for name, attribute in CACHE_TIERS:
        if tokens := whole(tiers, name):
            yield attribute, tokens
