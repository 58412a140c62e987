"""The official Python exporters as clients, over HTTP and gRPC."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.capture.receiver.serving import Options, Served, kept, serving, spool
from tracekit.capture.receiver import Receiver

http_traces: Any = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
http_logs: Any = pytest.importorskip("opentelemetry.exporter.otlp.proto.http._log_exporter")
http_metrics: Any = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.metric_exporter")
http: Any = pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
grpc_traces: Any = pytest.importorskip("opentelemetry.exporter.otlp.proto.grpc.trace_exporter")
grpc_logs: Any = pytest.importorskip("opentelemetry.exporter.otlp.proto.grpc._log_exporter")
grpc_metrics: Any = pytest.importorskip("opentelemetry.exporter.otlp.proto.grpc.metric_exporter")

SESSION = "5e551011-0000-4000-8000-00000000000b"


@contextmanager
def agent(exporter: Any) -> Generator[Any]:
    """A tracer whose spans are all exported when the block ends."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    try:
        yield provider.get_tracer("tests.agent")
        assert provider.force_flush(20_000)
    finally:
        provider.shutdown()


def work(tracer: Any, requests: int) -> None:
    """A turn with requests and tools, by the GenAI conventions."""
    with tracer.start_as_current_span("invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent", "session.id": SESSION}):
        for number in range(requests):
            chat = {"gen_ai.operation.name": "chat", "gen_ai.response.id": f"msg_{number}", "gen_ai.usage.input_tokens": 12}
            tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "Read", "gen_ai.tool.call.id": f"toolu_{number}"}
            with tracer.start_as_current_span("chat m-1", attributes=chat):
                pass
            with tracer.start_as_current_span("execute_tool Read", attributes=tool):
                pass


def counted(folder: Path) -> dict[str, int]:
    found = kept(folder / "spool", folder / "store")
    assert found.problems == {}
    names = [row["boundary"] for row in found.boundaries if row["session_id"] == SESSION]
    return {name: names.count(name) for name in ("turn", "model_request", "tool_execution")}


@pytest.mark.parametrize("compression", ["NoCompression", "Gzip", "Deflate"])
def test_spans_over_http(tmp_path: Path, compression: str) -> None:
    with serving(Receiver(spool(tmp_path / "spool"))) as served:
        exporter = http_traces.OTLPSpanExporter(f"{served.url}/v1/traces", compression=getattr(http.Compression, compression))
        with agent(exporter) as tracer:
            work(tracer, 300)
    assert counted(tmp_path) == {"turn": 1, "model_request": 300, "tool_execution": 300}


def test_spans_over_grpc(tmp_path: Path) -> None:
    grpc: Any = pytest.importorskip("grpc")
    with serving(Receiver(spool(tmp_path / "spool")), Options(grpc=True)) as served:
        for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
            exporter = grpc_traces.OTLPSpanExporter(f"127.0.0.1:{served.grpc_port}", insecure=True, compression=compression)
            with agent(exporter) as tracer:
                work(tracer, 300)
    # The same calls twice: one boundary each, and two turns.
    assert counted(tmp_path) == {"turn": 2, "model_request": 300, "tool_execution": 300}


def test_a_token_over_both(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    token = "sesame"
    with serving(Receiver(spool(tmp_path / "spool"), token=token), Options(grpc=True)) as served:
        headers = {"authorization": f"Bearer {token}"}
        with agent(http_traces.OTLPSpanExporter(f"{served.url}/v1/traces", headers=headers)) as tracer:
            work(tracer, 1)
        with agent(grpc_traces.OTLPSpanExporter(f"127.0.0.1:{served.grpc_port}", insecure=True, headers=headers)) as tracer:
            work(tracer, 1)
        with agent(grpc_traces.OTLPSpanExporter(f"127.0.0.1:{served.grpc_port}", insecure=True)) as tracer:
            work(tracer, 1)
        assert served.receiver.refused == {401: 1}
    assert "UNAUTHENTICATED" in caplog.text
    assert counted(tmp_path)["turn"] == 2


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_logs_and_metrics_are_taken(tmp_path: Path, protocol: str) -> None:
    with serving(Receiver(spool(tmp_path / "spool")), Options(grpc=True)) as served:
        _log(_exporter(protocol, served, http_logs.OTLPLogExporter, grpc_logs.OTLPLogExporter, "logs"))
        _measure(_exporter(protocol, served, http_metrics.OTLPMetricExporter, grpc_metrics.OTLPMetricExporter, "metrics"))
        assert {name for name, count in served.receiver.kept.items() if count} >= {"logs", "metrics"}
    # An event of Claude Code is understood; metrics are kept and say nothing of a boundary.
    found = kept(tmp_path / "spool", tmp_path / "store")
    assert ([row["boundary"] for row in found.boundaries], found.problems) == (["turn"], {})


def _exporter(protocol: str, served: Served, over_http: Any, over_grpc: Any, signal: str) -> Any:
    if protocol == "http":
        return over_http(f"{served.url}/v1/{signal}")
    return over_grpc(endpoint=f"127.0.0.1:{served.grpc_port}", insecure=True)


def _log(exporter: Any) -> None:
    from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

    provider = LoggerProvider()
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
    logger = logging.getLogger("com.anthropic.claude_code.events")
    handler = LoggingHandler(logger_provider=provider)
    logger.addHandler(handler)
    try:
        attributes = {"session.id": SESSION, "event.name": "user_prompt", "prompt.id": "9c0312e7", "prompt_length": "3"}
        logger.warning("claude_code.user_prompt", extra=attributes)
        assert provider.force_flush(20_000)
    finally:
        logger.removeHandler(handler)
        provider.shutdown()


def _measure(exporter: Any) -> None:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    provider = MeterProvider([PeriodicExportingMetricReader(exporter)])
    provider.get_meter("tests").create_counter("tokens").add(3)
    provider.force_flush(20_000)
    provider.shutdown()
