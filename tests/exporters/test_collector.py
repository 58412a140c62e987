"""A collector gets every body, is asked again when it is busy, and an error says what it said."""

import gzip
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.exporters.world import session, trace
from tracekit.errors import TracekitError
from tracekit_exporters import otlp
from tracekit_exporters.collector import send

Answer = tuple[int, dict[str, str], bytes]
OK: Answer = (200, {}, b"{}")


class Collector:
    """Answers as it is told, and keeps what came."""

    def __init__(self, answers: list[Answer]) -> None:
        self.answers = answers
        self.came: list[tuple[str, dict[str, str], bytes]] = []
        self.url = ""


@contextmanager
def collector(*answers: Answer) -> Generator[Collector]:
    kept = Collector(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kept.came.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            status, headers, answer = kept.answers.pop(0) if len(kept.answers) > 1 else kept.answers[0]
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(answer))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (its own name)
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        kept.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield kept
        finally:
            server.shutdown()
            thread.join()


def test_bodies_arrive_with_their_headers() -> None:
    lines = list(otlp.export(trace(session(), session("other"))))
    with collector(OK) as kept:
        sent = send(lines, f"{kept.url}/", headers={"authorization": "Bearer x"})
    assert sent.bodies == len(kept.came) == 2
    for line, (path, headers, body) in zip(lines, kept.came, strict=True):
        assert (path, headers["content-type"], headers["authorization"]) == ("/v1/traces", "application/json", "Bearer x")
        assert json.loads(gzip.decompress(body)) == json.loads(line)


def test_a_busy_collector_is_asked_again_when_it_says() -> None:
    slept: list[float] = []
    with collector((503, {"Retry-After": "7"}, b""), (429, {}, b""), OK) as kept:
        send(["{}"], kept.url, headers={}, sleep=slept.append)
    assert (len(kept.came), slept) == (3, [7.0, 2.0])


def test_a_collector_that_stays_busy_is_given_up() -> None:
    slept: list[float] = []
    with collector((503, {}, b"")) as kept, pytest.raises(TracekitError, match="503") as caught:
        send(["{}"], kept.url, headers={}, sleep=slept.append)
    assert (len(kept.came), caught.value.slug) == (5, "collector-failed")
    assert slept == [1, 2, 4, 8]


def test_a_refusal_is_not_asked_again() -> None:
    slept: list[float] = []
    with collector((401, {}, b"who are you")) as kept, pytest.raises(TracekitError, match="401"):
        send(["{}", "{}"], kept.url, headers={}, sleep=slept.append)
    assert (len(kept.came), slept) == (1, [])


def test_spans_that_it_did_not_take_are_counted() -> None:
    partial = json.dumps({"partialSuccess": {"rejectedSpans": "3", "errorMessage": "too old"}}).encode()
    with collector((200, {}, partial), (200, {}, b"not JSON"), (200, {}, b"[]"), OK) as kept:
        sent = send(["{}"] * 4, kept.url, headers={})
    assert sent == (4, 3, "too old")


def test_nobody_there_is_an_error_that_names_the_place() -> None:
    with pytest.raises(TracekitError, match=r"http://127\.0\.0\.1:9/v1/traces") as caught:
        send(["{}"], "http://127.0.0.1:9/v1/traces", headers={}, sleep=lambda _: None)
    assert caught.value.slug == "collector-failed"


def test_what_is_no_url_is_refused() -> None:
    with pytest.raises(TracekitError) as caught:
        send(["{}"], "collector:4317", headers={})
    assert caught.value.slug == "bad-endpoint"
