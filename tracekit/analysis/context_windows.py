"""How many tokens fit into a model's window: what is known of models, and what a session itself shows of the window that it had.

Some models have two sizes, the larger one on request; which one a client asked for, a transcript does not say.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

REFERENCE: Final = "Anthropic's models overview and pricing notes, November 2026"
"""Where the sizes below come from (platform.claude.com/docs/en/about-claude/models/overview)."""

_SMALL: Final = 200_000
_LARGE: Final = 1_000_000

_MODELS: Final = (
    (r"claude-(2|instant|3)", (_SMALL,)),
    (r"claude-sonnet-4(-[05])?(-20\d{6})?$", (_SMALL, _LARGE)),
    (r"claude-(opus|sonnet)-4-6", (_SMALL, _LARGE)),
    (r"claude-opus-4-[78]", (_LARGE,)),
    (r"claude-(opus|haiku)-4", (_SMALL,)),
    (r"claude-(opus|sonnet|fable|mythos)-5", (_LARGE,)),
    (r"claude-haiku-5-5", (_LARGE,)),
)
"""Beginnings of model names, the first that fits counts, and the sizes that the model has."""


class Window(NamedTuple):
    """A window and how it is known.

    Attributes:
        tokens: None where it is unknown, or can be of two sizes.
        source: `client`: it said so. `reference`: the model has this one. `use`: a request held more than the smaller size.
            `compaction`: the client compacted on its own before the smaller size was full. None where it is unknown.
    """

    tokens: int | None
    source: str | None


UNKNOWN: Final = Window(None, None)


def window(model: str, *, told: Mapping[str, int], held: Iterable[int], compacted_at: Iterable[int]) -> Window:
    """Find the window of a model in a session.

    Args:
        model: As the response named it.
        told: What the client said, by model.
        held: Tokens that requests to this model held.
        compacted_at: Tokens that the conversation held whenever the client compacted it on its own.
    """
    if (tokens := told.get(model)) is not None:
        return Window(tokens, "client")
    sizes = _sizes(model)
    if len(sizes) == 1:
        return Window(sizes[0], "reference")
    if not sizes:
        return UNKNOWN
    if model.endswith("[1m]") or max(held, default=0) > sizes[0]:
        return Window(sizes[-1], "use")
    return Window(sizes[0], "compaction") if any(tokens <= sizes[0] for tokens in compacted_at) else UNKNOWN


def told_windows(text: str | None) -> dict[str, int]:
    """Read what a client said: `model=tokens`, with commas."""
    pairs = (part.rpartition("=") for part in (text or "").split(","))
    return {model: int(tokens) for model, _, tokens in pairs if model and tokens.isdigit()}


def _sizes(model: str) -> tuple[int, ...]:
    name = re.sub(r"^.*?(?=claude-)", "", model.lower()).removesuffix("[1m]")
    name = re.sub(r"(@.*|-v\d+(:\d+)?)$", "", name)
    return next((sizes for pattern, sizes in _MODELS if re.match(pattern, name)), ())
