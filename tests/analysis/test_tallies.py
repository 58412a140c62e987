"""Failures counted by group; what is nobody's failure counts for no tool."""

from collections.abc import Sequence
from typing import Any

import pytest

from tracekit.analysis.failed import failures
from tracekit.analysis.tallies import GROUPS, Tally, tallies
from tracekit.model import Boundary, Span, Status, semconv
from tracekit.testing import memory_store, request, span, turn

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
EXIT_1 = {semconv.ERROR_TEXT: "Exit code 1", semconv.EXIT_CODE: 1}
NO = {semconv.ERROR_TEXT: "The user doesn't want to proceed with this tool use.", semconv.DENIAL_KIND: "user-rejected"}
SIBLING = {semconv.ERROR_TEXT: "<tool_use_error>Sibling tool call errored</tool_use_error>"}
BLOCKED = {semconv.ERROR_TEXT: "PreToolUse:Bash hook error: [gate]: not allowed"}
INTERRUPTED = {semconv.ERROR_TEXT: "[Request interrupted by user for tool use]"}
OVERLOADED = {semconv.HTTP_STATUS: 529, semconv.REQUEST_MODEL: "opus"}


def call(number: int, said: dict[str, Any] | None, name: str = "Bash") -> Span:
    status = Status.OK if said is None else Status.ERROR
    return span(Boundary.TOOL_SCHEDULE, f"toolu_{number}", number, number + 1, name=name, status=status, attributes=said or {})


SPANS = [
    turn(0, 100),
    call(1, EXIT_1),
    call(2, None),
    call(3, EXIT_1),
    call(4, SIBLING),
    call(5, NO),
    call(6, BLOCKED),
    call(7, INTERRUPTED),
    call(8, None, "Read"),
    call(9, {semconv.ERROR_TEXT: "MCP error -32603: no"}, "mcp__git__log"),
    call(10, None, "mcp__git__log"),
    call(11, None, "mcp__git__diff"),
    request(20, 21, key="req_2", status=Status.ERROR, attributes=OVERLOADED),
    request(22, 23, key="req_3", status=Status.OK, attributes={semconv.REQUEST_MODEL: "opus"}),
]


def told(by: str, spans: Sequence[Span] = SPANS) -> dict[str, Tally]:
    with memory_store(spans) as store:
        return {row.group: row for row in tallies(store, failures(store), by)}


def test_no_tool_is_charged_with_what_is_nobodys_failure() -> None:
    bash = told("tool")["Bash"]
    assert (bash.failures, bash.uncounted, bash.total, bash.rate) == (2, 4, 7, 2 / 7)
    assert bash.kinds == "tool/execution x2"


def test_a_tool_that_only_others_stopped_has_no_failure() -> None:
    only = told("tool", [turn(0, 100), call(1, SIBLING), call(2, NO), call(3, BLOCKED), call(4, INTERRUPTED)])["Bash"]
    assert (only.failures, only.terminal, only.rate, only.kinds) == (0, 0, 0.0, "")


def test_servers_and_models_are_measured_against_what_they_were_asked() -> None:
    servers, models = told("server"), told("model")
    assert {name: (row.failures, row.total) for name, row in servers.items()} == {"git": (1, 3)}
    assert {name: (row.failures, row.total) for name, row in models.items()} == {"opus": (1, 2)}


def test_the_most_frequent_kind_is_told_first() -> None:
    rows = list(told("kind"))
    assert rows[0] == "tool/execution"
    assert set(rows) == {
        "tool/execution",
        "tool/sibling_cancelled",
        "user/rejection",
        "user/interrupt",
        "hook/blocked",
        "mcp/call",
        "network/overloaded",
    }


def test_days_come_in_their_order() -> None:
    moved = [one._replace(start_ns=one.start_ns + day * DAY, end_ns=(one.end_ns or 0) + day * DAY) for one, day in
             ((call(1, EXIT_1), 2), (call(3, EXIT_1), 1), (call(5, EXIT_1), 1))]  # fmt: skip
    rows = told("day", [turn(0, 100), *moved])
    assert [row.failures for row in rows.values()] == [2, 1]
    assert list(rows) == sorted(rows)


@pytest.mark.parametrize("by", GROUPS)
def test_what_has_no_such_group_is_left_out(by: str) -> None:
    counted = sum(row.failures for row in told(by).values())
    assert counted == {"kind": 4, "tool": 3, "server": 1, "model": 1, "day": 4}[by]
