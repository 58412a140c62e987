"""From a timeline's moments to the lanes of a picture, a turn at a time."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from tracekit.analysis.timeline import Moment, hidden_until_ns
from tracekit.errors import TracekitError
from tracekit.model import Boundary
from tracekit.report.bar import Bar, Kind, Lane
from tracekit.report.lanes import draw
from tracekit.report.units import duration

_MOST_TURNS: Final = 12
"""Turns that are drawn unless one is asked for: the last ones."""

_SMALLEST: Final = 200
"""A permission shorter than this part of its turn is not drawn."""

_KINDS: Final = {
    Boundary.PERMISSION_WAIT: ("permission", Kind.PERMISSION),
    Boundary.HOOK_REPLY: ("hooks", Kind.HOOK),
    Boundary.MCP_CONNECTION: ("MCP", Kind.CONNECTION),
    Boundary.RETRY_WAIT: ("model", Kind.RETRY),
    Boundary.COMPACTION: ("compaction", Kind.COMPACTION),
}
_LANES: Final = ("model", "tools", "permission", "hooks", "MCP", "compaction")


def pictures(moments: Sequence[Moment], *, turn: int | None, width: int, colour: bool) -> str:
    """Draw the turns of a session.

    Raises:
        TracekitError: `turn-unknown` where the session has no such turn.
    """
    turns = [moment for moment in moments if moment.boundary == Boundary.TURN and moment.agent_id is None]
    if not turns:
        return "No turn in this scope."
    chosen = turns[-_MOST_TURNS:] if turn is None else [_nth(turns, turn)]
    parts = [_picture(one, turns.index(one) + 1, moments, width=width, colour=colour) for one in chosen]
    if len(chosen) < len(turns) and turn is None:
        parts.insert(0, f"The last {len(chosen)} of {len(turns)} turns; --turn N draws another.\n")
    return "\n\n".join(parts)


def _nth(turns: Sequence[Moment], number: int) -> Moment:
    index = number - 1 if number > 0 else number
    if number == 0 or not -len(turns) <= index < len(turns):
        raise TracekitError(f"the session has {len(turns)} turns and no turn {number}; give --turn 1 to {len(turns)}", slug="turn-unknown")
    return turns[index]


def _picture(turn: Moment, number: int, moments: Sequence[Moment], *, width: int, colour: bool) -> str:
    end_ns = turn.end_ns if turn.end_ns is not None else max(turn.last_seen_ns or turn.start_ns, turn.start_ns)
    inside = [moment for moment in moments if moment.start_ns <= end_ns and (moment.end_ns or end_ns) >= turn.start_ns]
    began = datetime.fromtimestamp(turn.start_ns / 1e9).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    state = "" if turn.end_ns is not None else ", still open when last seen"
    title = f"turn {number}  {began}  {turn.name}, {duration(end_ns - turn.start_ns)}{state}"
    return f"{title}\n" + draw(lanes(inside, turn), start_ns=turn.start_ns, end_ns=end_ns, width=width, colour=colour)


def lanes(moments: Sequence[Moment], turn: Moment) -> list[Lane]:
    """The lanes of a turn: those of its main agent, then a lane for each sub-agent."""
    found: dict[str, list[Bar]] = defaultdict(list)
    streams = {moment.key: moment for moment in moments if moment.boundary == Boundary.MODEL_REQUEST}
    issued = {moment.key: streams.get(moment.parent_key or "") for moment in moments if moment.boundary == Boundary.TOOL_SCHEDULE}
    for moment in moments:
        if moment.agent_id is not None and moment.boundary != Boundary.SUBAGENT:
            if moment.boundary == Boundary.TURN:
                found[f"agent {moment.agent_id[:8]}"].append(_plain(moment, Kind.AGENT))
        elif moment.boundary == Boundary.MODEL_REQUEST:
            found["model"].append(_request(moment))
        elif moment.boundary == Boundary.TOOL_EXECUTION:
            found["tools"].append(_tool(moment, issued.get(moment.key) or streams.get(moment.parent_key or "")))
        elif moment.boundary in _KINDS and moment.turn_key in {turn.key, None} and not _too_small(moment, turn):
            lane, kind = _KINDS[Boundary(moment.boundary)]
            found[lane].append(_plain(moment, kind))
    agents = sorted(name for name in found if name not in _LANES)
    return [Lane(name, found[name]) for name in (*_LANES, *agents) if found[name]]


def _too_small(moment: Moment, turn: Moment) -> bool:
    """A rule's answer takes milliseconds: drawn, it would crowd out what a person's takes."""
    if moment.boundary != Boundary.PERMISSION_WAIT or moment.end_ns is None:
        return False
    whole = (turn.end_ns or turn.last_seen_ns or turn.start_ns) - turn.start_ns
    return (moment.end_ns - moment.start_ns) * _SMALLEST < whole


def _plain(moment: Moment, kind: Kind) -> Bar:
    return Bar(
        moment.start_ns,
        moment.end_ns,
        kind,
        moment.name,
        start_slack_ns=moment.start_slack_ns,
        end_slack_ns=moment.end_slack_ns,
        failed=moment.status == "error",
    )


def _request(moment: Moment) -> Bar:
    """A request waits, then streams: from its first byte, or where that was not seen, from its latest start on."""
    streams_from = moment.first_byte_ns if moment.first_byte_ns is not None else moment.start_ns + moment.start_slack_ns
    bar = _plain(moment, Kind.WAIT)
    return Bar(
        bar.start_ns,
        bar.end_ns,
        Kind.WAIT,
        moment.name,
        start_slack_ns=0 if moment.first_byte_ns is not None else bar.start_slack_ns,
        end_slack_ns=bar.end_slack_ns,
        then=((streams_from, Kind.STREAM),),
        failed=bar.failed,
    )


def _tool(moment: Moment, response: Moment | None) -> Bar:
    """A tool is hidden until its own response ends, and exposed from there on."""
    bar = _plain(moment, Kind.TOOL)
    stop_ns = hidden_until_ns(response)
    if stop_ns is None or stop_ns <= moment.start_ns:
        return bar
    return Bar(
        bar.start_ns,
        bar.end_ns,
        Kind.HIDDEN,
        moment.name,
        start_slack_ns=bar.start_slack_ns,
        end_slack_ns=bar.end_slack_ns,
        then=((stop_ns, Kind.TOOL),),
        failed=bar.failed,
    )
