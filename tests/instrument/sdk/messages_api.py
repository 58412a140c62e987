"""A Messages API on loopback that is led by hand: a test says when what leaves the socket, and moves the clock in between.

Whoever waits for the other's bytes stands still, so that with a clock that is moved by hand every time is known beforehand.
"""

import json
import os
import socket
import struct
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Event, Thread
from typing import Any, NamedTuple, Self

WAIT_S = 20.0
TOOL: dict[str, Any] = {"name": "look", "description": "Look.", "input_schema": {"type": "object"}}
ASKED: dict[str, Any] = {"model": "claude-test", "max_tokens": 64, "messages": [{"role": "user", "content": "hi"}], "tools": [TOOL]}
USAGE = {"input_tokens": 7, "output_tokens": 1, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 3}
MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-test-1",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": USAGE,
}
START: dict[str, Any] = {"type": "message_start", "message": MESSAGE}
PING: dict[str, Any] = {"type": "ping"}
STOP: dict[str, Any] = {"type": "message_stop"}
OVERLOADED: dict[str, Any] = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def block_start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **said: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": said}


def text_delta(index: int, text: str) -> dict[str, Any]:
    return delta(index, type="text_delta", text=text)


def block_stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def message_delta(stop_reason: str, output_tokens: int) -> dict[str, Any]:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason, "stop_sequence": None},
        "usage": {"output_tokens": output_tokens},
    }


class Reply(NamedTuple):
    """What a request is answered.

    Attributes:
        status: HTTP status; 0: the connection is closed without an answer.
        body: The whole answer; None: a stream, sent by hand.
        headers: More of them.
        before: What happens when the request was read and its client waits.
    """

    status: int = 200
    body: dict[str, Any] | None = None
    headers: dict[str, str] = {}  # noqa: RUF012  (never changed)
    before: Callable[[], object] = lambda: None


class Exchange(BaseHTTPRequestHandler):
    """One connection, and the stream that goes out on it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    api: "MessagesApi"

    def __init__(self, api: "MessagesApi", *connection: Any) -> None:
        self.api = api
        self._done = Event()
        super().__init__(*connection)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the base class's name)
        """Say nothing on stderr."""

    def do_POST(self) -> None:
        self.api.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.api.headers.append(dict(self.headers.items()))
        number = len(self.api.asked)
        reply = self.api.replies.pop(0)
        reply.before()
        if reply.status == 0:
            self.close_connection = True
            return
        self.send_response(reply.status)
        headers = {"request-id": f"req_{number}", **reply.headers}
        body = None if reply.body is None else json.dumps(reply.body).encode()
        if body is None:
            headers |= {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}
        else:
            headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if body is not None:
            self.wfile.write(body)
            return
        self.api.streams.put(self)
        self._done.wait(WAIT_S)

    def send(self, *events: dict[str, Any]) -> None:
        """Send events, all in one write."""
        body = b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)
        self.wfile.write(b"%x\r\n%b\r\n" % (len(body), body))

    def end(self) -> None:
        """End the body as HTTP wants it."""
        self.wfile.write(b"0\r\n\r\n")
        self._done.set()

    def cut(self) -> None:
        """Tear the connection."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # At once, and not when whoever still holds it lets go.
        os.close(self.connection.detach())
        self._done.set()

    def close(self) -> None:
        """Close the connection in the middle of the body, politely."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
        self._done.set()

    def leave(self) -> None:
        """Be done with it, whatever became of the connection."""
        self.close_connection = True
        self._done.set()


class MessagesApi:
    """The API, while it is entered.

    Attributes:
        asked: Bodies of the requests that came.
        headers: Their headers.
        replies: What the next requests are answered.
        streams: The streams that began, in order.
    """

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.streams: Queue[Exchange] = Queue()
        self._server = Server(("127.0.0.1", 0), partial(Exchange, self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def stream(self) -> Exchange:
        """The next stream that began."""
        return self.streams.get(timeout=WAIT_S)

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class Server(ThreadingHTTPServer):
    """Quiet about connections that tests tear."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing."""
