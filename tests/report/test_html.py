"""Findings in HTML: escaped, cut, and in the same words as in a terminal."""

from dataclasses import dataclass
from typing import Annotated

import pytest
from jinja2 import DictLoader, UndefinedError

from tracekit.model import Column, Finding
from tracekit.report.html import LONGEST, environment, foreign, path_part, plain, share_range, short, table


@dataclass(frozen=True, slots=True)
class Gap(Finding):
    name: Annotated[str, Column("Name <i>")]
    hidden_lower_ns: Annotated[int, Column("Hidden, at least", "ns")]
    hidden_best_ns: Annotated[int | None, Column("Hidden", "ns")]
    hidden_upper_ns: Annotated[int, Column("Hidden, at most", "ns")]
    secret: Annotated[str, Column("Secret", show=False)] = "unseen"


GAP = Gap("<script>alert(1)</script>", 1_200_000_000, None, 3_400_000_000)


def test_a_table_has_what_a_terminals_table_has() -> None:
    text = str(table([GAP], caption="Gaps & more"))
    assert "<caption>Gaps &amp; more</caption>" in text
    assert '<th scope="col">Name &lt;i&gt;</th>' in text
    assert '<th scope="col" class="number">Hidden</th>' in text
    assert '<td class="number"><bdi>1.2–3.4 s</bdi></td>' in text
    assert "unseen" not in text
    assert "<script" not in text


def test_columns_can_be_left_out() -> None:
    assert "script" not in str(table([GAP], caption="Gaps", leave_out=("Name <i>",)))


def test_nothing_found_is_said() -> None:
    assert str(table([], caption="Gaps", empty="Nothing <here>.")).strip() == '<p class="nothing">Nothing &lt;here&gt;.</p>'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb\x1b[0m\nc\td", "ab c d"),
        ("\u202eevil\u2069\u061c\ufeff", "evil"),
        ("x" * (LONGEST + 1), "x" * (LONGEST - 1) + "…"),
        ("x" * 5_000_000, "x" * (LONGEST - 1) + "…"),
        ("\ud800", "?"),
        ("", ""),
    ],
)
def test_a_foreign_text_is_one_short_plain_line(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_foreign_text_cannot_turn_its_neighbours_round() -> None:
    assert str(foreign("<b>\u202e")) == "<bdi>&lt;b&gt;</bdi>"
    assert str(foreign(None)) == "<bdi>–</bdi>"


@pytest.mark.parametrize(
    ("text", "shown"), [("0f5e7ab2-0000-4000-8000-000000000001", "0f5e7ab2"), ("latest", "latest"), ("x y " * 10, "x y x y ")]
)
def test_an_id_is_told_by_its_beginning(text: str, shown: str) -> None:
    assert short(text) == shown


@pytest.mark.parametrize(
    ("text", "part"),
    [("a b/c", "a%20b%2Fc"), ("../x", "..%2Fx"), ("..", ""), (".", ""), ("", ""), ("ü", "%C3%BC"), ("x" * 2_000, ""), ("\ud800", "%3F")],
)
def test_a_text_is_one_part_of_a_path_or_none(text: str, part: str) -> None:
    assert path_part(text) == part


@pytest.mark.parametrize(
    ("bounds", "shown"),
    [((0.5, 0.5, 0.5), "50.0 %"), ((0.1, 0.2, 0.9), "20.0 % (10.0 % – 90.0 %)"), ((0.1, None, 0.9), "10.0 % – 90.0 %")],
)
def test_a_share_is_a_range(bounds: tuple[float, float | None, float], shown: str) -> None:
    assert share_range(*bounds) == shown


def test_a_template_escapes_and_misses_nothing() -> None:
    templates = environment(DictLoader({"x": "{{ value }}", "y": "{{ missing }}"}))
    assert templates.get_template("x").render(value="<&\"'>") == "&lt;&amp;&#34;&#39;&gt;"
    with pytest.raises(UndefinedError):
        templates.get_template("y").render()
