"""Which sessions there are, and what counts in them."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.analysis.cases import in_one_store
from tracekit.analysis.scope import Scope
from tracekit.analysis.sessions import Session, sessions
from tracekit.model import Boundary, Source, Span, Status, semconv
from tracekit.testing import memory_store, request, span, tool, turn

BY_TRANSCRIPT: dict[str, Any] = {"source": Source.TRANSCRIPT}


def ask(*spans: Span, scope: Scope | None = None) -> list[Session]:
    with memory_store(spans) as store:
        return list(sessions(store, scope or Scope()))


def used(**tokens: int) -> dict[str, Any]:
    names = {
        "input": semconv.INPUT_TOKENS,
        "output": semconv.OUTPUT_TOKENS,
        "read": semconv.CACHE_READ_TOKENS,
        "written": semconv.CACHE_WRITE_TOKENS,
    }
    return {names[name]: count for name, count in tokens.items()}


def message(key: str, **tokens: int) -> Span:
    return request(0, 10, key=f"req_{key}", attributes={semconv.RESPONSE_ID: f"msg_{key}"} | used(**tokens), **BY_TRANSCRIPT)


def called(end_ns: int | None = 60, *, ready_ns: int = 20, size: int | None = 1, key: str = "toolu_1", **fields: Any) -> Span:
    said = {} if size is None else {semconv.TOOL_RESULT_SIZE: size}
    named: dict[str, Any] = {"name": "Bash", "parent_key": "req_1", "attributes": said, **BY_TRANSCRIPT}
    return span(Boundary.TOOL_SCHEDULE, key, ready_ns, end_ns, **named | fields)


def test_an_empty_store_has_no_sessions() -> None:
    assert ask() == []


def test_sessions_come_the_latest_first() -> None:
    found = ask(turn(0, 10, session_id="old"), turn(50, 60, key="t2", session_id="new"))
    assert [session.session_id for session in found] == ["new", "old"]


def blocks(*ends_ns: int) -> list[Span]:
    return [span(Boundary.STREAM_EVENT, f"msg_1#{end}", 0, end, parent_key="req_1", **BY_TRANSCRIPT) for end in ends_ns]


def mirrored(one: Span) -> Span:
    return one._replace(source=Source.PROGRESS, agent_id="a1")


def attempt(number: int, status: Status) -> Span:
    return span(Boundary.REQUEST_ATTEMPT, f"req_1~{number}", 0, 1, status=status)


WITNESSES = (Source.TRANSCRIPT, Source.GATEWAY, Source.INSTRUMENT, Source.HOOKS, Source.STREAM_JSON, Source.OTEL)
MIRRORED = [mirrored(message("m", output=10)), mirrored(called()), mirrored(turn(0, 9, key="task"))]
CASES: dict[str, tuple[list[Span], dict[str, Any]]] = {
    "it lasts from the first to the last thing seen": (
        [turn(0, 100), turn(500, 600, key="turn_2")],
        {"start_ns": 0, "last_ns": 600, "turns": 2, "active_ns": 200},
    ),
    "what the client says of the whole session is no turn": (
        [turn(0, 100), span(Boundary.SESSION, "session", 0, 900, attributes={semconv.COST_USD: 0.5})],
        {"turns": 1, "active_ns": 100},
    ),
    "an open turn that one witness saw longer than the other": (
        [
            turn(50, None, attributes={semconv.LAST_SEEN_NS: 90}, **BY_TRANSCRIPT),
            turn(0, None, start_slack_ns=40, attributes={semconv.LAST_SEEN_NS: 40}),
        ],
        {"active_ns": 40},
    ),
    "an open turn is active up to what was last seen": (
        [turn(0, None, attributes={semconv.LAST_SEEN_NS: 70})],
        {"active_ns": 70, "turns": 1},
    ),
    "what the client says of itself": (
        [turn(0, 1, attributes={semconv.PROJECT: "/home/demo", semconv.CLIENT_VERSION: "2.1.39"})],
        {"project": "/home/demo", "client_version": "2.1.39"},
    ),
    "a client that was updated in between": (
        [
            turn(0, 10, key="a", attributes={semconv.CLIENT_VERSION: "2.1.9"}),
            turn(20, 30, key="b", attributes={semconv.CLIENT_VERSION: "2.1.39"}),
            turn(40, 50, key="c"),
        ],
        {"client_version": "2.1.39"},
    ),
    "nothing said of itself": ([request(0, 10)], {"project": None, "client_version": None, "turns": 0, "messages": 0}),
    "agents are counted once and their turns are not the user's": (
        [
            turn(0, 100),
            turn(10, 50, key="task", agent_id="a1"),
            request(10, 20, agent_id="a1"),
            request(0, 5, key="req_2", agent_id="a2"),
        ],
        {"turns": 1, "agents": 2, "active_ns": 100},
    ),
    "messages and tokens add up": (
        [message("1", input=1, output=10, read=100, written=1000), message("2", input=2, output=20, read=200, written=2000)],
        {"messages": 2, "input_tokens": 3, "output_tokens": 30, "cache_read_tokens": 300, "cache_write_tokens": 3000},
    ),
    "a request without an answer is no message": (
        [message("1", output=10), request(20, 30, key="req_2", status=Status.ERROR, attributes={semconv.GAVE_UP: True})],
        {"messages": 1, "api_error_messages": 1},
    ),
    "two witnesses of one message": (
        [message("1", output=10), message("1", output=10)._replace(source=Source.OTEL)],
        {"messages": 1, "output_tokens": 10, "witnesses": "otel,transcript"},
    ),
    "calls that were answered, that were not, and that failed": (
        [called(), called(None, size=None, key="toolu_2"), called(key="toolu_3", status=Status.ERROR)],
        {"tool_calls": 3, "tool_unanswered": 1, "tool_errors": 1, "use_to_result_ns": 80},
    ),
    "a call that its turn's end closed": ([called(90, size=None)], {"tool_unanswered": 1, "use_to_result_ns": 0}),
    "a result before the last block": ([*blocks(20, 70), called(60)], {"results_before_last_block": 1}),
    "a result with the last block": ([*blocks(20, 70), called(70)], {"results_before_last_block": 0}),
    "both kinds of compaction": (
        [span(Boundary.COMPACTION, name, 0, 1, name=name) for name in ("compact", "microcompact")],
        {"compactions": 1, "microcompactions": 1},
    ),
    "a compaction that only telemetry saw": (
        [span(Boundary.COMPACTION, "compaction@9", 0, 9, name="manual", attributes={semconv.COMPACTION_KIND: "full"})],
        {"compactions": 1, "microcompactions": 0},
    ),
    "a compaction that telemetry and the transcript saw": (
        [
            span(Boundary.COMPACTION, "compaction@9", 0, 9, name="manual", attributes={semconv.COMPACTION_KIND: "full"}),
            span(Boundary.COMPACTION, "uuid", 0, 8, name="compact", attributes={semconv.COMPACTION_KIND: "full"}, **BY_TRANSCRIPT),
        ],
        {"compactions": 1, "microcompactions": 0},
    ),
    "attempts that failed and others": ([attempt(1, Status.ERROR), attempt(2, Status.UNSET)], {"api_errors": 1}),
    "interrupts of all turns": (
        [turn(0, 1, attributes={semconv.INTERRUPTS: 2}), turn(2, 3, key="turn_2", attributes={semconv.INTERRUPTS: 1})],
        {"interrupts": 3},
    ),
    "what only a mirror shows": (
        [turn(0, 100, **BY_TRANSCRIPT), *MIRRORED],
        {"messages": 0, "output_tokens": 0, "tool_calls": 0, "turns": 1, "active_ns": 100},
    ),
    "witnesses are named best first": (
        [turn(0, 1, source=source) for source in WITNESSES],
        {"witnesses": "gateway,instrument,otel,hooks,stream_json,transcript"},
    ),
    "a call of the test builder": ([turn(0, 100), *tool(20, 20, 60)], {"tool_calls": 1, "tool_unanswered": 0, "use_to_result_ns": 40}),
}


@pytest.fixture(scope="module")
def found() -> dict[str, Session]:
    with memory_store(in_one_store({name: spans for name, (spans, _) in CASES.items()})) as store:
        return {session.session_id: session for session in sessions(store)}


@pytest.mark.parametrize("name", CASES)
def test_a_session_counts_what_is_in_it(name: str, found: dict[str, Session]) -> None:
    expected = CASES[name][1]
    assert {field: value for field, value in found[name].as_row().items() if field in expected} == expected


def test_a_forks_copies_count_in_the_session_that_made_them() -> None:
    both = [message("1", output=10), called()]
    fork = [one._replace(session_id="fork") for one in both] + [turn(500, 600, key="prompt", session_id="fork", **BY_TRANSCRIPT)]
    found = {session.session_id: session for session in _in_two_files([turn(-5, 0, **BY_TRANSCRIPT), *both], fork)}
    assert (found["session"].messages, found["session"].tool_calls) == (1, 1)
    assert (found["fork"].messages, found["fork"].tool_calls, found["fork"].start_ns) == (0, 0, 500)


def _in_two_files(*files: Iterable[Span]) -> list[Session]:
    with memory_store(*files) as store:
        return list(sessions(store))


def test_sessions_count_by_their_start_and_by_their_project() -> None:
    spans = [
        turn(0, 10, session_id="one", attributes={semconv.PROJECT: "/home/demo/Harbour"}),
        turn(50, 60, key="t2", session_id="two", attributes={semconv.PROJECT: "/home/demo/tides"}),
        turn(70, 80, key="t3", session_id="nameless"),
    ]
    bounds: list[tuple[Scope, list[str]]] = [
        (Scope(session_id="one"), ["one"]),
        (Scope(since_ns=50), ["nameless", "two"]),
        (Scope(until_ns=50), ["one"]),
        (Scope(project="harbour"), ["one"]),
        (Scope(project="%"), []),
    ]
    with memory_store(spans) as store:
        assert [[session.session_id for session in sessions(store, scope)] for scope, _ in bounds] == [ids for _, ids in bounds]
