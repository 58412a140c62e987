"""Hooks: for which call they ran, and how they ended."""

from typing import Any

import pytest

from tests.sources.stream_json.told import (
    BUSY,
    SESSION,
    WITH_TOOL,
    Arrived,
    Line,
    at,
    end_range,
    gave,
    init,
    live,
    one,
    requesting,
    response,
    result,
    said,
    spans,
    start_range,
    system,
    tool,
)
from tracekit.model import Boundary, Status, semconv


def hook(kind: str, key: str, name: str, **fields: Any) -> Line:
    return system(f"hook_{kind}", hook_id=key, hook_name=name, hook_event=name.partition(":")[0], **fields)


def test_a_hook_runs_for_the_only_call_that_it_can_mean() -> None:
    told = [
        *WITH_TOOL,
        (1.3, hook("started", "h1", "PreToolUse:Bash")),
        (1.7, hook("response", "h1", "PreToolUse:Bash", outcome="success", exit_code=0)),
        (2.5, hook("started", "h2", "PostToolUse:Bash")),
        (2.6, hook("response", "h2", "PostToolUse:Bash", outcome="success", exit_code=200)),
        (2.7, gave()),
        (3, result(3)),
    ]
    items = live(*told)
    before, after = spans(items, Boundary.HOOK_REPLY)
    assert (before.key, before.parent_key, before.status) == ("toolu_1:PreToolUse:Bash", "toolu_1", Status.OK)
    assert before.attributes == {
        semconv.HOOK_EVENT: "PreToolUse",
        semconv.HOOK_NAME: "PreToolUse:Bash",
        semconv.HOOK_COUNT: 1,
        semconv.HOOK_TOOL: "toolu_1",
        semconv.HOOK_OUTCOME: "success",
        semconv.EXIT_CODE: 0,
    }
    assert (start_range(before)[1], end_range(before)[1]) == (at(1.3), at(1.7))
    assert (after.parent_key, after.attributes[semconv.HTTP_STATUS]) == ("toolu_1", 200)
    assert start_range(one(items, Boundary.TOOL_EXECUTION))[0] == at(1.7) - BUSY


def two_calls() -> list[Arrived]:
    blocks = [(1.0, said(tool("toolu_1"))), (1.1, said(tool("toolu_2")))]
    return [(0, init()), (0.1, requesting()), *response(0.5, *blocks, stop=1.2)]


def test_a_hook_that_may_mean_several_calls_belongs_to_the_turn() -> None:
    items = live(
        *two_calls(), (1.3, hook("started", "h1", "PreToolUse:Bash")), (2, hook("response", "h1", "PreToolUse:Bash", outcome="success"))
    )
    run = one(items, Boundary.HOOK_REPLY)
    assert (run.key, run.parent_key) == ("h1", f"turn:{SESSION}#1")


def test_calls_that_had_their_hooks_are_not_meant() -> None:
    first = [(1.05, hook("started", "h1", "PreToolUse:Bash")), (1.06, hook("response", "h1", "PreToolUse:Bash", outcome="success"))]
    told = [*two_calls()[:5], *first, *two_calls()[5:], (1.5, hook("started", "h2", "PreToolUse:Bash"))]
    runs = spans(live(*told), Boundary.HOOK_REPLY)
    assert [run.parent_key for run in runs] == ["toolu_1", "toolu_2"]
    assert [run.end_ns is None for run in runs] == [False, True]


def test_hooks_of_one_event_run_side_by_side_and_the_worst_outcome_is_theirs() -> None:
    told = [
        *WITH_TOOL,
        (1.3, hook("started", "h1", "PreToolUse:Bash")),
        (1.3, hook("started", "h2", "PreToolUse:Bash")),
        (1.5, hook("response", "h2", "PreToolUse:Bash", outcome="error", exit_code=2, stderr="not allowed")),
        (1.9, hook("response", "h1", "PreToolUse:Bash", outcome="success", exit_code=0)),
        (2, result(2)),
    ]
    run = one(live(*told), Boundary.HOOK_REPLY)
    assert (run.attributes[semconv.HOOK_COUNT], run.attributes[semconv.HOOK_OUTCOME], run.end_ns) == (2, "blocking", at(1.9))
    assert (run.status, run.attributes[semconv.ERROR_TEXT], run.attributes[semconv.EXIT_CODE]) == (Status.OK, "not allowed", 2)


@pytest.mark.parametrize(
    ("fields", "outcome", "status"),
    [
        ({"outcome": "error", "exit_code": 1}, "error", Status.ERROR),
        ({"outcome": "cancelled"}, "cancelled", Status.CANCELLED),
        ({"outcome": "success", "exit_code": 0}, "success", Status.OK),
    ],
)
def test_how_a_hook_ended(fields: Line, outcome: str, status: Status) -> None:
    items = live((0, init()), (1, hook("started", "h", "Stop")), (2, hook("response", "h", "Stop", **fields)), (3, result(3)))
    run = one(items, Boundary.HOOK_REPLY)
    assert (run.key, run.attributes[semconv.HOOK_OUTCOME], run.status) == ("h", outcome, status)
