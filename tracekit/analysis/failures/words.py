"""The ways in which errors say one thing. Most texts lack the letters that a way needs, and are never matched against it."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Protocol

_LEAST: Final = 3
"""Letters from which a needle is worth looking for."""
_OPTIONAL: Final = frozenset("?*{")
_CLASS: Final = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_BREAKS: Final = frozenset(".^$+|?*{}")


class Speech(Protocol):
    """What a text can be held against: a `re.Pattern`, or a `Wording`."""

    def search(self, text: str, /) -> re.Match[str] | None:
        """Find it anywhere."""
        ...

    def match(self, text: str, /) -> re.Match[str] | None:
        """Find it at the beginning."""
        ...


class Wording:
    """Regular expressions of which one has to fit, case aside.

    Args:
        alternatives: The expressions. What one of them says outside of groups, without quantifiers, has to be in a text that it fits.

    Attributes:
        parts: Each expression with the letters, in lower case, without which it cannot fit.
    """

    def __init__(self, *alternatives: str) -> None:
        parts = [part for alternative in alternatives for part in _split(alternative)]
        self.parts = [(needle(part), re.compile(part, re.IGNORECASE)) for part in parts]

    def search(self, text: str, /) -> re.Match[str] | None:
        """Find the first place where one of them fits."""
        lowered = _lowered(text)
        found = [match for letters, part in self.parts if letters in lowered and (match := part.search(text))]
        return min(found, key=lambda match: match.start(), default=None)

    def match(self, text: str, /) -> re.Match[str] | None:
        """Find one that fits at the beginning."""
        lowered = _lowered(text)
        return next((match for letters, part in self.parts if letters in lowered and (match := part.match(text))), None)


def needle(expression: str) -> str:
    r"""Give the longest run of letters that every text has which an expression without alternatives of its own fits; empty for none.

    >>> needle(r"(?:unable|failed) to connect\b.{0,80}status code \d{3}")
    'status code '
    >>> needle(r"colou?r")
    'colo'
    """
    longest = max(_runs(expression), key=len, default="").lower()
    return longest if len(longest) >= _LEAST else ""


@lru_cache(maxsize=64)
def _lowered(text: str) -> str:
    return text.lower()


def _tokens(expression: str) -> Iterator[tuple[int, str]]:
    """The characters with their depth; an escape is one token, and so is what stands in brackets."""
    at, depth = 0, 0
    while at < len(expression):
        char = expression[at]
        if char == "\\":
            yield depth, expression[at : at + 2]
            at += 2
            continue
        if char == "[":
            end = _CLASS.match(expression, at)
            yield depth, end[0] if end else char
            at = end.end() if end else at + 1
            continue
        depth -= char == ")"
        yield depth, char
        depth += char == "("
        at += 1


def _split(expression: str) -> list[str]:
    """The alternatives that stand in no group."""
    parts = [""]
    for depth, token in _tokens(expression):
        if depth == 0 and token == "|":
            parts.append("")
        else:
            parts[-1] += token
    return parts


def _runs(expression: str) -> Iterator[str]:
    """Runs of plain characters in no group, none of them optional."""
    run, braces = "", False
    for depth, token in _tokens(expression):
        if braces:  # the numbers of a quantifier
            braces = token != "}"
            continue
        if depth == 0 and token not in _BREAKS and len(token) == 1 and token not in "()":
            run += token
            continue
        yield run[:-1] if depth == 0 and token in _OPTIONAL else run
        run, braces = "", depth == 0 and token == "{"
    yield run
