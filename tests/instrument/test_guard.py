"""The host is never harmed: whatever breaks on our side, its own results and errors are what they were."""

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from tracekit.instrument import gaps, guard, model_request, session, tool_schedule, turn
from tracekit.instrument.requests import ModelRequest
from tracekit.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.instrument.conftest import World


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> None:
    """As outside of pytest."""
    monkeypatch.setenv("TRACEKIT_STRICT", "0")


def agent(events: "Sequence[dict[str, Any]]" = ({"type": "message_start"}, {"type": "message_stop"})) -> str:
    """A small agent, which knows nothing of what breaks."""
    with session("s"), turn("p"):
        with model_request("m") as request:
            with request.attempt() as attempt:
                attempt.answered(200, {"request-id": "req_1"})
                received = list(request.stream(events))
            request.response(id="msg_1", usage={"input_tokens": 1})
        with tool_schedule("add", "toolu_1") as call:
            with call.permission_wait() as wait:
                wait.decided("accept")
            with call.execution() as execution:
                execution.result("3")
            call.yielded()
    return f"answered with {len(received)} events"


def failing_agent() -> None:
    with turn("p"), tool_schedule("add", "toolu_1") as call, call.execution():
        message = "the agent's own"
        raise LookupError(message)


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


class Broken(SpanExporter):
    def export(self, spans: "Sequence[ReadableSpan]") -> SpanExportResult:
        raise RuntimeError(len(spans))


class Breaking(SpanProcessor):
    def on_start(self, span: Any, parent_context: Any = None) -> None:
        raise RuntimeError(span, parent_context)


@pytest.mark.usefixtures("released")
def test_on_a_full_disk_the_agent_goes_on_and_the_loss_is_said_once_and_counted(
    world: "World", monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(guard, "_Gaps", type("_Gaps", (), {"count": 0}))
    monkeypatch.setattr(Spool, "_write", full)
    with caplog.at_level(logging.WARNING):
        assert agent() == "answered with 2 events"
        with pytest.raises(LookupError, match="the agent's own"):
            failing_agent()
    assert [record.getMessage() for record in caplog.records] == [
        "tracekit could not keep an observation, and the agent goes on without: OSError: [Errno 28] No space left on device"
    ]
    assert gaps() > 10
    assert world.rows() == []
    # The user's own backend lost nothing.
    assert {span.name for span in world.spans} >= {"chat m", "execute_tool add"}


def test_under_pytest_the_same_is_raised(world: "World", monkeypatch: pytest.MonkeyPatch) -> None:
    assert "PYTEST_CURRENT_TEST" in os.environ
    monkeypatch.setattr(Spool, "_write", full)
    with pytest.raises(OSError, match="No space left"):
        agent()
    assert world.rows() == []


@pytest.mark.parametrize(("said", "is_strict"), [("1", True), ("0", False)])
def test_the_switch_goes_before_pytest(said: str, monkeypatch: pytest.MonkeyPatch, *, is_strict: bool) -> None:
    monkeypatch.setenv("TRACEKIT_STRICT", said)
    assert guard.is_strict() is is_strict
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    assert guard.is_strict() is is_strict


@pytest.mark.parametrize("under_pytest", [True, False])
def test_without_the_switch_pytest_decides(monkeypatch: pytest.MonkeyPatch, *, under_pytest: bool) -> None:
    monkeypatch.delenv("TRACEKIT_STRICT", raising=False)
    if not under_pytest:
        monkeypatch.delenv("PYTEST_CURRENT_TEST")
    assert guard.is_strict() is under_pytest


@pytest.mark.usefixtures("released")
def test_a_broken_exporter_of_the_users_changes_nothing(world: "World") -> None:
    world.provider.add_span_processor(SimpleSpanProcessor(Broken()))
    assert agent() == "answered with 2 events"
    with pytest.raises(LookupError):
        failing_agent()
    assert world.closed("model_request")[0]["key"] == "req_1"


@pytest.mark.usefixtures("released")
def test_a_broken_processor_of_the_users_changes_nothing(world: "World") -> None:
    world.provider.add_span_processor(Breaking())
    assert agent() == "answered with 2 events"
    with pytest.raises(LookupError):
        failing_agent()


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize("hook", ["_other_event", "_close", "_begin", "_finish", "_tell", "_count", "_end_wait", "_standing"])
def test_a_hook_of_ours_that_raises_changes_nothing(world: "World", monkeypatch: pytest.MonkeyPatch, hook: str) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(hook)

    monkeypatch.setattr(ModelRequest, hook, broken)
    assert agent() == "answered with 2 events"
    with pytest.raises(LookupError):
        failing_agent()
    # What stands around the broken part is told all the same.
    assert {row["key"] for row in world.closed("turn")} == {"p"}


@pytest.mark.usefixtures("released")
def test_a_reader_of_a_stream_that_raises_takes_nothing_from_the_stream(world: "World") -> None:
    def read(request: ModelRequest, chunk: str) -> None:
        raise RuntimeError(request, chunk)

    with model_request("m") as request:
        assert list(request.stream(["a", "b"], read=read)) == ["a", "b"]
    assert world.one("model_request")["status"] == "ok"


@pytest.mark.usefixtures("released")
def test_a_folder_that_cannot_be_made_changes_nothing(bare: "World", tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    bare.instrument(spool=tmp_path / "file" / "spool")
    assert agent() == "answered with 2 events"


def test_where_nobody_records_a_handle_costs_nothing_and_changes_nothing() -> None:
    assert agent() == "answered with 2 events"
    with pytest.raises(LookupError):
        failing_agent()
