"""What may have run: each call of which the protocol does not say so, and whether it was called again."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.cases import in_one_store
from tracekit.analysis.scope import Scope
from tracekit.analysis.side_effects import STILL_RUNNING_NS, SideEffect, side_effects
from tracekit.ingest import import_paths
from tracekit.model import Boundary, Source, Span, Status, semconv
from tracekit.store import open_store
from tracekit.testing import memory_store, request, span, tool, turn

SECOND = 1_000_000_000
LATER = 1_000 * SECOND
TURN = turn(0, 100 * SECOND)
STOPPED = "The user doesn't want to proceed with this tool use. This call was stopped while running, not refused before it ran."
NO = {semconv.ERROR_TEXT: "The user doesn't want to proceed with this tool use.", semconv.DENIAL_KIND: "user-rejected"}
SIBLING = {semconv.ERROR_TEXT: "<tool_use_error>Sibling tool call errored</tool_use_error>"}
TIMED_OUT = {semconv.ERROR_TEXT: "Exit code 143\nCommand timed out after 2m 0s", semconv.EXIT_CODE: 143}
CUT = {semconv.RESPONSE_ID: "msg_1", semconv.STREAM_CUT: "connection_failed"}
ANSWERED = {semconv.TOOL_RESULT_SIZE: 12}


def ran(said: dict[str, Any] | None = None, status: Status = Status.ERROR, end_s: int | None = 10, **fields: Any) -> list[Span]:
    """A call that was seen to run."""
    end_ns = None if end_s is None else end_s * SECOND
    return tool(5 * SECOND, 6 * SECOND, end_ns, status=status, attributes=digested(said or {}), **fields)


def refused(said: dict[str, Any], **fields: Any) -> list[Span]:
    """A call of which nobody saw the tool begin."""
    return ran(said, **fields)[:1]


def digested(said: dict[str, Any], digest: str = "d1") -> dict[str, Any]:
    return {semconv.TOOL_INPUT_DIGEST: digest, **said}


def again(digest: str = "d1", **fields: Any) -> list[Span]:
    known: dict[str, Any] = {"key": "toolu_2", "issued_by": "req_2", "attributes": digested({}, digest)}
    return tool(20 * SECOND, 21 * SECOND, 25 * SECOND, **known | fields)


def mcp(text: str) -> list[Span]:
    return refused({semconv.ERROR_TEXT: text}, name="mcp__shop__buy")


CASES: dict[str, tuple[list[Span], list[str]]] = {
    "a call that ended well": (ran(status=Status.OK), []),
    "a call that failed by itself": (ran({semconv.ERROR_TEXT: "Exit code 1", semconv.EXIT_CODE: 1}), []),
    "a result that was thrown away": (
        refused({semconv.ERROR_TEXT: "<tool_use_error>Error: Streaming fallback - tool execution discarded</tool_use_error>"}),
        ["its result was thrown away or never written"],
    ),
    "a placeholder that a resume wrote": (
        refused({semconv.ERROR_TEXT: "no result", semconv.DENIAL_KIND: "interrupted"}),
        ["its result was thrown away or never written"],
    ),
    "an interrupt while it ran": (ran({semconv.ERROR_TEXT: STOPPED}), ["it was interrupted while it ran"]),
    "an interrupt of a call that never ran": (refused({semconv.ERROR_TEXT: "[Request interrupted by user for tool use]"}), []),
    "a call that ended as cancelled": (ran(status=Status.CANCELLED), ["it was stopped while it ran"]),
    "a person's no": (refused(NO), []),
    "a person's no to a call that was seen to run": (ran(NO), ["it is called rejected, and was seen to run"]),
    "a sibling of a failed call": (refused(SIBLING), []),
    "a sibling that ran": (ran(SIBLING), ["it was cancelled with another call while it ran"]),
    "a command that was killed": (ran(TIMED_OUT), ["it was killed after its timeout"]),
    "a call that was turned down, whatever its status says": (
        ran({semconv.ERROR_TEXT: "<tool_use_error>File does not exist.</tool_use_error>"}, Status.CANCELLED),
        [],
    ),
    "a server that did not answer in time": (
        mcp("MCP error -32001: Request timed out"),
        ["the server did not answer while it was at work"],
    ),
    "a server that went away": (mcp("MCP error -32000: Connection closed"), ["the server did not answer while it was at work"]),
    "a server whose answer was too large": (
        mcp('MCP tool "buy" response (90000 tokens) exceeds maximum allowed tokens (25000).'),
        ["it ran, and its answer was too large to be given back"],
    ),
    "a server that said no": (mcp("MCP error -32602: no such shop"), []),
    "a server that lost the session": (mcp('{"error": "Session not found"}'), []),
    "a message that was cut while its tool ran": (
        [request(0, 9 * SECOND, status=Status.ERROR, attributes=CUT), *ran(status=Status.OK)],
        ["its message was cut while it ran"],
    ),
    "a message that was cut, and the result was kept": (
        [request(0, 9 * SECOND, status=Status.ERROR, attributes=CUT), *ran(ANSWERED, Status.OK)],
        [],
    ),
    "a message that was cut before its tool ran": (
        [request(0, 9 * SECOND, status=Status.ERROR, attributes=CUT), *ran(status=Status.OK)[:1]],
        [],
    ),
    "a client that went away while a tool ran": (ran(status=Status.UNSET, end_s=None), ["the client was not seen again while it ran"]),
    "a client that went away while a person was asked": (ran(status=Status.UNSET, end_s=None)[:1], []),
    "an open call that its agent did not wait for": (
        [*ran(status=Status.UNSET, end_s=None), request(30 * SECOND, 31 * SECOND, key="req_3")],
        ["no result of it was ever seen, and the session went on"],
    ),
    "an open call while a sub-agent goes on": (
        [*ran(status=Status.UNSET, end_s=None), request(30 * SECOND, 31 * SECOND, key="req_3", agent_id="a1")],
        ["the client was not seen again while it ran"],
    ),
    "a tool that changes nothing": (ran(TIMED_OUT, name="Read"), []),
    "a result whose call nobody saw": (
        [span(Boundary.TOOL_EXECUTION, "toolu_1", 0, 9, name="unknown", status=Status.ERROR, attributes=NO, source=Source.TRANSCRIPT)],
        [],
    ),
}


@pytest.fixture(scope="module")
def found() -> dict[str, list[SideEffect]]:
    found: dict[str, list[SideEffect]] = {name: [] for name in CASES}
    with memory_store(in_one_store({name: [TURN, *spans] for name, (spans, _) in CASES.items()})) as store:
        for effect in side_effects(store, as_of_ns=LATER + STILL_RUNNING_NS):
            found[effect.session_id].append(effect)
    return found


@pytest.mark.parametrize("name", CASES)
def test_calls_that_may_have_run_are_told_and_no_others(name: str, found: dict[str, list[SideEffect]]) -> None:
    assert [effect.reason for effect in found[name]] == CASES[name][1]


def test_a_call_says_what_it_is_and_who_saw_it(found: dict[str, list[SideEffect]]) -> None:
    (killed,) = found["a command that was killed"]
    assert (killed.tool, killed.key.split()[0], killed.ran, killed.witnesses) == ("Bash", "toolu_1", True, "otel")
    assert (killed.start_ns, killed.evidence) == (5 * SECOND, "Command timed out after 2m 0s")
    (unanswered,) = found["a server that went away"]
    assert unanswered.ran is None


@pytest.mark.parametrize(
    ("later", "repeated"),
    [
        (again(), "toolu_2"),
        ([*again(), *again(key="toolu_3")], "toolu_2"),
        (again("other arguments"), None),
        (again(name="Write"), None),
        (again(issued_by="req_1"), None),
        (tool(1, 2, 3, key="toolu_2", issued_by="req_0", attributes=digested({})), None),
    ],
    ids=["the same call", "twice", "other arguments", "another tool", "beside it in one message", "before it"],
)
def test_a_call_that_was_made_again_is_flagged(later: list[Span], repeated: str | None) -> None:
    with memory_store([TURN, *ran(TIMED_OUT), *later]) as store:
        (effect,) = side_effects(store)
    assert (effect.repeated, effect.repeat_key) == (repeated is not None, repeated)
    assert effect.repeat_ns == (20 * SECOND if repeated else None)


def test_an_open_call_of_a_session_that_was_just_seen_runs() -> None:
    with memory_store([turn(0, None), *ran(status=Status.UNSET, end_s=None)]) as store:
        assert not side_effects(store, as_of_ns=6 * SECOND + STILL_RUNNING_NS)
        assert len(side_effects(store, as_of_ns=6 * SECOND + STILL_RUNNING_NS + 1)) == 1


def test_calls_count_by_their_end() -> None:
    bounds = [(Scope(), 1), (Scope(since_ns=10 * SECOND), 1), (Scope(since_ns=10 * SECOND + 1), 0), (Scope("another"), 0)]
    with memory_store([TURN, *ran(TIMED_OUT)]) as store:
        assert [len(side_effects(store, scope)) for scope, _ in bounds] == [count for _, count in bounds]


# Played: a transcript as a client writes it -----------------------------------------------------------------------------


def written(folder: Path, *steps: tuple[str, str, dict[str, Any], str | None]) -> Path:
    """Write a session in which each step is a message with one call, `(id, tool, arguments, error)`, and its result."""
    lines: list[dict[str, Any]] = [_entry(0, "user", {"role": "user", "content": "go"}, promptId="p1")]
    for number, (key, name, arguments, error) in enumerate(steps, start=1):
        block = {"type": "tool_use", "id": key, "name": name, "input": arguments}
        message = {"id": f"msg_{number}", "role": "assistant", "model": "m", "content": [block], "stop_reason": "tool_use"}
        result = {"type": "tool_result", "tool_use_id": key, "content": error or "done", "is_error": error is not None}
        lines.append(_entry(10 * number, "assistant", message, requestId=f"req_{number}"))
        lines.append(_entry(10 * number + 5, "user", {"role": "user", "content": [result]}))
    last = {"id": "msg_99", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"}
    lines.append(_entry(500, "assistant", last, requestId="req_99"))
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def _entry(second: int, kind: str, message: dict[str, Any], **fields: Any) -> dict[str, Any]:
    stamp = f"2026-11-30T10:{second // 60:02}:{second % 60:02}.000Z"
    known = {"uuid": f"u{second}", "parentUuid": None, "sessionId": "played", "version": "2.1.200", "isSidechain": False}
    return known | {"type": kind, "timestamp": stamp, "message": message} | fields


@pytest.mark.parametrize(
    ("name", "error", "reason"),
    [
        ("Bash", "<tool_use_error>Error: Streaming fallback - tool execution discarded</tool_use_error>", "thrown away"),
        ("Bash", "Exit code 137\n[Request interrupted by user for tool use]", "interrupted while it ran"),
        ("Bash", "Exit code 143\nCommand timed out after 2m 0.0s", "killed after its timeout"),
        ("mcp__shop__buy", "MCP error -32001: Request timed out", "did not answer"),
        ("mcp__shop__buy", 'MCP tool "buy" response (94702 tokens) exceeds maximum allowed tokens (25000).', "too large"),
    ],
)
def test_a_call_that_a_transcript_shows_and_its_repetition_are_told(name: str, error: str, reason: str, tmp_path: Path) -> None:
    arguments = {"command": "make deploy"}
    steps = (("toolu_a", name, arguments, error), ("toolu_b", name, {"command": "other"}, None), ("toolu_c", name, arguments, None))
    database = str(tmp_path / "store.duckdb")
    import_paths([written(tmp_path, *steps)], database)
    with open_store(database) as store:
        (effect,) = side_effects(store)
    assert reason in effect.reason
    assert (effect.key, effect.repeated, effect.repeat_key, effect.request_key) == ("toolu_a", True, "toolu_c", "req_1")
