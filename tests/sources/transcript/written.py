"""Entries as a client writes them, with made-up ids, and ways to read them."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from tracekit.model import Boundary, Problem, Span
from tracekit.sources.lines import Line
from tracekit.sources.transcript import read

SESSION = "5e551000-0000-4000-8000-000000000001"
SECOND = 1_000_000_000
MILLISECOND = 1_000_000
ZERO = 1_800_000_000 * SECOND

SERIAL = "2.1.23"
"""The last client that started tools only after the whole message."""
EAGER = "2.1.25"
"""The first one that was seen to start them while the message streamed."""
LATE = "2.1.332"

Entry = dict[str, Any]


def at(seconds: float) -> int:
    return ZERO + round(seconds * 1000) * MILLISECOND


def stamp(seconds: float) -> str:
    minutes, rest = divmod(round(seconds * 1000), 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"2027-01-15T{8 + hours:02}:{minutes:02}:{rest / 1000:06.3f}Z"


def entry(kind: str, seconds: float, **fields: Any) -> Entry:
    about = {"parentUuid": None, "isSidechain": False, "cwd": "/home/demo/project", "sessionId": SESSION, "version": EAGER}
    return {**about, "type": kind, "uuid": f"{kind}@{seconds}", "timestamp": stamp(seconds), **fields}


def user(seconds: float, content: Any, **fields: Any) -> Entry:
    return entry("user", seconds, message={"role": "user", "content": content}, **fields)


def prompt(seconds: float, text: str = "do it", **fields: Any) -> Entry:
    return user(seconds, text, **fields)


def said(seconds: float, *parts: Entry, message: str = "msg_1", request: str | None = "req_1", **fields: Any) -> Entry:
    """A line of a response; `tokens` are its output tokens."""
    usage = {"input_tokens": 7, "output_tokens": fields.pop("tokens", 1)} | fields.pop("usage", {})
    body = {"id": message, "model": "model-x", "content": list(parts), "usage": usage, "stop_reason": fields.pop("stop_reason", None)}
    named = {"requestId": request} if request is not None else {}
    return entry("assistant", seconds, message=body, **named, **fields)


def words(text: str = "hello") -> Entry:
    return {"type": "text", "text": text}


def thought(text: str = "well") -> Entry:
    return {"type": "thinking", "thinking": text, "signature": "x"}


def tool(key: str = "toolu_1", name: str = "Bash", **arguments: Any) -> Entry:
    return {"type": "tool_use", "id": key, "name": name, "input": arguments}


def gave(seconds: float, key: str = "toolu_1", content: Any = "done", *, is_error: bool = False, **fields: Any) -> Entry:
    part = {"type": "tool_result", "tool_use_id": key, "content": content} | ({"is_error": True} if is_error else {})
    return user(seconds, [part], **fields)


def failed(seconds: float, text: str, key: str = "toolu_1", **fields: Any) -> Entry:
    return gave(seconds, key, text, is_error=True, toolUseResult=f"Error: {text}", **fields)


def progress(seconds: float, kind: str, key: str = "toolu_1", **data: Any) -> Entry:
    return entry("progress", seconds, data={"type": kind, **data}, parentToolUseID=key, toolUseID=f"{kind}-0")


def hook_began(seconds: float, event: str, key: str = "toolu_1", name: str | None = None, **fields: Any) -> Entry:
    data = {"type": "hook_progress", "hookEvent": event, "hookName": name or event, "command": "check-it --all"}
    return entry("progress", seconds, data=data, parentToolUseID=key, toolUseID=key) | {"uuid": f"hook@{seconds}-{event}"} | fields


def hook_ended(seconds: float, event: str, kind: str = "hook_success", key: str = "toolu_1", **attachment: Any) -> Entry:
    about = {"type": kind, "hookEvent": event, "hookName": event, "toolUseID": key, "command": "check-it --all"}
    return entry("attachment", seconds, attachment=about | attachment)


def system(seconds: float, subtype: str, **fields: Any) -> Entry:
    return entry("system", seconds, subtype=subtype, **fields)


def api_request(seconds: float, reference: str = "ref-1", **fields: Any) -> Entry:
    """The client is about to send a request. Such entries have no uuid and hang on nothing."""
    about = {"type": "api-request", "timestamp": stamp(seconds), "sessionId": SESSION, "version": LATE}
    return {**about, "id": reference, "params": {"model": "model-x"}, "querySource": "sdk", **fields}


def api_error(seconds: float, error: Any, delay_ms: float = 500, attempt: int = 1, **fields: Any) -> Entry:
    about = {"level": "error", "error": error, "retryInMs": delay_ms, "retryAttempt": attempt, "maxRetries": 10}
    return system(seconds, "api_error", **about, **fields)


def gave_up(seconds: float, text: str, **fields: Any) -> Entry:
    """The client's own words in an assistant's place."""
    body = {"id": "synthetic-1", "model": "<synthetic>", "content": [words(text)], "usage": {"output_tokens": 0}}
    return entry("assistant", seconds, message=body, isApiErrorMessage=True, **fields)


def in_a_row(*entries: Entry) -> list[Entry]:
    """Hang each entry that hangs on nothing on the one before it."""
    parent = None
    for value in entries:
        if value.get("parentUuid") is None and "uuid" in value:
            value["parentUuid"] = parent
        parent = value.get("uuid", parent)
    return list(entries)


def data_of(entries: Iterable[Entry]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in entries)


def lines(entries: Iterable[Entry]) -> Iterator[Line]:
    position = 0
    for number, value in enumerate(entries, 1):
        data = json.dumps(value).encode()
        yield Line(number, position, data)
        position += len(data) + 1


def told(*entries: Entry, content: bool = False) -> list[Span | Problem]:
    """What a file with these entries tells."""
    return list(read(lines(entries), content=content))


def spans(items: Iterable[Span | Problem], boundary: Boundary) -> list[Span]:
    return [item for item in items if isinstance(item, Span) and item.boundary == boundary]


def one(items: Iterable[Span | Problem], boundary: Boundary) -> Span:
    (span,) = spans(items, boundary)
    return span


def by_key(items: Iterable[Span | Problem], boundary: Boundary) -> dict[str, Span]:
    found = spans(items, boundary)
    assert len({span.key for span in found}) == len(found)
    return {span.key: span for span in found}


def problems(items: Iterable[Span | Problem]) -> list[Problem]:
    return [item for item in items if isinstance(item, Problem)]


def start_range(span: Span) -> tuple[int, int]:
    return span.start_ns, span.start_ns + span.start_slack_ns


def end_range(span: Span) -> tuple[int, int]:
    assert span.end_ns is not None
    return span.end_ns - span.end_slack_ns, span.end_ns


def between(earliest: float, latest: float) -> tuple[int, int]:
    return at(earliest), at(latest)
