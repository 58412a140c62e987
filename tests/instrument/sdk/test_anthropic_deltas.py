"""Sizes of deltas: whatever stands in them, and however it is written, it is what the JSON says."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.instrument.sdk.anthropic.following import Following

KINDS = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}
TRICKY = ('"', '","x":"', '"}', '"}}', "\\", '\\"', "\n", "é", "😀", '{"text":"a"}', '"delta":{"text":"')
CONTENT = st.lists(st.one_of(st.text(), st.sampled_from(TRICKY))).map("".join)


class Request:
    """Writes down what a request is told of deltas."""

    def __init__(self) -> None:
        self.told: list[tuple[int | None, int]] = []

    def delta(self, index: int | None, size: int, at_ns: int) -> None:
        assert at_ns == 0
        self.told.append((index, size))

    def event(self, type: str, index: int | None = None, size: int = 0, **_: Any) -> None:  # noqa: A002  (of the interface)
        assert type == "content_block_delta"
        self.told.append((index, size))

    def said(self, index: int | None, words: str) -> None:
        """Nothing is kept of it."""


def told(*events: str) -> list[tuple[int | None, int]]:
    request: Any = Request()
    following = Following(request, lambda _: None)
    for data in events:
        following.event("content_block_delta", data)
    found: list[tuple[int | None, int]] = request.told
    return found


def delta(index: int, kind: str, content: str, **more: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more, KINDS[kind]: content}}


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(sorted(KINDS)), CONTENT), min_size=1),
    st.sampled_from([(", ", ": "), (",", ":")]),
    st.booleans(),
)
def test_each_size_is_what_the_json_says(deltas: list[tuple[int, str, str]], separators: tuple[str, str], ascii_only: bool) -> None:  # noqa: FBT001  (given by Hypothesis)
    events = [json.dumps(delta(*one), separators=separators, ensure_ascii=ascii_only) for one in deltas]
    assert told(*events) == [(index, len(content)) for index, _, content in deltas]


LIKE = json.dumps(delta(0, "text_delta", "four"))


@pytest.mark.parametrize(
    ("one", "size"),
    [
        (delta(0, "text_delta", "five!") | {"delta": {"type": "text_delta", "text": "five!", "note": "x"}}, (0, 5)),
        (delta(0, "text_delta", "five!") | {"note": {"text": "x"}}, (0, 5)),
        (delta(0, "text_delta", "six456", note="x"), (0, 6)),
        (delta(0, "text_delta", "seven67", note='"text": "'), (0, 7)),
        (delta(2, "text_delta", "eight678"), (2, 8)),
        ({"index": 1, "type": "content_block_delta", "delta": {"type": "text_delta", "text": "ninth"}}, (1, 5)),
        ({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "x"}}, (0, 0)),
    ],
)
def test_one_of_another_shape_is_read_for_what_it_is_and_harms_none_after_it(one: dict[str, Any], size: tuple[int, int]) -> None:
    assert told(LIKE, LIKE, json.dumps(one), LIKE) == [(0, 4), (0, 4), size, (0, 4)]


@pytest.mark.parametrize("data", ["", "{", "[]", "null", '{"index":0}', '{"index":0,"delta":null}', LIKE[:-3], f"{LIKE[:-3]}}}}}"])
def test_what_is_broken_brings_nothing_and_harms_none_after_it(data: str) -> None:
    found = told(LIKE, data, LIKE)
    assert (found[0], found[-1]) == ((0, 4), (0, 4))
    assert all(size == 0 for _, size in found[1:-1])
