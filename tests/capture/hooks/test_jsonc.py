"""JSON with comments: read by place, changed by text."""

import json
import re
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.capture.jsonc import MalformedError, insert, parse, remove

if TYPE_CHECKING:
    from collections.abc import Iterable

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)
BLANK = st.sampled_from(["", " ", "\n", "\r\n  ", "\t", ' // note, with } and "\n', "/* a, [ */"])


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """Write a value as people do: with blanks and comments anywhere, and commas too many."""

    def blank() -> str:
        return draw(BLANK)

    def write(value: Any) -> str:
        if not isinstance(value, dict | list):
            return json.dumps(value)
        parts = [
            f"{blank()}{json.dumps(name)}{blank()}:{blank()}{write(value[name])}{blank()}"
            if isinstance(value, dict)
            else f"{blank()}{write(name)}{blank()}"
            for name in cast("Iterable[Any]", value)
        ]
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        comma = draw(st.sampled_from(["", ","])) if parts else ""
        return f"{opening}{','.join(parts)}{comma}{blank()}{closing}"

    return blank() + write(value) + blank()


@given(st.data(), JSON)
def test_a_text_is_read_whatever_stands_between(data: st.DataObject, value: object) -> None:
    assert parse(data.draw(written(value))).read() == value


@given(st.data(), st.dictionaries(st.text(max_size=4), JSON, max_size=3), JSON)
def test_a_member_is_put_in_and_the_rest_stays(data: st.DataObject, value: dict[str, object], new: object) -> None:
    text = data.draw(written(value))
    changed = insert(text, parse(text), new, name="a new name")
    assert parse(changed).read() == {**value, "a new name": new}
    # Every line and comment of before is still there, in order.
    assert is_within(re.findall(r"\S", text), re.findall(r"\S", changed))


@given(st.data(), st.lists(JSON, min_size=1, max_size=4))
def test_an_item_is_taken_out_and_the_others_stay(data: st.DataObject, items: list[object]) -> None:
    text = data.draw(written(items))
    index = data.draw(st.integers(0, len(items) - 1))
    changed = remove(text, parse(text), index)
    assert parse(changed).read() == items[:index] + items[index + 1 :]
    taken = (parse(text).items or ())[index]
    assert changed.count("note") == text.count("note") - text[taken.start : taken.end].count("note")


def is_within(few: list[str], many: list[str]) -> bool:
    rest = iter(many)
    return all(letter in rest for letter in few)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("{", 1),
        ("{}x", 1),
        ("{\n  a: 1}", 2),
        ('{"a" 1}', 1),
        ("[1 2]", 1),
        ('"\\q"', 1),
        ("{\n\n/* never closed }", 3),
        ("nul", 1),
    ],
)
def test_what_is_no_json_says_where(text: str, line: int) -> None:
    with pytest.raises(MalformedError) as caught:
        parse(text)
    assert caught.value.line == line


def test_an_element_gets_lines_where_the_others_have_them() -> None:
    text = '{\n\t"a": 1 // one\n}\n'
    assert insert(text, parse(text), ["x"], name="b") == '{\n\t"a": 1, // one\n\t"b": [\n\t\t"x"\n\t]\n}\n'
    text = '{"a": 1}'
    assert insert(text, parse(text), ["x"], name="b") == '{"a": 1, "b": ["x"]}'
    text = '{"a": [\r\n    1,\r\n  ]}'
    member = parse(text).member("a")
    assert member is not None
    assert insert(text, member, 2) == '{"a": [\r\n    1,\r\n    2\r\n  ]}'


def test_an_element_leaves_no_empty_line_behind() -> None:
    text = '{\n  "a": 1,\n  "b": 2\n}\n'
    assert remove(text, parse(text), 1) == '{\n  "a": 1\n}\n'
    assert remove(text, parse(text), 0) == '{\n  "b": 2\n}\n'
    text = '{\n  "a": 1\n}\n'
    assert remove(text, parse(text), 0) == "{}\n"
