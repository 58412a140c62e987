"""A model on loopback that says the same each time, at a model's pace: a Messages API in place of one that costs money.

It answers a first request with two tool calls, a second with one, and then it is done. What it sends has the times that stand in
`ANSWERS`, counted from the moment when it had read the request: nothing drifts.
"""

import json
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Piece = tuple[float, str, str]
"""When a block is complete, in seconds after the request, the tool that it calls (none: it is text), and what it says."""

ANSWERS: tuple[tuple[Piece, ...], ...] = (
    ((0.2, "", "I read both files first."), (0.4, "read", "a.txt"), (0.6, "read", "b.txt"), (2.0, "", "While they load, here is my plan.")),
    ((0.2, "", "Now I run the tests."), (0.7, "test", "all"), (1.1, "", "They should pass.")),
    ((0.3, "", "All is well."),),
)


def events(number: int, model: str) -> Iterator[tuple[float, dict[str, Any]]]:
    """The stream events of an answer, and when each is due."""
    message: dict[str, Any] = {"id": f"msg_{time.time_ns()}", "type": "message", "role": "assistant", "model": model, "content": []}
    usage = {"input_tokens": 100, "output_tokens": 1}
    yield 0.1, {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}}
    due, calls = 0.1, False
    for index, (complete, tool, said) in enumerate(ANSWERS[number]):
        start: dict[str, Any]
        if tool:
            calls = True
            start = {"type": "tool_use", "id": f"toolu_{time.time_ns()}_{index}", "name": tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps({"what": said})}
        else:
            start = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": said}
        yield due, {"type": "content_block_start", "index": index, "content_block": start}
        yield (due + complete) / 2, {"type": "content_block_delta", "index": index, "delta": delta}
        due = complete
        yield due, {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield due, {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 50}}
    yield due, {"type": "message_stop"}


class Exchange(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Answer a request: which answer it is, its conversation tells."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            self._answer(len(asked["messages"]) // 2, asked["model"])
        except ConnectionError:
            self.close_connection = True  # whoever asked has left

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
        """Say nothing: the terminal is the agent's."""

    def _answer(self, number: int, model: str) -> None:
        began = time.monotonic()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("request-id", f"req_{time.time_ns()}")
        self.end_headers()
        for due, event in events(number, model):
            time.sleep(max(0.0, began + due - time.monotonic()))
            self._send(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self._send(b"")

    def _send(self, chunk: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))


@contextmanager
def scripted_model() -> Generator[str]:
    """Serve as long as the block lasts; gives the base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Exchange)
    server.daemon_threads = True
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
