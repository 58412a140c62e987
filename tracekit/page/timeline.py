"""From a timeline's moments to what the page's script draws: bars in columns, times in microseconds from the first of them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tracekit.analysis.context import Context
from tracekit.analysis.timeline import Moment, hidden_until_ns
from tracekit.model import Boundary
from tracekit.report.html import plain

FORMAT: Final = 1
"""Version of the timeline's JSON form."""
LIVE_NS: Final = 3_600_000_000_000
"""What was open when last seen grows to the present, unless nothing was seen for as long as this."""
_US: Final = 1_000
_NAME: Final = 120
_KEY: Final = 200

MAIN_LANES: Final = ("turns", "model", "attempts", "blocks", "tools", "permission", "hooks", "MCP", "compaction", "sub-agents")
"""Lanes of the main agent, top to bottom; below them stands a lane for each sub-agent."""

_PLACES: Final[Mapping[str, tuple[str, str]]] = {
    Boundary.TURN: ("turns", "turn"),
    Boundary.MODEL_REQUEST: ("model", "wait"),
    Boundary.REQUEST_ATTEMPT: ("attempts", "attempt"),
    Boundary.RETRY_WAIT: ("attempts", "retry"),
    Boundary.STREAM_EVENT: ("blocks", "block"),
    Boundary.TOOL_SCHEDULE: ("tools", "schedule"),
    Boundary.TOOL_EXECUTION: ("tools", "tool"),
    Boundary.PERMISSION_WAIT: ("permission", "permission"),
    Boundary.HOOK_REPLY: ("hooks", "hook"),
    Boundary.MCP_CALL: ("MCP", "mcp"),
    Boundary.MCP_CONNECTION: ("MCP", "connection"),
    Boundary.COMPACTION: ("compaction", "compaction"),
    Boundary.SUBAGENT: ("sub-agents", "agent"),
}
_NOT_OF_AGENTS: Final = frozenset({Boundary.TURN, Boundary.STREAM_EVENT, Boundary.REQUEST_ATTEMPT})
"""What a sub-agent's one lane has no room for."""

COLUMNS: Final = (
    "boundary",
    "lane",
    "kind",
    "name",
    "key",
    "part_of",
    "start",
    "start_slack",
    "end",
    "end_slack",
    "ready",
    "changes",
    "status",
    "witnesses",
    "start_by",
    "end_by",
)
"""Fields of a bar. `end` null: open. `ready`: when a tool's block was complete. `changes`: when a request that waits begins to
stream, or a tool that hides is exposed; null: never."""


class Times(NamedTuple):
    """The clock of a picture: everything counts in microseconds from `origin_ns`."""

    origin_ns: int

    def us(self, ns: int | None) -> int | None:
        """Give a moment on this clock."""
        return None if ns is None else (ns - self.origin_ns) // _US


def picture(moments: Sequence[Moment], context: Sequence[Context], *, as_of_ns: int, after: int | None = None) -> dict[str, Any]:
    """Give what the script draws.

    Args:
        moments: Boundaries of one session.
        context: What its requests held of their models' windows.
        as_of_ns: The present.
        after: Leave out what had ended before this moment of the picture's clock.

    Returns:
        `format`, `origin_ns` (text: JavaScript has no integers as large), `as_of`, `last` (the last thing seen) and
        `is_live`; `bars`, a list for each of `COLUMNS`; and `held`: for each request of the main agent when it began, the tokens that it
        held, and the model's window.
    """
    origin_ns = min((moment.start_ns for moment in moments), default=as_of_ns)
    times = Times(origin_ns)
    last_ns = last_seen_ns(moments, origin_ns)
    everything = list(_bars(moments, times))
    end = COLUMNS.index("end")
    bars = everything if after is None else [bar for bar in everything if bar[end] is None or bar[end] >= after]
    return {
        "format": FORMAT,
        "origin_ns": str(origin_ns),
        "as_of": times.us(as_of_ns),
        "last": times.us(last_ns),
        "is_live": as_of_ns - last_ns < LIVE_NS,
        "lanes": _lanes(everything),
        "count": len(everything),
        "held": [[times.us(row.start_ns), row.context_tokens, row.window_tokens] for row in _talk(context)],
        "bars": {name: [bar[index] for bar in bars] for index, name in enumerate(COLUMNS)},
    }


def _talk(context: Sequence[Context]) -> list[Context]:
    return sorted((row for row in context if row.agent_id is None and not row.aside), key=lambda row: row.start_ns)


def last_seen_ns(moments: Iterable[Moment], default: int) -> int:
    """Give the last moment at which anything of a session was seen."""
    return max((max(moment.end_ns or 0, moment.start_ns, moment.last_seen_ns or 0) for moment in moments), default=default)


def _lanes(bars: Sequence[tuple[Any, ...]]) -> list[str]:
    found = dict.fromkeys(bar[1] for bar in bars)
    return [*(name for name in MAIN_LANES if name in found), *(name for name in found if name not in MAIN_LANES)]


def _bars(moments: Sequence[Moment], times: Times) -> Iterator[tuple[Any, ...]]:
    responses = {moment.key: moment for moment in moments if moment.boundary == Boundary.MODEL_REQUEST}
    schedules = {moment.key: moment for moment in moments if moment.boundary == Boundary.TOOL_SCHEDULE}
    executed = {moment.key for moment in moments if moment.boundary == Boundary.TOOL_EXECUTION}
    attempts = Counter(moment.parent_key for moment in moments if moment.boundary == Boundary.REQUEST_ATTEMPT)
    for moment in moments:
        boundary = moment.boundary
        if moment.agent_id is not None and boundary in _NOT_OF_AGENTS:
            continue
        if boundary == Boundary.TOOL_SCHEDULE and moment.key in executed:
            continue
        if boundary == Boundary.REQUEST_ATTEMPT and moment.status != "error" and attempts[moment.parent_key] == 1:
            continue
        if boundary == Boundary.TOOL_EXECUTION:
            schedule = schedules.get(moment.key)
            part_of = schedule.parent_key if schedule is not None else moment.parent_key
            yield _tool(moment, schedule, responses.get(part_of or ""), times)
        elif boundary == Boundary.MODEL_REQUEST:
            yield _bar(moment, times, changes=times.us(_streams_from(moment)))
        elif boundary in _PLACES:
            yield _bar(moment, times)


def _streams_from(moment: Moment) -> int | None:
    """A request streams from its first byte on; where nobody saw that, from its latest start. One that is open and silent waits."""
    if moment.first_byte_ns is not None:
        return moment.first_byte_ns
    return None if moment.end_ns is None else moment.start_ns + moment.start_slack_ns


def _tool(moment: Moment, schedule: Moment | None, response: Moment | None, times: Times) -> tuple[Any, ...]:
    stop_ns = hidden_until_ns(response)
    streams_on = response is not None and response.end_ns is None and not response.tools_wait
    hides = streams_on or (stop_ns is not None and stop_ns > moment.start_ns)
    return _bar(
        moment,
        times,
        kind="hidden" if hides else "tool",
        part_of=response.key if response is not None else None,
        ready=times.us(schedule.start_ns + schedule.start_slack_ns) if schedule is not None else None,
        changes=times.us(stop_ns) if hides else None,
    )


def _bar(
    moment: Moment, times: Times, *, kind: str = "", part_of: str | None = None, ready: int | None = None, changes: int | None = None
) -> tuple[Any, ...]:
    lane, usual = _PLACES[moment.boundary]
    if moment.agent_id is not None and moment.boundary != Boundary.SUBAGENT:
        lane = f"agent {plain(moment.agent_id, _NAME)}"
    owner = part_of or moment.parent_key
    return (
        moment.boundary,
        lane,
        kind or usual,
        plain(moment.name, _NAME),
        plain(moment.key, _KEY),
        None if owner is None else plain(owner, _KEY),
        times.us(moment.start_ns),
        moment.start_slack_ns // _US,
        times.us(moment.end_ns),
        moment.end_slack_ns // _US,
        ready,
        changes,
        moment.status,
        moment.witnesses,
        moment.start_source,
        moment.end_source,
    )
