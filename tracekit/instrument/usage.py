"""Token counts and stream events as the SDKs hand them over: mappings or objects with the same names."""

from collections.abc import Mapping
from typing import Any, Final, cast

from tracekit.model import semconv
from tracekit.model.usage import CACHE_TIERS, TOKENS

_NOTHING: Final = object()


def field(of: object, name: str) -> Any:
    """A field of a mapping or an object; None where it has none."""
    if type(of) is dict:
        return cast("dict[str, Any]", of).get(name)
    # Whether an object is a mapping takes longer to find out than all the rest.
    found = getattr(of, name, _NOTHING)
    if found is not _NOTHING:
        return found
    return cast("Mapping[str, Any]", of).get(name) if isinstance(of, Mapping) else None


def counted(usage: object) -> dict[str, int]:
    """The tokens, by the names of `semconv`. `input_tokens` are the uncached ones, as the Messages API counts."""
    found: dict[str, int] = {}
    for theirs, ours in TOKENS:
        number = field(usage, theirs)
        if isinstance(number, int):
            found[ours] = number
    tiers = field(usage, "cache_creation")
    if tiers is not None:
        for theirs, ours in CACHE_TIERS:
            # Of the tiers only those that were written to.
            if isinstance(number := field(tiers, theirs), int) and number:
                found[ours] = number
    return found


def all_input(tokens: Mapping[str, int]) -> int | None:
    """Input tokens with the cached ones, as the GenAI conventions count; None where nothing is known."""
    if semconv.INPUT_TOKENS not in tokens:
        return None
    return tokens[semconv.INPUT_TOKENS] + tokens.get(semconv.CACHE_READ_TOKENS, 0) + tokens.get(semconv.CACHE_WRITE_TOKENS, 0)
