"""A Messages API on loopback that plays a scenario and writes down, by its own clock, what left the socket when.

The same port takes the client's telemetry (OTLP over HTTP) and its HTTP hooks. Each line of truth.jsonl has `at_ns`, Unix
nanoseconds, and a `kind`:

    request   the body was read: request_id, session_id, messages; agent, the prompt of a sub-agent; side, beside the loop
    event     a stream event goes out: request_id, event, and of a block index, block, tool_use_id, name, tag
    failed    an HTTP error goes out: request_id, status
    cut       the connection was torn: request_id
    silence   from here on nothing is sent: request_id
    hook      an HTTP hook came in: event, tool_use_id

What goes out is stamped before it is written: nobody can have seen it earlier.
"""

import itertools
import json
import socket
import struct
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.lab.script import Answer, Block, Ending, Failure, Scenario, Step, answer, text

SIDE_ANSWER: Final = answer(text("ok"), first_byte=0.05)
"""To what the client asks beside its loop: titles, probes."""


class ScriptedApi:
    """Plays one scenario while it is entered as a context."""

    def __init__(self, scenario: Scenario, out: Path, *, localize: Callable[[str], str] = str) -> None:
        self.last_answer_began = threading.Event()
        self.closing = threading.Event()
        self.localize = localize
        self._out = out
        self._truth = (out / "truth.jsonl").open("w", encoding="utf-8")
        self._lock = threading.Lock()
        self._answers = _endless(scenario.answers)
        self._last = scenario.answers[-1]
        self._agents = {prompt: _endless(answers) for prompt, answers in scenario.agents.items()}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Exchange, self))
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        with self._lock:
            self._truth.close()

    def log(self, kind: str, **fields: object) -> None:
        """Write down what just happened; fields that are None or empty are left out."""
        known = {name: value for name, value in fields.items() if value not in (None, "")}
        line = json.dumps({"at_ns": time.time_ns(), "kind": kind, **known}, separators=(",", ":")) + "\n"
        with self._lock:
            if not self._truth.closed:
                self._truth.write(line)

    def step(self, body: dict[str, Any]) -> tuple[Step, str | None]:
        """Choose what to answer, and name the agent that asked: by its prompt, None for the main one."""
        if not body.get("stream") or not body.get("tools"):
            return SIDE_ANSWER, None
        asked = json.dumps(body["messages"][0])
        with self._lock:
            for prompt, answers in self._agents.items():
                if prompt in asked:
                    return next(answers), prompt
            step = next(self._answers)
        if step is self._last:
            self.last_answer_began.set()
        return step, None

    def keep_telemetry(self, signal: str, body: bytes) -> None:
        """Store a telemetry body under the moment of its arrival."""
        (self._out / "otlp" / f"{time.time_ns()}.{signal}.pb").write_bytes(body)


class Exchange(BaseHTTPRequestHandler):
    """One connection of the client."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, api: ScriptedApi, *connection: Any) -> None:
        self._api = api
        self._request_id = ""
        super().__init__(*connection)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class's name)
        """Say nothing on stderr."""

    def do_POST(self) -> None:
        """Take a model request, a telemetry body or a hook."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        match self.path.partition("?")[0].strip("/").split("/"):
            case ["v1", "messages"]:
                self._messages(json.loads(body))
            case ["v1", ("traces" | "logs" | "metrics") as signal]:
                self._api.keep_telemetry(signal, body)
                self._whole(200, b"", "application/x-protobuf")
            case ["hook"]:
                said = json.loads(body)
                self._api.log("hook", event=said["hook_event_name"], tool_use_id=said.get("tool_use_id"))
                self._whole(200, b"{}", "application/json")
            case _:
                self._whole(404, b"{}", "application/json")

    def do_GET(self) -> None:
        """Know no page."""
        self._whole(404, b"{}", "application/json")

    def do_HEAD(self) -> None:
        """Be reachable."""
        self._whole(200, b"", "application/json")

    def _messages(self, body: dict[str, Any]) -> None:
        self._request_id = f"req_{uuid.uuid4().hex[:16]}"
        step, agent = self._api.step(body)
        self._api.log(
            "request",
            request_id=self._request_id,
            session_id=self.headers.get("X-Claude-Code-Session-Id"),
            agent=agent,
            messages=len(body["messages"]),
            side=step is SIDE_ANSWER or None,
        )
        if isinstance(step, Failure):
            self._fail(step)
            return
        try:
            self._play(step, body["model"])
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _fail(self, failure: Failure) -> None:
        said = {"type": "error", "error": {"type": failure.kind, "message": failure.message}, "request_id": self._request_id}
        self._api.log("failed", request_id=self._request_id, status=failure.status)
        self._whole(failure.status, json.dumps(said).encode(), "application/json", **{"request-id": self._request_id, **failure.headers})

    def _whole(self, status: int, body: bytes, content_type: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": content_type, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _play(self, step: Answer, model: str) -> None:
        """Send an answer at its pace, down to the end that it asks for."""
        time.sleep(step.first_byte)
        self.send_response(200)
        for name, value in (("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked"), ("request-id", self._request_id)):
            self.send_header(name, value)
        self.end_headers()
        self._begin(step, model)
        for index, block in enumerate(step.blocks):
            self._block(index, block)
            if index == len(step.blocks) - 1 and step.ending is not Ending.COMPLETE:
                self._break_off(step.ending)
                return
            self._send("content_block_stop", {"index": index}, **self._where)
        time.sleep(step.tail)
        calls = any(block.kind == "tool_use" for block in step.blocks)
        stop = {"stop_reason": step.stop_reason or ("tool_use" if calls else "end_turn"), "stop_sequence": None}
        self._send("message_delta", {"delta": stop, "usage": {"output_tokens": step.output_tokens}})
        self._send("message_stop", {})
        self.wfile.write(b"0\r\n\r\n")

    def _begin(self, step: Answer, model: str) -> None:
        message_id = f"msg_{uuid.uuid4().hex[:20]}"
        cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": step.cached_tokens}
        usage = {"input_tokens": step.input_tokens, **cached, "output_tokens": 1}
        message: dict[str, Any] = {"id": message_id, "type": "message", "role": "assistant", "model": model, "content": []}
        rest = {"stop_reason": None, "stop_sequence": None, "usage": usage}
        self._send("message_start", {"message": message | rest}, message_id=message_id)

    def _block(self, index: int, block: Block) -> None:
        start, deltas = content(block, self._api.localize)
        self._where = {"index": index, "block": block.kind, "tool_use_id": start.get("id"), "name": block.tool, "tag": block.tag}
        self._send("content_block_start", {"index": index, "content_block": start}, **self._where)
        for delta in deltas:
            self._send("content_block_delta", {"index": index, "delta": delta}, index=index)
            time.sleep(block.pause)

    def _break_off(self, ending: Ending) -> None:
        self.close_connection = True
        match ending:
            case Ending.CUT:
                self._api.log("cut", request_id=self._request_id)
                # Closing without lingering resets the connection, as a proxy that dies does.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
            case Ending.SILENCE:
                self._api.log("silence", request_id=self._request_id)
                self._api.closing.wait()
            case _:
                self._send("error", {"error": {"type": "overloaded_error", "message": "Overloaded"}})

    def _send(self, event: str, data: dict[str, Any], **known: object) -> None:
        body = f"event: {event}\ndata: {json.dumps({'type': event, **data})}\n\n".encode()
        self._api.log("event", request_id=self._request_id, event=event, **known)
        self.wfile.write(b"%x\r\n%b\r\n" % (len(body), body))


def content(block: Block, localize: Callable[[str], str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Give the start of a block and its deltas, as the Messages API writes them."""
    match block.kind:
        case "tool_use":
            written = localize("".join(block.pieces))
            # At a space, so that no path is torn: the recording must find it to rename it.
            middle = written.rfind(" ", 0, len(written) // 2) + 1
            start: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": block.tool, "input": {}}
            return start, [{"type": "input_json_delta", "partial_json": half} for half in (written[:middle], written[middle:])]
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in block.pieces]
            signature = {"type": "signature_delta", "signature": "c2lnbmVk"}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signature]
        case "text":
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in block.pieces]


def _endless(answers: tuple[Step, ...]) -> Iterator[Step]:
    """Give the answers in order, and the last one again and again."""
    return itertools.chain(answers, itertools.repeat(answers[-1]))
