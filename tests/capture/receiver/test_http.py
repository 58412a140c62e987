"""OTLP/HTTP: what is taken, what is refused and how, and that nothing is acknowledged before it is kept."""

import base64
import http.client
import json
import os
import random
import socket
import threading
import time
import tracemalloc
import zlib
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.capture.receiver.chats import SESSION, in_json, in_protobuf, key, keys
from tests.capture.receiver.serving import HOST, JSON, PROTOBUF, Options, Served, SlowDisk, bodies, kept, serving, spool, zipped
from tests.sources.otlp.bodies import event, line, logs, logs_json, metrics, own, traces, traces_json
from tracekit.capture.receiver import Limits, Receiver
from tracekit.spool import Spool

TRACES, LOGS, METRICS = "/v1/traces", "/v1/logs", "/v1/metrics"
MALFORMED = {"traces": b"\x0a\x05abc", "logs": b"\xff\xff\xff", "metrics": b'{"resourceMetrics": []}'}


# ------------------------------------------------------------------------------------------------------- what is taken


@pytest.mark.parametrize("auto_decompress", [False, True])
def test_both_forms_plain_and_compressed_are_kept_and_answered_in_their_type(tmp_path: Path, auto_decompress: bool) -> None:  # noqa: FBT001
    with serving(Receiver(spool(tmp_path / "spool")), Options(auto_decompress=auto_decompress)) as served:
        plain = served.post(TRACES, in_protobuf(1))
        compressed = served.post(TRACES, zipped(in_protobuf(2)), Content_Encoding="gzip")
        text = served.post(TRACES, in_json(3), JSON)
        compressed_text = served.post(TRACES, zipped(in_json(4)), "application/json; charset=utf-8", Content_Encoding="gzip")
    for answer, content_type, body in (
        (plain, PROTOBUF, b""),
        (compressed, PROTOBUF, b""),
        (text, JSON, b"{}"),
        (compressed_text, JSON, b"{}"),
    ):
        # A response without partial_success, which would mean that something was rejected.
        assert (answer.status, answer.headers["Content-Type"].partition(";")[0], answer.body) == (200, content_type, body)
    found = kept(tmp_path / "spool", tmp_path / "store")
    assert (found.keys - {SESSION}) >= keys([1, 2, 3, 4])
    assert found.problems == {}


def test_a_body_is_kept_as_it_came_after_decompression(tmp_path: Path) -> None:
    with serving(Receiver(spool(tmp_path), clock=lambda: 77)) as served:
        served.post(METRICS, zipped(metrics()), Content_Encoding="gzip")
        served.post(LOGS, line(logs_json(event("user_prompt", 5))), JSON)
    (path,) = tmp_path.glob("*")
    first, second = map(json.loads, path.read_text().splitlines())
    assert (first["signal"], first["content_type"], first["received_ns"]) == ("metrics", PROTOBUF, 77)
    assert base64.b64decode(first["body"]) == metrics()
    assert (second["signal"], second["content_type"]) == ("logs", JSON)
    assert base64.b64decode(second["body"]) == line(logs_json(event("user_prompt", 5)))


def test_a_gzip_stream_of_several_members_is_one_body(tmp_path: Path) -> None:
    whole = in_protobuf(1, 2, 3)
    with serving(Receiver(spool(tmp_path / "spool"))) as served:
        assert served.post(TRACES, zipped(whole[:50]) + zipped(whole[50:]), Content_Encoding="gzip").status == 200
    assert kept(tmp_path / "spool", tmp_path / "store").keys >= keys([1, 2, 3])


def test_json_as_claude_code_writes_it_tells_the_same_as_protobuf(tmp_path: Path) -> None:
    turn = own("interaction", 1, 0, 900, {"interaction.sequence": 1})
    request = own("llm_request", 2, 100, 800, {"request_id": "req_1", "model": "m-1", "success": True, "ttft_ms": 200}, parent=1)
    prompted = event("user_prompt", 50, {"prompt_length": 12}, under=1)
    with serving(Receiver(spool(tmp_path / "json"))) as served:
        # Integers as numbers, and one body split over chunks, as some clients send it.
        assert served.post(LOGS, line(logs_json(prompted, exact=False)), JSON).status == 200
        body = line(traces_json(turn, request, exact=False))
        chunked = {"Content-Type": JSON, "Transfer-Encoding": "chunked", "User-Agent": "OTel-OTLP-Exporter-JavaScript/0.208.0"}
        assert served.send("POST", TRACES, iter([body[:100], body[100:]]), chunked).status == 200
    with serving(Receiver(spool(tmp_path / "protobuf"))) as served:
        served.post(LOGS, logs(prompted))
        served.post(TRACES, traces(turn, request))
    told = kept(tmp_path / "json", tmp_path / "a").boundaries
    assert told == kept(tmp_path / "protobuf", tmp_path / "b").boundaries
    assert {"turn", "model_request"} <= {row["boundary"] for row in told}


def test_json_with_half_a_surrogate_pair_is_taken(tmp_path: Path) -> None:
    body = in_json(1).replace(b'"tests"', b'"cut \\ud83d"')
    with serving(Receiver(spool(tmp_path / "spool"))) as served:
        assert served.post(TRACES, body, JSON).status == 200
    assert kept(tmp_path / "spool", tmp_path / "store").keys >= keys([1])


@pytest.mark.parametrize(
    ("body", "content_type"), [(b"", PROTOBUF), (b"", JSON), (b"{}", JSON), (b'{"resourceSpans": []}', JSON), (b"{}\n", JSON)]
)
def test_an_empty_request_is_taken_and_leaves_nothing(tmp_path: Path, body: bytes, content_type: str) -> None:
    with serving(Receiver(spool(tmp_path))) as served:
        assert served.post(TRACES, body, content_type).status == 200
        assert served.post(TRACES, zipped(body), content_type, Content_Encoding="gzip").status == 200
    assert bodies(tmp_path) == 0


def test_the_same_body_twice_is_told_once(tmp_path: Path) -> None:
    with serving(Receiver(spool(tmp_path / "spool"))) as served:
        for _ in range(3):
            assert served.post(TRACES, in_protobuf(1, 2)).status == 200
        assert served.post(TRACES, in_json(1, 2), JSON).status == 200
    found = kept(tmp_path / "spool", tmp_path / "store")
    requests = [row for row in found.boundaries if row["boundary"] == "model_request"]
    assert [(row["key"], row["witnesses"]) for row in requests] == [(key(1), "otel"), (key(2), "otel")]


def test_ten_thousand_small_requests(tmp_path: Path) -> None:
    with serving(Receiver(spool(tmp_path / "spool"))) as served:

        def send(numbers: range) -> None:
            connection = http.client.HTTPConnection(HOST, served.port, timeout=20)
            for number in numbers:
                connection.request("POST", TRACES, in_protobuf(number), {"Content-Type": PROTOBUF})
                response = connection.getresponse()
                response.read()
                assert response.status == 200
            connection.close()

        with ThreadPoolExecutor(10) as senders:
            list(senders.map(send, [range(start, start + 1_000) for start in range(0, 10_000, 1_000)]))
        assert served.receiver.kept["traces"] == 10_000
    assert kept(tmp_path / "spool", tmp_path / "store").keys >= keys(range(10_000))


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("signal", ["traces", "logs", "metrics"])
def test_garbage_is_malformed_and_says_so_in_the_type_of_the_request(tmp_path: Path, signal: str) -> None:
    status = pytest.importorskip("google.rpc.status_pb2", reason="comes with the official exporters")
    with serving(Receiver(spool(tmp_path))) as served:
        binary = served.post(f"/v1/{signal}", MALFORMED[signal])
        text = served.post(f"/v1/{signal}", b'{"resource', JSON)
        assert served.receiver.refused == {400: 2}
    told = status.Status.FromString(binary.body)
    assert (binary.status, binary.headers["Content-Type"], told.code) == (400, PROTOBUF, 3)
    assert f"not an OTLP {signal} request in protobuf" in told.message
    assert (text.status, text.headers["Content-Type"].partition(";")[0]) == (400, JSON)
    assert json.loads(text.body)["code"] == 3
    assert bodies(tmp_path) == 0


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"null",
        b"7",
        b"\x00\x01",
        b'{"resourceSpans": {}}',
        b'{"resourceLogs": [{}]}',
        b"{" * 100_000,
        b'{"a":' * 100_000,
        b"\xff\xfe{}",
    ],
)
def test_json_that_is_no_request_of_its_signal_is_malformed(tmp_path: Path, body: bytes) -> None:
    with serving(Receiver(spool(tmp_path))) as served:
        assert served.post(TRACES, body, JSON).status == 400
    assert bodies(tmp_path) == 0


def test_random_bytes_never_break_the_receiver(tmp_path: Path) -> None:
    chance = random.Random(7)  # noqa: S311  (noise, no secret)
    with serving(Receiver(spool(tmp_path / "spool"))) as served:
        for _ in range(60):
            noise = chance.randbytes(chance.randrange(1, 200))
            answers = {served.post(chance.choice([TRACES, LOGS]), noise, content_type).status for content_type in (PROTOBUF, JSON)}
            assert answers <= {200, 400}
        assert served.post(TRACES, in_protobuf(1)).status == 200
    assert kept(tmp_path / "spool", tmp_path / "store").keys >= keys([1])


def test_a_body_of_nothing_but_empty_streams_is_given_up(tmp_path: Path) -> None:
    with serving(Receiver(spool(tmp_path))) as served:
        began = time.monotonic()
        assert served.post(TRACES, zipped(b"") * 100_000, Content_Encoding="gzip").status == 400
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("auto_decompress", [False, True])
@pytest.mark.parametrize("body", [b"\x1f\x8bnothing", zipped(in_protobuf(1))[:-20], zipped(in_protobuf(1)) + b"\x1fmore"])
def test_a_broken_gzip_stream_is_malformed(tmp_path: Path, body: bytes, auto_decompress: bool) -> None:  # noqa: FBT001
    with serving(Receiver(spool(tmp_path)), Options(auto_decompress=auto_decompress)) as served:
        assert served.post(TRACES, body, Content_Encoding="gzip").status == 400
        assert served.post(TRACES, in_protobuf(1)).status == 200
    assert bodies(tmp_path) == 1


@pytest.mark.parametrize("content_type", ["text/plain", "application/octet-stream", "application/x-www-form-urlencoded", ""])
def test_another_type_is_refused(tmp_path: Path, content_type: str) -> None:
    with serving(Receiver(spool(tmp_path))) as served:
        answer = served.post(TRACES, in_protobuf(1), content_type)
    assert answer.status == 415
    assert "application/x-protobuf" in json.loads(answer.body)["message"]


def test_another_encoding_is_refused(tmp_path: Path) -> None:
    with serving(Receiver(spool(tmp_path))) as served:
        assert served.post(TRACES, in_protobuf(1), Content_Encoding="snappy").status == 415
        assert served.post(TRACES, in_protobuf(1), Content_Encoding="identity").status == 200


def test_another_method_is_refused(tmp_path: Path) -> None:
    with serving(Receiver(spool(tmp_path))) as served:
        answer = served.send("GET", TRACES, None, {})
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")
        assert served.send("POST", "/v1/profiles", b"", {"Content-Type": PROTOBUF}).status == 404


def test_a_token_is_asked_for_where_there_is_one(tmp_path: Path) -> None:
    with serving(Receiver(spool(tmp_path), token="open sesame")) as served:  # noqa: S106  (a test's)
        answers = [
            served.post(TRACES, in_protobuf(1)),
            served.post(TRACES, in_protobuf(1), Authorization="Bearer open"),
            served.post(TRACES, in_protobuf(1), Authorization="Bearer open sesame"),
        ]
    assert [answer.status for answer in answers] == [401, 401, 200]
    assert answers[0].headers["WWW-Authenticate"] == "Bearer"
    assert bodies(tmp_path) == 1


# ---------------------------------------------------------------------------------------------------------- too much


def _chunks(size: int) -> Any:
    return (b"\x0a" * 1000 for _ in range(size // 1000))


def test_a_body_over_the_limit_is_refused_however_it_is_sent(tmp_path: Path) -> None:
    with serving(Receiver(spool(tmp_path), limits=Limits(max_bytes=100_000))) as served:
        declared = served.post(TRACES, b"\x0a" * 100_001)
        chunked = served.send("POST", TRACES, _chunks(200_000), {"Content-Type": PROTOBUF, "Transfer-Encoding": "chunked"})
        assert (declared.status, chunked.status) == (413, 413)
        assert served.post(TRACES, in_protobuf(*range(100))).status == 200
    assert bodies(tmp_path) == 1


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """300 MB of zeros in 300 kB."""
    shrink = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return b"".join([shrink.compress(bytes(1 << 20)) for _ in range(300)]) + shrink.flush()


@pytest.mark.parametrize("auto_decompress", [False, True])
def test_a_gzip_bomb_stops_at_the_limit(tmp_path: Path, bomb: bytes, auto_decompress: bool) -> None:  # noqa: FBT001
    with serving(Receiver(spool(tmp_path), limits=Limits(max_bytes=1 << 20)), Options(auto_decompress=auto_decompress)) as served:
        tracemalloc.start()
        answer = served.post(TRACES, bomb, Content_Encoding="gzip")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert answer.status == 413
        assert most < 16 << 20
        assert served.post(TRACES, in_protobuf(1)).status == 200


def test_the_largest_body_is_kept_and_loaded(tmp_path: Path) -> None:
    padding = "x" * (64 << 20)
    room = len(traces(own("interaction", 1, 0, 900, {"user_prompt": padding}))) - (64 << 20)
    body = traces(own("interaction", 1, 0, 900, {"user_prompt": padding[room:]}))
    assert len(body) <= 64 << 20 < len(body) + 16
    with serving(Receiver(spool(tmp_path / "spool"))) as served:
        assert served.post(TRACES, body).status == 200
    found = kept(tmp_path / "spool", tmp_path / "store")
    assert ([row["boundary"] for row in found.boundaries], found.problems) == (["turn"], {})


def test_who_comes_when_too_much_waits_is_asked_to_come_again(tmp_path: Path) -> None:
    slow = SlowDisk(tmp_path / "spool")
    with serving(Receiver(slow, limits=Limits(waiting_bytes=50_000))) as served, ThreadPoolExecutor(20) as senders:
        waiting = [senders.submit(served.post, TRACES, in_protobuf(number)) for number in range(20)]
        refused = _first(waiting, 429)
        assert int(refused.headers["Retry-After"]) >= 1
        slow.free.set()
        accepted = {number for number, answer in enumerate(waiting) if answer.result(20).status == 200}
        # The room is there again.
        assert served.post(TRACES, in_protobuf(100)).status == 200
        assert served.receiver.refused == {429: 20 - len(accepted)}
    assert 0 < len(accepted) < 20
    assert kept(tmp_path / "spool", tmp_path / "store").keys & keys(range(20)) == keys(accepted)


def test_a_disk_that_refuses_is_told_to_the_sender_and_the_next_one_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "spool"
    with serving(Receiver(Spool(folder, "otlp", clock=count(1).__next__))) as served:
        assert served.post(TRACES, in_protobuf(1)).status == 200
        with monkeypatch.context() as full:
            full.setattr(os, "write", _no_space)
            answer = served.post(TRACES, in_json(2), JSON)
        assert (answer.status, json.loads(answer.body)["code"]) == (503, 14)
        assert "No space left" in json.loads(answer.body)["message"]
        assert answer.headers["Retry-After"]
        with monkeypatch.context() as broken:
            broken.setattr(os, "fdatasync", _no_space)
            assert served.post(TRACES, in_protobuf(3)).status == 503
        assert served.post(TRACES, in_protobuf(4)).status == 200
    assert kept(folder, tmp_path / "store").keys >= keys([1, 4])


def _no_space(*_: object) -> int:
    raise OSError(28, "No space left on device")


# --------------------------------------------------------------------------------------------- durable, and in groups


def _first(waiting: Any, status: int) -> Any:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for answer in waiting:
            if answer.done() and answer.result().status == status:
                return answer.result()
        time.sleep(0.01)
    raise AssertionError(f"nobody was answered {status}")


def test_nothing_is_acknowledged_before_it_is_on_the_disk_and_many_wait_for_one_sync(tmp_path: Path) -> None:
    slow = SlowDisk(tmp_path / "spool")
    with serving(Receiver(slow)) as served, ThreadPoolExecutor(50) as senders:
        waiting = [senders.submit(served.post, TRACES, in_protobuf(number)) for number in range(50)]
        time.sleep(0.5)
        assert not any(answer.done() for answer in waiting)
        slow.free.set()
        assert {answer.result(20).status for answer in waiting} == {200}
    # The first came alone or with few, and the others together while the disk was busy.
    assert slow.syncs < 10


def test_without_durability_nobody_waits_for_the_disk(tmp_path: Path) -> None:
    slow = SlowDisk(tmp_path / "spool")
    with serving(Receiver(slow, durable=False)) as served:
        assert served.post(TRACES, in_protobuf(1)).status == 200
    assert slow.syncs == 0


def test_what_waits_when_the_receiver_ends_is_kept_and_answered(tmp_path: Path) -> None:
    slow = SlowDisk(tmp_path / "spool")
    with ThreadPoolExecutor(1) as senders:
        with serving(Receiver(slow)) as served:
            waiting = senders.submit(served.post, TRACES, in_protobuf(1))
            time.sleep(0.3)
            threading.Timer(0.3, slow.free.set).start()
        assert waiting.result(20).status == 200


# ------------------------------------------------------------------------------------------------------------ too slow


def _connect(served: Served) -> socket.socket:
    return socket.create_connection((HOST, served.port), timeout=20)


def _head(length: int) -> bytes:
    return f"POST {TRACES} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: {PROTOBUF}\r\nContent-Length: {length}\r\n\r\n".encode()


def _until_closed(connection: socket.socket) -> bytes:
    found = b""
    while piece := connection.recv(4096):
        found += piece
    return found


def test_a_body_that_trickles_in_is_given_up(tmp_path: Path) -> None:
    with serving(Receiver(spool(tmp_path), limits=Limits(read_seconds=0.5))) as served, _connect(served) as connection:
        connection.sendall(_head(1000))
        began = time.monotonic()
        for _ in range(4):
            connection.sendall(b"\x0a")
            time.sleep(0.1)
        assert connection.recv(4096).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - began < 5
        assert served.post(TRACES, in_protobuf(1)).status == 200
    assert bodies(tmp_path) == 1


def test_a_sender_that_leaves_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    with serving(Receiver(spool(tmp_path), limits=Limits(waiting_bytes=20_000))) as served:
        for _ in range(20):
            with _connect(served) as connection:
                connection.sendall(_head(1000) + in_protobuf(1)[:100])
        # And takes up no room.
        assert _first_taken(served)
    assert bodies(tmp_path) == 1


def _first_taken(served: Served) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if served.post(TRACES, in_protobuf(1)).status == 200:
            return True
        time.sleep(0.05)
    return False


def test_a_connection_that_sends_no_whole_request_is_closed(tmp_path: Path) -> None:
    with serving(Receiver(spool(tmp_path)), Options(idle_seconds=0.4)) as served, _connect(served) as silent, _connect(served) as slow:
        slow.sendall(_head(10)[:30])
        began = time.monotonic()
        assert (_until_closed(silent), _until_closed(slow)) == (b"", b"")
        assert time.monotonic() - began < 5


def test_a_connection_that_is_being_answered_is_not_idle(tmp_path: Path) -> None:
    disk = SlowDisk(tmp_path / "spool")
    with serving(Receiver(disk), Options(idle_seconds=0.4)) as served:
        threading.Timer(1.2, disk.free.set).start()
        assert served.post(TRACES, in_protobuf(1)).status == 200
