"""Lines as they are found in the world: each is read, or told as a problem, and none costs more memory than it may."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.model import Problem
from tracekit.sources.fields import Object
from tracekit.sources.lines import Line, objects, read_lines

BOM = b"\xef\xbb\xbf"


def lines(data: bytes, **options: int) -> list[Line | Problem]:
    return list(read_lines(io.BytesIO(data), **options))


def found(raw: bytes, position: int = 0, *, ended: bool = True) -> list[tuple[int, Object]]:
    read = objects(Line(1, position, raw, ended))
    assert isinstance(read, list)
    return read


def problem(raw: bytes, *, ended: bool = True) -> tuple[str, str]:
    read = objects(Line(7, 300, raw, ended))
    assert isinstance(read, Problem)
    assert (read.line, read.position) == (7, 300)
    return read.reason, read.detail


# Where lines are --------------------------------------------------------------------------------------------------------


def test_lines_have_a_number_and_the_place_of_their_first_byte() -> None:
    assert lines('{"a": "é"}\n\n{}\n'.encode()) == [
        Line(1, 0, '{"a": "é"}'.encode()),
        Line(2, 12, b""),
        Line(3, 13, b"{}"),
    ]


def test_the_last_line_may_still_grow_where_it_has_no_newline() -> None:
    assert lines(b"{}\n{") == [Line(1, 0, b"{}"), Line(2, 3, b"{", ended=False)]
    assert lines(b"") == []


def test_reading_goes_on_from_any_place() -> None:
    assert lines(b"{}\n[]\n{", position=3, number=2) == [Line(2, 3, b"[]"), Line(3, 6, b"{", ended=False)]
    assert lines(b"{}\n", position=3, number=2) == []


@given(st.lists(st.binary(max_size=20).map(lambda raw: raw.replace(b"\n", b"")), max_size=8), st.booleans())
def test_what_was_joined_by_newlines_is_parted_by_them(raws: list[bytes], ended: bool) -> None:  # noqa: FBT001
    data = b"".join(raw + b"\n" for raw in raws) + (b"" if ended else b"x")
    read = [line for line in lines(data) if isinstance(line, Line)]
    assert [line.raw for line in read] == raws + ([] if ended else [b"x"])
    assert all(data[line.position :].startswith(line.raw) for line in read)


@pytest.mark.parametrize("size", [9, 10])
def test_a_line_up_to_the_limit_is_read_with_and_without_a_newline(size: int) -> None:
    raw = b"x" * size
    assert lines(raw + b"\n" + raw, limit=10) == [Line(1, 0, raw), Line(2, size + 1, raw, ended=False)]


@pytest.mark.parametrize("size", [11, 20, 21, 22, 1 << 20, (3 << 20) + 5])
def test_a_line_over_the_limit_is_a_problem_and_the_next_is_read(size: int) -> None:
    assert lines(b"{}\n" + b"x" * size + b"\n{}\n", limit=10) == [
        Line(1, 0, b"{}"),
        Problem(2, 3, "line too long", "over 10 bytes"),
        Line(3, 4 + size, b"{}"),
    ]


def test_a_line_over_the_limit_may_be_the_last() -> None:
    assert lines(b"x" * 50, limit=10) == [Problem(1, 0, "line too long", "over 10 bytes")]


class Watched(io.BytesIO):
    """Knows the largest piece that was asked of it."""

    largest = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        piece = super().readline(size)
        self.largest = max(self.largest, len(piece))
        return piece


def test_a_line_over_the_limit_is_never_held() -> None:
    handle = Watched(b"x" * (5 << 20) + b"\n{}\n")
    assert [type(line) for line in read_lines(handle, limit=1000)] == [Problem, Line]
    assert handle.largest == 1 << 20


# What is on a line ------------------------------------------------------------------------------------------------------


def test_a_line_is_an_object_at_its_own_place() -> None:
    assert found(b'{"a": 1}', 40) == [(40, {"a": 1})]


@pytest.mark.parametrize("raw", [b"", b" ", b"\r", b" \t\r"])
def test_a_blank_line_holds_nothing(raw: bytes) -> None:
    assert found(raw) == []


def test_the_end_of_a_line_may_be_the_one_of_windows() -> None:
    assert found(b'{"a": 1}\r', 40) == [(40, {"a": 1})]


def test_a_byte_order_mark_may_stand_before_the_first_line_only() -> None:
    assert found(BOM + b'{"a": 1}') == [(3, {"a": 1})]
    assert found(BOM) == []
    assert problem(BOM + b'{"a": 1}')[0] == "not JSON"


def test_objects_without_a_newline_between_them_each_have_their_place() -> None:
    first, second = '{"a": "é€"}'.encode(), b'{"b": 2}'
    assert found(first + second + b"  " + second, 40) == [
        (40, {"a": "é€"}),
        (40 + len(first), {"b": 2}),
        (40 + len(first) + len(second) + 2, {"b": 2}),
    ]


def test_halves_of_characters_are_read_and_count_their_bytes() -> None:
    raw = rb'{"a": "\ud83d"}{"b": 2}'
    assert found(raw, 40) == [(40, {"a": "\ud83d"}), (55, {"b": 2})]


def test_numbers_that_json_does_not_know_are_read_as_others_write_them() -> None:
    ((_, value),) = found(b'{"a": NaN, "b": 1e400, "c": 123456789012345678901234567890}')
    assert value["a"] != value["a"]
    assert (value["b"], value["c"]) == (float("inf"), 123456789012345678901234567890)


@pytest.mark.parametrize(("raw", "kind"), [(b"null", "null"), (b'"text"', "str"), (b"[1]", "list"), (b"17", "int"), (b"true", "bool")])
def test_json_that_is_no_object_is_told_by_its_kind(raw: bytes, kind: str) -> None:
    assert problem(raw) == ("not an object", f"the line is a JSON {kind}")


def test_an_object_glued_to_something_else_is_told() -> None:
    assert problem(b'{"a": 1} null') == ("not an object", "the line is a JSON null")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"a": "b', "truncated line"),
        (b'{"a": 1}{"b"', "truncated line"),
        (b"[1, 2", "truncated line"),
        (b"2026-11-30 INFO started", "not JSON"),
        (b"\0\0\0\0", "NUL bytes"),
        (b'{"a": "\xff\xfe"}', "not UTF-8"),
        (b"\x89PNG\r", "not UTF-8"),
    ],
)
def test_what_cannot_be_read_says_why_and_never_what(raw: bytes, reason: str) -> None:
    told, detail = problem(raw)
    assert told == reason
    assert detail
    assert "INFO" not in detail


@pytest.mark.parametrize("raw", [b'{"a": "b', b"{", '{"a": "é'.encode()[:-1], b"nul"])
def test_the_last_line_may_be_unfinished_even_inside_a_character(raw: bytes) -> None:
    reason, detail = problem(raw, ended=False)
    assert reason == "unfinished last line"
    assert detail.endswith("; read again when the file grows")


def test_a_last_line_that_is_whole_is_read_without_its_newline() -> None:
    assert found(b'{"a": 1}', ended=False) == [(0, {"a": 1})]


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "a number has too many digits"),
    ],
)
def test_json_beyond_limits_is_a_problem_and_no_crash(raw: bytes, detail: str) -> None:
    assert problem(raw) == ("beyond limits", detail)


@given(st.binary(max_size=60), st.booleans())
def test_no_bytes_break_the_reading(raw: bytes, ended: bool) -> None:  # noqa: FBT001
    read = objects(Line(1, 0, raw, ended))
    assert isinstance(read, Problem) or all(isinstance(value, dict) for _, value in read)


@given(st.lists(st.dictionaries(st.text(max_size=4), st.text(max_size=6), max_size=3), min_size=1, max_size=4), st.integers(0, 99))
def test_glued_objects_are_found_where_they_are(values: list[dict[str, str]], position: int) -> None:
    raws = [json.dumps(value, ensure_ascii=False).encode(errors="replace") for value in values]
    read = found(b"".join(raws), position)
    assert [offset - position for offset, _ in read] == [sum(map(len, raws[:number])) for number in range(len(raws))]
    assert [value for _, value in read] == [json.loads(raw) for raw in raws]
