"""The real client under `tracekit run`, end to end: all witnesses on one timeline, and what they say held against the server's clock."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.lab import judge
from tests.lab.live import Lived, live
from tests.lab.scenarios import SCENARIOS
from tracekit.analysis.sessions import sessions
from tracekit.store import open_store

MS = 1_000_000
CLOSE = 20 * MS
"""How close what hid must come to the truth."""
AT_ONCE = 2 * MS
"""How soon the gateway must have what the server has written, half of the time. A busy machine is late now and then."""
INSTANT = 5 * MS
"""What is nothing on a busy machine, where the clock of the client's spans has milliseconds."""

RUNS = (
    "serial",
    "overlap",
    "parallel_reads",
    "cut_mid_stream",
    "error_in_stream",
    "overloaded_retry",
    "prompt_too_long",
    "hooks",
    "mcp",
    "mcp_crash",
    "interrupted_tool",
    "permission_denied",
    "compaction",
    "subagent",
)
WHOLE = tuple(name for name in RUNS if name != "prompt_too_long")

pytestmark = pytest.mark.realclient

Row = dict[str, Any]
Live = Callable[[str], Lived]


@pytest.fixture(scope="module")
def lived(realclient: Path, tmp_path_factory: pytest.TempPathFactory) -> Live:
    """Give a run by its scenario's name; each is played once."""
    known: dict[str, Lived] = {}

    def run(name: str) -> Lived:
        if name not in known:
            known[name] = live(SCENARIOS[name], tmp_path_factory.mktemp("live") / name, binary=realclient)
        return known[name]

    return run


def rows(run: Lived, sql: str, **parameters: Any) -> list[Row]:
    with open_store(str(run.store)) as store:
        return store.rows(sql, **parameters)


def boundaries(run: Lived, boundary: str) -> dict[str, Row]:
    return {row["key"]: row for row in rows(run, "SELECT * FROM boundaries WHERE boundary = $boundary", boundary=boundary)}


def answered(run: Lived) -> Iterator[Row]:
    """The requests of the loop to which a stream was sent, whole or not."""
    return (request for request in run.judged()["requests"] if request["first_event_ns"] and not request["side"])


# Every run


@pytest.mark.parametrize("name", RUNS)
def test_the_commands_exit_code_is_the_exit_code_and_nothing_is_left(name: str, lived: Live) -> None:
    run = lived(name)
    assert run.exit_code == (1 if name in {"prompt_too_long", "interrupted_tool"} else 0), run.said
    assert run.summary["exit_code"] == run.exit_code
    assert run.summary["remarks"] == []
    assert run.left == []


@pytest.mark.parametrize("name", RUNS)
def test_the_summary_accounts_for_the_session_that_it_was(name: str, lived: Live) -> None:
    run = lived(name)
    judged = run.judged()
    assert run.summary["sessions"] == [judged["session_id"]]
    lines = [line for line in run.summary["rows"] if line["category"] != "user_idle"]
    assert lines
    assert sum(line["duration_ns"] for line in lines) == lines[0]["wall_ns"]


@pytest.mark.parametrize("name", WHOLE)
def test_what_hid_is_within_20_ms_of_the_truth(name: str, lived: Live) -> None:
    run = lived(name)
    told = {row["request_key"]: row for row in run.summary["overlap"]}
    for request in run.judged()["requests"]:
        if not request["tool_wall_ns"]:
            continue
        row = told[request["request_id"]]
        for part in ("hidden", "under_cut", "exposed"):
            truth = request[f"{part}_ns"]
            assert row[f"{part}_lower_ns"] - CLOSE <= truth <= row[f"{part}_upper_ns"] + CLOSE
            assert row[f"{part}_best_ns"] == pytest.approx(truth, abs=CLOSE)
        assert row["hidden_upper_ns"] - row["hidden_lower_ns"] <= CLOSE


def test_tools_that_stand_last_hide_nothing(lived: Live) -> None:
    told = lived("serial").summary["overlap"]
    assert len(told) == 2
    assert max(row["hidden_upper_ns"] for row in told) < INSTANT
    assert min(row["hidden_lower_ns"] for row in told) == 0


@pytest.mark.parametrize("name", WHOLE)
def test_all_witnesses_of_a_request_meet(name: str, lived: Live) -> None:
    run = lived(name)
    found = boundaries(run, "model_request")
    asked = {request["request_id"]: set(found[request["request_id"]]["witnesses"].split(",")) for request in answered(run)}
    # Of the request that writes a summary, a transcript keeps the summary only.
    silent = [key for key, witnesses in asked.items() if witnesses == {"gateway", "otel"}]
    assert len(silent) == (name == "compaction")
    assert all(witnesses >= {"gateway", "otel", "transcript"} for key, witnesses in asked.items() if key not in silent)
    strangers = [key for key, row in found.items() if key not in asked and {"otel", "transcript"} & set(row["witnesses"].split(","))]
    assert strangers == []


def test_the_gateway_has_what_the_server_writes_at_once(lived: Live) -> None:
    late = [lateness for name in WHOLE for lateness in _lateness(lived(name))]
    assert min(late) >= 0
    assert median(late) <= AT_ONCE


def _lateness(run: Lived) -> list[int]:
    """From the moment at which the server wrote the end of each block to the one at which the gateway had it."""
    sql = "SELECT key, end_ns FROM spans WHERE source = 'gateway' AND boundary = 'stream_event' AND end_ns IS NOT NULL"
    seen = {row["key"]: row["end_ns"] for row in rows(run, sql)}
    blocks = [(request["message_id"], block) for request in answered(run) for block in request["blocks"]]
    return [seen[f"{message_id}#{block['index']}"] - block["complete_ns"] for message_id, block in blocks]


# Failures


@pytest.mark.parametrize(("name", "ended"), [("cut_mid_stream", "cut"), ("error_in_stream", "error_event")])
def test_the_gateways_verdict_stands_against_the_spans_success(name: str, ended: str, lived: Live) -> None:
    run = lived(name)
    (broken,) = [request["request_id"] for request in run.judged()["requests"] if request["ended"] == ended]
    said = [(row["well_source"], row["failed_source"]) for row in run.summary["disagreements"] if row["key"] == broken]
    assert ("otel", "gateway") in said
    assert boundaries(run, "model_request")[broken]["status"] == "error"


def kinds(run: Lived) -> Counter[tuple[str, str, bool]]:
    return Counter((row["family"], row["kind"], row["recovered"]) for row in run.summary["failures"])


@pytest.mark.parametrize(
    ("name", "failures"),
    [
        ("serial", {}),
        ("overlap", {}),
        ("cut_mid_stream", {("network", "stream_cut", True): 1}),
        ("overloaded_retry", {("network", "overloaded", True): 1}),
        ("prompt_too_long", {("prompt_too_long", "prompt_too_long", False): 1}),
        ("permission_denied", {("tool", "permission", True): 1}),
        ("mcp_crash", {("mcp", "call", True): 1}),
        ("interrupted_tool", {("user", "interrupt", False): 1}),
    ],
)
def test_what_failed_is_told_once_whoever_saw_it(name: str, failures: dict[tuple[str, str, bool], int], lived: Live) -> None:
    assert kinds(lived(name)) == failures


def test_an_answer_that_an_error_event_ended_is_one_failure_of_the_network(lived: Live) -> None:
    (failure,) = lived("error_in_stream").summary["failures"]
    assert (failure["family"], failure["recovered"]) == ("network", True)


def test_each_attempt_that_failed_is_known_with_its_answer(lived: Live) -> None:
    run = lived("overloaded_retry")
    attempts = sorted(boundaries(run, "request_attempt").values(), key=lambda row: row["start_ns"])
    by_gateway = [row for row in attempts if "gateway" in row["witnesses"]]
    assert [row["status"] for row in by_gateway] == ["error", "error", "ok"]
    assert [row["attributes"].get("http.response.status_code") for row in by_gateway] == ["529", "529", "200"]
    assert len({row["parent_key"] for row in by_gateway}) == 1


def test_a_hook_that_blocks_is_a_failure_of_the_hooks(lived: Live) -> None:
    assert ("hook", "blocked") in {(family, kind) for family, kind, _ in kinds(lived("hooks"))}


def test_calls_to_a_server_are_told_with_their_failure(lived: Live) -> None:
    run = lived("mcp")
    calls = boundaries(run, "mcp_call").values()
    assert len(calls) == 3
    assert [row["status"] for row in calls].count("error") == 1


def test_a_compaction_stands_between_its_turns(lived: Live) -> None:
    with open_store(str(lived("compaction").store)) as store:
        (session,) = sessions(store)
    assert (session.turns, session.compactions) == (3, 1)


def test_an_agents_requests_are_its_own(lived: Live) -> None:
    run = lived("subagent")
    (agent,) = boundaries(run, "subagent")
    asked = [request["request_id"] for request in run.judged()["requests"] if request["agent"]]
    found = boundaries(run, "model_request")
    assert asked
    assert {found[key]["agent_id"] for key in asked} == {agent}


# While it hangs


@pytest.mark.parametrize(
    ("name", "verdict", "which", "boundary"),
    [
        ("stalled_stream", "mid-stream", "claude-sonnet-4-5", "model_request"),
        ("stuck_tool", "tool", "Bash", "tool_execution"),
    ],
)
def test_what_hangs_is_named_while_it_hangs(name: str, verdict: str, which: str, boundary: str, realclient: Path, tmp_path: Path) -> None:
    answers: dict[str, Sequence[Row]] = {}
    running: list[str] = []

    def ask(run: Lived) -> None:
        import time

        time.sleep(3)
        watched = run.ask("watch", "--once", "--store", str(tmp_path / "watched.duckdb"))
        answers["watch"] = watched["rows"]
        running.extend(process["name"] for process in watched["processes"])
        answers["stuck"] = run.ask("stuck", "--store", str(run.store))["rows"]

    run = live(SCENARIOS[name], tmp_path / name, binary=realclient, hanging=ask)
    assert answers.keys() == {"watch", "stuck"}
    for found in answers.values():
        (row,) = found
        assert (row["verdict"], row["name"], row["boundary"], row["certainty"]) == (verdict, which, boundary, "certain")
        assert 2 * 10**9 < row["age_ns"] < 60 * 10**9
        assert (row["quiet_ns"] is None) is (verdict == "tool")
    assert running == (["sleep"] if name == "stuck_tool" else [])
    assert run.exit_code != 0
    assert run.left == []
    assert judge.requests(run.folder)
