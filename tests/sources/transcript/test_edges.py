"""Whatever is missing, out of order or out of time in a file: every span ends after it began, and its slack lies inside it."""

import io
import json
import random

from hypothesis import given
from hypothesis import strategies as st

from tests.sources.transcript.test_growth import PARTS, composed
from tests.sources.transcript.written import stamp
from tracekit.model import Boundary, Span
from tracekit.sources.lines import read_lines
from tracekit.sources.transcript import read

parts = st.lists(st.integers(0, len(PARTS) - 1), min_size=1, max_size=3)


def read_all(data: bytes) -> list[Span]:
    return [item for item in read(read_lines(io.BytesIO(data))) if isinstance(item, Span)]


def check(span: Span) -> None:
    assert span.start_slack_ns >= 0
    assert span.end_slack_ns >= 0
    if span.end_ns is not None:
        assert span.start_ns + span.start_slack_ns <= span.end_ns
        assert span.start_ns <= span.end_ns - span.end_slack_ns


@given(parts, st.randoms(use_true_random=False))
def test_lines_may_be_missing_and_stand_anywhere(numbers: list[int], dice: random.Random) -> None:
    lines = composed(numbers).splitlines(keepends=True)
    kept = dice.sample(lines, dice.randrange(len(lines) + 1))
    for span in read_all(b"".join(kept)):
        check(span)


@given(parts, st.randoms(use_true_random=False))
def test_times_may_be_anything(numbers: list[int], dice: random.Random) -> None:
    entries = [json.loads(line) for line in composed(numbers).splitlines()]
    moved = [entry | {"timestamp": stamp(dice.uniform(0, 40))} for entry in entries]
    for span in read_all(b"".join(json.dumps(entry).encode() + b"\n" for entry in moved)):
        check(span)


@given(parts)
def test_what_is_part_of_a_turn_lies_in_it(numbers: list[int]) -> None:
    spans = read_all(composed(numbers))
    turns = {span.key: span for span in spans if span.boundary == Boundary.TURN}
    inside = {Boundary.MODEL_REQUEST, Boundary.COMPACTION}
    for span in spans:
        turn = turns.get(span.parent_key or "")
        if span.boundary in inside and turn is not None:
            assert turn.start_ns <= span.start_ns + span.start_slack_ns
            assert turn.end_ns is None or (span.end_ns is not None and span.end_ns <= turn.end_ns)
