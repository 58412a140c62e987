"""The endpoint for HTTP hooks: it always answers `{}`, at once, and records what it was told in order."""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tests.capture.hooks.payloads import BASH, MS, SECRET, payload
from tracekit.capture.hooks import add_routes
from tracekit.capture.hooks.endpoint import Endpoint
from tracekit.model import Boundary, Source, Span, semconv
from tracekit.spool import SUFFIX, SharedSpool, Spool

Client = TestClient[web.Request, web.Application]


def serve(spool: Spool, talk: Callable[[Client], Awaitable[None]], *, content: bool = False) -> Endpoint:
    """Serve while `talk` talks, and give the endpoint after the application has ended."""

    async def run() -> Endpoint:
        app = web.Application()
        endpoint = add_routes(app, spool=spool, content=content)
        async with TestClient(TestServer(app)) as client:
            await talk(client)
        return endpoint

    return asyncio.run(asyncio.wait_for(run(), 60))


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(folder.glob(f"*{SUFFIX}")) for line in path.read_text().splitlines()]


async def tell(client: Client, body: bytes, path: str = "/hook") -> None:
    async with client.post(path, data=body, headers={"Content-Type": "application/json"}) as answer:
        assert (answer.status, answer.content_type, await answer.read()) == (200, "application/json", b"{}")


def test_hooks_are_answered_and_recorded_in_order(tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        await tell(client, payload("UserPromptSubmit"))
        await tell(client, payload("PreToolUse", tool_use_id="toolu_1", **BASH))
        await tell(client, payload("PostToolUse", tool_use_id="toolu_1", duration_ms=1, **BASH))
        await tell(client, payload("Stop", hook_event_name=None), "/hook/Stop")

    before = time.time_ns()
    serve(Spool(tmp_path, "hooks"), talk)
    found = rows(tmp_path)
    assert [(row["boundary"], row["end_ns"] is None) for row in found] == [
        ("turn", True),
        ("tool_schedule", True),
        ("tool_execution", False),
        ("tool_schedule", False),
        ("turn", False),
    ]
    assert before - 50 * MS <= found[0]["start_ns"] <= found[-1]["end_ns"] <= time.time_ns()
    assert {row["start_slack_ns"] for row in found if row["boundary"] == "turn"} == {50 * MS}


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"not json", b"[1]", payload("EventOfTheFuture"), payload("Stop", session_id=7), b"\xff\xfe"], ids=repr
)
def test_what_is_not_understood_is_answered_too(tmp_path: Path, body: bytes) -> None:
    endpoint = serve(Spool(tmp_path, "hooks"), lambda client: tell(client, body))
    assert (rows(tmp_path), endpoint.gaps) == ([], 0)


def test_a_large_result_is_taken_and_a_huge_one_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(client: Client) -> None:
        # More than the application takes elsewhere.
        await tell(client, payload("PostToolUse", tool_use_id="toolu_1", duration_ms=1, tool_response="x" * 3_000_000, **BASH))
        monkeypatch.setattr("tracekit.capture.hooks.endpoint.MAX_BYTES", 1_000_000)
        await tell(client, payload("PostToolUse", tool_use_id="toolu_2", duration_ms=1, tool_response="x" * 3_000_000, **BASH))
        await tell(client, payload("PostToolUse", tool_use_id="toolu_3", duration_ms=1, **BASH))

    endpoint = serve(Spool(tmp_path, "hooks"), talk)
    assert {row["key"] for row in rows(tmp_path)} == {"toolu_1", "toolu_3"}
    assert endpoint.gaps == 1


def test_a_disk_that_takes_nothing_is_felt_by_nobody_and_told_at_the_end(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")

    async def talk(client: Client) -> None:
        for _ in range(3):
            await tell(client, payload("UserPromptSubmit"))

    with caplog.at_level(logging.WARNING):
        endpoint = serve(Spool(tmp_path / "file" / "spool", "hooks"), talk)
    assert endpoint.gaps == 3
    assert "3 hooks could not be recorded" in caplog.text


def test_a_disk_that_does_not_answer_holds_no_hook_up(tmp_path: Path) -> None:
    class Slow(Spool):
        def write(self, span: Span) -> None:
            time.sleep(0.3)
            super().write(span)

    async def talk(client: Client) -> None:
        began = time.perf_counter()
        for _ in range(5):
            await tell(client, payload("UserPromptSubmit"))
        assert time.perf_counter() - began < 0.9

    serve(Slow(tmp_path, "hooks"), talk)
    assert len(rows(tmp_path)) == 5


def test_contents_are_kept_only_when_asked_for(tmp_path: Path) -> None:
    for content in (False, True):
        folder = tmp_path / str(content)
        serve(Spool(folder, "hooks"), lambda client: tell(client, payload("UserPromptSubmit", prompt=SECRET)), content=content)
        assert (SECRET in str(rows(folder))) is content


def test_a_session_whose_start_only_a_command_hook_saw_has_its_beginning(tmp_path: Path) -> None:
    start = Span(Source.HOOKS, "s1", Boundary.SESSION, "s1", 1_000, None, start_slack_ns=50, attributes={semconv.SESSION_SOURCE: "startup"})
    SharedSpool(tmp_path, "hooks").write([start])
    serve(Spool(tmp_path, "hooks"), lambda client: tell(client, payload("SessionEnd", reason="other")))
    (ended,) = [row for row in rows(tmp_path) if row["end_ns"] is not None]
    assert (ended["boundary"], ended["start_ns"], ended["start_slack_ns"]) == ("session", 1_000, 50)
