"""OTLP/gRPC: the statuses that senders act on."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.capture.receiver.chats import in_protobuf, keys
from tests.capture.receiver.serving import HOST, Options, Served, bodies, kept, serving, spool
from tracekit.capture.receiver import Limits, Receiver, serve_grpc
from tracekit.errors import TracekitError

grpc: Any = pytest.importorskip("grpc", reason="comes with the extra `grpc`")

EXPORTS = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "metrics": "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
}


@contextmanager
def exporting(served: Served, signal: str = "traces") -> Generator[Any]:
    """A call that sends a message as it stands."""
    with grpc.insecure_channel(f"{HOST}:{served.grpc_port}", options=[("grpc.max_send_message_length", -1)]) as channel:
        yield channel.unary_unary(EXPORTS[signal])


def status(call: Any, message: bytes, **more: Any) -> tuple[str, str]:
    try:
        answer = call(message, timeout=20, **more)
    except grpc.RpcError as error:
        return error.code().name, error.details()
    assert answer == b""
    return "OK", ""


def test_a_message_is_kept_as_it_came(tmp_path: Path) -> None:
    with serving(Receiver(spool(tmp_path / "spool")), Options(grpc=True)) as served, exporting(served) as call:
        assert status(call, in_protobuf(1, 2)) == ("OK", "")
        assert status(call, in_protobuf(1, 2), compression=grpc.Compression.Gzip) == ("OK", "")
        assert status(call, b"") == ("OK", "")
    assert bodies(tmp_path / "spool") == 2
    assert kept(tmp_path / "spool", tmp_path / "store").keys >= keys([1, 2])


@pytest.mark.parametrize("signal", EXPORTS)
def test_garbage_is_never_to_be_sent_again(tmp_path: Path, signal: str) -> None:
    with serving(Receiver(spool(tmp_path)), Options(grpc=True)) as served, exporting(served, signal) as call:
        name, text = status(call, b"\x0a\x05abc")
    assert (name, text.startswith(f"not an OTLP {signal} request")) == ("INVALID_ARGUMENT", True)
    assert bodies(tmp_path) == 0


@pytest.mark.parametrize("compression", ["NoCompression", "Gzip"])
def test_a_message_over_the_limit_is_never_to_be_sent_again(tmp_path: Path, compression: str) -> None:
    limits = Limits(max_bytes=100_000)
    with serving(Receiver(spool(tmp_path), limits=limits), Options(grpc=True)) as served, exporting(served) as call:
        name, _ = status(call, b"\x0a" * 50_000_000, compression=getattr(grpc.Compression, compression))
        assert name == "RESOURCE_EXHAUSTED"
        assert status(call, in_protobuf(1))[0] == "OK"
    assert bodies(tmp_path) == 1


def test_a_message_within_the_limit_may_be_larger_than_the_librarys_own(tmp_path: Path) -> None:
    with serving(Receiver(spool(tmp_path)), Options(grpc=True)) as served, exporting(served) as call:
        assert status(call, in_protobuf(*range(40_000)))[0] == "OK"
    assert bodies(tmp_path) == 1


def test_who_comes_when_too_much_waits_is_asked_to_come_again(tmp_path: Path) -> None:
    with serving(Receiver(spool(tmp_path), limits=Limits(waiting_bytes=5_000)), Options(grpc=True)) as served, exporting(served) as call:
        assert status(call, in_protobuf(*range(10)))[0] == "UNAVAILABLE"
        assert status(call, in_protobuf(1))[0] == "OK"


def test_a_port_that_is_taken_is_an_error(tmp_path: Path) -> None:
    with serving(Receiver(spool(tmp_path)), Options(grpc=True)) as served, pytest.raises(OSError, match=f"cannot listen on {HOST}:"):
        served.call(serve_grpc(HOST, served.grpc_port or 0, served.receiver))


def test_without_the_extra_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc.aio", None)
    with serving(Receiver(spool(tmp_path))) as served, pytest.raises(TracekitError, match="install the extra") as raised:
        served.call(serve_grpc(HOST, 0, served.receiver))
    assert raised.value.slug == "grpc-missing"
