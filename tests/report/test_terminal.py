import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Annotated

import pytest
from rich.cells import cell_len

from tracekit.model import Column, Finding
from tracekit.report.terminal import plain_table, table

MS = 1_000_000
S = 1_000 * MS


@dataclass(frozen=True, slots=True)
class Everything(Finding):
    session_id: Annotated[str, Column("Session")]
    began_ns: Annotated[int, Column("Began", "time_ns")]
    tool: Annotated[str, Column("Tool")]
    hidden_lower_ns: Annotated[int | None, Column("Hidden, at least", "ns")]
    hidden_best_ns: Annotated[int | None, Column("Hidden", "ns")]
    hidden_upper_ns: Annotated[int | None, Column("Hidden, at most", "ns")]
    share: Annotated[float | None, Column("Share of the turn", "ratio")]
    tokens: Annotated[int | None, Column("Output tokens", "tokens")]
    cost: Annotated[float | None, Column("Cost", "usd")]
    cut: Annotated[bool, Column("Cut")]
    gap: Annotated[str | None, Column("What stood in the way")]
    file: Annotated[str, Column("File", show=False)] = "not shown"


@dataclass(frozen=True, slots=True)
class Narrow(Finding):
    tool: Annotated[str, Column("Tool")]
    calls: Annotated[int, Column("Calls", "count")]
    exposed_lower_ns: Annotated[int, Column("Exposed, at least", "ns")]
    exposed_upper_ns: Annotated[int, Column("Exposed, at most", "ns")]
    error: Annotated[str | None, Column("Error")]
    path: Annotated[str, Column("Evidence")]


EVERYTHING = [
    Everything(
        "4f6c1d2e-0b7a-4b6e-9a53-77d3a1c2b3d4",
        1_796_052_723 * S,
        "Bash",
        0,
        1_900 * MS,
        3_400 * MS,
        0.423,
        12_345,
        0.0042,
        cut=False,
        gap="the permission prompt stood open for 12 s, then a Bash command that is exclusive ran before it",
    ),
    Everything(
        "9e0b7a4b-6e9a-5377-d3a1-c2b3d44f6c1d",
        1_796_052_725 * S,
        "mcp__github__search_repositories",
        S,
        S,
        S,
        0.05,
        None,
        1.5,
        cut=True,
        gap=None,
    ),
]

NARROW = [
    Narrow(
        "Bash",
        1_204,
        340 * MS,
        125 * S,
        "\x1b[31mCommand failed\x1b[0m with exit code 1:\n[bold]make[/bold]: *** No rule to make target 'all'. Stop. " + "And so on. " * 20,
        "projects/-home-me-some-project/4f6c1d2e-0b7a-4b6e-9a53-77d3a1c2b3d4.jsonl:1204",
    ),
    Narrow("Read", 7, 0, 0, None, "a.jsonl:7"),
    Narrow("読む", 1, 1_200 * MS, 3_400 * MS, "日本語のエラー、とても長いので折り返される" * 3, "b.jsonl:1"),
]

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize(("width", "colour"), [(80, False), (120, True), (200, False)])
def test_a_wide_finding(golden: Callable[[str, str], None], width: int, colour: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    golden(f"report_wide_{width}.txt", table(EVERYTHING, width=width, colour=colour, zone=UTC))


@pytest.mark.parametrize(("width", "colour"), [(80, False), (120, True), (200, False)])
def test_a_narrow_finding(golden: Callable[[str, str], None], width: int, colour: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    golden(f"report_narrow_{width}.txt", table(NARROW, width=width, colour=colour, zone=UTC))


@pytest.mark.parametrize("rows", [EVERYTHING, NARROW], ids=["everything", "narrow"])
@pytest.mark.parametrize("width", [60, 80, 100, 120, 160, 200])
def test_no_line_is_wider_than_the_terminal_and_colour_changes_no_character(rows: list[Finding], width: int) -> None:
    plain = table(rows, width=width, colour=False, zone=UTC)
    assert max(map(cell_len, plain.splitlines())) <= width
    assert "\x1b" not in plain
    coloured = ESCAPES.sub("", table(rows, width=width, colour=True, zone=UTC))
    assert [line.rstrip() for line in coloured.splitlines()] == plain.splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160, 200])
def test_numbers_are_never_cut_or_broken(width: int) -> None:
    shown = table(EVERYTHING, width=width, colour=False, zone=UTC)
    for number in ("2026-11-30", "15:32:03Z", "0–3.4 s (best 1.9 s)", "1.00 s", "42.3 %", "12,345", "$0.0042", "$1.50"):
        assert number in shown


def test_a_column_that_is_not_for_eyes_is_left_out() -> None:
    assert "not shown" not in table(EVERYTHING, width=200, colour=False)


def test_a_foreign_text_cannot_reach_the_terminal_or_its_markup() -> None:
    shown = table(NARROW, width=200, colour=False)
    assert "Command failed with exit code 1: [bold]make[/bold]: ***" in shown
    assert "\x1b" not in shown


def test_no_findings_are_a_sentence() -> None:
    assert table([], width=80, colour=False) == "Nothing found."
    assert table([], width=80, colour=False, empty="No session is stuck.") == "No session is stuck."


def test_ids_are_whole_where_there_is_room_and_their_beginning_where_not() -> None:
    short = [replace(row, gap=None, tool="Bash") for row in EVERYTHING]
    assert "4f6c1d2e-0b7a-4b6e-9a53-77d3a1c2b3d4" in table(short, width=200, colour=False)
    tight = table(short, width=100, colour=False, zone=UTC)
    assert "4f6c1d2e  2026-11-30" in tight


@dataclass(frozen=True, slots=True)
class Seen(Finding):
    began_ns: Annotated[int | None, Column("Began", "time_ns")]
    model: Annotated[str, Column("Model")]
    client: Annotated[str, Column("Client")]


SEEN = [Seen(1_796_052_723 * S, "claude-sonnet-4-5", "2.1.23"), Seen(1_796_052_725 * S, "claude-sonnet-4-5", "2.1.23")]


@pytest.mark.parametrize(
    ("moments", "heading", "cells"),
    [
        ([1_796_052_723, 1_796_052_725], "Began 2026-11-30", ["15:32:03Z", "15:32:05Z"]),
        ([1_793_000_000, 1_796_052_723, None], "Began 2026", ["10-26 07:33", "11-30 15:32", "–"]),
        ([0, 1_796_052_723], "Began", ["1970-01-01 00:00", "2026-11-30 15:32"]),
    ],
)
def test_where_room_is_scarce_what_moments_share_stands_in_the_heading(moments: list[int | None], heading: str, cells: list[str]) -> None:
    rows = [replace(SEEN[0], began_ns=None if moment is None else moment * S) for moment in moments]
    shown = table(rows, width=42, colour=False, zone=UTC).splitlines()
    rule = next(number for number, line in enumerate(shown) if "─" in line)
    assert " ".join(line[:16].strip() for line in shown[:rule]).split("  ")[0].strip() == heading
    assert [line.split("  claude")[0].strip() for line in shown[rule + 1 :]] == cells


def test_where_it_is_scarcer_still_what_is_the_same_in_every_row_is_said_once() -> None:
    shown = table(SEEN, width=24, colour=False, zone=UTC).splitlines()
    assert shown == [
        "Model: claude-sonnet-4-5",
        "Client: 2.1.23",
        "",
        "Began 2026-11-30",
        "────────────────",
        "       15:32:03Z",
        "       15:32:05Z",
    ]
    assert table(SEEN, width=30, colour=False, zone=UTC).splitlines()[0] == "Model: claude-sonnet-4-5"


def test_a_text_takes_no_more_lines_than_it_may() -> None:
    assert len(table(NARROW[:1], width=80, colour=False).splitlines()) == 5
    assert len(table(NARROW[:1], width=80, colour=False, lines=1).splitlines()) == 3


@dataclass(frozen=True, slots=True)
class Located(Finding):
    key: Annotated[str, Column("Key", "id")]
    project: Annotated[str, Column("Project", "path")]


def test_of_a_path_the_end_is_kept_and_of_an_id_the_beginning() -> None:
    row = table([Located("toolu_01" + "a" * 20, "/home/me/my projects/" + "x" * 40)], width=42, colour=False).splitlines()[-1]
    assert row.split("  ") == ["toolu_0…", "…" + "x" * 31]


@dataclass(frozen=True, slots=True)
class Bounded(Finding):
    wait_lower_ns: Annotated[int | None, Column("Wait at least", "ns")]
    wait_upper_ns: Annotated[int | None, Column("Wait at most", "ns")]
    wait_lower: Annotated[str, Column("Own")]
    time_lower_ns: Annotated[int, Column("Certain", "ns")]
    time_upper_ns: Annotated[int, Column("At most", "ns", show=False)]


def test_a_range_needs_both_bounds_of_one_name_to_be_shown() -> None:
    lines = table([Bounded(S, 2 * S, "x", 0, S), Bounded(None, None, "y", S, S)], width=80, colour=False).splitlines()
    assert [line.split("  ")[-3:] for line in lines[2:]] == [["1.0–2.0 s", "x", "    0 s"], ["–", "y", " 1.00 s"]] or lines
    assert lines[0].split() == ["Wait", "Own", "Certain"]


def test_plain_rows_are_shown_as_they_are() -> None:
    rows = [{"session": "a", "start_ns": 1_796_052_723_187_000_000, "end_ns": None}, {"session": "b", "start_ns": 7, "end_ns": 8}]
    assert plain_table(rows, width=80, colour=False).splitlines() == [
        "session             start_ns  end_ns",
        "─" * 36,
        "a        1796052723187000000",
        "b                          7       8",
    ]
    assert plain_table([], width=80, colour=False) == "No rows."
