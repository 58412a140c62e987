"""One client as its transport sees it, without the SDK: its lines, its sessions, and its responses, each at its time."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.instrument.conftest import World
from tests.instrument.sdk.client_world import CALL, S1, Client, Line, hook, may_use, result, system, tool_call
from tracekit.analysis.stuck import stuck
from tracekit.ingest import import_paths
from tracekit.store import open_store


@pytest.fixture
def client(world: World) -> Client:
    return Client(world)


def turns(world: World) -> list[tuple[str, int, int, str]]:
    return [(row["key"], row["start_ns"], row["end_ns"], row["status"]) for row in world.closed("turn")]


def lines(world: World) -> list[Line]:
    (file,) = world.spool.glob("claude-agent-*.spool.jsonl")
    return [json.loads(line) for line in file.read_text(encoding="ascii").splitlines()]


# Lines


def test_every_line_passes_as_it_is_and_is_kept_with_its_arrival(world: World, client: Client) -> None:
    unknown = {"type": "tool_use_summary", "session_id": S1, "extra": 7, "summary": "secret plans"}
    said = [system("init", cwd="/p", claude_code_version="2.1.332"), unknown, result(ttft_ms=210)]
    for line in said:
        client.says(line)
    got = client.run()
    assert all(one is other for one, other in zip(got, said, strict=True))
    assert [line["arrival_ns"] for line in lines(world)] == [1_010, 1_020, 1_030]
    assert lines(world)[0]["line"] == said[0]
    assert lines(world)[1]["line"]["extra"] == 7
    assert lines(world)[2]["line"]["ttft_ms"] == 210
    assert "secret plans" not in json.dumps(lines(world))


def test_what_passes_on_the_control_channel_is_not_among_the_lines(world: World, client: Client) -> None:
    client.says(system("init")).says({"type": "control_response", "response": {"request_id": "1", "response": {"secret": "plans"}}})
    client.says(hook("h1", tool_input={"command": "plans"})).says(may_use("p1")).run()
    kept = [line["line"] for line in lines(world)]
    assert [line["type"] for line in kept] == ["system", "control_request", "control_request"]
    assert "plans" not in json.dumps(kept)


def test_a_line_that_lay_unread_while_the_host_was_busy_says_for_how_long_at_most(world: World, client: Client) -> None:
    def busy(line: Line) -> None:
        if line.get("slow"):
            world.clock.advance(3_000_000_000)

    for after, slow in ((10, False), (10, True), (1_000, False), (1_000, False), (50_000_000, False), (1_000, False)):
        client.says(system("status", slow=slow), after=after)
    client.run(each=busy)
    assert [line.get("waited_ns") for line in lines(world)] == [None, None, 3_000_001_000, 3_000_002_000, None, None]


@pytest.mark.parametrize("content", [False, True])
def test_texts_are_kept_only_where_content_is_asked_for(content: bool, bare: World) -> None:  # noqa: FBT001  (a row of the table)
    bare.instrument(content=content)
    said = {
        "type": "assistant",
        "session_id": S1,
        "message": {"content": [{"type": "text", "text": "the plans, with sk-ant-abcdefghijkl"}]},
    }
    Client(bare).prompt().says(system("init")).says(said).says(result()).run()
    kept = json.dumps(lines(bare))
    assert ("the plans" in kept) is content
    assert "sk-ant" not in kept


def test_without_anybody_who_records_no_line_is_kept(bare: World) -> None:
    Client(bare).says(system("init")).says(result()).run()
    assert not bare.spool.exists()


def test_what_breaks_the_transport_reaches_the_host_as_it_is(client: Client) -> None:
    error = ValueError("exit code 1")
    client.says(system("init")).breaks(error)
    with pytest.raises(ValueError, match="exit code 1") as caught:
        client.run()
    assert caught.value is error


def test_a_host_that_stops_reading_closes_the_transports_own_iterator(client: Client) -> None:
    closed: list[bool] = []

    async def forever() -> AsyncIterator[Line]:
        try:
            while True:
                yield system("init")
        finally:
            closed.append(True)

    async def reading() -> None:
        got = client.wire.reading(forever())
        await anext(got)
        await got.aclose()

    asyncio.run(reading())
    assert closed == [True]


def test_an_error_of_ours_is_not_the_hosts(world: World, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEKIT_STRICT", "0")
    monkeypatch.setattr("tracekit.instrument.sdk.claude_agent.wire.kept", None)
    monkeypatch.setattr("tracekit.instrument.sdk.claude_agent.questions.HookCallback", None)
    client.prompt().says(system("init")).says(hook("h1")).answer("h1", {}).says(result())
    assert len(client.run()) == 3
    assert turns(world) == [("prompt-1", 1_010, 1_050, "ok")]


# Responses


def test_a_response_lasts_from_its_prompt_to_its_first_result(world: World, client: Client) -> None:
    client.prompt().says(system("init", cwd="/p", claude_code_version="2.1.332")).says(result()).run()
    row = world.one("turn")
    assert (row["key"], row["parent_key"], row["session_id"], row["name"]) == (f"turn:{S1}#1", S1, S1, "claude-code")
    assert (row["start_ns"], row["end_ns"], row["status"]) == (1_010, 1_030, "ok")
    assert row["attributes"] == {
        "gen_ai.agent.name": "claude-code",
        "gen_ai.operation.name": "invoke_agent",
        "tracekit.client.version": "2.1.332",
        "tracekit.project": "/p",
        "tracekit.result.is_error": "false",
        "tracekit.result.subtype": "success",
        "tracekit.result.terminal_reason": "completed",
        "tracekit.turn.kind": "prompt",
    }
    span = world.span("turn")
    assert (span.name, span.parent) == ("invoke_agent claude-code", world.span("session").context)


def test_a_complete_response_says_nothing_of_the_work(world: World, client: Client) -> None:
    client.prompt().says(result()).run()
    assert not any("verified" in name for name in world.one("turn")["attributes"] | world.one("session")["attributes"])


def test_a_line_after_the_result_is_the_next_responses(world: World, client: Client) -> None:
    client.prompt().says(system("init")).says(result()).prompt()
    client.says(system("session_state_changed", state="idle")).says(system("init")).says(result(is_error=True)).run()
    assert turns(world) == [(f"turn:{S1}#1", 1_010, 1_030, "ok"), (f"turn:{S1}#2", 1_040, 1_070, "error")]


def test_a_prompt_that_is_written_meanwhile_begins_when_the_one_before_is_over(world: World, client: Client) -> None:
    client.prompt().says(system("init")).prompt().says(result()).says(system("init")).says(result()).run()
    assert turns(world) == [(f"turn:{S1}#1", 1_010, 1_040, "ok"), (f"turn:{S1}#2", 1_040, 1_060, "ok")]


def test_a_prompt_that_the_client_took_into_the_running_turn_is_no_response(world: World, client: Client) -> None:
    client.prompt().says(system("init")).prompt().says(result()).says(system("session_state_changed", state="idle"))
    client.prompt(after=100).says(system("init")).says(result()).run()
    assert turns(world) == [(f"turn:{S1}#1", 1_010, 1_040, "ok"), (f"turn:{S1}#2", 1_150, 1_170, "ok")]


def test_a_response_that_nobody_asked_for_begins_with_its_first_line(world: World, client: Client) -> None:
    client.prompt().says(result()).says(system("task_notification")).says(system("init")).says(result()).run()
    assert turns(world)[1] == (f"turn:{S1}#2", 1_040, 1_050, "ok")
    assert [row["attributes"]["tracekit.turn.kind"] for row in world.closed("turn")] == ["prompt", "notification"]


def test_a_sub_agents_lines_begin_no_response(world: World, client: Client) -> None:
    client.prompt().says(result()).says({"type": "assistant", "session_id": S1, "parent_tool_use_id": CALL, "message": {}}).run()
    assert len(turns(world)) == 1


@pytest.mark.parametrize(
    ("told", "status", "kept"),
    [
        ({"subtype": "error_max_turns", "is_error": True, "errors": ["Reached maximum"]}, "error", "Reached maximum"),
        ({"is_error": True, "result": "API Error: 500 token=sk-ant-abcdefghijkl"}, "error", "API Error: 500 [secret]"),
        ({"is_error": True, "result": "x", "terminal_reason": "aborted_streaming"}, "cancelled", "x"),
    ],
)
def test_a_result_that_went_wrong_says_how(told: Line, status: str, kept: str, world: World, client: Client) -> None:
    client.prompt().says(result(**told)).run()
    row = world.one("turn")
    assert (row["status"], row["attributes"]["tracekit.error.text"]) == (status, kept)
    assert row["attributes"]["tracekit.result.is_error"] == "true"


def test_a_slash_command_is_one(world: World, client: Client) -> None:
    client.prompt("/compact").says(result()).run()
    assert world.one("turn")["attributes"]["tracekit.turn.kind"] == "command"


def test_a_client_that_dies_leaves_its_response_as_an_error(world: World, client: Client) -> None:
    client.prompt().says(system("init")).breaks(OSError("Command failed with exit code 137"))
    with pytest.raises(OSError, match="137"):
        client.run()
    row = world.one("turn")
    assert (row["status"], row["end_ns"]) == ("error", 1_030)
    assert row["attributes"]["tracekit.error.text"] == "Command failed with exit code 137"
    assert world.one("session")["status"] == "error"


def test_a_host_that_leaves_ends_its_response_as_cancelled(world: World, client: Client) -> None:
    client.prompt().says(system("init")).run()
    assert world.one("turn")["status"] == "cancelled"


@pytest.mark.parametrize(
    ("asked", "verdict", "name"),
    [
        (hook("h1"), "hook", "PreToolUse:Bash"),
        (may_use("p1"), "permission", "Write"),
        (tool_call("m1"), "mcp call", "mcp__calc__add"),
    ],
    ids=["hook", "permission", "tool in the host"],
)
def test_a_host_that_is_killed_leaves_everything_open_and_stuck_names_it(
    asked: Line, verdict: str, name: str, world: World, client: Client, tmp_path: Path
) -> None:
    client.prompt().says(system("init")).says(asked).run(close=False)
    assert [row for row in world.rows() if row["end_ns"] is not None] == []
    store = str(tmp_path / "store.duckdb")
    import_paths([world.spool], store)
    with open_store(store) as opened:
        (found,) = stuck(opened, as_of_ns=60_000_000_000)
    assert (found.session_id, found.verdict, found.name) == (S1, verdict, name)


# Sessions


def test_a_session_lasts_from_the_start_of_its_client_to_its_end(world: World, client: Client) -> None:
    client.prompt().says(system("init", cwd="/p", claude_code_version="2")).says(result()).does(lambda: None, after=70).run()
    row = world.one("session")
    assert (row["key"], row["start_ns"], row["end_ns"], row["status"]) == (S1, 1_000, 1_100, "ok")
    assert row["attributes"] == {"tracekit.client.version": "2", "tracekit.cost.usd": "0.25", "tracekit.project": "/p"}


def test_another_session_of_the_same_client_is_another(world: World, client: Client) -> None:
    client.prompt().says(system("init")).says(result()).says(system("init") | {"session_id": "session-2"}).run()
    assert [(row["key"], row["start_ns"], row["end_ns"]) for row in world.closed("session")] == [
        (S1, 1_000, 1_040),
        ("session-2", 1_040, 1_040),
    ]


def test_a_client_that_cannot_be_started_is_on_record(world: World, client: Client) -> None:
    client.wire.not_connected(FileNotFoundError("Claude Code not found"))
    row = world.one("session")
    assert (row["status"], row["attributes"]["tracekit.error.text"]) == ("error", "Claude Code not found")
    assert row["attributes"]["tracekit.result.is_error"] == "true"
