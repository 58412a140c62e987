"""The judge of one run: how much tool time really ran under the response that asked for it.

A response's window opens when the server read the request and closes when it writes message_stop; one that broke off closes
at its last event. A tool's interval is the client's own execution span, because only the client knows when it dispatched
it; the stamps that the commands wrote themselves prove those spans. A tool is held against its own response only.

    hidden      |window ∩ union of its tools|, of a response that came whole
    under_cut   the same, of one that broke off
    exposed     length of that union, minus both

All times are Unix nanoseconds.
"""

import json
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from tests.lab.otlp import spans

Interval = tuple[int, int]


def lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines; one that does not exist has none."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Merge intervals that overlap or touch."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged


def length(intervals: Iterable[Interval]) -> int:
    """Add up lengths; intervals that end before they start count nothing."""
    return sum(max(0, end - start) for start, end in intervals)


def within(intervals: Iterable[Interval], window: Interval) -> list[Interval]:
    """Cut intervals to a window."""
    return [(max(start, window[0]), min(end, window[1])) for start, end in intervals]


def executions(run: Path) -> list[dict[str, Any]]:
    """What the client exported of each tool that ran."""
    found = [
        {"tool_use_id": tool_use_id, "start_ns": span.start_ns, "end_ns": span.end_ns, "success": span.attributes["success"]}
        for span in spans(run)
        if span.name == "claude_code.tool.execution" and (tool_use_id := span.attributes["tool_use_id"])
    ]
    return sorted(found, key=lambda execution: (execution["start_ns"], execution["tool_use_id"]))


def requests(run: Path) -> list[dict[str, Any]]:
    """What the server did with each request, in the order in which they came."""
    found: dict[str, dict[str, Any]] = {}
    for line in lines(run / "truth.jsonl"):
        if line["kind"] == "request":
            found[line["request_id"]] = _opened(line)
        elif line["kind"] != "hook":
            _advance(found[line["request_id"]], line)
    return list(found.values())


def _opened(line: dict[str, Any]) -> dict[str, Any]:
    said = {name: line.get(name) for name in ("request_id", "session_id", "agent")} | {"side": line.get("side", False)}
    times = {"read_ns": line["at_ns"], "first_event_ns": None, "last_event_ns": None, "message_stop_ns": None}
    return {**said, "message_id": None, **times, "ended": "open", "blocks": []}


def _advance(request: dict[str, Any], line: dict[str, Any]) -> None:
    at_ns: int = line["at_ns"]
    match line["kind"]:
        case "failed":
            request["ended"] = f"http {line['status']}"
        case "cut":
            request["ended"] = "cut"
        case "event":
            request["first_event_ns"] = request["first_event_ns"] or at_ns
            request["last_event_ns"] = at_ns
            _note(request, line)
        case _:
            pass


def _note(request: dict[str, Any], line: dict[str, Any]) -> None:
    match line["event"]:
        case "message_start":
            request["message_id"] = line["message_id"]
        case "content_block_stop":
            said = {name: line[name] for name in ("index", "block", "tool_use_id", "name", "tag") if name in line}
            request["blocks"].append(said | {"complete_ns": line["at_ns"]})
        case "message_stop":
            request["message_stop_ns"] = line["at_ns"]
            request["ended"] = "message_stop"
        case "error":
            request["ended"] = "error_event"
        case _:
            pass


def stamps(run: Path, asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """When each command itself says that it began and ended, with the call that it belongs to."""
    calls = {block["tag"]: block["tool_use_id"] for request in asked for block in request["blocks"] if "tag" in block}
    found: dict[str, dict[str, Any]] = {}
    for line in lines(run / "stamps.jsonl"):
        stamp = found.setdefault(line["tag"], {"tool_use_id": calls[line["tag"]], "tag": line["tag"], "start_ns": None, "end_ns": None})
        stamp[f"{line['edge']}_ns"] = line["at_ns"]
    return list(found.values())


def account(request: dict[str, Any], ran: dict[str, Interval]) -> dict[str, int]:
    """Split the tool time of one response."""
    tools = union(ran[block["tool_use_id"]] for block in request["blocks"] if block.get("tool_use_id") in ran)
    wall = length(tools)
    is_whole = request["message_stop_ns"] is not None
    end_ns = request["message_stop_ns"] or request["last_event_ns"] or request["read_ns"]
    under = length(within(tools, (request["read_ns"], end_ns)))
    hidden, under_cut = (under, 0) if is_whole else (0, under)
    return {"tool_wall_ns": wall, "hidden_ns": hidden, "under_cut_ns": under_cut, "exposed_ns": wall - under}


def truth(run: Path) -> dict[str, Any]:
    """Judge a run by its truth.jsonl, stamps.jsonl and execution spans."""
    asked = requests(run)
    ran = executions(run)
    intervals = {execution["tool_use_id"]: (execution["start_ns"], execution["end_ns"]) for execution in ran}
    for request in asked:
        request.update(account(request, intervals))
    names = ("tool_wall_ns", "hidden_ns", "under_cut_ns", "exposed_ns")
    total = {name: sum(request[name] for request in asked) for name in names}
    (session,) = {session for request in asked if (session := request.pop("session_id"))}
    return {"session_id": session, "requests": asked, "executions": ran, "stamps": stamps(run, asked), "total": total}


def stray_stamps(judged: dict[str, Any], *, tolerance_ns: int = 2_000_000) -> list[dict[str, Any]]:
    """Give the stamped commands that do not lie inside their execution span: the judge's own proof must be empty."""
    ran = {execution["tool_use_id"]: execution for execution in judged["executions"]}
    return [stamp for stamp in judged["stamps"] if (span := ran.get(stamp["tool_use_id"])) and not _inside(stamp, span, tolerance_ns)]


def _inside(stamp: dict[str, Any], span: dict[str, Any], tolerance_ns: int) -> bool:
    edges = [edge for edge in (stamp["start_ns"], stamp["end_ns"]) if edge is not None]
    return all(span["start_ns"] - tolerance_ns <= edge <= span["end_ns"] + tolerance_ns for edge in edges)


def blocks(judged: dict[str, Any]) -> list[dict[str, Any]]:
    """Give every completed block of a judged run."""
    return list(chain.from_iterable(request["blocks"] for request in judged["requests"]))
