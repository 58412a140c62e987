"""One run of the real client: the files it leaves tell what the server knows to be true."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.lab import judge, otlp
from tests.lab.capture import capture
from tests.lab.scenarios import SCENARIOS

MS = 1_000_000
S = 1_000 * MS
CLOCK = 5 * MS
"""The client cuts its times to milliseconds, and reads another clock of the same machine."""

pytestmark = pytest.mark.realclient


@pytest.fixture(scope="module")
def run(realclient: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("lab") / "overlap"
    capture("overlap", SCENARIOS["overlap"], out, binary=realclient)
    return out


@pytest.fixture(scope="module")
def judged(run: Path) -> dict[str, Any]:
    return judge.truth(run)


def entries(run: Path) -> list[dict[str, Any]]:
    (path,) = (run / "transcript").glob("*.jsonl")
    return judge.lines(path)


def time_ns(timestamp: str) -> int:
    return int(datetime.fromisoformat(timestamp).timestamp() * 1_000) * MS


def test_a_tool_runs_under_the_stream_that_asked_for_it(judged: dict[str, Any]) -> None:
    first, second, last = judged["requests"]
    assert first["hidden_ns"] >= 1 * S
    assert first["exposed_ns"] == 0
    assert 0 < second["hidden_ns"] < 1.5 * S
    assert second["exposed_ns"] >= 1 * S
    assert last["tool_wall_ns"] == 0


def test_the_commands_own_stamps_lie_inside_their_execution_spans(judged: dict[str, Any]) -> None:
    assert [stamp["tag"] for stamp in judged["stamps"]] == ["a", "b"]
    assert judge.stray_stamps(judged) == []


def test_a_transcript_stamps_a_block_after_the_server_ended_it(run: Path, judged: dict[str, Any]) -> None:
    complete = {block["tool_use_id"]: block["complete_ns"] for block in judge.blocks(judged) if "tool_use_id" in block}
    stamped = {
        block["id"]: time_ns(entry["timestamp"])
        for entry in entries(run)
        if entry["type"] == "assistant"
        for block in entry["message"]["content"]
        if block["type"] == "tool_use"
    }
    assert stamped.keys() == complete.keys()
    for tool_use_id, complete_ns in complete.items():
        assert -CLOCK <= stamped[tool_use_id] - complete_ns < 1 * S


def test_telemetry_names_the_requests_that_the_server_read(run: Path, judged: dict[str, Any]) -> None:
    asked = [span for span in otlp.spans(run) if span.name == "claude_code.llm_request"]
    starts = {span.attributes["request_id"]: span.start_ns for span in asked}
    assert starts.keys() == {request["request_id"] for request in judged["requests"]}
    for request in judged["requests"]:
        assert abs(starts[request["request_id"]] - request["read_ns"]) < 1 * S


def test_a_line_arrives_after_the_server_sent_what_it_tells(run: Path, judged: dict[str, Any]) -> None:
    stops = [request["message_stop_ns"] for request in judged["requests"]]
    arrivals = [
        stamped["arrival_ns"]
        for stamped in judge.lines(run / "stream.jsonl")
        if stamped["line"].get("event", {}).get("type") == "message_stop"
    ]
    assert len(arrivals) == len(stops)
    assert all(0 <= arrival - stop < 1 * S for stop, arrival in zip(stops, arrivals, strict=True))
