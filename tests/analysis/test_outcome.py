"""How a session came out: five layers, each for itself, and its end."""

from typing import Any

import pytest

from tests.analysis.cases import in_one_store
from tracekit.analysis.outcome import STILL_RUNNING_NS, Outcome, outcomes
from tracekit.analysis.scope import Scope
from tracekit.model import Boundary, Source, Span, Status, semconv
from tracekit.testing import memory_store, request, span, turn

SECOND = 1_000_000_000
LATER = 100 * SECOND + STILL_RUNNING_NS
TOO_LONG = {semconv.HTTP_STATUS: 400, semconv.ERROR_TEXT: "prompt is too long: 213456 tokens > 200000 maximum"}
EXIT_1 = {semconv.ERROR_TEXT: "Exit code 1", semconv.EXIT_CODE: 1}
NO = {semconv.ERROR_TEXT: "The user doesn't want to proceed with this tool use.", semconv.DENIAL_KIND: "user-rejected"}


def asked(start_s: int = 0, end_s: int | None = 50, **fields: Any) -> Span:
    return turn(start_s * SECOND, None if end_s is None else end_s * SECOND, **fields)


def answer(start_s: int, end_s: int | None, stop: str | None = "end_turn", **fields: Any) -> Span:
    said = {semconv.RESPONSE_ID: f"msg_{start_s}"} | ({semconv.STOP_REASON: stop} if stop else {})
    known: dict[str, Any] = {"key": f"req_{start_s}", "status": Status.OK, "attributes": said, "source": Source.STREAM_JSON}
    return request(start_s * SECOND, None if end_s is None else end_s * SECOND, **known | fields)


def call(start_s: int, end_s: int | None, said: dict[str, Any] | None = None, **fields: Any) -> Span:
    status = Status.UNSET if end_s is None else Status.ERROR if said else Status.OK
    end_ns = None if end_s is None else end_s * SECOND
    known: dict[str, Any] = {"name": "Bash", "status": status, "attributes": said or {}}
    return span(Boundary.TOOL_SCHEDULE, f"toolu_{start_s}", start_s * SECOND, end_ns, **known | fields)


def session(end_s: int | None = 60, **said: Any) -> Span:
    attributes = {getattr(semconv, name.upper()): value for name, value in said.items()}
    return span(Boundary.SESSION, "session", 0, None if end_s is None else end_s * SECOND, attributes=attributes)


def hook(outcome: str) -> Span:
    return span(Boundary.HOOK_REPLY, "run", 0, 5, name="Stop", attributes={semconv.HOOK_OUTCOME: outcome, semconv.HOOK_EVENT: "Stop"})


ENDS: dict[str, tuple[list[Span], str, str]] = {
    "an answer": ([asked(), answer(1, 9)], "finished", "stop reason end_turn"),
    "an answer without a reason": ([asked(), answer(1, 9, None)], "finished", "the last request was answered"),
    "a tool and then an answer": ([asked(), answer(1, 5, "tool_use"), call(5, 9), answer(10, 12)], "finished", "stop reason end_turn"),
    "an answer while a sub-agent's call is open": (
        [asked(), answer(1, 9), call(3, None, agent_id="a1")],
        "finished",
        "stop reason end_turn",
    ),
    "an answer at its limit": ([asked(), answer(1, 9, "max_tokens")], "truncated", "stop reason max_tokens"),
    "an answer at the end of the window": (
        [asked(), answer(1, 9, "model_context_window_exceeded")],
        "truncated",
        "stop reason model_context_window_exceeded",
    ),
    "an answer that broke off": (
        [asked(), answer(1, 9, attributes={semconv.RESPONSE_ID: "m", semconv.STREAM_CUT: "stale"}, status=Status.ERROR)],
        "truncated",
        "the last answer ended without message_stop: stale",
    ),
    "an answer that broke off, and was taken up": (
        [asked(), answer(1, 5, attributes={semconv.RESPONSE_ID: "m", semconv.STREAM_CUT: "true"}), answer(6, 9)],
        "finished",
        "stop reason end_turn",
    ),
    "turns that ran out": ([asked(), answer(1, 9), session(result_subtype="error_max_turns")], "truncated", "result error_max_turns"),
    "a request that was never answered": ([asked(0, None), answer(1, None)], "lost", "the last request was never answered"),
    "a request that was refused": (
        [asked(), answer(1, 9, status=Status.ERROR, attributes=TOO_LONG)],
        "lost",
        "the last request failed: prompt_too_long/prompt_too_long",
    ),
    "a request that was given up": (
        [asked(), answer(1, 9, status=Status.ERROR, attributes={semconv.HTTP_STATUS: 529, semconv.GAVE_UP: True})],
        "lost",
        "the client gave up on the last request: network/overloaded",
    ),
    "a result that is an error": (
        [asked(), answer(1, 9), session(result_subtype="success", result_is_error=True, terminal_reason="image_error")],
        "lost",
        "the result is an error: image_error",
    ),
    "an interrupt": (
        [asked(status=Status.CANCELLED, attributes={semconv.INTERRUPTS: 1, semconv.INTERRUPTED: "streaming"}), answer(1, 9)],
        "interrupted",
        "interrupted by the user during streaming",
    ),
    "an interrupt, and another turn": (
        [
            asked(status=Status.CANCELLED, attributes={semconv.INTERRUPTS: 1, semconv.INTERRUPTED: "streaming"}),
            asked(51, 60, key="turn_2"),
            answer(52, 59, parent_key="turn_2"),
        ],
        "finished",
        "stop reason end_turn",
    ),
    "an interrupt that the result tells": (
        [asked(), answer(1, 9), session(terminal_reason="aborted_tools", result_is_error=True)],
        "interrupted",
        "terminal reason aborted_tools",
    ),
    "a person's no": (
        [asked(), answer(1, 5, "tool_use"), call(5, 9, NO)],
        "interrupted",
        "the last call was stopped or turned down by a person",
    ),
    "a person's no, and the model went on": (
        [asked(), answer(1, 5, "tool_use"), call(5, 9, NO), answer(10, 12)],
        "finished",
        "stop reason end_turn",
    ),
    "a tool that never came back": (
        [asked(0, None), answer(1, 5, "tool_use"), call(5, None)],
        "exited mid-task",
        "a tool was running, and nothing was seen after it",
    ),
    "a tool's result that nobody took up": (
        [asked(), answer(1, 5, "tool_use"), call(5, 9)],
        "exited mid-task",
        "the last thing is a tool's result, with no request after it",
    ),
    "a tool's result that came before its message ended": (
        [asked(), answer(1, 9, "tool_use"), call(3, 5)],
        "exited mid-task",
        "the last answer asks for a tool, and no request followed",
    ),
    "a call of an earlier turn that never came back": (
        [asked(), call(5, None), asked(51, 60, key="turn_2"), answer(52, 59, parent_key="turn_2")],
        "finished",
        "stop reason end_turn",
    ),
    "nothing of the main agent": ([request(0, 9, agent_id="a1")], "unknown", "no turn and no request was seen"),
    "a turn without a request": ([asked()], "unknown", "no request was seen"),
    "a result, and no request": ([asked(), session(result_subtype="success", result_is_error=False)], "finished", "result success"),
}


@pytest.fixture(scope="module")
def ended() -> dict[str, Outcome]:
    with memory_store(in_one_store({name: spans for name, (spans, _, _) in ENDS.items()})) as store:
        return {one.session_id: one for one in outcomes(store, as_of_ns=LATER)}


@pytest.mark.parametrize("name", ENDS)
def test_the_last_thing_says_how_a_session_ended(name: str, ended: dict[str, Outcome]) -> None:
    assert (ended[name].end, ended[name].why) == ENDS[name][1:]


@pytest.mark.parametrize(
    "name", ["a request that was never answered", "a tool that never came back", "a tool's result that nobody took up"]
)
def test_what_was_seen_a_moment_ago_runs_unless_its_client_ended(name: str) -> None:
    spans = ENDS[name][0]
    with memory_store([*spans]) as store:
        (just_seen,) = outcomes(store, as_of_ns=50 * SECOND)
    with memory_store([*spans, session(50)]) as store:
        (closed,) = outcomes(store, as_of_ns=50 * SECOND)
    assert (just_seen.end, closed.end) == ("running", ENDS[name][1])


LAYERS: dict[str, tuple[list[Span], dict[str, str]]] = {
    "all is well": (
        [asked(), answer(1, 5, "tool_use"), call(5, 9), answer(10, 12)],
        {"transport": "whole", "protocol": "conformed", "tool": "succeeded", "response": "closed", "business": "unknown"},
    ),
    "an answer that only telemetry saw": (
        [asked(), answer(1, 9)._replace(source=Source.OTEL)],
        {"transport": "unknown", "response": "closed"},
    ),
    "no tools": ([asked(), answer(1, 5)], {"tool": "none", "protocol": "conformed"}),
    "a tool failed, and the model went on": (
        [asked(), answer(1, 5, "tool_use"), call(5, 9, EXIT_1), answer(10, 12)],
        {"tool": "mended", "protocol": "conformed", "response": "closed", "transport": "whole"},
    ),
    "a tool failed, and nothing came after": (
        [asked(), answer(1, 5, "tool_use"), call(5, 9, EXIT_1)],
        {"tool": "failed", "response": "missing", "transport": "whole"},
    ),
    "a person's no is no failed tool": ([asked(), answer(1, 5, "tool_use"), call(5, 9, NO), answer(10, 12)], {"tool": "succeeded"}),
    "a request that failed, and one that was answered": (
        [asked(), answer(1, 5, status=Status.ERROR, attributes={semconv.HTTP_STATUS: 500}), answer(6, 9)],
        {"transport": "mended", "response": "closed"},
    ),
    "an answer that broke off": (
        [asked(), answer(1, 9, attributes={semconv.RESPONSE_ID: "m", semconv.STREAM_CUT: "true"})],
        {"transport": "broken", "response": "missing"},
    ),
    "a refused request is no trouble of a tool": (
        [asked(), answer(1, 9, status=Status.ERROR, attributes=TOO_LONG)],
        {"transport": "broken", "tool": "none", "response": "missing"},
    ),
    "a hook that said no": ([asked(), answer(1, 9), hook("blocking")], {"protocol": "conformed"}),
    "a hook that broke": ([asked(), answer(1, 9), hook("error")], {"protocol": "broken", "response": "closed"}),
    "a call without a reply": ([asked(0, None), answer(1, 5, "tool_use"), call(5, None)], {"protocol": "broken", "transport": "whole"}),
    "a result that is an error": (
        [asked(), answer(1, 9), session(result_subtype="success", result_is_error=True)],
        {"response": "error", "transport": "whole", "tool": "none"},
    ),
    "somebody verified the work": ([asked(), answer(1, 9), session(verified="pass")], {"business": "pass", "response": "closed"}),
    "somebody found it wrong": ([asked(), answer(1, 9), session(verified="fail")], {"business": "fail", "response": "closed"}),
    "nothing was asked of a model": ([asked()], {"transport": "unknown", "protocol": "unknown", "response": "unknown"}),
}


@pytest.fixture(scope="module")
def layered() -> dict[str, Outcome]:
    with memory_store(in_one_store({name: spans for name, (spans, _) in LAYERS.items()})) as store:
        return {one.session_id: one for one in outcomes(store, as_of_ns=LATER)}


@pytest.mark.parametrize("name", LAYERS)
def test_each_layer_says_its_own(name: str, layered: dict[str, Outcome]) -> None:
    expected = LAYERS[name][1]
    assert {layer: getattr(layered[name], layer) for layer in expected} == expected


def test_numbers_stand_beside_the_words() -> None:
    spans = [
        asked(),
        answer(1, 5, "tool_use"),
        call(5, 9, EXIT_1),
        call(6, 9, NO),
        call(7, None),
        session(verified="pass", verified_evidence="CI"),
    ]
    with memory_store(spans) as store:
        (one,) = outcomes(store, as_of_ns=LATER)
    assert (one.requests, one.calls, one.failed_calls, one.unanswered_calls, one.verified_by) == (1, 3, 1, 1, "CI")


def test_a_session_counts_by_its_start_and_the_latest_comes_first() -> None:
    first = [asked(), answer(1, 5)]
    second = [
        one._replace(session_id="two", key=f"{one.key}-two", start_ns=one.start_ns + 500 * SECOND, end_ns=600 * SECOND) for one in first
    ]
    with memory_store([*first, *second]) as store:
        assert [one.session_id for one in outcomes(store)] == ["two", "session"]
        assert [one.session_id for one in outcomes(store, Scope(since_ns=400 * SECOND))] == ["two"]
        assert [one.session_id for one in outcomes(store, Scope("session"))] == ["session"]


def test_a_mirror_of_a_sub_agent_is_no_witness_of_the_session() -> None:
    mirrored = answer(1, None, source=Source.PROGRESS, agent_id=None, key="req_9")
    with memory_store([asked(), answer(1, 5), mirrored]) as store:
        assert [one.end for one in outcomes(store)] == ["finished"]
