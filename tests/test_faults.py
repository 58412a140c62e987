"""Acceptance: sessions made by hand, in which every number is known, are read to the last line that can be read.

One session meets nearly everything that can go wrong; the others are one session with a single fault each. `expected.json` says what is
true of them, in seconds after its `begin_ns`.
"""

import json
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tracekit.analysis.account import account
from tracekit.analysis.failed import Failure, failures
from tracekit.analysis.overlap import overlap
from tracekit.analysis.scope import Scope
from tracekit.analysis.sessions import sessions
from tracekit.analysis.stuck import stuck
from tracekit.analysis.timeline import Moment, timeline
from tracekit.ingest import Imported, import_paths
from tracekit.model import Boundary
from tracekit.store import SpanStore, open_store

DATA = Path(__file__).parent / "data"
FAULTS = DATA / "faults"
EXPECTED: dict[str, Any] = json.loads((FAULTS / "expected.json").read_text(encoding="utf-8"))
PROBE: dict[str, Any] = EXPECTED["probe"]
SECOND = 1_000_000_000
HOUR = 3600 * SECOND
BEGIN: int = EXPECTED["begin_ns"]


@contextmanager
def loaded(paths: Iterable[Path], folder: Path, *, content: bool = False) -> Generator[tuple[Imported, SpanStore]]:
    """Import files one after the other, in the order in which they are given."""
    database = str(folder / "store.duckdb")
    done = Imported()
    for path in paths:
        done = import_paths([path], database, content=content)
    with open_store(database) as store:
        yield done, store


def seen(store: SpanStore) -> list[dict[str, Any]]:
    """Every observation, but for where in its file it stands."""
    return store.rows("SELECT * EXCLUDE (file_id, position) FROM spans ORDER BY ALL")


# One fault each ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPECTED["faults"])
def test_what_cannot_be_read_is_reported_and_all_the_rest_is_kept(name: str, tmp_path: Path) -> None:
    expected = EXPECTED["faults"][name]
    with loaded([FAULTS / name], tmp_path) as (done, store):
        assert [(path, line, reason) for path, line, reason, _ in done.problem_lines] == [
            (str(FAULTS / name), *one) for one in expected["problems"]
        ]
        kept = store.rows("SELECT path, line, reason FROM problems JOIN files USING (file_id)")
        assert kept == [{"path": str(FAULTS / name), "line": line, "reason": reason} for line, reason in expected["problems"]]
        assert (done.entries, done.files_unknown) == (expected["entries"], [])


@pytest.mark.parametrize("name", [name for name, expected in EXPECTED["faults"].items() if expected["like_clean"]])
def test_a_fault_that_takes_nothing_away_changes_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / "clean").mkdir()
    with loaded([FAULTS / name], tmp_path) as (_, broken), loaded([FAULTS / "clean.jsonl"], tmp_path / "clean") as (_, clean):
        assert seen(broken) == seen(clean)


def test_a_line_that_was_not_finished_costs_its_own_response_alone(tmp_path: Path) -> None:
    with loaded([FAULTS / "truncated_tail.jsonl"], tmp_path) as (_, store):
        requests = {row["key"] for row in store.rows("SELECT key FROM boundaries WHERE boundary = 'model_request'")}
    assert requests == {"req_c1", "req_c2"}


def test_a_result_without_a_time_leaves_its_call_without_an_answer(tmp_path: Path) -> None:
    with loaded([FAULTS / "no_timestamp.jsonl"], tmp_path) as (_, store):
        (found,) = sessions(store)
    assert (found.tool_calls, found.tool_unanswered) == (3, 1)


def test_a_whole_folder_of_faults_reports_every_one_with_its_file(tmp_path: Path) -> None:
    done = import_paths([str(FAULTS / "*.jsonl")], str(tmp_path / "store.duckdb"))
    told = sorted((Path(path).name, line, reason) for path, line, reason, _ in done.problem_lines)
    assert told == sorted((name, line, reason) for name, expected in EXPECTED["faults"].items() for line, reason in expected["problems"])
    assert done.files_read == len(EXPECTED["faults"])


# The clean session ---------------------------------------------------------------------------------------------------


def seconds(time_ns: int | None) -> float | None:
    return None if time_ns is None else (time_ns - BEGIN) / SECOND


def moments(store: SpanStore, boundary: Boundary, session: str | None = None) -> list[Moment]:
    return [moment for moment in timeline(store, Scope(session)) if moment.boundary == boundary]


def calls(store: SpanStore, session: str | None = None) -> dict[str, dict[str, Any]]:
    return {
        one.key: {"name": one.name, "asked": seconds(one.start_ns), "answered": seconds(one.end_ns)}
        for one in moments(store, Boundary.TOOL_SCHEDULE, session)
    }


def told(expected: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {key: {name: call[name] for name in ("name", "asked", "answered")} for key, call in expected.items()}


def responses(store: SpanStore, session: str | None = None) -> dict[str, tuple[float | None, float | None, int]]:
    found: dict[str, list[int]] = {}
    for block in moments(store, Boundary.STREAM_EVENT, session):
        assert block.end_ns is not None
        found.setdefault(block.key.split("#")[0], []).append(block.end_ns)
    return {key: (seconds(min(ends)), seconds(max(ends)), len(ends)) for key, ends in found.items()}


def blocks(expected: dict[str, dict[str, Any]]) -> dict[str, tuple[float, float, int]]:
    return {key: (one["first_block"], one["last_block"], one["blocks"]) for key, one in expected.items()}


def test_the_clean_session_has_its_calls_and_responses_at_their_times(tmp_path: Path) -> None:
    clean = EXPECTED["clean"]
    with loaded([FAULTS / "clean.jsonl"], tmp_path) as (_, store):
        assert calls(store) == told(clean["calls"])
        assert responses(store) == blocks(clean["responses"])
        (found,) = sessions(store)
        early = sum(call.get("before_last_block", False) for call in clean["calls"].values())
        assert (found.results_before_last_block, found.turns, found.active_ns) == (early, 1, 22 * SECOND)


def test_a_clean_session_has_neither_failures_nor_anything_stuck(tmp_path: Path) -> None:
    with loaded([FAULTS / "clean.jsonl"], tmp_path) as (_, store):
        assert (failures(store), stuck(store, as_of_ns=BEGIN + HOUR)) == ([], [])


# The probe -----------------------------------------------------------------------------------------------------------

SESSION: str = PROBE["session"]
FORK: str = PROBE["fork"]["session"]
AGENT: str = PROBE["agent"]["id"]
PROBE_FILES = [FAULTS / "probe" / f"{FORK}.jsonl", FAULTS / "probe" / f"{SESSION}.jsonl", FAULTS / "probe" / SESSION]


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Generator[SpanStore]:
    with loaded(PROBE_FILES, tmp_path_factory.mktemp("probe")) as (_, store):
        yield store


@pytest.fixture(scope="module")
def failed(probe: SpanStore) -> list[Failure]:
    return list(failures(probe))


@pytest.mark.parametrize("files", [PROBE_FILES, PROBE_FILES[::-1], [FAULTS / "probe"]], ids=["fork-first", "fork-last", "at-once"])
def test_a_forked_copy_counts_once_whichever_file_came_first(files: list[Path], tmp_path: Path) -> None:
    of = PROBE["counts"]["together"]
    with loaded(files, tmp_path) as (_, store):
        found = {session.session_id: session for session in sessions(store)}
        fork = found.pop(FORK)
        (probe,) = found.values()
        assert probe.session_id == SESSION
        assert (probe.messages, probe.tool_calls, probe.tool_unanswered, probe.tool_errors) == (
            of["messages"],
            of["tool_calls"],
            of["tool_calls_unanswered"],
            of["tool_errors"],
        )
        assert (probe.output_tokens, probe.cache_read_tokens, probe.cache_write_tokens) == (
            of["output_tokens"],
            of["cache_read_tokens"],
            of["cache_write_tokens"],
        )
        assert (fork.messages, fork.tool_calls, fork.turns, seconds(fork.start_ns)) == (0, 0, 1, PROBE["fork"]["own_prompts"][0])


def test_calls_and_responses_of_agent_and_parent_stand_at_their_times(probe: SpanStore) -> None:
    assert calls(probe, SESSION) == told(PROBE["calls"] | PROBE["agent"]["calls"])
    assert responses(probe, SESSION) == blocks(PROBE["responses"] | PROBE["agent"]["responses"])
    prompts = [seconds(one.start_ns) for one in moments(probe, Boundary.TURN, SESSION) if one.agent_id is None]
    assert prompts == PROBE["prompts"]


def test_the_agent_hangs_on_the_call_that_started_it(probe: SpanStore) -> None:
    (agent,) = moments(probe, Boundary.SUBAGENT, SESSION)
    assert (agent.key, agent.parent_key, agent.name) == (AGENT, PROBE["agent"]["call"], "Explore")


def test_the_compaction_lies_within_what_is_known_of_it(probe: SpanStore) -> None:
    (found,) = moments(probe, Boundary.COMPACTION, SESSION)
    assert (seconds(found.start_ns), seconds(found.end_ns)) == (PROBE["compaction"]["started_not_before"], PROBE["compaction"]["end"])


def test_each_failed_attempt_and_the_wait_after_it_stand_at_their_times(probe: SpanStore) -> None:
    attempts = [seconds(one.end_ns) for one in moments(probe, Boundary.REQUEST_ATTEMPT, SESSION)]
    waits = [seconds(one.end_ns) for one in moments(probe, Boundary.RETRY_WAIT, SESSION)]
    assert attempts == [one["failed"] for one in PROBE["retries"]]
    assert waits == [one["wait_ends"] for one in PROBE["retries"]]


def test_the_three_retries_are_one_failure_with_three_causes_and_were_got_over(failed: list[Failure]) -> None:
    (chain,) = [one for one in failed if one.attempts]
    kinds = [one["failure"][1] for one in PROBE["retries"]]
    assert (chain.attempts, chain.causes, chain.recovered) == (3, ", ".join(f"{kind} x1" for kind in kinds), True)
    assert (chain.family, chain.key) == ("network", f"req_{PROBE['retries_recovered_by'].removeprefix('msg_')}")


@pytest.mark.parametrize("key", [key for key, call in PROBE["calls"].items() if "failure" in call])
def test_a_call_that_failed_is_named_as_what_it_was(key: str, failed: list[Failure]) -> None:
    call = PROBE["calls"][key]
    (found,) = [one for one in failed if one.key == key]
    assert ([found.family, found.kind], found.name, seconds(found.end_ns)) == (call["failure"], call["name"], call["answered"])


def test_requests_that_were_given_up_are_named(failed: list[Failure]) -> None:
    given_up = [one for one in failed if one.boundary == Boundary.MODEL_REQUEST]
    assert [(seconds(one.end_ns), one.family) for one in given_up] == [(one["at"], one["failure_family"]) for one in PROBE["gave_up"]]


def test_nothing_else_is_called_a_failure(failed: list[Failure]) -> None:
    known = sum("failure" in call for call in PROBE["calls"].values())
    assert len(failed) == known + len(PROBE["gave_up"]) + 1


def test_the_command_that_never_came_back_is_what_the_session_waits_for(probe: SpanStore) -> None:
    (found,) = stuck(probe, Scope(SESSION), as_of_ns=BEGIN + HOUR)
    (key,) = [key for key, call in PROBE["calls"].items() if call["answered"] is None]
    assert (found.key, found.name, found.age_ns) == (key, "Bash", HOUR - 301 * SECOND)
    assert (found.verdict, found.could_be) == ("unknown", "permission, hook, tool, client")


# A person who takes 40 seconds ---------------------------------------------------------------------------------------


def test_forty_seconds_of_a_person_are_no_time_of_a_tool(probe: SpanStore) -> None:
    (wait,) = moments(probe, Boundary.PERMISSION_WAIT, SESSION)
    assert (wait.key, seconds(wait.start_ns), seconds(wait.end_ns)) == ("toolu_e1", 76, 116)
    assert "toolu_e1" not in {one.key for one in moments(probe, Boundary.TOOL_EXECUTION, SESSION)}
    assert "req_p5" not in {row.request_key for row in overlap(probe)}
    first = {line.category: line for line in account(probe, Scope(SESSION)) if line.turn_start_ns == BEGIN}
    assert first["permission"].time_lower_ns == 40 * SECOND
    # Six tools may have run for 50.71 s in all: 10 of the first, 10 of two at once, 1.25 of the server, 29.96 of the agent, less 0.5.
    assert first["tool"].time_upper_ns < 51 * SECOND


def test_a_call_that_a_person_may_have_held_up_is_a_range(probe: SpanStore) -> None:
    (row,) = [row for row in overlap(probe) if row.request_key == "req_p6"]
    assert (row.exposed_lower_ns, row.exposed_upper_ns) == (0, 120 * SECOND)


def test_every_second_has_its_place(probe: SpanStore) -> None:
    left: dict[tuple[str, str | None, str | None], int] = {}
    for line in account(probe):
        left.setdefault((line.session_id, line.agent_id, line.turn_key), line.wall_ns)
        left[line.session_id, line.agent_id, line.turn_key] -= line.duration_ns
    assert len(left) == len(PROBE["prompts"]) + 1
    assert set(left.values()) == {0}


# What is not kept ----------------------------------------------------------------------------------------------------

OVERLAP = DATA / "captures" / "overlap"
SPOKEN = {
    "transcript": (
        [FAULTS / "clean.jsonl", FAULTS / "probe"],
        ["Why is the build slow", "nightly job fails", "make -j1", "build.cfg", "it was renamed", "tail -f job.log"],
    ),
    "stream-json": ([OVERLAP / "stream.jsonl"], ["look at", "meanwhile", "stamp.sh"]),
    "otlp": ([OVERLAP / "otlp"], ["stamp.sh"]),
}
"""Files, and words that prompts, answers and arguments say in them."""
TABLES = ("spans", "problems", "files", "aliases", "copies", "meta")


def texts(store: SpanStore) -> str:
    return "\n".join(str(value) for table in TABLES for row in store.rows(f"SELECT * FROM {table}") for value in row.values())  # noqa: S608


@pytest.mark.parametrize("form", SPOKEN)
def test_words_are_not_kept(form: str, tmp_path: Path) -> None:
    paths, words = SPOKEN[form]
    with loaded(paths, tmp_path) as (_, store):
        kept = texts(store)
    assert [word for word in words if word in kept] == []
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert [word for word in words if word.encode() in written] == []


@pytest.mark.parametrize("form", SPOKEN)
def test_words_are_kept_when_they_are_asked_for(form: str, tmp_path: Path) -> None:
    paths, words = SPOKEN[form]
    with loaded(paths, tmp_path, content=True) as (_, store):
        kept = texts(store)
    assert [word for word in words if word not in kept] == []


def test_results_are_not_kept(tmp_path: Path) -> None:
    with loaded(SPOKEN["transcript"][0], tmp_path) as (_, store):
        kept = texts(store)
    assert [word for word in ("jobs = 1", "done in 10 s", "docs built", "all built") if word in kept] == []
