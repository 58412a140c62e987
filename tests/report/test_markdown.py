"""Findings in Markdown: nothing that others wrote becomes markup, a mention or a link."""

from dataclasses import dataclass
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tracekit.model import Column, Finding
from tracekit.report.html import plain
from tracekit.report.markdown import LONGEST, cell, code, grid, table


@dataclass(frozen=True, slots=True)
class Gap(Finding):
    name: Annotated[str, Column("Name")]
    duration_ns: Annotated[int, Column("Time", "ns")]


@pytest.mark.parametrize(
    "text", ["Bash", "1.2–3.4 s (best 1.9 s)", "42.3 %", "$1,234.50", "–", "mcp__db__query"[:3], "read_file", "≥ 3.0 s"]
)
def test_what_can_mean_nothing_else_stands_as_it_is(text: str) -> None:
    assert cell(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "@everyone",
        "#1",
        "GH-1",
        "http://evil.example",
        "www.evil.example",
        "$x$",
        ":bomb:",
        "__init__",
        "_x",
        "<b>",
        "[a](b)",
        "*",
        "a|b",
        "~x~",
        "é",
    ],
)
def test_what_could_mean_more_is_code(text: str) -> None:
    assert cell(text).startswith("`")


def test_less_than_a_share_needs_no_code() -> None:
    assert cell("<0.1 %") == "&lt;0.1 %"


@given(st.text(max_size=60))
def test_code_is_read_as_the_text_that_it_shows(text: str) -> None:
    shown = plain(text, LONGEST)
    row = MarkdownIt("commonmark").enable("table").parse(f"| a | b |\n| - | - |\n| {code(text)} | x |")
    cells = [token.children for token in row if token.type == "inline"][2:]
    assert len(cells) == 2
    assert [(token.type, token.content) for token in cells[0] or []] == ([("code_inline", shown)] if shown else [])


def test_too_many_rows_are_counted() -> None:
    rows = [Gap(f"tool {number}", number) for number in range(12)]
    assert table(rows, most=10).endswith("| tool 9 | 9 ns |\n\n2 more are not shown.")
    assert "more" not in table(rows)


def test_a_table_says_which_columns_are_numbers() -> None:
    assert table([Gap("Bash", 0)]) == "| Name | Time |\n| :-- | --: |\n| Bash | 0 s |"
    assert table([], empty="Nothing.") == "Nothing."


def test_a_grid_writes_ready_texts() -> None:
    assert grid(["A"], [["<b>"]], numbers=[False]) == "| A |\n| :-- |\n| `<b>` |"
