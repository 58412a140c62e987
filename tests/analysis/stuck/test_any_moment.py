"""Every recorded run, stopped at moments of it: whatever is waited for then, and whoever is asked, no name is wrong.

The truth is what the server and the commands wrote down. Each witness is cut to what it had by then; the gateway's part is what the
server itself did, which is what a gateway sees.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.analysis.stuck.world import SECOND, moved
from tracekit.analysis.stuck import Stuck, Verdict, judged, look, says_no_more_than
from tracekit.model import Boundary, Source, Span, Status, semconv
from tracekit.sources.lines import Line
from tracekit.sources.otlp.reading import read_group
from tracekit.sources.stream_json import read as read_stream
from tracekit.sources.transcript import companion_of
from tracekit.sources.transcript import read as read_transcript
from tracekit.testing import memory_store

CAPTURES: Final = Path(__file__).parents[2] / "data" / "captures"
RUNS: Final = sorted(folder.name for folder in CAPTURES.iterdir() if (folder / "truth.json").exists())
WITNESSES: Final = ("gateway", "otel", "stream_json", "transcript")
SETS: Final = [frozenset(chosen) for count in range(1, 5) for chosen in combinations(WITNESSES, count)]
MOMENTS: Final = 6
CLEAR_NS: Final = 150_000_000
"""So far from everything that begins or ends: witnesses are late."""

Case = tuple[str, int, frozenset[str]]


class Phase(NamedTuple):
    """Something that was waited for."""

    verdict: Verdict
    start_ns: int
    end_ns: int


@cache
def truth(run: str) -> Mapping[str, Any]:
    found: dict[str, Any] = json.loads((CAPTURES / run / "truth.json").read_text(encoding="utf-8"))
    return found


def phases(run: str) -> Iterator[Phase]:
    """What the server and the client's own execution spans say was going on."""
    names = {block["tool_use_id"]: block["name"] for one in truth(run)["requests"] for block in one["blocks"] if "tool_use_id" in block}
    for one in truth(run)["requests"]:
        if one["side"]:
            continue
        first, stop = one["first_event_ns"], one["message_stop_ns"]
        if first is not None:
            yield Phase(Verdict.FIRST_BYTE, one["read_ns"], first)
            yield Phase(Verdict.MID_STREAM, first, stop or one["last_event_ns"])
    for ran in truth(run)["executions"]:
        name = names.get(ran["tool_use_id"], "")
        kind = Verdict.MCP if name.startswith("mcp__") else Verdict.SUBAGENT if name in {"Task", "Agent"} else Verdict.TOOL
        yield Phase(kind, ran["start_ns"], ran["end_ns"])
    yield from sleeps(run)


def sleeps(run: str) -> Iterator[Phase]:
    """From an attempt that failed to the next request."""
    lines = [json.loads(line) for line in (CAPTURES / run / "truth.jsonl").read_text(encoding="utf-8").splitlines()]
    for failed in (line for line in lines if line["kind"] == "failed"):
        following = [line["at_ns"] for line in lines if line["kind"] == "request" and line["at_ns"] > failed["at_ns"]]
        if following:
            yield Phase(Verdict.RETRY_WAIT, failed["at_ns"], following[0])


def moments(run: str) -> list[int]:
    """Moments at which something is going on and nothing begins or ends, spread over the run."""
    known = list(phases(run))
    edges = [edge for phase in known for edge in phase[1:]]
    edges += [block["complete_ns"] for one in truth(run)["requests"] for block in one["blocks"]]
    clear = [
        at_ns
        for at_ns in range(min(edges, default=0), max(edges, default=0), CLEAR_NS // 2)
        if all(abs(at_ns - edge) > CLEAR_NS for edge in edges) and any(phase.start_ns < at_ns < phase.end_ns for phase in known)
    ]
    return clear[:: max(1, len(clear) // MOMENTS)][:MOMENTS]


def true_names(run: str, at_ns: int) -> set[Verdict]:
    """What is true then. An agent without a request of its own is idle while one of its agents works in the background."""
    names = {phase.verdict for phase in phases(run) if phase.start_ns < at_ns < phase.end_ns}
    also = {"compaction": {Verdict.COMPACTION}, "subagent_background": {Verdict.BACKGROUND}}
    return names | also.get(run, set())


# What each witness had by then ------------------------------------------------------------------------------------------


def seen(run: str, witness: str, at_ns: int) -> list[Span]:
    readers = {"gateway": of_gateway, "otel": of_otel, "stream_json": of_stream, "transcript": of_transcript}
    return list(readers[witness](run, at_ns))


def of_transcript(run: str, at_ns: int) -> Iterator[Span]:
    going_on = {str(one["message_id"]) for one in truth(run)["requests"] if (one["message_stop_ns"] or 2**63) > at_ns}
    for path in sorted((CAPTURES / run / "transcript").rglob("*.jsonl")):
        lines = [Line(number, number, line) for number, line in enumerate(written_by(path, at_ns, going_on), 1)]
        yield from (span for span in read_transcript(lines, companion=companion_of(path)) if isinstance(span, Span))


def written_by(path: Path, at_ns: int, going_on: set[str]) -> Iterator[bytes]:
    """The lines that were there; of a response that goes on nobody knows yet how it will stop."""
    is_there = True
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if "timestamp" in entry:
            is_there = int(datetime.fromisoformat(entry["timestamp"]).timestamp() * 1000) * 1_000_000 <= at_ns
        if not is_there:
            continue
        if any(f'"id":"{message}"' in line.replace('"id": "', '"id":"') for message in going_on):
            entry["message"]["stop_reason"] = None
        yield json.dumps(entry).encode()


def of_stream(run: str, at_ns: int) -> Iterator[Span]:
    lines = (CAPTURES / run / "stream.jsonl").read_bytes().splitlines()
    there = [line for line in lines if json.loads(line)["arrival_ns"] <= at_ns]
    raw = [(number, number, line, None) for number, line in enumerate(there, 1)]
    yield from (span for span in read_stream(raw, written_ns=at_ns) if isinstance(span, Span))


def of_otel(run: str, at_ns: int) -> Iterator[Span]:
    bodies = [path for path in sorted((CAPTURES / run / "otlp").iterdir()) if int(path.name.split(".")[0]) <= at_ns]
    yield from (span for _, span in read_group((path.name, path.read_bytes()) for path in bodies) if isinstance(span, Span))


def of_gateway(run: str, at_ns: int) -> Iterator[Span]:
    said = truth(run)
    agents = [path.stem.removeprefix("agent-") for path in (CAPTURES / run / "transcript").rglob("agent-*.jsonl")]
    for number, one in enumerate(said["requests"]):
        if not one["side"] and one["read_ns"] <= at_ns:
            yield from exchange(said["session_id"], agents[0] if one["agent"] else None, number, one, at_ns)


def exchange(session: str, agent: str | None, number: int, one: Mapping[str, Any], at_ns: int) -> Iterator[Span]:
    first, ended = one["first_event_ns"], one["message_stop_ns"] or one["last_event_ns"]
    opened, chain = f"exchange:{number}", f"request:{number}"
    asked = Span(Source.GATEWAY, session, Boundary.REQUEST_ATTEMPT, opened, one["read_ns"], None, parent_key=chain, agent_id=agent)
    asked = asked._replace(attributes={semconv.TOOL_COUNT: 9}, name="model")
    yield asked
    is_over = ended is not None and ended <= at_ns and one["ended"] != "open"
    if first is not None and first <= at_ns:
        told = {semconv.TOOL_COUNT: 9, semconv.OPENED_AS: chain, semconv.FIRST_BYTE_NS: first, semconv.RESPONSE_ID: one["message_id"]}
        if is_over and one["message_stop_ns"]:
            told[semconv.STOP_REASON] = "tool_use" if any(block["block"] == "tool_use" for block in one["blocks"]) else "end_turn"
        status = Status.OK if one["message_stop_ns"] else Status.ERROR
        whole = asked._replace(boundary=Boundary.MODEL_REQUEST, key=one["request_id"], parent_key=None, attributes=told)
        yield whole._replace(end_ns=ended if is_over else None, status=status if is_over else Status.UNSET)
    failed = one["ended"].startswith("http") and one["read_ns"] + CLEAR_NS // 2 <= at_ns
    if is_over or failed:
        closed = asked._replace(key=one["request_id"], end_ns=ended if is_over else one["read_ns"] + 1)
        yield closed._replace(status=Status.ERROR if failed else Status.OK, attributes={**asked.attributes, semconv.OPENED_AS: opened})


# The test ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def told() -> Mapping[Case, Sequence[Stuck]]:
    """What is said of each moment of each run by each choice of witnesses."""
    cases: dict[str, Case] = {}
    spans: list[Span] = []
    for run in RUNS:
        for at_ns in moments(run):
            had = {witness: seen(run, witness, at_ns) for witness in WITNESSES}
            for chosen in SETS:
                session = str(len(cases))
                cases[session] = (run, at_ns, chosen)
                spans += (moved(span, session) for witness in sorted(chosen) for span in had[witness])
    found: dict[Case, list[Stuck]] = {case: [] for case in cases.values()}
    with memory_store(spans) as store:
        for scene in look(store, as_of_ns=min(at_ns for _, at_ns, _ in found), idle=True):
            case = cases[scene.about["session_id"]]
            found[case] += judged([scene], as_of_ns=case[1])
    return found


def wrong(row: Stuck, truths: set[Verdict]) -> bool:
    said = [Verdict(name) for name in row.could_be.split(", ")] if row.verdict == Verdict.UNKNOWN else [Verdict(row.verdict)]
    return not any(says_no_more_than(name, truth) for name in said for truth in truths)


@pytest.mark.parametrize("run", RUNS)
def test_at_no_moment_of_a_run_is_a_wrong_name_given(run: str, told: Mapping[Case, Sequence[Stuck]]) -> None:
    bad = [
        (f"{(at_ns - moments(run)[0]) / SECOND:.2f} s", sorted(chosen), row)
        for (of, at_ns, chosen), rows in told.items()
        if of == run
        for row in rows
        if wrong(row, true_names(run, at_ns))
    ]
    assert bad == []


def test_who_sees_everything_says_what_it_is_most_of_the_time(told: Mapping[Case, Sequence[Stuck]]) -> None:
    whole = [rows for (_, _, chosen), rows in told.items() if chosen == frozenset(WITNESSES)]
    sure = [rows for rows in whole if all(row.verdict != Verdict.UNKNOWN for row in rows)]
    assert len(whole) > 50
    assert len(sure) > 0.7 * len(whole)  # telemetry is exported each second, and many tools are done by then


def test_transcripts_alone_say_that_an_agent_works_in_the_foreground(told: Mapping[Case, Sequence[Stuck]]) -> None:
    of_agent = [one for one in truth("subagent")["executions"] if one["tool_use_id"].startswith("toolu_")]
    begins, ends = min(one["start_ns"] for one in of_agent), max(one["end_ns"] for one in of_agent)
    said = {
        (row.agent_id, row.verdict)
        for (run, at_ns, chosen), rows in told.items()
        if run == "subagent" and chosen == frozenset({"transcript"}) and begins < at_ns < ends
        for row in rows
    }
    assert (None, Verdict.SUBAGENT) in said
    assert (None, Verdict.UNKNOWN) not in said
