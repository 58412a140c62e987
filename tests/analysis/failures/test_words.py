"""Wordings: quick because letters are looked for first, and right because every text that fits has those letters."""

import re
from importlib import import_module
from pkgutil import walk_packages

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.failures.cases import DATA, read, unescaped
from tracekit.analysis import failures
from tracekit.analysis.failures.words import Wording, needle

TEXTS = [case["error_text"] for name in ("variants", "traps") for case in unescaped(read(DATA / f"{name}.tsv"))]


def wordings() -> list[Wording]:
    """Every wording of every rule."""
    modules = [import_module(found.name) for found in walk_packages(failures.__path__, f"{failures.__name__}.")]
    # By name: where pytest looks for doctests, a module is loaded a second time.
    return [one for module in modules for one in vars(module).values() if type(one).__name__ == Wording.__name__]


def test_no_text_that_fits_lacks_the_letters() -> None:
    fitting = [(letters, part.pattern, text) for one in wordings() for letters, part in one.parts for text in TEXTS if part.search(text)]
    assert len(fitting) > 1000
    assert [one for one in fitting if one[0] not in one[2].lower()] == []


def test_most_expressions_have_letters_to_look_for() -> None:
    parts = [letters for one in wordings() for letters, _ in one.parts]
    assert sum(bool(letters) for letters in parts) > 0.8 * len(parts)


@pytest.mark.parametrize(
    ("expression", "letters"),
    [
        (r"connection refused", "connection refused"),
        (r"Rate[- ]?limit", "limit"),
        (r"colou?r", "colo"),
        (r"abcd*", "abc"),
        (r"abcd+ef", "abcd"),
        (r"abcx{2,3}defgh", "defgh"),
        (r"abc(?:def)?ghij", "ghij"),
        (r"\bno\b", ""),
        (r"[^\]]* of them", " of them"),
        (r"[]abc]defg", "defg"),
        (r"(?<!not )found it", "found it"),
        (r"\(aborted\)", "aborted"),
        (r"", ""),
    ],
)
def test_the_letters_are_those_that_cannot_be_missing(expression: str, letters: str) -> None:
    assert needle(expression) == letters


@given(
    st.lists(st.sampled_from(["ab", "abc", "b", " ", "c?", "(?:x|ab)", "a|b", "[ab]c", r"\bab"]), min_size=1, max_size=5),
    st.text("abcx ", max_size=12),
)
def test_a_wording_finds_what_its_expressions_find(pieces: list[str], text: str) -> None:
    expression = "".join(pieces)
    plain, quick = re.compile(expression, re.IGNORECASE), Wording(expression)
    assert bool(plain.search(text)) == bool(quick.search(text))
    assert bool(plain.match(text)) == bool(quick.match(text))
    if found := plain.search(text):
        first = quick.search(text)
        assert first is not None
        assert first.start() == found.start()
