"""Fields of foreign objects: what is of the wrong kind is not there."""

from typing import Any

import pytest

from tracekit.sources.fields import (
    LONGEST_NS,
    list_in,
    mapping,
    milliseconds,
    number,
    objects_in,
    parts_of,
    seconds,
    text,
    whole,
    words_of,
)


@pytest.mark.parametrize(("value", "expected"), [("a", "a"), ("", None), (None, None), (7, None), (["a"], None), ({}, None)])
def test_text(value: Any, expected: str | None) -> None:
    assert text({"x": value}, "x") == expected


def test_the_first_text_of_several_names_counts() -> None:
    assert text({"a": "", "b": 7, "c": "x", "d": "y"}, "a", "b", "c", "d") == "x"
    assert text({}, "a") is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [(7, 7), (1.5, 1.5), (-1, -1), (True, None), ("7", None), (float("nan"), None), (float("inf"), None), (None, None)],
)
def test_number(value: Any, expected: float | None) -> None:
    assert number({"x": value}, "x") == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(7, 7), (1.0, None), (True, None), ("7", None), (2**63 - 1, 2**63 - 1), (2**63, None), (-(2**63) - 1, None)]
)
def test_whole(value: Any, expected: int | None) -> None:
    assert whole({"x": value}, "x") == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1500, 1_500_000_000), (0.5, 500_000), (0, 0), (-1, None), ("1500", None), (10**400, None), (LONGEST_NS, None), (float("inf"), None)],
)
def test_milliseconds(value: Any, expected: int | None) -> None:
    assert milliseconds({"x": value}, "x") == expected


@pytest.mark.parametrize(("value", "expected"), [(1.5, 1_500_000_000), (-1, None), (LONGEST_NS // 10**9, LONGEST_NS), (LONGEST_NS, None)])
def test_seconds(value: Any, expected: int | None) -> None:
    assert seconds({"x": value}, "x") == expected


@pytest.mark.parametrize("value", [None, 7, "x", [1], True])
def test_what_is_no_object_is_an_empty_one(value: Any) -> None:
    assert mapping({"x": value}, "x") == {}
    assert mapping({}, "x") == {}
    assert mapping({"x": {"a": 1}}, "x") == {"a": 1}


@pytest.mark.parametrize("value", [None, 7, "x", {"a": 1}])
def test_what_is_no_list_is_an_empty_one(value: Any) -> None:
    assert list_in({"x": value}, "x") == []
    assert objects_in({"x": [value, {"b": 2}]}, "x") == ([value, {"b": 2}] if isinstance(value, dict) else [{"b": 2}])


def test_a_bare_text_is_one_part_of_a_message() -> None:
    assert parts_of({"message": {"content": "a"}}) == [{"type": "text", "text": "a"}]
    assert parts_of({"message": {"content": [{"type": "text", "text": "a"}, "b", None]}}) == [{"type": "text", "text": "a"}]
    assert parts_of({"message": "a"}) == []


def test_the_words_of_parts_are_those_that_are_text() -> None:
    parts: list[dict[str, Any]] = [
        {"type": "text", "text": "a"},
        {"type": "image", "text": "no"},
        {"type": "text", "text": 7},
        {"type": "text", "text": "b"},
    ]
    assert words_of(parts) == "a\nb"
