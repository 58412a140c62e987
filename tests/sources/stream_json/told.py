"""Lines of stream-json with made-up ids, and ways to read them."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from tracekit.model import Boundary, Problem, Span
from tracekit.sources.stream_json import read

SESSION = "5e551000-0000-4000-8000-000000000001"
SECOND = 1_000_000_000
MILLISECOND = 1_000_000
ZERO = 1_800_000_000 * SECOND
QUIET = 100 * MILLISECOND
BUSY = 500 * MILLISECOND
EARLY = 10 * MILLISECOND

Line = dict[str, Any]
Arrived = tuple[float, Line]


def at(seconds: float) -> int:
    return ZERO + round(seconds * 1000) * MILLISECOND


def stamp(seconds: float) -> str:
    return f"2027-01-15T08:00:{seconds:06.3f}Z"


def line(kind: str, **fields: Any) -> Line:
    return {"type": kind, "session_id": SESSION, "uuid": f"u-{kind}", **fields}


def system(subtype: str, **fields: Any) -> Line:
    return line("system", subtype=subtype, **fields)


def init(**fields: Any) -> Line:
    about: Line = {"cwd": "/home/demo/project", "model": "model-x", "claude_code_version": "2.1.332", "mcp_servers": []}
    return system("init", **(about | fields))


def requesting(uuid: str = "u-status") -> Line:
    return system("status", status="requesting", uuid=uuid)


def event(kind: str, **fields: Any) -> Line:
    return line("stream_event", event={"type": kind, **fields}, parent_tool_use_id=None)


def message_start(message: str = "msg_1", **fields: Any) -> Line:
    usage = {"input_tokens": 7, "output_tokens": 1, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2}
    return event("message_start", message={"id": message, "model": "model-x", "usage": usage}) | fields


def block_start(index: int, kind: str = "text") -> Line:
    return event("content_block_start", index=index, content_block={"type": kind})


def block_stop(index: int) -> Line:
    return event("content_block_stop", index=index)


def message_delta(reason: str = "end_turn", tokens: int = 50) -> Line:
    return event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": tokens})


def message_stop() -> Line:
    return event("message_stop")


def said(*parts: Line, message: str = "msg_1", request: str | None = "req_1", **fields: Any) -> Line:
    named = {"request_id": request} if request else {}
    body = {"id": message, "model": "model-x", "content": list(parts), "usage": {"input_tokens": 7, "output_tokens": 1}}
    return line("assistant", message=body, **named, **fields)


def words(text: str = "hello") -> Line:
    return {"type": "text", "text": text}


def tool(key: str = "toolu_1", name: str = "Bash", **arguments: Any) -> Line:
    return {"type": "tool_use", "id": key, "name": name, "input": arguments}


def gave(key: str = "toolu_1", content: Any = "done", *, is_error: bool = False, meta: Line | None = None, **fields: Any) -> Line:
    part = {"type": "tool_result", "tool_use_id": key, "content": content, "is_error": is_error}
    notes = {"tool_result_meta": [{"id": key, **meta}]} if meta else {}
    return line("user", message={"role": "user", "content": [part]}, **notes, **fields)


def failed(text: str, **fields: Any) -> Line:
    body: Line = {"id": "synthetic-1", "model": "<synthetic>", "content": [words(text)], "usage": {}}
    return line("assistant", message=body, is_api_error_message=True, **fields)


def retry(attempt: int, delay_ms: int) -> Line:
    fields = {"attempt": attempt, "max_retries": 10, "retry_delay_ms": delay_ms, "error_status": 529, "error": "overloaded"}
    return system("api_retry", uuid=f"u-retry-{attempt}", **fields)


def result(duration: float = 0.0, **fields: Any) -> Line:
    return line("result", **{"subtype": "success", "is_error": False, "duration_ms": duration * 1000, **fields})


def raw(lines: Iterable[Line], arrivals: Iterable[int | None]) -> Iterator[tuple[int, int, bytes, int | None]]:
    position = 0
    for number, (value, arrival) in enumerate(zip(lines, arrivals, strict=True), 1):
        data = json.dumps(value).encode()
        yield number, position, data, arrival
        position += len(data) + 1


def live(*arrived: Arrived, **options: Any) -> list[Span | Problem]:
    return list(read(raw([value for _, value in arrived], [at(seconds) for seconds, _ in arrived]), **options))


def filed(*lines: Line, **options: Any) -> list[Span | Problem]:
    return list(read(raw(lines, [None] * len(lines)), **options))


def spans(items: Iterable[Span | Problem], boundary: Boundary) -> list[Span]:
    return [item for item in items if isinstance(item, Span) and item.boundary == boundary]


def one(items: Iterable[Span | Problem], boundary: Boundary) -> Span:
    (span,) = spans(items, boundary)
    return span


def problems(items: Iterable[Span | Problem]) -> list[Problem]:
    return [item for item in items if isinstance(item, Problem)]


def start_range(span: Span) -> tuple[int, int]:
    return span.start_ns, span.start_ns + span.start_slack_ns


def end_range(span: Span) -> tuple[int, int]:
    assert span.end_ns is not None
    return span.end_ns - span.end_slack_ns, span.end_ns


def response(start: float, *blocks: tuple[float, Line], message: str = "msg_1", stop: float, reason: str = "end_turn") -> list[Arrived]:
    """A response told by its stream: each block is complete at its time."""
    told: list[Arrived] = [(start, message_start(message))]
    began = start
    for index, (seconds, answer) in enumerate(blocks):
        kind = answer["message"]["content"][0]["type"]
        told += [(began, block_start(index, kind)), (seconds, answer), (seconds, block_stop(index))]
        began = seconds
    return [*told, (stop, message_delta(reason)), (stop, message_stop())]


SIMPLE: list[Arrived] = [
    (0.0, init()),
    (0.1, requesting()),
    *response(0.5, (1.0, said(words())), stop=1.2),
    (1.3, result(1.35, total_cost_usd=0.25, terminal_reason="completed")),
]

WITH_TOOL: list[Arrived] = [
    (0.0, init()),
    (0.1, requesting()),
    *response(0.5, (1.0, said(tool(command="ls", timeout=5000))), stop=1.2, reason="tool_use"),
]
