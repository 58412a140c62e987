"""Write the hand-made sessions of this folder: `python -m tests.data.faults.make`, the same bytes every time.

`probe/` is one session in which every number is known, with a sub-agent and a forked copy. `clean.jsonl` is a session of one
turn, and each other file is that session with one fault. What is true of them is written by hand in expected.json.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
BEGIN: Final = datetime(2026, 11, 29, 10, 0, tzinfo=UTC)
SESSION: Final = "10000000-0000-4000-8000-000000000001"
FORK: Final = "10000000-0000-4000-8000-000000000002"
AGENT: Final = "a1b2c3d"

Entry = dict[str, Any]


def at(seconds: float) -> str:
    return (BEGIN + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Transcript:
    """Entries of one file, each the child of the one before. Times are seconds after the begin."""

    def __init__(self, series: str, **envelope: Any) -> None:
        self.entries: list[Entry] = []
        self._series = series
        self._envelope = {"isSidechain": False, "cwd": "/home/demo/project", "sessionId": SESSION, "version": "2.1.39", **envelope}

    def add(self, kind: str, seconds: float, **fields: Any) -> None:
        parent = self.entries[-1]["uuid"] if self.entries else None
        uuid = f"{self._series}-0000-4000-8000-{len(self.entries) + 1:012}"
        self.entries.append({"parentUuid": parent, **self._envelope, "type": kind, "uuid": uuid, "timestamp": at(seconds), **fields})

    def prompt(self, seconds: float, words: str, **fields: Any) -> None:
        self.add("user", seconds, message={"role": "user", "content": words}, **fields)

    def said(self, seconds: float, message: str, block: Entry, usage: tuple[int, int, int, int], **fields: Any) -> None:
        """Write one block of a response; `usage` is input, cache written, cache read, output."""
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
        body: Entry = {"id": f"msg_{message}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [block]}
        body |= {"stop_reason": None, "usage": dict(zip(names, usage, strict=True))}
        self.add("assistant", seconds, requestId=f"req_{message}", message=body, **fields)

    def result(self, seconds: float, call: str, content: Any, *, failed: bool = False, **fields: Any) -> None:
        block: Entry = {"tool_use_id": f"toolu_{call}", "type": "tool_result", "content": content}
        if failed:
            block["is_error"] = True
            fields.setdefault("toolUseResult", f"Error: {content}")
        asked = next(entry["uuid"] for entry in self.entries if block["tool_use_id"] in _calls(entry))
        links = {"parentUuid": asked, "sourceToolAssistantUUID": asked}
        self.add("user", seconds, message={"role": "user", "content": [block]}, **links, **fields)

    def api_error(self, seconds: float, attempt: int, wait_ms: float, **error: Any) -> None:
        retry = {"retryInMs": wait_ms, "retryAttempt": attempt, "maxRetries": 10}
        self.add("system", seconds, subtype="api_error", level="error", error=error, **retry)

    def gave_up(self, seconds: float, words: str, error: str) -> None:
        body: Entry = {"id": f"given-up-{seconds:.0f}", "model": "<synthetic>", "role": "assistant", "type": "message"}
        body |= {"content": [text(words)], "stop_reason": "stop_sequence", "usage": {"input_tokens": 0, "output_tokens": 0}}
        self.add("assistant", seconds, isApiErrorMessage=True, error=error, message=body)

    def lines(self) -> list[bytes]:
        return [json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() for entry in self.entries]


def _calls(entry: Entry) -> set[str]:
    return {block["id"] for block in entry["message"]["content"] if block["type"] == "tool_use"} if entry["type"] == "assistant" else set()


def text(words: str) -> Entry:
    return {"type": "text", "text": words}


def call(key: str, name: str, **arguments: Any) -> Entry:
    return {"type": "tool_use", "id": f"toolu_{key}", "name": name, "input": arguments}


def one_turn() -> Transcript:
    """A turn of three responses; the Read's result stands before the last block of its message, so tools start early."""
    file = Transcript("c0000000")
    file.prompt(0, "Why is the build slow?")
    file.said(3, "c1", text("Looking."), (10, 1000, 10_000, 4))
    file.said(3.5, "c1", call("read", "Read", file_path="/home/demo/project/build.cfg"), (10, 1000, 10_000, 4))
    file.result(3.75, "read", "1\tjobs = 1")
    file.said(6, "c1", call("build", "Bash", command="make -j1"), (10, 1000, 10_000, 200))
    file.result(16, "build", "done in 10 s")
    file.said(19, "c2", call("edit", "Edit", file_path="/home/demo/project/build.cfg"), (12, 400, 11_000, 90))
    file.result(19.5, "edit", "updated")
    file.said(22, "c3", text("One job only: now it uses all."), (9, 150, 11_400, 40))
    return file


def probe() -> Transcript:
    """A session that meets nearly everything that can go wrong, at known times."""
    file = Transcript("b0000000")
    file.prompt(0, "The nightly job fails. Please find out why.")
    # Three blocks of one message; the Read is done before the last of them.
    file.said(3, "p1", text("I look at the job."), (10, 1000, 10_000, 5))
    file.said(3.5, "p1", call("r1", "Read", file_path="/home/demo/project/job.py"), (10, 1000, 10_000, 5))
    file.result(3.8, "r1", "1\trun()")
    file.said(6, "p1", call("b1", "Bash", command="python job.py"), (10, 1000, 10_000, 500))
    file.result(16, "b1", "Exit code 1\nno such table", failed=True)
    # Two at once, of 10 s and 5 s; the file has the longer one's result later still.
    file.said(18, "p2", call("b2", "Bash", command="make all"), (20, 500, 11_000, 300))
    file.said(18.5, "p2", call("b3", "Bash", command="make docs"), (20, 500, 11_000, 300))
    file.result(23.5, "b3", "docs built")
    # An MCP server that went away.
    file.said(30, "p3", call("m1", "mcp__tracker__search", query="nightly"), (30, 200, 11_500, 100))
    file.result(28, "b2", "all built")
    file.result(31.25, "m1", "MCP error -32000: Connection closed", failed=True)
    # A sub-agent.
    file.said(32, "p4", call("t1", "Task", prompt="find the table", subagent_type="Explore"), (15, 300, 11_700, 120))
    report = {"status": "completed", "agentId": AGENT, "totalDurationMs": 29_900, "totalTokens": 22_222, "totalToolUseCount": 1}
    file.result(62, "t1", [text("it was renamed")], toolUseResult=report)
    # Three attempts that fail, then an answer; its edit waits 40 s for a person, who says no.
    file.api_error(64, 1, 600.0, cause={"code": "ECONNRESET"})
    file.api_error(66, 2, 1200.0, cause={"code": "ETIMEDOUT"})
    file.api_error(68, 3, 2400.0, status=529, error={"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    file.said(75, "p5", text("I change the name."), (40, 900, 12_000, 50))
    file.said(76, "p5", call("e1", "Edit", file_path="/home/demo/project/job.py"), (40, 900, 12_000, 90))
    refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    file.result(116, "e1", refusal, failed=True, toolUseResult="User rejected tool use")
    file.add("user", 116, message={"role": "user", "content": [text("[Request interrupted by user for tool use]")]})
    # Two turns that end without an answer.
    file.prompt(120, "Go on.")
    file.gave_up(150, "API Error: Connection error.", "unknown")
    file.prompt(155, "Once more.")
    file.gave_up(156, "Prompt is too long", "invalid_request")
    leaf = file.entries[-1]["uuid"]
    compact = {"trigger": "auto", "preTokens": 171_234}
    file.add("system", 170, subtype="compact_boundary", compactMetadata=compact, parentUuid=None, logicalParentUuid=leaf)
    file.prompt(170, "What happened so far: the table was renamed.", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    # A command that runs into its timeout, and one that never comes back.
    file.said(175, "p6", call("b4", "Bash", command="python job.py --all"), (60, 2000, 3000, 60))
    file.result(295, "b4", "Command timed out after 2m 0.0s", failed=True)
    file.said(300, "p7", text("I start the server."), (70, 100, 5000, 10))
    file.said(301, "p7", call("b5", "Bash", command="tail -f job.log"), (70, 100, 5000, 70))
    return file


def sub_agent() -> Transcript:
    file = Transcript("d0000000", isSidechain=True, agentId=AGENT)
    file.prompt(32.1, "find the table")
    file.said(36, "s1", call("g1", "Grep", pattern="CREATE TABLE"), (10, 1000, 5000, 2))
    file.result(36.2, "g1", "schema.sql")
    file.said(38, "s1", text("one more look"), (10, 1000, 5000, 101))
    file.said(61.9, "s2", text("it was renamed"), (10, 1000, 15_000, 101))
    return file


def fork(original: Transcript) -> list[bytes]:
    """Copy the first six entries under another session id, and go on from there."""
    file = Transcript("f0000000", sessionId=FORK)
    file.entries = [entry | {"sessionId": FORK} for entry in original.entries[:6]]
    file.prompt(400, "Try another way.")
    return file.lines()


def insert(line: bytes) -> Callable[[list[bytes]], bytes]:
    """Put a foreign line after the fourth."""
    return lambda lines: joined([*lines[:4], line, *lines[4:]])


def joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def without_time(lines: list[bytes]) -> bytes:
    """Take the time from the result of the command, line 6."""
    entry = json.loads(lines[5])
    del entry["timestamp"]
    return joined([*lines[:5], json.dumps(entry, separators=(",", ":")).encode(), *lines[6:]])


def glued(lines: list[bytes]) -> bytes:
    """Lose the newline between lines 3 and 4."""
    return joined([*lines[:2], lines[2] + lines[3], *lines[4:]])


NOT_UTF8: Final = b'{"type":"user","uuid":"u-bad","timestamp":"' + at(4).encode() + b'","message":{"role":"user","content":"\xff\xfe"}}'
FRAGMENTS: Final = b'{"type":"assistant","uuid":"u-cut","timestamp":"' + at(4).encode() + b'","message":{"0":"{","1":"}","content":[]}}'
FAULTS: Final[dict[str, Callable[[list[bytes]], bytes]]] = {
    "clean": joined,
    "truncated_mid": lambda lines: insert(lines[2][:120])(lines),
    "truncated_tail": lambda lines: joined(lines)[:-80],
    "bad_utf8": insert(NOT_UTF8),
    "blank_line": insert(b""),
    "bom": lambda lines: b"\xef\xbb\xbf" + joined(lines),
    "crlf": lambda lines: joined([line + b"\r" for line in lines]),
    "null_line": insert(b"null"),
    "string_line": insert(b'"a string"'),
    "nul_bytes": insert(b"\0" * 64),
    "no_timestamp": without_time,
    "content_fragments": insert(FRAGMENTS),
    "glued": glued,
    "no_final_newline": lambda lines: joined(lines)[:-1],
}


def files() -> dict[str, bytes]:
    """Give every file by its path in this folder."""
    lines = one_turn().lines()
    original = probe()
    return {
        **{f"{name}.jsonl": fault(lines) for name, fault in FAULTS.items()},
        f"probe/{SESSION}.jsonl": joined(original.lines()),
        f"probe/{SESSION}/subagents/agent-{AGENT}.jsonl": joined(sub_agent().lines()),
        f"probe/{FORK}.jsonl": joined(fork(original)),
    }


def main() -> None:
    for name, content in files().items():
        path = HERE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    main()
