"""Recorded runs of the real client, held against what the scripted server and the commands themselves saw."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracekit.model import Boundary, Problem, Span
from tracekit.sources.otlp import read_group

CAPTURES = Path(__file__).parents[2] / "data" / "captures"
RUNS = sorted(path.name for path in CAPTURES.iterdir() if (path / "otlp").is_dir())
MS = 1_000_000


def observed(run: Path, pattern: str = "*.pb") -> list[Span]:
    found = [item for _, item in read_group((path.name, path.read_bytes()) for path in sorted((run / "otlp").glob(pattern)))]
    assert not [item for item in found if isinstance(item, Problem)]
    return [item for item in found if isinstance(item, Span)]


def of(spans: list[Span], boundary: Boundary) -> dict[str, Span]:
    chosen = [span for span in spans if span.boundary is boundary]
    keyed = {span.key: span for span in chosen}
    assert len(keyed) == len(chosen), "one thing is told once"
    return keyed


def truth(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "truth.json").read_text(encoding="utf-8"))
    return found


def requests(run: Path, spans: list[Span]) -> Iterator[tuple[dict[str, Any], Span]]:
    """The requests that were answered to the end, as the server saw them and as they are told."""
    seen = of(spans, Boundary.MODEL_REQUEST)
    for request in truth(run)["requests"]:
        if request["message_stop_ns"] is not None and request["request_id"] in seen:
            yield request, seen[request["request_id"]]


def may_start_at(span: Span, time_ns: int) -> bool:
    return span.start_ns <= time_ns <= span.start_ns + span.start_slack_ns


def may_end_at(span: Span, time_ns: int) -> bool:
    return span.end_ns is not None and span.end_ns - span.end_slack_ns <= time_ns <= span.end_ns


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("pattern", ["*.pb", "*.traces.pb", "*.logs.pb"])
def test_every_request_ends_when_the_server_says(run: str, pattern: str) -> None:
    for request, span in requests(CAPTURES / run, observed(CAPTURES / run, pattern)):
        assert may_end_at(span, request["message_stop_ns"])
        assert span.start_ns <= request["read_ns"] < request["message_stop_ns"]


@pytest.mark.parametrize("run", RUNS)
def test_the_first_byte_is_never_before_the_server_sent_it(run: str) -> None:
    for request, span in requests(CAPTURES / run, observed(CAPTURES / run)):
        first_byte_ns = span.attributes["tracekit.response.first_byte_ns"]
        assert isinstance(first_byte_ns, int)
        assert 0 <= first_byte_ns - request["first_event_ns"] <= 150 * MS


@pytest.mark.parametrize("run", RUNS)
def test_every_command_ran_inside_its_execution(run: str) -> None:
    for pattern in ("*.pb", "*.logs.pb"):
        executions = of(observed(CAPTURES / run, pattern), Boundary.TOOL_EXECUTION)
        for stamp in truth(CAPTURES / run)["stamps"]:
            execution = executions[stamp["tool_use_id"]]
            assert execution.start_ns <= stamp["start_ns"]
            assert execution.end_ns is None or stamp["end_ns"] is None or stamp["end_ns"] <= execution.end_ns


@pytest.mark.parametrize("run", RUNS)
def test_events_alone_bound_what_the_spans_measured(run: str) -> None:
    together, alone = observed(CAPTURES / run), observed(CAPTURES / run, "*.logs.pb")
    for boundary in (Boundary.MODEL_REQUEST, Boundary.TOOL_EXECUTION, Boundary.TURN):
        measured = of(together, boundary)
        for key, span in of(alone, boundary).items():
            exact = measured.get(key)
            if exact is None or exact.start_slack_ns:
                continue
            assert may_start_at(span, exact.start_ns), (boundary, key)
            if boundary is Boundary.TOOL_EXECUTION and exact.end_ns is not None:
                assert may_end_at(span, exact.end_ns), (boundary, key)


@pytest.mark.parametrize("run", RUNS)
def test_a_tool_is_tied_to_the_request_that_issued_it(run: str) -> None:
    for pattern in ("*.pb", "*.traces.pb", "*.logs.pb"):
        schedules = of(observed(CAPTURES / run, pattern), Boundary.TOOL_SCHEDULE)
        issuers = {
            block["tool_use_id"]: (request["request_id"], block["complete_ns"])
            for request in truth(CAPTURES / run)["requests"]
            for block in request["blocks"]
            if "tool_use_id" in block
        }
        for key, schedule in schedules.items():
            issuer, complete_ns = issuers[key]
            assert schedule.parent_key == issuer
            assert may_start_at(schedule, complete_ns)


def test_retries_are_counted() -> None:
    for run in ("overloaded_retry", "rate_limit_retry"):
        (request,) = of(observed(CAPTURES / run), Boundary.MODEL_REQUEST).values()
        attempts = len(truth(CAPTURES / run)["requests"])
        assert attempts > 1
        assert (request.status, request.attributes["tracekit.request.attempts"], len(request.events)) == ("ok", attempts, attempts)


def test_failures_have_their_class() -> None:
    def failure(run: str) -> tuple[object, ...]:
        (request,) = of(observed(CAPTURES / run), Boundary.MODEL_REQUEST).values()
        says = request.attributes
        return request.status, says["error.type"], says["http.response.status_code"], says["tracekit.request.attempts"]

    assert failure("prompt_too_long") == ("error", "prompt_too_long", 400, 1)
    assert failure("server_error_exhausted")[:3] == ("error", "server_error", 500)


def test_a_hook_blocks_one_call_and_another_fails() -> None:
    spans = observed(CAPTURES / "hooks")
    outcomes = [span.attributes["tracekit.hook.outcome"] for span in spans if span.boundary is Boundary.HOOK_REPLY]
    assert sorted(map(str, outcomes)) == ["blocking", "error", "success", "success"]
    waits = [span.attributes for span in of(spans, Boundary.PERMISSION_WAIT).values()]
    assert sorted((str(wait["tracekit.permission.decision"]), str(wait["tracekit.permission.source"])) for wait in waits) == [
        ("accept", "config"),
        ("reject", "hook"),
    ]


def test_what_was_open_when_the_client_was_killed_is_open() -> None:
    def left(run: str) -> set[str]:
        return {span.boundary for span in observed(CAPTURES / run) if span.end_ns is None}

    assert left("stuck_tool") == {"turn", "tool_schedule", "tool_execution"}
    assert left("stalled_stream") == {"turn"}


def test_servers_that_cannot_be_reached_say_why() -> None:
    connections = [span.attributes for span in observed(CAPTURES / "mcp_unreachable") if span.boundary is Boundary.MCP_CONNECTION]
    codes = {(connection["tracekit.mcp.server"], connection["tracekit.error.code"]) for connection in connections}
    assert codes == {("missing", "ENOENT"), ("refused", "ECONNREFUSED")}


def test_mcp_calls_are_told_apart_by_their_outcome() -> None:
    calls = {span.name: span for span in observed(CAPTURES / "mcp") if span.boundary is Boundary.MCP_CALL}
    assert {name: str(calls[name].status) for name in ("add", "fail", "slow")} == {"add": "ok", "fail": "error", "slow": "ok"}


def test_a_sub_agent_is_tied_to_the_call_that_started_it() -> None:
    for run in ("subagent", "subagent_background"):
        spans = observed(CAPTURES / run)
        (agent,) = of(spans, Boundary.SUBAGENT).values()
        assert agent.parent_key is not None
        assert of(spans, Boundary.TOOL_EXECUTION)[agent.parent_key].name == "Agent"
        inside = [span for span in spans if span.boundary is Boundary.MODEL_REQUEST and span.agent_id == agent.key]
        assert inside
        assert all(agent.start_ns <= span.start_ns and agent.end_ns is not None and span.start_ns <= agent.end_ns for span in inside)


def test_a_compaction_has_its_own_request() -> None:
    spans = observed(CAPTURES / "compaction")
    (compaction,) = [span for span in spans if span.boundary is Boundary.COMPACTION]
    (request,) = [span for span in spans if span.attributes.get("tracekit.request.query_source") == "compact"]
    assert (request.parent_key, of(spans, Boundary.TURN)[str(request.parent_key)].name) == (compaction.parent_key, "command")
    assert compaction.start_ns <= request.start_ns


def test_every_capture_of_the_corpus_reads_without_a_problem(corpus: Path) -> None:
    runs = [path for path in sorted((corpus / "captures").iterdir()) if (path / "otlp").is_dir()]
    assert runs
    assert all(observed(run) for run in runs)
