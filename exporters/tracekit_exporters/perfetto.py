"""Chrome trace JSON, as ui.perfetto.dev and chrome://tracing open it: a process an agent, a track a kind of boundary, and counters.

What lasts on one track may nest and may not overlap; what could overlap is laid on a further track of its kind. Tools overlap by nature:
they are async events under their tool use ids. Times are microseconds since the first moment of the export, whose Unix time stands in
`otherData`: a float of JSON would lose the nanoseconds of a Unix time.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tracekit.model import Boundary, semconv
from tracekit_exporters.plain import plain
from tracekit_exporters.trace import BoundaryRow, SessionTrace, Trace

_TRACKS: Final = {
    Boundary.SESSION: "session",
    Boundary.TURN: "turns",
    Boundary.SUBAGENT: "sub-agent",
    Boundary.MODEL_REQUEST: "model requests",
    Boundary.REQUEST_ATTEMPT: "attempts",
    Boundary.RETRY_WAIT: "waits for a retry",
    Boundary.STREAM_EVENT: "blocks",
    Boundary.HOOK_REPLY: "hooks",
    Boundary.MCP_CONNECTION: "MCP connections",
    Boundary.COMPACTION: "compactions",
}
"""The tracks of an agent from top to bottom. Viewers order them by their numbers."""
_ASYNC: Final = {
    Boundary.TOOL_SCHEDULE: "",
    Boundary.PERMISSION_WAIT: ": permission",
    Boundary.TOOL_EXECUTION: ": execution",
    Boundary.MCP_CALL: ": MCP call",
}
"""What belongs to a tool call, and what its events add to the tool's name: a viewer gives each name a track."""
_ROWS: Final = 1_000
"""Numbers kept for the further tracks of one kind. What would need more goes to the last, where a viewer draws it as it can."""
_TOKENS: Final = {
    "input": semconv.INPUT_TOKENS,
    "output": semconv.OUTPUT_TOKENS,
    "cache read": semconv.CACHE_READ_TOKENS,
    "cache write": semconv.CACHE_WRITE_TOKENS,
}
_SENT: Final = ("input", "cache read", "cache write")
"""What of the tokens stands in the context window when a request is sent."""

Json = dict[str, Any]


def export(trace: Trace) -> Iterator[str]:
    """Give the one JSON object, an event a line."""
    base_ns = min((session.first_ns for session in trace.sessions), default=trace.as_of_ns)
    pid = 0
    yield '{"displayTimeUnit":"ms","traceEvents":['
    separator = "\n"
    for session in trace.sessions:
        agents = _Agents(session, first_pid=pid + 1)
        for row in session.boundaries:
            for event in agents.draw(row, base_ns):
                yield separator + event
                separator = ",\n"
        for event in agents.counters(base_ns):
            yield separator + event
        pid = agents.last_pid
    other = {"exporter": "tracekit", "base_unix_ns": str(base_ns), "as_of_unix_ns": str(trace.as_of_ns)}
    yield f'\n],"otherData":{json.dumps(other)}}}\n'


class _Agents:
    """The agents of one session, each a process with its tracks."""

    def __init__(self, session: SessionTrace, *, first_pid: int) -> None:
        self._session = session
        self._pids: dict[str | None, int] = {}
        self._next_pid = first_pid
        self._ends: dict[tuple[int, Boundary], list[int]] = {}
        """By process and kind: when each of its tracks is free again."""
        self._usage: dict[int, list[tuple[int, int, dict[str, int]]]] = {}

    @property
    def last_pid(self) -> int:
        return self._next_pid - 1

    def draw(self, row: BoundaryRow, base_ns: int) -> Iterator[str]:
        """The events of one boundary, behind those that name its process and its track if they are new."""
        boundary = Boundary(row.boundary)
        if row.agent_id not in self._pids:
            yield from self._process(row.agent_id)
        pid = self._pids[row.agent_id]
        end_ns = max(row.start_ns, self._session.last_ns if row.end_ns is None else row.end_ns)
        if boundary is Boundary.MODEL_REQUEST:
            self._count(pid, row, end_ns)
        if boundary in _ASYNC:
            yield from _async(row, boundary, pid, row.start_ns - base_ns, end_ns - base_ns)
            return
        number, is_new = self._track(pid, boundary, row.start_ns, end_ns)
        tid = pid * _ROWS * 100 + list(_TRACKS).index(boundary) * _ROWS + number + 1
        if is_new:
            yield from _thread(pid, tid, _TRACKS[boundary] if number == 0 else f"{_TRACKS[boundary]} ({number + 1})")
        head = {"ph": "X", "pid": pid, "tid": tid, "cat": row.boundary, "name": _title(row, boundary)}
        yield _event(head, row.start_ns - base_ns, end_ns - row.start_ns, _arguments(row))

    def counters(self, base_ns: int) -> Iterator[str]:
        """The tokens so far, at the end of each response, and what each request sent, at its start."""
        for pid, used in self._usage.items():
            totals = dict.fromkeys(_TOKENS, 0)
            for end_ns, _, tokens in sorted(used, key=lambda one: one[:2]):
                totals = {name: totals[name] + tokens.get(name, 0) for name in totals}
                yield _event({"ph": "C", "pid": pid, "name": "tokens"}, end_ns - base_ns, None, totals)
            for _, start_ns, tokens in sorted(used, key=lambda one: one[1]):
                sent = sum(tokens.get(name, 0) for name in _SENT)
                yield _event({"ph": "C", "pid": pid, "name": "context"}, start_ns - base_ns, None, {"tokens": sent})

    def _process(self, agent_id: str | None) -> Iterator[str]:
        pid = self._pids[agent_id] = self._next_pid
        self._next_pid += 1
        # A viewer takes what stands before a slash for a path and leaves it out.
        agent = "main agent" if agent_id is None else f"agent {agent_id}"
        name = plain(f"{agent}, session {self._session.session_id}").replace("/", "\u2215")
        for title, argument in (("process_name", {"name": name}), ("process_sort_index", {"sort_index": pid})):
            yield _event({"ph": "M", "pid": pid, "name": title}, 0, None, argument)

    def _track(self, pid: int, boundary: Boundary, start_ns: int, end_ns: int) -> tuple[int, bool]:
        """Find the first track of a kind that is free, or the next."""
        ends = self._ends.setdefault((pid, boundary), [])
        for number, free_ns in enumerate(ends):
            if free_ns <= start_ns or number == _ROWS - 2:
                ends[number] = max(free_ns, end_ns)
                return number, False
        ends.append(end_ns)
        return len(ends) - 1, True

    def _count(self, pid: int, row: BoundaryRow, end_ns: int) -> None:
        tokens = {name: int(row.attributes[attribute]) for name, attribute in _TOKENS.items() if attribute in row.attributes}
        if tokens:
            self._usage.setdefault(pid, []).append((end_ns, row.start_ns + row.start_slack_ns, tokens))


def _async(row: BoundaryRow, boundary: Boundary, pid: int, start_ns: int, end_ns: int) -> Iterator[str]:
    name = plain(row.name or row.boundary) + _ASYNC[boundary]
    # An id of its process: two sessions may call two things alike.
    head = {"pid": pid, "id2": {"local": plain(row.key)}, "cat": row.boundary, "name": name}
    yield _event({"ph": "b"} | head, start_ns, None, _arguments(row))
    yield _event({"ph": "e"} | head, end_ns, None, {})


def _title(row: BoundaryRow, boundary: Boundary) -> str:
    if boundary is Boundary.STREAM_EVENT:
        return plain(str(row.attributes.get(semconv.BLOCK_TYPE, row.name or row.boundary)))
    if boundary is Boundary.TURN:
        return plain(f"turn ({row.attributes.get(semconv.TURN_KIND, 'prompt')})")
    return plain(row.name or row.boundary)


def _arguments(row: BoundaryRow) -> Json:
    """What a viewer shows of a slice that is selected."""
    told: Json = {"key": plain(row.key), "status": row.status, "witnesses": row.witnesses}
    if row.parent_key is not None:
        told["part of"] = plain(row.parent_key)
    if row.end_ns is None:
        told["open"] = True
    for name, slack_ns in (("start slack ms", row.start_slack_ns), ("end slack ms", row.end_slack_ns)):
        if slack_ns:
            told[name] = slack_ns / 1e6
    return told | {plain(name): plain(value) if isinstance(value, str) else value for name, value in row.attributes.items()}


def _thread(pid: int, tid: int, name: str) -> Iterator[str]:
    for title, argument in (("thread_name", {"name": name}), ("thread_sort_index", {"sort_index": tid})):
        yield _event({"ph": "M", "pid": pid, "tid": tid, "name": title}, 0, None, argument)


def _event(head: Mapping[str, Any], start_ns: int, duration_ns: int | None, arguments: Json) -> str:
    text = json.dumps(head)[:-1] + f',"ts":{_microseconds(start_ns)}'
    if duration_ns is not None:
        text += f',"dur":{_microseconds(duration_ns)}'
    return text + (f',"args":{json.dumps(arguments)}}}' if arguments else "}")


def _microseconds(ns: int) -> str:
    """Write nanoseconds as microseconds, exactly."""
    sign, whole = ("-", -ns) if ns < 0 else ("", ns)
    return f"{sign}{whole // 1000}.{whole % 1000:03d}" if whole % 1000 else f"{sign}{whole // 1000}"
