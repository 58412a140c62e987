"""Foreign text is harmless and still says what it said."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.exporters.world import HOSTILE
from tracekit_exporters.plain import plain


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_no_control_character_is_left_and_the_limit_holds(text: str, limit: int) -> None:
    shown = plain(text, limit)
    assert len(shown) <= limit
    assert not [character for character in shown if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}]


@pytest.mark.parametrize("text", ["", "Bash", "naïve – 名前", "👩‍💻", "a\\b"])
def test_what_is_harmless_stays_as_it_is(text: str) -> None:
    assert plain(text) == text


def test_what_is_not_to_be_seen_is_shown() -> None:
    assert plain(HOSTILE[2]) == r"\x1b[2J\x1b]0;owned\x07\x9b31m"
    assert plain(HOSTILE[3]) == r"\u202egnp.exe\u2066\u200f\u2028"


def test_a_long_text_is_cut_with_a_mark() -> None:
    assert plain("N" * 1_000_000) == "N" * 199 + "…"
