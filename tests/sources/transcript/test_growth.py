"""A file that grows is read again from where something may still change, and then says what one reading of the whole says."""

import io
import json
import lzma
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.transcript.test_agents import TASK, inside, mirrored
from tests.sources.transcript.test_compactions import cleared, compacted, manual, summary
from tests.sources.transcript.written import (
    LATE,
    Entry,
    api_error,
    api_request,
    at,
    data_of,
    failed,
    gave,
    gave_up,
    hook_began,
    hook_ended,
    in_a_row,
    progress,
    prompt,
    said,
    stamp,
    system,
    thought,
    tool,
    user,
    words,
)
from tracekit.model import Problem, Span
from tracekit.sources.lines import read_lines
from tracekit.sources.transcript import TranscriptReader

TRANSCRIPTS = Path(__file__).parents[2] / "data" / "transcripts"
SESSIONS = sorted(path.relative_to(TRANSCRIPTS).as_posix() for path in TRANSCRIPTS.rglob("*.xz"))

Item = Span | Problem


def later(seconds: float, entries: Iterable[Entry], name: str) -> Iterator[Entry]:
    """The same entries at another time, under other ids."""
    text = json.dumps(list(entries))
    for kind in ("msg_", "req_", "toolu_"):
        text = text.replace(kind, f"{kind}{name}_")
    for entry in json.loads(text):
        yield _moved(seconds, entry, name)


def _moved(seconds: float, entry: Entry, name: str) -> Entry:
    for field in ("uuid", "parentUuid", "logicalParentUuid", "promptId"):
        if entry.get(field):
            entry[field] = f"{name}-{entry[field]}"
    if "timestamp" in entry:
        hours, minutes, rest = entry["timestamp"].removesuffix("Z").partition("T")[2].split(":")
        entry["timestamp"] = stamp(seconds + (int(hours) - 8) * 3600 + int(minutes) * 60 + float(rest))
    if inner := entry.get("data", {}).get("message"):
        _moved(seconds, inner, name)
    return entry


def with_tools() -> list[Entry]:
    return [
        *in_a_row(
            hook_began(0, "SessionStart", "s-1"),
            prompt(1),
            said(2, thought()),
            said(3, tool("toolu_1")),
            hook_began(3.1, "PreToolUse"),
            said(4, tool("toolu_2")),
            progress(5, "bash_progress", elapsedTimeSeconds=1),
            gave(6, "toolu_1"),
            failed(7, "Exit code 1", "toolu_2"),
            said(8, words(), message="msg_2", request="req_2"),
            hook_began(8.1, "Stop", "h-1"),
            system(8.5, "stop_hook_summary", toolUseID="h-1", hookErrors=[]),
            system(8.6, "turn_duration", durationMs=7_100),
        ),
    ]


def with_an_agent() -> list[Entry]:
    """The agent's mirror begins and ends inside a turn of its parent's, and the result of its call comes behind both."""
    return in_a_row(
        prompt(0),
        said(1, words()),
        said(2, TASK),
        mirrored(2.3, prompt(2.2, "look around")),
        mirrored(3.2, said(3, tool("toolu_in", "Read"), message="msg_in", request="req_in")),
        mirrored(4.2, gave(4, "toolu_in")),
        mirrored(6.2, said(6, words(), message="msg_in2", request="req_in2")),
        gave(7, toolUseResult={"agentId": "a1"}),
        said(9, words(), message="msg_2", request="req_2"),
    )


def with_an_agent_in_the_background() -> list[Entry]:
    """Its lines go on through the turns that follow the one in which it was started."""
    return in_a_row(
        prompt(0),
        said(1, TASK),
        gave(2, toolUseResult={"agentId": "a2", "isAsync": True}),
        said(3, words(), message="msg_2", request="req_2"),
        mirrored(3.5, prompt(3.4, "look around"), "a2"),
        prompt(20, "and what else?"),
        mirrored(21, said(20.9, tool("toolu_in", "Read"), message="msg_in", request="req_in"), "a2"),
        said(22, words(), message="msg_3", request="req_3"),
        prompt(30, "<task-notification>done</task-notification>"),
        mirrored(31, gave(30.9, "toolu_in"), "a2"),
        said(33, words(), message="msg_4", request="req_4"),
    )


def with_agents_in_the_file() -> list[Entry]:
    aside = {"isSidechain": True}
    return [
        prompt(0),
        said(1, TASK),
        inside(prompt(1.5, "one"), "a3"),
        prompt(2, "two") | aside | {"uuid": "s1"},
        inside(said(3, tool("toolu_in"), message="msg_in", request="req_in"), "a3"),
        said(4, words(), message="msg_s", request="req_s") | aside | {"uuid": "s2", "parentUuid": "s1"},
        inside(gave(5, "toolu_in"), "a3"),
        gave(6, toolUseResult={"agentId": "a3"}),
        said(7, words(), message="msg_2", request="req_2"),
        prompt(20),
        inside(said(21, words(), message="msg_in2", request="req_in2"), "a3"),
        prompt(21.5, "three") | aside | {"uuid": "s3", "parentUuid": "s2"},
        said(21.7, words(), message="msg_s2", request="req_s2") | aside | {"uuid": "s4", "parentUuid": "s3"},
        said(22, words(), message="msg_3", request="req_3"),
    ]


def with_a_late_result() -> list[Entry]:
    """A call is answered two turns later, and one never."""
    return in_a_row(
        prompt(0),
        said(1, tool("toolu_1")),
        said(2, tool("toolu_2")),
        prompt(10),
        said(11, words(), message="msg_2", request="req_2"),
        prompt(20),
        gave(21, "toolu_1"),
        said(22, words(), message="msg_3", request="req_3"),
        prompt(30),
        gave(31, "toolu_9"),
        said(32, words(), message="msg_4", request="req_4"),
    )


def with_failures() -> list[Entry]:
    return in_a_row(
        prompt(0, promptId="p-1"),
        api_request(0.2, "ref-1"),
        api_error(1, {}, version=LATE),
        api_request(1.6, "ref-2"),
        said(3, words(), tool(), version=LATE, requestRef="ref-2"),
        gave(4),
        hook_ended(4.5, "PostToolUse", durationMs=300),
        gave_up(6, "API Error: Connection lost mid-response.", streamCutCause="stale_connection"),
        user(8, "[Request interrupted by user]"),
        prompt(20, promptId="p-2"),
        user(19.5, [{"type": "image", "source": {}}], promptId="p-2", uuid="image"),
        api_request(20.5, "ref-3"),
        gave_up(22, "Prompt is too long"),
    )


def with_compactions() -> list[Entry]:
    before = in_a_row(prompt(0), said(1, tool()), gave(2))
    after = said(70, words(), message="msg_2", request="req_2")
    return [*before, cleared(3) | {"uuid": "micro"}, compacted(65, after="user@2"), summary(65), after]


PARTS = (
    with_tools,
    with_an_agent,
    with_an_agent_in_the_background,
    with_agents_in_the_file,
    with_a_late_result,
    with_failures,
    with_compactions,
    lambda: list(manual()),
    lambda: [{"type": "queue-operation", "operation": "enqueue"}, {"type": "summary", "leafUuid": "x"}, {"type": "user", "uuid": "broken"}],
)


def composed(parts: Sequence[int]) -> bytes:
    entries = [entry for number, part in enumerate(parts) for entry in later(number * 8000.0, PARTS[part](), f"n{number}")]
    return data_of(entries)


def ends_of_lines(data: bytes) -> list[int]:
    return [position + 1 for position, byte in enumerate(data) if byte == 10]


class Reading:
    """What is known of a file, reading after reading, as an import keeps it."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.resume = (0, 1, 0)
        self.entries = 0

    def read(self, data: bytes) -> None:
        position, number, entries = self.resume
        reader = TranscriptReader(entries=entries)
        found: list[Item] = []
        line_number = number - 1
        for line in read_lines(io.BytesIO(data), position=position, number=number):
            line_number += 1
            found.extend(reader.feed(line))
        found.extend(reader.finish())
        self.items = [item for item in self.items if item.position < position] + found
        self.resume = reader.resume_point(len(data), line_number + 1)
        self.entries = reader.entries


def plain(items: Iterable[Item]) -> list[Any]:
    return sorted(json.dumps(item._replace(attributes=dict(item.attributes)) if isinstance(item, Span) else item) for item in items)


def check(data: bytes, cuts: Iterable[int]) -> None:
    whole, grown = Reading(), Reading()
    whole.read(data)
    for cut in cuts:
        grown.read(data[:cut])
    grown.read(data)
    assert plain(grown.items) == plain(whole.items)
    assert (grown.entries, grown.resume) == (whole.entries, whole.resume)


@pytest.mark.parametrize("part", range(len(PARTS)))
def test_wherever_a_session_is_cut_reading_on_gives_the_whole(part: int) -> None:
    data = composed([0, part, 1])
    for cut in (0, *ends_of_lines(data)):
        check(data, [cut])


@pytest.mark.parametrize(("first", "second"), list(pairwise([*range(len(PARTS)), 0])))
def test_a_session_that_grows_line_by_line_says_at_every_line_what_the_whole_says(first: int, second: int) -> None:
    data, grown = composed([first, second]), Reading()
    for end in ends_of_lines(data):
        grown.read(data[:end])
        whole = Reading()
        whole.read(data[:end])
        assert plain(grown.items) == plain(whole.items)


@given(st.lists(st.integers(0, len(PARTS) - 1), min_size=1, max_size=4), st.lists(st.floats(0, 1), max_size=4))
def test_any_session_may_be_read_in_any_pieces(parts: list[int], shares: list[float]) -> None:
    data = composed(parts)
    ends = [0, *ends_of_lines(data)]
    check(data, sorted(ends[round(share * (len(ends) - 1))] for share in shares))


@pytest.mark.parametrize("name", SESSIONS)
def test_real_sessions_may_be_read_in_any_pieces(name: str) -> None:
    data = lzma.decompress((TRANSCRIPTS / name).read_bytes())
    dice = random.Random(name)  # noqa: S311  (the same pieces every time)
    check(data, sorted(dice.sample([0, *ends_of_lines(data)], 3)))


def test_only_the_turn_that_may_still_change_is_read_again() -> None:
    turns = [list(later(number * 100.0, with_tools(), f"n{number}")) for number in range(3)]
    reading = Reading()
    reading.read(data_of([entry for turn in turns for entry in turn]))
    position, line, entries = reading.resume
    # The hook at the start of a session stands before the prompt, and belongs to no turn.
    assert position == len(data_of([*turns[0], *turns[1], turns[2][0]]))
    assert (line, entries) == (28, 27)


def test_an_agent_that_is_done_is_not_read_again_and_again() -> None:
    turns = [*later(0, with_an_agent(), "n0"), *later(100, with_tools(), "n1"), *later(200, with_tools(), "n2")]
    reading = Reading()
    reading.read(data_of(turns))
    assert reading.resume[0] > len(data_of(turns[:9]))


def test_a_file_without_any_turn_is_read_on_from_its_end() -> None:
    data = data_of([{"type": "summary", "leafUuid": "x"}, hook_began(0, "SessionStart", "s-1")])
    reading = Reading()
    reading.read(data)
    assert reading.resume == (len(data), 3, 2)
    assert at(0) in {item.start_ns for item in reading.items if isinstance(item, Span)}
