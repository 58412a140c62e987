"""Acceptance: what tracekit says of recorded runs of the real client is what truly happened in them.

Every run has a judge that knows the truth: the server's own log of each request and event, and the client's own execution spans. The runs
of one set are loaded into one store per choice of witnesses, as a user's sessions are.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.lab import judge
from tracekit.analysis.account import account
from tracekit.analysis.disagreements import disagreements
from tracekit.analysis.failed import failures
from tracekit.analysis.overlap import Overlap, overlap
from tracekit.analysis.scope import Scope
from tracekit.analysis.sessions import sessions
from tracekit.analysis.stuck import stuck
from tracekit.analysis.timeline import Moment, timeline
from tracekit.analysis.tokens import tokens
from tracekit.ingest import import_paths
from tracekit.store import SpanStore, open_store

CAPTURES = Path(__file__).parent / "data" / "captures"
RUNS = sorted(path.name for path in CAPTURES.iterdir())
SECOND = 1_000_000_000
MEASURED_NS = 60_000_000
"""How close a point must come to the truth where the starts of tools are measured."""
CLOCK_NS = 1_000
"""Some runs were logged in seconds with fractions."""

WITNESSES = {
    "transcript+otlp": ("transcript", "otlp"),
    "transcript": ("transcript",),
    "stream-json": ("stream.jsonl",),
    "all": ("transcript", "otlp", "stream.jsonl"),
}
"""The witnesses of a run: the first two are what an ordinary user has."""

MEASURED = ("transcript+otlp", "all")
"""Where telemetry measures the starts of tools."""


class Truth(NamedTuple):
    """What truly hid of the tools of one response."""

    request_key: str
    hidden_ns: int
    under_cut_ns: int
    exposed_ns: int
    is_whole: bool


def judged(run: Path) -> list[Truth]:
    """Read the truth of a run of this repository, for each response whose tools ran."""
    said = json.loads((run / "truth.json").read_text(encoding="utf-8"))
    ran = {execution["tool_use_id"] for execution in said["executions"]}
    return [
        Truth(one["request_id"], one["hidden_ns"], one["under_cut_ns"], one["exposed_ns"], one["message_stop_ns"] is not None)
        for one in said["requests"]
        if any(block.get("tool_use_id") in ran for block in one["blocks"])
    ]


class Runs(NamedTuple):
    """The runs of one set, all in one store."""

    witnesses: str
    store: SpanStore
    sessions: dict[str, str]
    """Session id by name of the run."""
    overlaps: dict[str, Overlap]
    """By request key."""

    def scope(self, run: str) -> Scope:
        return Scope(self.sessions[run])

    def failures(self, run: str) -> "Failed":
        """Give family and kind, whether it was got over, and where it was; in any order."""
        return sorted((f"{one.family}/{one.kind}", one.recovered, one.name) for one in failures(self.store, self.scope(run)))

    def spent(self, run: str) -> dict[str, int]:
        return {line.category: line.duration_ns for line in account(self.store, self.scope(run), by="session")}

    def moments(self, run: str, boundary: str) -> list[Moment]:
        return [moment for moment in timeline(self.store, self.scope(run)) if moment.boundary == boundary]


def loaded(folder: Path, witnesses: str, database: Path, stack: ExitStack) -> Runs:
    paths = [run / witness for run in sorted(folder.iterdir()) for witness in WITNESSES[witnesses] if (run / witness).exists()]
    done = import_paths(paths, str(database))
    assert done.problem_lines == []
    store = stack.enter_context(open_store(str(database)))
    ids = {run.name: next((run / "transcript").glob("*.jsonl")).stem for run in folder.iterdir() if (run / "transcript").is_dir()}
    rows = overlap(store)
    found = {str(row.request_key): row for row in rows}
    assert len(found) == len(rows)
    return Runs(witnesses, store, ids, found)


@pytest.fixture(scope="module", params=WITNESSES)
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """Every run, by each choice of witnesses."""
    with ExitStack() as stack:
        yield loaded(CAPTURES, request.param, tmp_path_factory.mktemp("captures") / "store.duckdb", stack)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """Every run, by its transcript and its telemetry."""
    with ExitStack() as stack:
        yield loaded(CAPTURES, "transcript+otlp", tmp_path_factory.mktemp("captures") / "store.duckdb", stack)


# Overlap -------------------------------------------------------------------------------------------------------------


def holds(found: Overlap, truth: Truth) -> bool:
    """Whether every range of a row contains the truth."""
    ranges = (
        (found.hidden_lower_ns, truth.hidden_ns, found.hidden_upper_ns),
        (found.under_cut_lower_ns, truth.under_cut_ns, found.under_cut_upper_ns),
        (found.exposed_lower_ns, truth.exposed_ns, found.exposed_upper_ns),
    )
    return all(lower - CLOCK_NS <= true <= upper + CLOCK_NS for lower, true, upper in ranges)


def near(found: Overlap, truth: Truth) -> bool:
    """Whether both points are there and close to the truth."""
    points = ((found.hidden_best_ns, truth.hidden_ns), (found.exposed_best_ns, truth.exposed_ns))
    return all(best is not None and abs(best - true) <= MEASURED_NS for best, true in points)


def wrong(found: Runs, truths: list[Truth]) -> list[tuple[Truth, Overlap | None]]:
    """Give the truths that a row contradicts, or that no row is there for."""
    told = [(truth, found.overlaps.get(truth.request_key)) for truth in truths]
    exact = found.witnesses in MEASURED
    return [
        (truth, row) for truth, row in told if row is None or not holds(row, truth) or (exact and truth.is_whole and not near(row, truth))
    ]


@pytest.mark.parametrize("run", RUNS)
def test_ranges_hold_the_truth_and_points_are_near_it_where_starts_are_measured(run: str, seen: Runs) -> None:
    assert wrong(seen, judged(CAPTURES / run)) == []


@pytest.mark.parametrize("run", RUNS)
def test_no_response_has_tools_that_the_judge_knows_nothing_of(run: str, runs: Runs) -> None:
    known = {truth.request_key for truth in judged(CAPTURES / run)}
    assert {key for key, row in runs.overlaps.items() if row.session_id == runs.sessions[run]} == known


def test_the_ranges_of_serial_tools_reach_down_to_nothing(seen: Runs) -> None:
    assert [seen.overlaps[truth.request_key].hidden_lower_ns for truth in judged(CAPTURES / "serial")] == [0, 0]


def test_three_reads_at_once_are_counted_side_by_side(runs: Runs) -> None:
    (truth,) = judged(CAPTURES / "parallel_reads")
    found = runs.overlaps[truth.request_key]
    ran = [(one["start_ns"], one["end_ns"]) for one in _said("parallel_reads")["executions"]]
    assert (found.tools, found.parallel_best_ns) == (3, judge.length(ran) - judge.length(judge.union(ran)))


def _said(run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CAPTURES / run / "truth.json").read_text(encoding="utf-8"))
    return found


# What happened -------------------------------------------------------------------------------------------------------

MODEL = "claude-sonnet-4-5"
RECOVERED, TERMINAL = True, False
Failed = list[tuple[str, bool, str]]
FAILED: dict[str, Failed] = {
    "cut_mid_stream": [("network/stream_cut", RECOVERED, MODEL)],
    "error_in_stream": [("network/stream_cut", RECOVERED, MODEL)],
    "hooks": [("hook/blocked", RECOVERED, "Bash"), ("hook/error", RECOVERED, "Stop")],
    "max_tokens": [("model/max_output_tokens", RECOVERED, MODEL)],
    "mcp": [("mcp/call", RECOVERED, "mcp__demo__fail")],
    "mcp_unreachable": [("mcp/connect", TERMINAL, "refused"), ("mcp/spawn", TERMINAL, "missing")],
    "overloaded_retry": [("network/overloaded", RECOVERED, MODEL)],
    "permission_denied": [("tool/permission", RECOVERED, "Write")],
    "prompt_too_long": [("prompt_too_long/prompt_too_long", TERMINAL, MODEL)],
    "rate_limit_retry": [("network/rate_limited", RECOVERED, MODEL)],
    "server_error_exhausted": [("network/server_error", TERMINAL, MODEL)],
    "tool_failures": [
        ("tool/execution", RECOVERED, "Bash"),
        ("tool/input", RECOVERED, "Edit"),
        ("tool/input", RECOVERED, "NoSuchTool"),
        ("tool/input", RECOVERED, "Read"),
        ("tool/input", RECOVERED, "Read"),
    ],
    "tool_timeout": [("tool/timeout", RECOVERED, "Bash")],
}
CUT = ("cut_mid_stream", "error_in_stream")
STUCK = {"stalled_stream": "model_request", "stuck_tool": "tool_execution"}
UNSEEN: dict[str, dict[str, Failed]] = {
    "transcript": {"mcp_unreachable": []},
    "stream-json": {"mcp_unreachable": [("mcp/connect", TERMINAL, "missing"), ("mcp/connect", TERMINAL, "refused")]},
}
"""What single witnesses do not know: a transcript has no servers, and stream-json says only that they failed."""


@pytest.mark.parametrize("run", RUNS)
def test_each_failure_is_found_once_and_nothing_else_is_called_one(run: str, seen: Runs) -> None:
    assert seen.failures(run) == UNSEEN.get(seen.witnesses, {}).get(run, FAILED.get(run, []))


@pytest.mark.parametrize(("run", "attempts"), [("overloaded_retry", 2), ("rate_limit_retry", 1), ("server_error_exhausted", 3)])
def test_attempts_of_one_request_are_one_failure(run: str, attempts: int, seen: Runs) -> None:
    (found,) = failures(seen.store, seen.scope(run))
    assert (found.attempts, found.causes) == (attempts, f"{found.kind} x{attempts}")


@pytest.mark.parametrize("run", RUNS)
def test_witnesses_contradict_each_other_only_about_responses_that_were_cut(run: str, runs: Runs) -> None:
    found = [(one.boundary, one.well_source, one.failed_source) for one in disagreements(runs.store, runs.scope(run))]
    assert found == ([("model_request", "otel", "transcript")] if run in CUT else [])


@pytest.mark.parametrize("run", RUNS)
def test_what_never_came_back_is_named_and_nothing_else_is(run: str, seen: Runs) -> None:
    found = stuck(seen.store, seen.scope(run), as_of_ns=2 * 10**18)
    assert [one.boundary for one in found] == ([STUCK[run]] if run in STUCK else [])


def test_a_stream_that_fell_silent_is_mid_stream_to_whoever_saw_it(seen: Runs) -> None:
    (found,) = stuck(seen.store, seen.scope("stalled_stream"), as_of_ns=2 * 10**18)
    saw_it = seen.witnesses in {"stream-json", "all"}
    assert (found.verdict, found.certainty) == (("mid-stream", "certain") if saw_it else ("unknown", "unknown"))
    assert "mid-stream" in (found.verdict, *found.could_be.split(", "))


def test_a_command_that_never_came_back_is_the_tool_that_is_waited_for(seen: Runs) -> None:
    (found,) = stuck(seen.store, seen.scope("stuck_tool"), as_of_ns=2 * 10**18)
    saw_it = seen.witnesses != "transcript"
    assert (found.verdict, found.name, found.certainty) == (("tool", "Bash", "certain") if saw_it else ("unknown", "Bash", "unknown"))
    assert "tool" in (found.verdict, *found.could_be.split(", "))


# What the other runs were made to show -------------------------------------------------------------------------------


def test_a_gate_before_each_command_is_time_of_hooks(runs: Runs) -> None:
    gates = [one for one in runs.moments("hooks", "hook_reply") if one.name == "PreToolUse:Bash"]
    assert len(gates) == 2
    assert all(one.end_ns is not None and one.end_ns - one.start_ns >= 0.4 * SECOND for one in gates)
    assert runs.spent("hooks")["hook"] >= 0.8 * SECOND


def test_a_refusal_took_no_time_of_a_tool(runs: Runs) -> None:
    assert runs.moments("permission_denied", "tool_execution") == []
    assert "tool" not in runs.spent("permission_denied")
    assert [one.name for one in runs.moments("permission_denied", "permission_wait")] == ["Write"]


def test_calls_to_a_server_are_told_with_how_they_went(runs: Runs) -> None:
    calls = {one.name: one for one in runs.moments("mcp", "mcp_call")}
    assert {name: call.status for name, call in calls.items()} == {"add": "ok", "fail": "error", "slow": "ok"}
    slow = calls["slow"]
    assert slow.end_ns is not None
    assert slow.end_ns - slow.start_ns >= SECOND


@pytest.mark.parametrize("run", ["overloaded_retry", "rate_limit_retry", "server_error_exhausted"])
def test_sleeping_between_attempts_is_time_of_retries(run: str, runs: Runs) -> None:
    asked = [one["read_ns"] for one in _said(run)["requests"]]
    waited = asked[-1] - asked[0]
    assert 0.8 * waited <= runs.spent(run)["retry_wait"] <= waited


def test_a_compaction_is_one_and_took_as_long_as_its_request(seen: Runs) -> None:
    (found,) = sessions(seen.store, seen.scope("compaction"))
    assert (found.turns, found.compactions, found.microcompactions) == (3, 1, 0)
    summary = _said("compaction")["requests"][2]
    wrote = summary["message_stop_ns"] - summary["read_ns"]
    assert wrote <= seen.spent("compaction")["compaction"] <= wrote + 0.3 * SECOND


def test_a_sub_agent_has_tokens_and_time_of_its_own(runs: Runs) -> None:
    by_agent = {one.agent_type: one.messages for one in tokens(runs.store, runs.scope("subagent"))}
    assert by_agent == {None: 2, "general-purpose": 2}
    (agent,) = runs.moments("subagent", "subagent")
    (call,) = [one for one in runs.moments("subagent", "tool_execution") if one.agent_id is None]
    assert agent.parent_key == call.key
    walls = {line.agent_id: line.wall_ns for line in account(runs.store, runs.scope("subagent"))}
    assert walls[agent.agent_id] <= runs.spent("subagent")["tool"]


def test_a_call_that_returned_at_once_is_not_as_long_as_its_agent(runs: Runs) -> None:
    (agent,) = runs.moments("subagent_background", "subagent")
    (call,) = runs.moments("subagent_background", "tool_execution")
    assert agent.end_ns is not None
    assert call.end_ns is not None
    assert call.end_ns - call.start_ns < 0.3 * SECOND
    assert agent.end_ns - agent.start_ns > SECOND


@pytest.mark.parametrize("run", RUNS)
def test_every_second_of_a_run_has_its_place(run: str, seen: Runs) -> None:
    sums: dict[tuple[str | None, str | None], int] = {}
    for line in account(seen.store, seen.scope(run)):
        sums.setdefault((line.agent_id, line.turn_key), line.wall_ns)
        sums[line.agent_id, line.turn_key] -= line.duration_ns
    assert set(sums.values()) == {0}


UNWRITTEN = {"compaction": 1, "stalled_stream": 1}
"""Answers that no transcript holds: the summary has no entry of its own, and the killed client wrote nothing down."""


@pytest.mark.parametrize("run", RUNS)
def test_every_answer_of_the_server_is_a_message(run: str, runs: Runs) -> None:
    answers = {one["message_id"] for one in _said(run)["requests"] if one["blocks"]}
    (found,) = sessions(runs.store, runs.scope(run))
    assert found.messages == len(answers) - UNWRITTEN.get(run, 0)


# The same over a corpus of runs --------------------------------------------------------------------------------------


def corpus_truth(run: Path) -> list[Truth]:
    """Judge a run of the corpus by its truth.jsonl, whose times are seconds, and the client's execution spans."""
    ran = {one["tool_use_id"]: (one["start_ns"], one["end_ns"]) for one in judge.executions(run)}
    asked: dict[str, dict[str, Any]] = {}
    for line in judge.lines(run / "truth.jsonl"):
        at_ns = round(line.get("t", 0) * SECOND)
        if line["kind"] == "request":
            asked[line["rid"]] = {"read_ns": at_ns, "last_ns": at_ns, "stop_ns": None, "tools": []}
        elif line["kind"] == "sse":
            asked[line["rid"]] |= {"last_ns": at_ns} | ({"stop_ns": at_ns} if line["event"] == "message_stop" else {})
            asked[line["rid"]]["tools"] += (
                [line["tool_use_id"]] if line["event"] == "content_block_stop" and line.get("tool_use_id") else []
            )
    return [_corpus_truth(key, one, ran) for key, one in asked.items() if any(tool in ran for tool in one["tools"])]


def _corpus_truth(key: str, asked: dict[str, Any], ran: dict[str, judge.Interval]) -> Truth:
    is_whole = asked["stop_ns"] is not None
    tools = judge.union(ran[tool] for tool in asked["tools"] if tool in ran)
    under = judge.length(judge.within(tools, (asked["read_ns"], asked["stop_ns"] if is_whole else asked["last_ns"])))
    hidden, under_cut = (under, 0) if is_whole else (0, under)
    return Truth(key, hidden, under_cut, judge.length(tools) - under, is_whole)


@pytest.fixture(scope="module", params=WITNESSES)
def corpus_runs(corpus: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """Every run of the corpus, by each choice of witnesses."""
    with ExitStack() as stack:
        yield loaded(corpus / "captures", request.param, tmp_path_factory.mktemp("corpus") / "store.duckdb", stack)


def test_the_corpus_is_told_as_it_was(corpus: Path, corpus_runs: Runs) -> None:
    truths = [truth for run in corpus_runs.sessions for truth in corpus_truth(corpus / "captures" / run)]
    assert truths
    assert wrong(corpus_runs, truths) == []


def test_the_failures_of_the_corpus_are_found(corpus_runs: Runs) -> None:
    known = sorted(FAILED.keys() & corpus_runs.sessions.keys())
    expected = {run: UNSEEN.get(corpus_runs.witnesses, {}).get(run, FAILED[run]) for run in known}
    if corpus_runs.witnesses == "stream-json":
        # These runs were recorded without --include-hook-events.
        expected["hooks"] = [one for one in expected["hooks"] if one[0] != "hook/error"]
    assert {run: corpus_runs.failures(run) for run in known} == expected
