"""Sizes of deltas: whatever stands in them, and however it is written, it is what the JSON says."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.instrument.sdk.anthropic.deltas import Deltas

KINDS = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}
TRICKY = ('"', '","x":"', '"}', '"}}', "\\", '\\"', "\n", "é", "😀", '{"text":"a"}', '"delta":{"text":"')
CONTENT = st.lists(st.one_of(st.text(), st.sampled_from(TRICKY))).map("".join)


def delta(index: int, kind: str, content: str, **more: str) -> dict[str, object]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more, KINDS[kind]: content}}


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(sorted(KINDS)), CONTENT), min_size=1),
    st.sampled_from([(", ", ": "), (",", ":")]),
    st.booleans(),
)
def test_each_size_is_what_the_json_says(deltas: list[tuple[int, str, str]], separators: tuple[str, str], ascii_only: bool) -> None:  # noqa: FBT001  (given by Hypothesis)
    reading = Deltas()
    for index, kind, content in deltas:
        data = json.dumps(delta(index, kind, content), separators=separators, ensure_ascii=ascii_only)
        assert (reading.size(data), reading.index) == (len(content), index)


def test_one_that_says_more_than_the_one_before_is_read_whole() -> None:
    reading = Deltas()
    assert reading.size(json.dumps(delta(0, "text_delta", "four"))) == 4
    more = delta(0, "text_delta", "five!")
    inside, outside = more | {"delta": {"type": "text_delta", "text": "five!", "note": "x"}}, more | {"note": {"text": "x"}}
    assert [reading.size(json.dumps(one)) for one in (inside, outside)] == [5, 5]
    assert reading.size(json.dumps(delta(0, "text_delta", "six456", note="x"))) == 6
    assert reading.size(json.dumps(delta(0, "text_delta", "seven67", note='"text": "'))) == 7
    assert (reading.size(json.dumps(delta(2, "text_delta", "eight678"))), reading.index) == (8, 2)


@pytest.mark.parametrize(
    "data",
    [
        "",
        "{",
        "[]",
        "null",
        '{"index":0}',
        '{"index":0,"delta":null}',
        '{"index":0,"delta":{"type":"signature_delta","signature":"x"}}',
        '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ab}}',
        '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":1}}',
    ],
)
def test_one_of_another_shape_is_refused_and_harms_none_after_it(data: str) -> None:
    reading = Deltas()
    like = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"abc"}}'
    assert reading.size(like) == 3
    with pytest.raises((ValueError, LookupError, TypeError, AttributeError)):
        reading.size(data)
    assert reading.size(like) == 3
