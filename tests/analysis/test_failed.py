"""What failed: each failure once, attempts of one request as one chain, and whether the session got over it."""

from typing import Any

import pytest

from tests.analysis.cases import in_one_store
from tracekit.analysis.failed import Failure, failures
from tracekit.analysis.scope import Scope
from tracekit.model import Boundary, Source, Span, Status, semconv
from tracekit.testing import memory_store, request, span, turn

SECOND = 1_000_000_000
EXIT_1: dict[str, Any] = {semconv.ERROR_TEXT: "Exit code 1", semconv.EXIT_CODE: 1}
OVERLOADED: dict[str, Any] = {semconv.HTTP_STATUS: 529, semconv.ERROR_TYPE: "overloaded_error"}
RESET: dict[str, Any] = {semconv.ERROR_CODE: "ECONNRESET"}
UNTRUSTED: dict[str, Any] = {semconv.ERROR_CODE: "SELF_SIGNED_CERT_IN_CHAIN"}
REFUSED: dict[str, Any] = {semconv.ERROR_CODE: "ECONNREFUSED"}
TOO_LONG: dict[str, Any] = {semconv.HTTP_STATUS: 400, semconv.ERROR_TEXT: "prompt is too long: 213456 tokens > 200000 maximum"}
BLOCKED = "PreToolUse:Bash hook error: [gate]: not allowed"
REJECTED: dict[str, Any] = {
    semconv.ERROR_TEXT: "The user doesn't want to proceed with this tool use.",
    semconv.DENIAL_KIND: "user-rejected",
}


def call(end_s: int, attributes: dict[str, Any], boundary: Boundary = Boundary.TOOL_SCHEDULE, **fields: Any) -> Span:
    known: dict[str, Any] = {"name": "Bash", "status": Status.ERROR, "attributes": attributes, "parent_key": "req_1"}
    return span(boundary, "toolu_1", end_s * SECOND - 5, end_s * SECOND, **known | fields)


def answer(start_s: int, end_s: int | None = None, *, key: str = "req_9", **fields: Any) -> Span:
    named: dict[str, Any] = {"attributes": {semconv.RESPONSE_ID: f"msg_{key}"}}
    return request(start_s * SECOND, (end_s or start_s + 1) * SECOND, key=key, **named | fields)


def failed(end_s: int, attributes: dict[str, Any], *, key: str = "req_1", **fields: Any) -> Span:
    known: dict[str, Any] = {"status": Status.ERROR, "attributes": attributes}
    return request((end_s - 1) * SECOND, end_s * SECOND, key=key, **known | fields)


def attempt(number: int, end_s: int, attributes: dict[str, Any], *, of: str = "req_1", wait_s: int = 1) -> Span:
    said = attributes | {semconv.ATTEMPT: number, semconv.RETRY_DELAY_NS: wait_s * SECOND}
    known: dict[str, Any] = {"name": "model", "status": Status.ERROR, "attributes": said, "parent_key": of}
    return span(Boundary.REQUEST_ATTEMPT, f"{of}~{number}", (end_s - 1) * SECOND, end_s * SECOND, **known)


def waited(number: int, start_s: int, ns: int) -> list[Span]:
    return [span(Boundary.RETRY_WAIT, f"req_1~{number}", start_s * SECOND, start_s * SECOND + ns, parent_key="req_1")]


def hook(end_s: int, outcome: str, event: str = "PreToolUse", key: str = "run", **fields: Any) -> Span:
    said = {semconv.HOOK_EVENT: event, semconv.HOOK_OUTCOME: outcome, semconv.ERROR_TEXT: BLOCKED if outcome == "blocking" else "no output"}
    return span(
        Boundary.HOOK_REPLY,
        key,
        end_s * SECOND - 9,
        end_s * SECOND,
        **{"name": event, "parent_key": "toolu_1", "attributes": said} | fields,
    )


def server(end_s: int, status: str, name: str = "tracker", **fields: Any) -> Span:
    said = {semconv.MCP_STATUS: status, semconv.MCP_SERVER: name}
    return span(Boundary.MCP_CONNECTION, f"{name}@{end_s}", 0, end_s * SECOND, **{"name": name, "attributes": said} | fields)


def interrupted(end_s: int, what: str) -> Span:
    return turn(0, end_s * SECOND, status=Status.CANCELLED, attributes={semconv.INTERRUPTS: 1, semconv.INTERRUPTED: what})


def result(boundary: Boundary, end_s: int) -> Span:
    return span(boundary, boundary, 0, end_s * SECOND, attributes={semconv.RESULT_IS_ERROR: True} | TOO_LONG)


TURN = turn(0, 100 * SECOND)
NEXT = turn(100 * SECOND, 200 * SECOND, key="turn_2")
RECOVERED, TERMINAL = True, False
CASES: dict[str, tuple[list[Span], list[tuple[str, bool]]]] = {
    "nothing failed": ([TURN, answer(1)], []),
    # Whether the session got over it
    "a tool that failed, and the model went on": ([TURN, call(10, EXIT_1), answer(11)], [("tool/execution", RECOVERED)]),
    "a tool that failed, and nothing came after": ([TURN, call(10, EXIT_1), answer(1)], [("tool/execution", TERMINAL)]),
    "a tool that failed, and only the next turn was answered": (
        [TURN, NEXT, call(10, EXIT_1), answer(101)],
        [("tool/execution", TERMINAL)],
    ),
    "a tool that failed, and only a sub-agent was answered": (
        [TURN, call(10, EXIT_1), answer(11, agent_id="a1")],
        [("tool/execution", TERMINAL)],
    ),
    "a tool that failed, and what came after failed too": (
        [TURN, call(10, EXIT_1), failed(20, TOO_LONG)],
        [("tool/execution", TERMINAL), ("prompt_too_long/prompt_too_long", TERMINAL)],
    ),
    "an answer that ran into its limit at a time that is only bounded, and the model went on": (
        [
            TURN,
            answer(1, 9, end_slack_ns=7 * SECOND, attributes={semconv.RESPONSE_ID: "msg_1", semconv.STOP_REASON: "max_tokens"}),
            answer(3, 12, key="req_2", start_slack_ns=4 * SECOND),
        ],
        [("model/max_output_tokens", RECOVERED)],
    ),
    # Each failure once
    "a call's execution repeats what its schedule says": (
        [TURN, call(10, EXIT_1), call(10, EXIT_1, Boundary.TOOL_EXECUTION, parent_key="toolu_1")],
        [("tool/execution", TERMINAL)],
    ),
    "an execution alone": ([TURN, call(10, EXIT_1, Boundary.TOOL_EXECUTION, parent_key="toolu_1")], [("tool/execution", TERMINAL)]),
    "a call's request to a server repeats what its execution says": (
        [TURN, *(call(10, EXIT_1, boundary, parent_key="toolu_1") for boundary in (Boundary.TOOL_EXECUTION, Boundary.MCP_CALL))],
        [("tool/execution", TERMINAL)],
    ),
    "a call that only a tap saw": (
        [TURN, call(10, {semconv.ERROR_TEXT: "no such issue"}, Boundary.MCP_CALL, parent_key="toolu_1")],
        [("mcp/call", TERMINAL)],
    ),
    "a hook that blocked a call is told by the call": (
        [TURN, call(10, {semconv.ERROR_TEXT: BLOCKED}), hook(9, "blocking")],
        [("hook/blocked", TERMINAL)],
    ),
    "an interrupt of a tool is told by the call, not by the session's result": (
        [
            TURN,
            call(10, REJECTED | {semconv.ERROR_TEXT: f"{REJECTED[semconv.ERROR_TEXT]} This call was stopped while running, not refused."}),
            span(
                Boundary.SESSION,
                "session",
                0,
                10 * SECOND,
                attributes={semconv.RESULT_IS_ERROR: True, semconv.TERMINAL_REASON: "aborted_tools"},
            ),
        ],
        [("user/interrupt", TERMINAL)],
    ),
    "a rejection is told by the call, not by the interrupt": (
        [interrupted(10, "tool"), call(10, REJECTED)],
        [("user/rejection", TERMINAL)],
    ),
    "an interrupt of the stream is told by its turn": ([interrupted(10, "streaming")], [("user/interrupt", TERMINAL)]),
    "an interrupt long after a rejection is another one": (
        [interrupted(50, "tool"), call(10, REJECTED)],
        [("user/rejection", TERMINAL), ("user/interrupt", TERMINAL)],
    ),
    "a result that only repeats its request": (
        [failed(10, TOO_LONG), result(Boundary.TURN, 11), result(Boundary.SESSION, 12)],
        [("prompt_too_long/prompt_too_long", TERMINAL)],
    ),
    "a result of a session that only repeats its turn's": (
        [result(Boundary.TURN, 11), result(Boundary.SESSION, 12)],
        [("prompt_too_long/prompt_too_long", TERMINAL)],
    ),
    # Attempts
    "attempts before an answer": (
        [TURN, attempt(1, 2, OVERLOADED), attempt(2, 4, OVERLOADED), answer(0, 9, key="req_1")],
        [("network/overloaded", RECOVERED)],
    ),
    "attempts of a request that is open to this day": (
        [TURN, attempt(1, 2, OVERLOADED), request(0, None)],
        [("network/overloaded", TERMINAL)],
    ),
    "attempts before giving up": ([TURN, attempt(1, 2, OVERLOADED), failed(4, OVERLOADED)], [("network/overloaded", TERMINAL)]),
    "attempts of two requests": (
        [TURN, attempt(1, 2, OVERLOADED), answer(0, 3, key="req_1"), attempt(1, 5, RESET, of="req_2"), answer(4, 6, key="req_2")],
        [("network/overloaded", RECOVERED), ("network/reset", RECOVERED)],
    ),
    "the commonest kind names a mixed chain": (
        [TURN, attempt(1, 2, RESET), attempt(2, 4, OVERLOADED), attempt(3, 6, OVERLOADED), answer(0, 9, key="req_1")],
        [("network/overloaded", RECOVERED)],
    ),
    "waits that were seen": (
        [
            TURN,
            attempt(1, 2, OVERLOADED),
            *waited(1, 2, 2 * SECOND + 3),
            attempt(2, 6, OVERLOADED),
            *waited(2, 6, 2),
            answer(0, 9, key="req_1"),
        ],
        [("network/overloaded", RECOVERED)],
    ),
    "two kinds, as frequent": (
        [TURN, attempt(1, 2, RESET), attempt(2, 9, OVERLOADED, wait_s=5), answer(0, 20, key="req_1")],
        [("network/overloaded", RECOVERED)],
    ),
    "retries that could not help": (
        [TURN, attempt(1, 2, UNTRUSTED), attempt(2, 4, UNTRUSTED), failed(6, UNTRUSTED)],
        [("network/tls", TERMINAL)],
    ),
    "a prompt that stayed too long": (
        [TURN, NEXT, failed(10, TOO_LONG), failed(110, TOO_LONG, key="req_2", parent_key="turn_2")],
        [("prompt_too_long/prompt_too_long", TERMINAL)] * 2,
    ),
    "a prompt that was too long twice, and fitted in between": (
        [TURN, NEXT, failed(10, TOO_LONG), answer(50), failed(110, TOO_LONG, key="req_2", parent_key="turn_2")],
        [("prompt_too_long/prompt_too_long", RECOVERED), ("prompt_too_long/prompt_too_long", TERMINAL)],
    ),
    "two servers' errors in a row": (
        [TURN, NEXT, failed(10, OVERLOADED), failed(110, OVERLOADED, key="req_2", parent_key="turn_2")],
        [("network/overloaded", TERMINAL)] * 2,
    ),
    "a retry after another failure": (
        [TURN, attempt(1, 2, UNTRUSTED), attempt(2, 4, RESET), answer(0, 9, key="req_1")],
        [("network/tls", RECOVERED)],
    ),
    "retries that a gateway's return would help": (
        [TURN, attempt(1, 2, REFUSED), attempt(2, 4, REFUSED), answer(0, 9, key="req_1")],
        [("network/connect", RECOVERED)],
    ),
    # Calls that telemetry tells of by a decision
    **{
        f"a call that was turned down by {by}": (
            [
                TURN,
                call(
                    10,
                    {semconv.PERMISSION_DECISION: "reject", semconv.PERMISSION_SOURCE: by},
                    status=Status.CANCELLED,
                ),
            ],
            [(kind, TERMINAL)],
        )
        for by, kind in (
            ("config", "tool/permission"),
            ("hook", "hook/blocked"),
            ("user_reject", "user/rejection"),
            ("user_abort", "user/interrupt"),
        )
    },
    "a call that was cancelled, and not by a decision": ([TURN, call(10, {}, status=Status.CANCELLED)], []),
    # Nobody's
    "a call that was cancelled with a sibling": (
        [TURN, call(10, {semconv.ERROR_TEXT: "<tool_use_error>Sibling tool call errored</tool_use_error>"})],
        [("tool/sibling_cancelled", TERMINAL)],
    ),
    "a call to a server": ([TURN, call(10, {semconv.ERROR_TEXT: "no such branch"}, name="mcp__git__log")], [("mcp/call", TERMINAL)]),
    # Answers that are none
    "an answer that ran into its limit": (
        [TURN, answer(1, attributes={semconv.RESPONSE_ID: "msg_1", semconv.STOP_REASON: "max_tokens"})],
        [("model/max_output_tokens", TERMINAL)],
    ),
    "an answer that was cut": (
        [TURN, answer(1, attributes={semconv.RESPONSE_ID: "m", semconv.STREAM_CUT: "true"})],
        [("network/stream_cut", TERMINAL)],
    ),
    # Hooks and servers
    "a hook that failed and stopped nothing": ([TURN, hook(9, "error", "Stop")], [("hook/error", RECOVERED)]),
    "a hook that did its work": ([TURN, hook(9, "success")], []),
    "a server that failed": ([TURN, server(5, "failed")], [("mcp/connect", TERMINAL)]),
    "a server that failed and came back": ([TURN, server(5, "failed"), server(9, "connected")], [("mcp/connect", RECOVERED)]),
    "a server that failed after it was connected": ([TURN, server(5, "connected"), server(9, "failed")], [("mcp/connect", TERMINAL)]),
    "a model that went on helps no server": ([TURN, server(5, "failed"), answer(10)], [("mcp/connect", TERMINAL)]),
    "a server that failed again and again": ([TURN, server(5, "failed"), server(9, "failed")], [("mcp/connect", TERMINAL)]),
    "two servers": ([TURN, server(5, "failed"), server(6, "failed", "other")], [("mcp/connect", TERMINAL)] * 2),
    # Witnesses without a common key
    "two witnesses of one hook": (
        [TURN, hook(9, "error", "Stop"), hook(9, "error", "Stop", "uuid", source=Source.TRANSCRIPT)],
        [("hook/error", RECOVERED)],
    ),
    "one witness of two hooks": ([TURN, hook(9, "error", "Stop"), hook(9, "error", "Stop", "other")], [("hook/error", RECOVERED)] * 2),
    "two witnesses of two hooks at different times": (
        [TURN, hook(9, "error", "Stop"), hook(20, "error", "Stop", "uuid", source=Source.TRANSCRIPT)],
        [("hook/error", RECOVERED)] * 2,
    ),
    "two witnesses of a request without an answer": (
        [TURN, failed(10, TOO_LONG, key="span:1"), failed(10, TOO_LONG, key="uuid", source=Source.TRANSCRIPT)],
        [("prompt_too_long/prompt_too_long", TERMINAL)],
    ),
}


@pytest.fixture(scope="module")
def found() -> dict[str, list[Failure]]:
    found: dict[str, list[Failure]] = {name: [] for name in CASES}
    with memory_store(in_one_store({name: spans for name, (spans, _) in CASES.items()})) as store:
        for failure in failures(store):
            found[failure.session_id].append(failure)
    return found


@pytest.mark.parametrize("name", CASES)
def test_each_failure_is_told_once_with_its_outcome(name: str, found: dict[str, list[Failure]]) -> None:
    assert [(f"{failure.family}/{failure.kind}", failure.recovered) for failure in found[name]] == CASES[name][1]


def test_a_chain_says_how_many_attempts_failed_of_what_and_what_they_cost(found: dict[str, list[Failure]]) -> None:
    (failure,) = found["the commonest kind names a mixed chain"]
    assert (failure.attempts, failure.causes) == (3, "overloaded x2, reset x1")
    # From the first attempt's start at 1 s to the last one's end at 6 s, and the second of waiting after it.
    assert failure.lost_ns == 6 * SECOND
    assert (failure.key.split()[0], failure.boundary, failure.turn_key) == ("req_1", "request_attempt", f"turn in {failure.session_id}")


def test_a_chain_says_how_long_the_client_slept(found: dict[str, list[Failure]]) -> None:
    (failure,) = found["the commonest kind names a mixed chain"]
    assert failure.waited_ns == 3 * SECOND  # as announced
    (seen,) = found["waits that were seen"]
    assert (seen.waited_ns, seen.lost_ns) == (2 * SECOND + 5, 5 * SECOND + 2)


@pytest.mark.parametrize(
    ("name", "futile"),
    [
        ("retries that could not help", 2),
        ("a retry after another failure", 0),
        ("retries that a gateway's return would help", 0),
        ("the commonest kind names a mixed chain", 0),
    ],
)
def test_retries_that_could_not_help_are_called_out(name: str, futile: int, found: dict[str, list[Failure]]) -> None:
    (failure,) = found[name]
    assert failure.futile_retries == futile
    assert ("could not help" in failure.evidence) is bool(futile)


@pytest.mark.parametrize(
    ("name", "futile"),
    [
        ("a prompt that stayed too long", [0, 1]),
        ("a prompt that was too long twice, and fitted in between", [0, 0]),
        ("two servers' errors in a row", [0, 0]),
    ],
)
def test_asking_again_what_no_retry_cures_is_called_out_too(name: str, futile: list[int], found: dict[str, list[Failure]]) -> None:
    assert [failure.futile_retries for failure in found[name]] == futile
    assert ["could not help" in failure.evidence for failure in found[name]] == [bool(number) for number in futile]


def test_of_kinds_that_are_as_frequent_the_one_that_took_longest_names_the_chain(found: dict[str, list[Failure]]) -> None:
    (failure,) = found["two kinds, as frequent"]
    assert (failure.kind, failure.causes) == ("overloaded", "reset x1, overloaded x1")
    assert failure.evidence == "reset x1, overloaded x1; HTTP 529"


def test_what_is_nobodys_failure_is_not_counted(found: dict[str, list[Failure]]) -> None:
    uncounted = {f"{one.family}/{one.kind}" for failures in found.values() for one in failures if not one.counted}
    counted = {f"{one.family}/{one.kind}" for failures in found.values() for one in failures if one.counted}
    assert uncounted == {"user/interrupt", "user/rejection", "hook/blocked", "tool/sibling_cancelled"}
    assert not uncounted & counted


def test_a_failure_names_its_tool_server_and_model(found: dict[str, list[Failure]]) -> None:
    named = {name: (one.tool, one.server, one.model) for name, failures in found.items() for one in failures}
    assert named["a tool that failed, and the model went on"] == ("Bash", None, None)
    assert named["a call to a server"] == ("mcp__git__log", "git", None)
    assert named["a call that only a tap saw"] == ("Bash", None, None)
    assert named["a server that failed"] == (None, "tracker", None)
    assert named["attempts before giving up"] == (None, None, "model")


def test_a_request_that_was_given_up_counts_its_last_attempt_too(found: dict[str, list[Failure]]) -> None:
    (failure,) = found["attempts before giving up"]
    assert (failure.attempts, failure.causes, failure.boundary) == (2, "overloaded x2", "model_request")


def test_what_is_no_request_has_no_attempts(found: dict[str, list[Failure]]) -> None:
    (failure,) = found["a tool that failed, and the model went on"]
    assert (failure.attempts, failure.causes, failure.lost_ns, failure.name, failure.end_ns) == (0, "", 0, "Bash", 10 * SECOND)


def test_witnesses_of_one_event_are_all_named(found: dict[str, list[Failure]]) -> None:
    (failure,) = found["two witnesses of one hook"]
    assert failure.witnesses == "otel,transcript"


def test_a_failure_counts_by_its_end() -> None:
    spans = [TURN, call(10, EXIT_1)]
    bounds: list[tuple[Scope, int]] = [
        (Scope(), 1),
        (Scope(since_ns=10 * SECOND), 1),
        (Scope(since_ns=10 * SECOND + 1), 0),
        (Scope(until_ns=10 * SECOND), 0),
        (Scope(session_id="another"), 0),
    ]
    with memory_store(spans) as store:
        assert [len(failures(store, scope)) for scope, _ in bounds] == [count for _, count in bounds]
