"""`/metrics` of `tracekit serve`: what Prometheus scrapes, worked out beside the traffic."""

import asyncio
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.cli.test_check import fill
from tests.cli.test_serve import serving, state
from tests.exporters.world import session
from tracekit.cli.scraping import Scrapes, scrape
from tracekit.errors import TracekitError
from tracekit.store import open_store

parser: Any = pytest.importorskip("prometheus_client.parser", reason="comes with the extra `dev`")
__all__ = ["state"]  # the fixture keeps the server away from the user's state

LIMIT = 60


def _names(text: str) -> set[str]:
    return {family.name for family in parser.text_string_to_metric_families(text)}


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = tmp_path / "store.duckdb"
    fill(path, session())
    return str(path)


def test_a_store_is_scraped(store: str) -> None:
    assert {"tracekit_ttft_seconds", "tracekit_tool_seconds", "tracekit_failures", "tracekit_waits_stuck"} <= _names(scrape(store))


def test_a_store_that_is_empty_still_says_that_nothing_is_stuck(tmp_path: Path) -> None:
    path = str(tmp_path / "empty.duckdb")
    with open_store(path, write=True):
        pass
    assert _names(scrape(path)) == {"tracekit_waits_stuck", "tracekit_waits_waiting"}


def test_a_store_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TracekitError) as caught:
        scrape(str(tmp_path / "none.duckdb"))
    assert caught.value.slug == "no-store"


def _answers(store: str, count: int) -> list[tuple[int, str]]:
    """What so many scrapes at once are answered."""

    async def ask() -> list[tuple[int, str]]:
        app = web.Application()
        scrapes = Scrapes(store)
        app.cleanup_ctx.append(scrapes.until_end)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            found = await asyncio.gather(*(scrapes.respond() for _ in range(count)))
        finally:
            await runner.cleanup()
        return [(answer.status, answer.body.decode() if isinstance(answer.body, bytes) else "") for answer in found]

    return asyncio.run(asyncio.wait_for(ask(), LIMIT))


def test_scrapes_at_once_get_one_answer(store: str) -> None:
    answers = _answers(store, 4)
    assert len(set(answers)) == 1
    assert answers[0][0] == 200
    assert "tracekit_tool_seconds" in _names(answers[0][1])


def test_a_store_that_cannot_be_asked_is_said_to_be_unavailable(tmp_path: Path) -> None:
    ((status, text),) = _answers(str(tmp_path / "none.duckdb"), 1)
    assert status == 503
    assert "there is no store" in text


def _get(url: str, **headers: str) -> tuple[int, str, str]:
    asked = urllib.request.Request(url, headers=headers)  # noqa: S310  (our own server)
    try:
        with urllib.request.urlopen(asked, timeout=LIMIT) as answer:  # noqa: S310
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        error.close()
        return error.code, "", ""


def test_serve_answers_a_scrape(store: str) -> None:
    with serving("--store", store) as server:
        status, kind, text = _get(f"{server.url}/metrics")
        assert _get(f"{server.url}/metrics", Host="evil.example")[0] == 421
        assert server.end()[0] == 0
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert "tracekit_tool_seconds" in _names(text)


def test_where_a_token_is_demanded_a_scrape_brings_it(store: str) -> None:
    with serving("--store", store, "--token", "secret") as server:
        url = f"{server.url}/metrics"
        assert _get(url)[0] == 401
        assert _get(url, Authorization="Bearer secret")[0] == 200
