"""All recorders on one port: each request finds its own, the traffic goes on whatever becomes of the record, and the end is bounded."""

import json
import os
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tracekit.capture.environment import TOKEN_HEADER
from tracekit.capture.gateway import Upstream
from tracekit.capture.listener import Listener, is_loopback, refused
from tracekit.capture.server import Server, Settings
from tracekit.errors import TracekitError
from tracekit.ingest import import_paths
from tracekit.store import open_store

LIMIT = 15.0
TOKEN = "t0ken"
OTLP = Path(__file__).parents[1] / "data" / "captures" / "overlap" / "otlp"
MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": "end_turn",
    "usage": {},
}


class Model:
    """A stand-in for the model's API: keeps what it was asked, and answers at once, or after a second where it is told to."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.asking = threading.Event()

    def application(self) -> web.Application:
        async def answer(request: web.Request) -> web.Response:
            self.asked.append(dict(request.headers))
            self.asking.set()
            if "slow" in request.query:
                import asyncio

                await asyncio.sleep(float(request.query["slow"]))
            return web.json_response(MESSAGE, headers={"request-id": "req_1"})

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        return app


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def upstream(model: Model) -> Generator[Upstream]:
    with Listener(model.application) as listening:
        yield Upstream(listening.url, environment={})


def settings(tmp_path: Path, upstream: Upstream | None, **more: Any) -> Settings:
    return Settings(tmp_path / "spool", upstream=upstream, **more)


def send(url: str, body: bytes = b"{}", **headers: str) -> tuple[int, bytes]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, body, {"Content-Type": "application/json", **named}, method="POST")  # noqa: S310  (our own)
    try:
        with urllib.request.urlopen(request, timeout=LIMIT) as response:  # noqa: S310  (our own)
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def ask(url: str, query: str = "", **headers: str) -> tuple[int, bytes]:
    return send(f"{url}/v1/messages{query}", b'{"model":"m","messages":[]}', X_Claude_Code_Session_Id="s1", **headers)


def spooled(folder: Path) -> list[str]:
    return sorted({path.name.split("-")[0] for path in folder.glob("*")})


@contextmanager
def within(seconds: float) -> Generator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


def test_each_request_finds_its_recorder_and_all_meet_in_the_store(tmp_path: Path, upstream: Upstream, model: Model) -> None:
    hook: dict[str, Any] = {
        "session_id": "s1",
        "hook_event_name": "PreToolUse",
        "tool_use_id": "toolu_1",
        "tool_name": "Bash",
        "tool_input": {},
    }
    with Server(settings(tmp_path, upstream)) as server:
        assert json.loads(ask(server.url)[1]) == MESSAGE
        assert send(f"{server.url}/hook", json.dumps(hook).encode()) == (200, b"{}")
        for path in sorted(OTLP.glob("*.pb")):
            signal = path.name.split(".")[1]
            assert send(f"{server.url}/v1/{signal}", path.read_bytes(), Content_Type="application/x-protobuf") == (200, b"")
        assert ask(server.url, "/count_tokens")[0] == 200
    assert len(model.asked) == 2
    assert server.gaps == 0
    assert spooled(tmp_path / "spool") == ["gateway", "hooks", "otlp"]
    done = import_paths([tmp_path / "spool"], str(tmp_path / "store"))
    assert done.problems.total() == 0
    with open_store(str(tmp_path / "store")) as store:
        sources = {row["source"] for row in store.rows("SELECT source FROM spans")}
        (request,) = store.rows("SELECT key, end_ns FROM boundaries WHERE boundary = 'model_request' AND session_id = 's1'")
    assert sources == {"gateway", "hooks", "otel"}
    assert request["key"] == "req_1"
    assert request["end_ns"] is not None


def test_without_an_upstream_only_telemetry_and_hooks_are_taken(tmp_path: Path) -> None:
    with Server(settings(tmp_path, None)) as server:
        assert ask(server.url)[0] == 404
        assert send(f"{server.url}/hook")[0] == 200


def test_a_token_lets_in_and_is_not_passed_on(tmp_path: Path, upstream: Upstream, model: Model) -> None:
    with Server(settings(tmp_path, upstream, token=TOKEN)) as server:
        assert ask(server.url)[0] == 401
        assert ask(server.url, X_Tracekit_Token=f"not {TOKEN}")[0] == 401
        assert send(f"{server.url}/hook")[0] == 401
        assert ask(server.url, X_Tracekit_Token=TOKEN, X_Api_Key="the model's")[0] == 200
        assert send(f"{server.url}/v1/logs", b"{}", Authorization=f"Bearer {TOKEN}")[0] == 200
    (seen,) = model.asked
    assert seen["X-Api-Key"] == "the model's"
    assert TOKEN_HEADER.lower() not in {name.lower() for name in seen}


def test_a_record_that_cannot_be_written_touches_no_traffic_and_is_told(tmp_path: Path, upstream: Upstream) -> None:
    (tmp_path / "spool").write_text("a file where the folder should be")
    with Server(settings(tmp_path, upstream)) as server:
        assert json.loads(ask(server.url)[1]) == MESSAGE
        assert send(f"{server.url}/hook", b'{"session_id":"s1","hook_event_name":"Stop"}') == (200, b"{}")
    assert server.gaps > 0


def test_an_upstream_that_is_down_is_an_answer_like_any_other(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Server(settings(tmp_path, Upstream(f"http://127.0.0.1:{port}", environment={}))) as server:
        status, body = ask(server.url)
    assert status >= 500
    assert b"error" in body


def test_what_is_under_way_at_the_end_may_finish(tmp_path: Path, upstream: Upstream, model: Model) -> None:
    answers: list[tuple[int, bytes]] = []
    with Server(settings(tmp_path, upstream)) as server, within(LIMIT):
        asking = threading.Thread(target=lambda: answers.append(ask(server.url, "?slow=1")))
        asking.start()
        assert model.asking.wait(LIMIT)
        server.stop()
        asking.join(LIMIT)
        server.stop()
    assert answers == [(200, json.dumps(MESSAGE).encode())]


def test_what_would_take_for_ever_is_cut_at_the_end(tmp_path: Path, upstream: Upstream, model: Model) -> None:
    def hang() -> None:
        with pytest.raises((OSError, urllib.error.URLError)):
            ask(server.url, "?slow=60")

    with Server(settings(tmp_path, upstream)) as server:
        asking = threading.Thread(target=hang)
        asking.start()
        assert model.asking.wait(LIMIT)
        with within(8):
            server.stop()
        asking.join(LIMIT)
    threads = [thread.name for thread in threading.enumerate() if thread.name.startswith("tracekit listener")]
    assert len(threads) == 1, "only the stand-in still listens"


# Addresses


def test_a_port_that_is_taken_is_one_error_and_nothing_is_left(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(TracekitError, match=f"port 127.0.0.1:{port} is taken") as error, Server(settings(tmp_path, None, port=port)):
            pass
    assert error.value.slug == "port-taken"
    assert not [thread for thread in threading.enumerate() if thread.name == "tracekit listener"]


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
def test_an_address_of_nobody_here_is_an_error(tmp_path: Path, host: str) -> None:
    with pytest.raises(TracekitError, match="address of this machine") as error, Server(settings(tmp_path, None, host=host)):
        pass
    assert error.value.slug == "address-unknown"


def test_a_port_that_is_not_allowed_says_which_are() -> None:
    error = refused("127.0.0.1", 80, PermissionError(13, "Permission denied"))
    assert (error.slug, "above 1023" in str(error)) == ("port-forbidden", True)


def test_a_port_for_grpc_that_is_taken_names_its_option(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="the extra `grpc`")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(TracekitError, match="--grpc-port") as error, Server(settings(tmp_path, None, grpc_port=port)):
            pass
    assert error.value.slug == "port-taken"


def test_grpc_listens_beside(tmp_path: Path) -> None:
    grpc: Any = pytest.importorskip("grpc", reason="the extra `grpc`")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    body = next(OTLP.glob("*.traces.pb")).read_bytes()
    with Server(settings(tmp_path, None, grpc_port=port)), grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        export: Any = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
        assert export(body, timeout=LIMIT) == b""
    assert spooled(tmp_path / "spool") == ["otlp"]


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("10.0.0.1", False)],  # noqa: S104
)
def test_only_loopback_is_this_machine_alone(host: str, loopback: bool) -> None:  # noqa: FBT001
    assert is_loopback(host) is loopback


def test_every_network_is_reached_on_this_machine_by_its_loopback() -> None:
    assert Listener(web.Application, host="0.0.0.0", port=4318).url == "http://127.0.0.1:4318"  # noqa: S104  (never listened on)
    assert os.environ.get("TRACEKIT_URL") is None
