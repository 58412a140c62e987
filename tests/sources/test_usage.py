"""What the `usage` object of a response says, and that every witness of it passes it on."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sources.otlp.bodies import event, logs
from tracekit.capture.gateway.message import Response
from tracekit.ingest import import_paths
from tracekit.model import Span, semconv
from tracekit.sources.otlp import read_group
from tracekit.sources.usage import counted
from tracekit.store import open_store

TIERS = {"ephemeral_5m_input_tokens": 40, "ephemeral_1h_input_tokens": 60}
USAGE = {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 100, "cache_creation": TIERS}


def test_every_number_has_its_attribute() -> None:
    assert dict(counted(USAGE)) == {
        semconv.INPUT_TOKENS: 1,
        semconv.OUTPUT_TOKENS: 2,
        semconv.CACHE_READ_TOKENS: 3,
        semconv.CACHE_WRITE_TOKENS: 100,
        semconv.CACHE_WRITE_5M_TOKENS: 40,
        semconv.CACHE_WRITE_1H_TOKENS: 60,
    }


@pytest.mark.parametrize("tiers", [None, [], "5m", {}, {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": None}])
def test_a_tier_without_tokens_is_left_out(tiers: object) -> None:
    assert dict(counted({"input_tokens": 0, "cache_creation": tiers})) == {semconv.INPUT_TOKENS: 0}


HEAD = {"sessionId": "s", "version": "2.1.40", "isSidechain": False}
MESSAGE = {"id": "msg_1", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "Yes."}], "usage": USAGE}
TRANSCRIPT: list[dict[str, Any]] = [
    HEAD | {"type": "user", "uuid": "u1", "timestamp": "2026-02-12T20:00:00.000Z", "message": {"role": "user", "content": "Well?"}},
    HEAD | {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "timestamp": "2026-02-12T20:00:05.000Z", "message": MESSAGE},
]
MODELS = {"m": {"contextWindow": 200_000}, "small": {"contextWindow": 1_000}, "unknown": {}}
STREAM: list[dict[str, Any]] = [
    {"type": "system", "subtype": "init", "model": "m", "cwd": "/p", "uuid": "u0", "session_id": "s"},
    {"type": "assistant", "message": MESSAGE, "uuid": "u1", "session_id": "s"},
    {"type": "result", "subtype": "success", "is_error": False, "uuid": "u2", "modelUsage": MODELS, "session_id": "s"},
]
STAMPED: list[dict[str, Any]] = [{"arrival_ns": 1_796_061_903_000_000_000 + number, "line": entry} for number, entry in enumerate(STREAM)]


def attributes(folder: Path, entries: list[dict[str, Any]], boundary: str) -> dict[str, str]:
    path, store = folder / "entries.jsonl", str(folder / "store.duckdb")
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")
    import_paths([path], store)
    with open_store(store) as opened:
        (row,) = opened.rows("SELECT attributes FROM boundaries WHERE boundary = $boundary", boundary=boundary)
    found: dict[str, str] = row["attributes"]
    return found


@pytest.mark.parametrize("entries", [TRANSCRIPT, STAMPED], ids=["transcript", "stream-json"])
def test_every_witness_tells_the_tiers(entries: list[dict[str, Any]], tmp_path: Path) -> None:
    found = attributes(tmp_path, entries, "model_request")
    assert (found[semconv.CACHE_WRITE_TOKENS], found[semconv.CACHE_WRITE_5M_TOKENS], found[semconv.CACHE_WRITE_1H_TOKENS]) == (
        "100",
        "40",
        "60",
    )


def test_a_client_tells_the_windows_of_its_models(tmp_path: Path) -> None:
    assert attributes(tmp_path, STAMPED, "session")[semconv.CONTEXT_WINDOWS] == "m=200000,small=1000"


def test_an_event_of_telemetry_tells_the_tiers() -> None:
    said = {
        "request_id": "req_1",
        "model": "m",
        "cache_creation_tokens": 100,
        "cache_creation_5m_tokens": 40,
        "cache_creation_1h_tokens": 60,
    }
    (request,) = [item for _, item in read_group([("l", logs(event("api_request", 10, said)))]) if isinstance(item, Span)]
    assert request.attributes[semconv.CACHE_WRITE_5M_TOKENS] == 40
    assert request.attributes[semconv.CACHE_WRITE_1H_TOKENS] == 60


def test_a_gateway_tells_the_tiers() -> None:
    response = Response()
    response.take_whole(MESSAGE | {"type": "message"})
    assert response.facts[semconv.CACHE_WRITE_5M_TOKENS] == 40
    assert response.facts[semconv.CACHE_WRITE_1H_TOKENS] == 60
