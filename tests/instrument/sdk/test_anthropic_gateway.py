"""The SDK instrumented behind tracekit's own gateway: two witnesses of one request meet under its keys, and use the same words."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic

from tests.capture.gateway.world import SESSION, block, chunked, message_end, message_start, run, until, whole, world
from tests.instrument.conftest import World
from tests.instrument.sdk.messages_api import ASKED
from tracekit.analysis.scope import Scope
from tracekit.analysis.timeline import timeline
from tracekit.ingest import import_paths
from tracekit.instrument import session, turn
from tracekit.store import open_store

OVERLOADED = b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'


def words(row: Mapping[str, Any]) -> dict[str, str]:
    """What a row says, but for times, of which each witness has its own."""
    said = {name: value for name, value in row["attributes"].items() if name != "tracekit.opened_as" and not name.endswith("_ns")}
    if row["boundary"] == "request_attempt":
        # The SDK does not read the body of an error after which it tries a stream again.
        said.pop("error.type", None)
    return said


@pytest.mark.parametrize("ending", ["whole", "cut"])
def test_both_say_the_same(bare: World, tmp_path: Path, ending: str) -> None:
    pieces = [message_start(cache_read_input_tokens=20), *block(0, "hel", "lo"), *block(1, '{"at": 1}', kind="tool_use")]
    rest = message_end("tool_use", 42) if ending == "whole" else []
    overloaded = whole(OVERLOADED, 529, "application/json", retry_after_ms="5")

    async def ask() -> None:
        async with world(tmp_path / "outside", overloaded, chunked(*pieces, *rest, pause=0.002, request_id="req_2")) as here:
            bare.instrument(libraries=("anthropic",))
            client = AsyncAnthropic(api_key="none", base_url=here.url, default_headers={"X-Claude-Code-Session-Id": SESSION})
            with session(SESSION), turn("p"):
                async for _ in await client.messages.create(stream=True, **ASKED):
                    pass
            await until(lambda: here.closed("model_request"))
            await client.close()
            compare(bare, here)

    run(ask())


def compare(inside: World, outside: Any) -> None:
    for boundary in ("model_request", "request_attempt", "stream_event"):
        ours, theirs = inside.closed(boundary), outside.closed(boundary)
        assert [row["key"] for row in ours] == [row["key"] for row in theirs]
        assert [row["status"] for row in ours] == [row["status"] for row in theirs]
        assert [row["name"] for row in ours] == [row["name"] for row in theirs]
        for mine, other in zip(ours, theirs, strict=True):
            said, told = words(mine), words(other)
            shared = said.keys() & told.keys()
            assert {name: said[name] for name in shared} == {name: told[name] for name in shared}
            assert shared >= {"tracekit.request.attempt", "http.response.status_code"} or boundary != "request_attempt"
            assert shared >= {"tracekit.response.size", "gen_ai.response.id", "gen_ai.usage.output_tokens"} or boundary != "model_request"
            assert said.keys() == told.keys() or boundary != "stream_event"


def test_the_store_makes_one_request_of_both(bare: World, tmp_path: Path) -> None:
    answer = whole(b"".join([message_start(), *block(0, "hel", "lo"), *message_end()]))

    async def ask() -> None:
        async with world(tmp_path / "outside", answer) as here:
            bare.instrument(libraries=("anthropic",), clock=time.time_ns)
            client = AsyncAnthropic(api_key="none", base_url=here.url, default_headers={"X-Claude-Code-Session-Id": SESSION})
            with session(SESSION), turn("p"):
                async for _ in await client.messages.create(stream=True, **ASKED):
                    pass
            await until(lambda: here.closed("model_request"))
            await client.close()

    run(ask())
    store = str(tmp_path / "store.duckdb")
    import_paths([bare.spool, tmp_path / "outside"], store)
    with open_store(store) as opened:
        found = {str(row.boundary): row for row in timeline(opened, Scope(session_id=SESSION))}
    assert (found["model_request"].key, found["model_request"].parent_key, found["model_request"].witnesses) == (
        "req_1",
        "p",
        "gateway,instrument",
    )
