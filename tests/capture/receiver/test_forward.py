"""Passing on: everything, in the form in which it came, by the retry rules, and never in anybody's way."""

import asyncio
import http.client
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tests.capture.receiver.chats import in_json, in_protobuf
from tests.capture.receiver.serving import HOST, JSON, PROTOBUF, SlowDisk, in_thread, serving, spool, zipped
from tests.sources.otlp.bodies import metrics
from tracekit.capture.receiver import Forward, Patience, Receiver, add_routes
from tracekit.errors import TracekitError

TRACES = "/v1/traces"
QUICK = Patience(answer=2, first_wait=0.02, in_all=5, at_end=3)


@dataclass
class Collector:
    """Another collector: remembers what comes, and answers by script, then with 200."""

    script: list[web.Response] = field(default_factory=list[web.Response])
    came: list[tuple[str, str, bytes, float]] = field(default_factory=list[tuple[str, str, bytes, float]])
    headers: dict[str, str] = field(default_factory=dict[str, str])
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/tenant"

    async def answer(self, request: web.Request) -> web.Response:
        self.came.append((request.path, request.content_type, await request.read(), time.monotonic()))
        self.headers = dict(request.headers)
        return self.script.pop(0) if self.script else web.Response()


@contextmanager
def collecting(*script: web.Response) -> Generator[Collector]:
    collector = Collector(list(script))

    async def start(close: Callable[[Callable[[], Awaitable[object]]], None]) -> Collector:
        app = web.Application(client_max_size=0)
        app.router.add_post("/{path:.*}", collector.answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        close(runner.cleanup)
        await web.TCPSite(runner, HOST, 0).start()
        collector.port = int(runner.addresses[0][1])
        return collector

    with in_thread(start):
        yield collector


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_everything_is_passed_on_in_the_form_in_which_it_came(tmp_path: Path) -> None:
    with collecting() as collector:
        forward = Forward(f"{collector.url}/", headers={"Authorization": "Bearer theirs"}, patience=QUICK)
        with serving(Receiver(spool(tmp_path), forward=forward)) as served:
            served.post(TRACES, zipped(in_protobuf(1)), Content_Encoding="gzip", Authorization="Bearer ours")
            until(lambda: len(collector.came) == 1)
            served.post(TRACES, in_json(2), JSON)
            until(lambda: len(collector.came) == 2)
            served.post("/v1/metrics", metrics())
    expected = [
        ("/tenant/v1/traces", PROTOBUF, in_protobuf(1)),
        ("/tenant/v1/traces", JSON, in_json(2)),
        ("/tenant/v1/metrics", PROTOBUF, metrics()),
    ]
    assert [seen[:3] for seen in collector.came] == expected
    assert collector.headers["Authorization"] == "Bearer theirs"
    assert dict(forward.counts) == {"sent": 3}


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_may_be_sent_again_is(tmp_path: Path, status: int) -> None:
    with collecting(web.Response(status=status), web.Response(status=status)) as collector:
        forward = Forward(collector.url, patience=QUICK)
        with serving(Receiver(spool(tmp_path), forward=forward)) as served:
            served.post(TRACES, in_protobuf(1))
    assert [seen[2] for seen in collector.came] == [in_protobuf(1)] * 3
    assert forward.counts == {"sent": 1, "repeated": 2}


def test_a_password_in_the_endpoint_is_not_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with collecting(web.Response(status=400)) as collector:
        forward = Forward(collector.url.replace("http://", "http://user:hunter2@"), patience=QUICK)
        with serving(Receiver(spool(tmp_path), forward=forward)) as served:
            served.post(TRACES, in_protobuf(1))
    assert collector.headers["Authorization"].startswith("Basic ")
    assert "it answered 400" in caplog.text
    assert "hunter2" not in caplog.text + forward.told()


@pytest.mark.parametrize("status", [301, 400, 401, 404, 408, 413, 500, 501])
def test_what_may_not_be_sent_again_is_dropped_and_told(tmp_path: Path, status: int, caplog: pytest.LogCaptureFixture) -> None:
    with collecting(web.Response(status=status, headers={"Location": "/elsewhere"})) as collector:
        forward = Forward(collector.url, patience=QUICK)
        with serving(Receiver(spool(tmp_path), forward=forward)) as served:
            assert served.post(TRACES, in_protobuf(1)).status == 200
            until(lambda: forward.counts["dropped"] == 1)
            served.post(TRACES, in_protobuf(2))
    assert [seen[2] for seen in collector.came] == [in_protobuf(1), in_protobuf(2)]
    assert f"it answered {status}" in caplog.text
    assert forward.told().endswith("1 dropped, 0 tries repeated")


def test_the_collector_says_when_it_wants_it_again(tmp_path: Path) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    script = [web.Response(status=503, headers={"Retry-After": "1"}), web.Response(status=429, headers={"Retry-After": soon})]
    with collecting(*script) as collector:
        forward = Forward(collector.url, patience=QUICK)
        with serving(Receiver(spool(tmp_path), forward=forward)) as served:
            served.post(TRACES, in_protobuf(1))
    first, second, third = (seen[3] for seen in collector.came)
    assert 1.0 <= second - first < 2.0
    assert third > second


def test_a_wait_beyond_all_patience_is_a_drop(tmp_path: Path) -> None:
    with collecting(web.Response(status=503, headers={"Retry-After": "3600"})) as collector:
        forward = Forward(collector.url, patience=QUICK)
        with serving(Receiver(spool(tmp_path), forward=forward)) as served:
            served.post(TRACES, in_protobuf(1))
            until(lambda: forward.counts["dropped"] == 1)
    assert len(collector.came) == 1


def test_a_collector_that_is_away_is_tried_again_until_it_is_there(tmp_path: Path) -> None:
    with collecting() as collector:
        port = collector.port
    forward = Forward(f"http://{HOST}:{port}", patience=QUICK._replace(at_end=0.2))
    with serving(Receiver(spool(tmp_path), forward=forward)) as served:
        began = time.monotonic()
        assert served.post(TRACES, in_protobuf(1)).status == 200
        assert time.monotonic() - began < 1
        until(lambda: forward.counts["repeated"] >= 2)
        assert forward.counts["dropped"] == 0


def test_nobody_waits_for_a_collector_that_hangs_and_what_does_not_fit_is_dropped(tmp_path: Path) -> None:
    hanging = asyncio.Event()

    async def hang(_: web.Request) -> web.Response:
        await hanging.wait()
        return web.Response()

    async def start(close: Callable[[Callable[[], Awaitable[object]]], None]) -> int:
        app = web.Application()
        app.router.add_post("/{path:.*}", hang)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
        await runner.setup()
        close(runner.cleanup)
        await web.TCPSite(runner, HOST, 0).start()
        return int(runner.addresses[0][1])

    size = len(in_protobuf(1))
    with in_thread(start) as port:
        forward = Forward(f"http://{HOST}:{port}", waiting_bytes=10 * size, patience=Patience(answer=30, at_end=0.3))
        with serving(Receiver(spool(tmp_path), forward=forward)) as served:
            began = time.monotonic()
            assert {served.post(TRACES, in_protobuf(number)).status for number in range(20)} == {200}
            assert time.monotonic() - began < 2
            assert forward.counts["dropped"] == 10
    # The end does not wait for it either: what was still on its way counts as dropped.
    assert forward.counts == {"dropped": 20}


@pytest.mark.parametrize("content_type", [PROTOBUF, JSON])
def test_what_the_collector_rejects_of_a_body_is_told_and_not_sent_again(
    tmp_path: Path, content_type: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = ExportTraceServiceResponse()
    answer.partial_success.rejected_spans = 3
    answer.partial_success.error_message = "too old"
    text = b'{"partialSuccess": {"rejectedSpans": "3", "errorMessage": "too old"}}'
    with collecting(web.Response(body=answer.SerializeToString() if content_type == PROTOBUF else text)) as collector:
        forward = Forward(collector.url, patience=QUICK)
        with serving(Receiver(spool(tmp_path), forward=forward)) as served:
            served.post(TRACES, in_protobuf(1) if content_type == PROTOBUF else in_json(1), content_type)
    assert (len(collector.came), dict(forward.counts)) == (1, {"sent": 1, "rejected": 3})
    assert "rejected 3 records of a traces body: too old" in caplog.text


def test_a_body_never_goes_round_in_a_circle(tmp_path: Path) -> None:
    async def start(close: Callable[[Callable[[], Awaitable[object]]], None]) -> tuple[int, Forward, Receiver]:
        app = web.Application()
        runner = web.AppRunner(app, access_log=None)
        site_socket = await asyncio.get_running_loop().create_server(asyncio.Protocol, HOST, 0)
        port = site_socket.sockets[0].getsockname()[1]
        site_socket.close()
        forward = Forward(f"http://{HOST}:{port}", patience=QUICK)
        receiver = Receiver(spool(tmp_path), forward=forward)
        add_routes(app, receiver)
        await runner.setup()
        close(runner.cleanup)
        await web.TCPSite(runner, HOST, port).start()
        return port, forward, receiver

    with in_thread(start) as (port, forward, receiver):
        connection = http.client.HTTPConnection(HOST, port, timeout=10)
        connection.request("POST", TRACES, in_protobuf(1), {"Content-Type": PROTOBUF})
        assert connection.getresponse().status == 200
        connection.close()
        until(lambda: forward.counts["sent"] == 1)
        time.sleep(0.3)
        assert (forward.counts["sent"], receiver.kept["traces"]) == (1, 2)


def test_a_body_whose_sender_left_before_it_was_kept_is_passed_on_all_the_same(tmp_path: Path) -> None:
    disk = SlowDisk(tmp_path)
    with collecting() as collector:
        forward = Forward(collector.url, patience=QUICK)
        with serving(Receiver(disk, forward=forward)) as served:
            served.patience = 0.2
            with pytest.raises(TimeoutError):
                served.post(TRACES, in_protobuf(1))
            disk.free.set()
            until(lambda: len(collector.came) == 1)
            assert served.receiver.kept["traces"] == 1


@pytest.mark.parametrize("endpoint", ["collector:4317", "grpc://collector:4317", "", "http://", "/v1/traces", "http://[::1", "http://a:b"])
def test_an_endpoint_that_is_no_url_is_named(endpoint: str) -> None:
    with pytest.raises(TracekitError, match="cannot forward") as raised:
        Forward(endpoint)
    assert raised.value.slug == "bad-endpoint"
