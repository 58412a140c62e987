import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tracekit.report.bar import LEGEND
from tracekit.report.lanes import Bar, Kind, Lane, draw
from tracekit.report.paint import to_ascii

MS = 1_000_000
S = 1_000 * MS
T = 1_796_052_723 * S


def at(seconds: float) -> int:
    return T + round(seconds * S)


def request(start: float, first_byte: float, end: float, label: str = "") -> Bar:
    return Bar(at(start), at(end), Kind.WAIT, label, then=((at(first_byte), Kind.STREAM),))


def tool(start: float, end: float, stop: float, label: str = "", *, failed: bool = False, slack: int = 0) -> Bar:
    return Bar(at(start), at(end), Kind.HIDDEN, label, start_slack_ns=slack, then=((at(stop), Kind.TOOL),), failed=failed)


TURN = [
    Lane("model", [request(0, 1.1, 4.2, "opus 4.2 s"), request(7.4, 8.3, 10, "opus 2.6 s"), Bar(at(13.2), None, Kind.WAIT, "opus")]),
    Lane(
        "tools",
        [
            tool(2.0, 3.1, 4.2, "Read 1.1 s"),
            tool(2.4, 6.9, 4.2, "Bash 4.5 s"),
            tool(2.9, 5.0, 4.2, "Grep 2.1 s", failed=True),
            tool(9.4, 12.9, 10, "mcp__github__search_repositories 3.5 s", slack=400 * MS),
        ],
    ),
    Lane("permission", [Bar(at(2.2), at(2.4), Kind.PERMISSION, "Bash")]),
    Lane("hooks", [Bar(at(1.95), at(1.99), Kind.HOOK), Bar(at(2.35), at(2.35), Kind.HOOK), Bar(at(6.95), at(7.3), Kind.HOOK, "Post")]),
    Lane("MCP", [Bar(at(-3), at(0.4), Kind.CONNECTION, "github"), Bar(at(9.7), at(12.8), Kind.MCP, "github", end_slack_ns=500 * MS)]),
    Lane("retry", []),
    Lane("agent Explore", [Bar(at(3.0), at(6.8), Kind.AGENT, "Explore 3.8 s")]),
    Lane("compaction", [Bar(at(15.0), at(17), Kind.COMPACTION, "auto")]),
]


def picture(lanes: Sequence[Lane], length: float = 10, width: int = 108) -> str:
    return draw(lanes, start_ns=T, end_ns=at(length), width=width, colour=False)


def chart(lanes: Sequence[Lane], length: float = 10, columns: int = 100) -> list[str]:
    """The rows of lanes of one-letter names, without axis, names and legend: 100 columns are 10 s."""
    rows = picture(lanes, length, columns + 3).split("\n\n")[0].splitlines()[2:]
    return [row[3:] for row in rows]


@pytest.mark.parametrize(("width", "colour"), [(80, False), (120, True), (200, False)])
def test_a_turn(golden: Callable[[str, str], None], width: int, colour: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    golden(f"report_lanes_{width}.txt", draw(TURN, start_ns=T, end_ns=at(15.4), width=width, colour=colour))


def test_a_turn_on_a_terminal_without_utf8(golden: Callable[[str, str], None]) -> None:
    golden("report_lanes_ascii.txt", to_ascii(draw(TURN, start_ns=T, end_ns=at(15.4), width=80, colour=False)))


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_a_picture_is_as_wide_as_asked(width: int) -> None:
    lines = draw(TURN, start_ns=T, end_ns=at(15.4), width=width, colour=False).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert cell_len(lines[1]) == width


def test_colour_changes_no_character() -> None:
    plain = draw(TURN, start_ns=T, end_ns=at(15.4), width=120, colour=False)
    coloured = re.sub(r"\x1b\[[0-9;]*m", "", draw(TURN, start_ns=T, end_ns=at(15.4), width=120, colour=True))
    assert [line.rstrip() for line in coloured.splitlines()] == plain.splitlines()


def test_every_look_differs_from_every_other_in_utf8_and_in_ascii() -> None:
    glyphs = [look.glyph for look in LEGEND]
    assert len(set(glyphs)) == len(glyphs)
    assert len({to_ascii(glyph) for glyph in glyphs} - {" "}) == len(glyphs)


def test_waiting_is_told_from_streaming_to_scale() -> None:
    assert chart([Lane("m", [request(1, 3, 7)])]) == [" " * 10 + "░" * 20 + "▓" * 40]


def test_hidden_tool_time_is_told_from_exposed_tool_time() -> None:
    assert chart([Lane("t", [tool(2, 8, 5)])]) == [" " * 20 + "▒" * 30 + "█" * 30]


def test_what_is_uncertain_is_dotted() -> None:
    bar = Bar(at(1), at(9), Kind.TOOL, start_slack_ns=2 * S, end_slack_ns=3 * S)
    assert chart([Lane("t", [bar])]) == [" " * 10 + "·" * 20 + "█" * 30 + "·" * 30]


def test_a_bar_that_is_certain_nowhere_is_only_dotted() -> None:
    bar = Bar(at(1), at(2), Kind.TOOL, start_slack_ns=S, end_slack_ns=S)
    assert chart([Lane("t", [bar])]) == [" " * 10 + "·" * 10]


def test_a_start_that_is_only_known_to_be_no_later_than_the_end_leaves_the_end_solid() -> None:
    bar = Bar(at(1), at(2), Kind.TOOL, start_slack_ns=S)
    assert chart([Lane("t", [bar])])[0].startswith(" " * 10 + "·" * 9)
    assert "█" in chart([Lane("t", [bar])])[0]


def test_an_open_bar_runs_to_the_edge_and_ends_in_an_arrow() -> None:
    assert chart([Lane("t", [Bar(at(4), None, Kind.TOOL)])]) == [" " * 40 + "█" * 59 + "▶"]


def test_bars_beyond_the_picture_are_marked_at_its_edges() -> None:
    assert chart([Lane("t", [Bar(at(-4), at(14), Kind.TOOL)])]) == ["‹" + "█" * 98 + "›"]


def test_a_failed_bar_ends_in_a_cross() -> None:
    assert chart([Lane("t", [tool(0, 1, 0, failed=True)])]) == ["█" * 9 + "✗"]


def test_an_instant_is_visible_even_at_the_right_edge() -> None:
    assert chart([Lane("h", [Bar(at(5), at(5), Kind.HOOK)])]) == [" " * 50 + "+"]
    assert chart([Lane("h", [Bar(at(10), at(10), Kind.HOOK)])]) == [" " * 99 + "+"]


def test_overlapping_bars_get_rows_of_their_own_and_others_share_one() -> None:
    rows = chart([Lane("t", [tool(0, 4, 0), tool(2, 6, 0), tool(5, 9, 0)])])
    assert rows == ["█" * 40 + " " * 10 + "█" * 40, " " * 20 + "█" * 40]


def test_bars_that_touch_can_be_told_apart() -> None:
    rows = chart([Lane("t", [tool(0, 4, 0), tool(4, 8, 0)])])
    assert rows == ["█" * 40, " " * 40 + "█" * 40]


def test_many_instants_do_not_make_many_rows() -> None:
    assert len(chart([Lane("h", [Bar(at(1) + n, at(1) + n, Kind.HOOK) for n in range(50)])])) <= 6


def test_a_short_bar_is_not_lost_beside_a_long_one() -> None:
    long = [Bar(at(0), at(5), Kind.TOOL), Bar(at(5), at(10), Kind.TOOL)]
    rows = chart([Lane("t", [*long, *(Bar(at(5), at(5), Kind.HOOK, failed=True) for _ in range(9))])])
    assert any("✗" in row for row in rows)


def test_a_label_stands_beside_its_bar_else_on_it_else_its_first_word_else_nothing() -> None:
    def labelled(bars: Sequence[Bar]) -> str:
        (row,) = chart([Lane("t", bars)], columns=30)
        return row

    assert labelled([tool(0, 2, 0, "Bash 2 s")]) == "██████ Bash 2 s"
    assert labelled([tool(0, 10, 0, "Bash 10 s")]) == "█ Bash 10 s ██████████████████"
    assert labelled([tool(0, 8.1, 0, "Bash 8 s")]) == "█ Bash 8 s █████████████"
    assert labelled([tool(0, 3, 0, "Edit everything"), tool(6, 10, 0)]) == "█████████ Edit    ████████████"
    assert labelled([tool(0, 3, 0, "Refactor it"), tool(3.4, 10, 0)]) == "█ Refa… █ ████████████████████"
    assert labelled([tool(0, 1, 0, "Bash"), tool(1.4, 10, 0)]) == "███ ██████████████████████████"


def test_wide_characters_keep_the_columns() -> None:
    (row,) = chart([Lane("t", [tool(0, 2, 0, "読む 2 s"), tool(8, 10, 0)])], columns=30)
    assert row == "██████ 読む 2 s" + " " * 9 + "██████"
    assert cell_len(row) == 30


def test_names_and_labels_cannot_carry_escapes() -> None:
    assert "\x1b" not in picture([Lane("a\x1b[31m", [tool(0, 1, 0, "x\x1b]0;title\x07y")])])


def test_the_legend_names_what_occurs_and_nothing_else() -> None:
    legend = picture([Lane("m", [request(0, 1, 2)])]).split("\n\n")[1]
    assert legend == "░ waiting for the first byte   ▓ streaming"


def test_nothing_to_draw_is_a_sentence() -> None:
    assert picture([Lane("t", [])]) == "Nothing to draw."
    assert picture([Lane("t", [tool(20, 30, 0)])]) == "Nothing to draw."


@pytest.mark.parametrize(
    ("length", "labels"),
    [
        (0.0025, "0 200 µs 400 µs 600 µs 800 µs 1.0 ms 1.2 ms 1.4 ms 1.6 ms 1.8 ms 2.0 ms 2.2 ms"),
        (2.5, "0 200 ms 400 ms 600 ms 800 ms 1.0 s 1.2 s 1.4 s 1.6 s 1.8 s 2.0 s 2.2 s 2.4 s"),
        (15, "0 1 s 2 s 3 s 4 s 5 s 6 s 7 s 8 s 9 s 10 s 11 s 12 s 13 s 14 s"),
        (200, "0 30 s 1 m 1 m 30 s 2 m 2 m 30 s 3 m"),
        (7_260, "0 15 m 30 m 45 m 1 h 1 h 15 m 1 h 30 m 1 h 45 m"),
        (90_000, "0 2 h 4 h 6 h 8 h 10 h 12 h 14 h 16 h 18 h 20 h 22 h 1 d"),
    ],
)
def test_the_axis_has_round_steps(length: float, labels: str) -> None:
    axis = draw([Lane("t", [Bar(T, None, Kind.TOOL)])], start_ns=T, end_ns=at(length), width=120, colour=False).splitlines()[0]
    assert " ".join(axis.split()) == labels


def lasting(start_ns: int, length_ns: int, kind: Kind) -> Bar:
    return Bar(T + start_ns, T + start_ns + length_ns, kind)


BARS = st.builds(lasting, st.integers(0, 10 * S), st.integers(0, 5 * S), st.sampled_from([Kind.TOOL, Kind.HOOK]))


@given(st.lists(BARS, min_size=1, max_size=12))
def test_every_bar_is_drawn_within_a_column_of_its_times(bars: list[Bar]) -> None:
    rows = chart([Lane("t", bars)])
    assert all(len(row) <= 100 for row in rows)
    for bar in bars:
        middle = (bar.start_ns + min(bar.ends_by(at(10)), at(10))) // 2
        column = min(99, (middle - T) * 100 // (10 * S))
        assert any(row[max(0, column - 1) : column + 2].strip() for row in rows)
