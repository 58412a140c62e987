"""What happened when: every boundary of a session on one clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from tracekit.analysis.scope import Scope, ask
from tracekit.model import Column, Finding
from tracekit.store import SpanStore


@dataclass(frozen=True, slots=True)
class Moment(Finding):
    """One boundary on the timeline."""

    question: ClassVar[str] = "timeline"

    session_id: Annotated[str, Column("Session", "id", show=False)]
    turn_key: Annotated[str | None, Column("Turn", "id", show=False)]
    agent_id: Annotated[str | None, Column("Agent")]
    boundary: Annotated[str, Column("Boundary")]
    name: Annotated[str, Column("Name")]
    key: Annotated[str, Column("Key", "id", show=False)]
    parent_key: Annotated[str | None, Column("Part of", "id", show=False)]
    start_ns: Annotated[int, Column("Began", "time_ns")]
    """Earliest."""
    start_slack_ns: Annotated[int, Column("Start slack", "ns", show=False)]
    end_ns: Annotated[int | None, Column("Ended", "time_ns")]
    """Latest; None while open."""
    end_slack_ns: Annotated[int, Column("End slack", "ns", show=False)]
    first_byte_ns: Annotated[int | None, Column("First byte", "time_ns", show=False)]
    last_block_ns: Annotated[int | None, Column("Last block", "time_ns", show=False)]
    last_seen_ns: Annotated[int | None, Column("Last seen", "time_ns", show=False)]
    """Of an open turn: the last thing seen of it."""
    tools_wait: Annotated[bool, Column("Tools wait", show=False)]
    """The client starts tools only after the whole response."""
    status: Annotated[str, Column("Status")]
    start_source: Annotated[str | None, Column("Start by", show=False)]
    end_source: Annotated[str | None, Column("End by", show=False)]
    witnesses: Annotated[str, Column("Witnesses")]


def timeline(store: SpanStore, scope: Scope) -> Sequence[Moment]:
    """The boundaries of a session in order of start."""
    return [Moment.from_row(row | {"tools_wait": row["tools_wait"] == "true"}) for row in ask(store, "timeline", scope)]


def hidden_until_ns(response: Moment | None) -> int | None:
    """Until when tools of a response hide under it: the best estimate of its end, its last block inside the bounds of its end.

    None where nothing is known of the response, where it has not ended, or where its client starts tools only after it.
    """
    if response is None or response.end_ns is None or response.tools_wait:
        return None
    if response.last_block_ns is None:
        return response.end_ns
    return min(max(response.last_block_ns, response.end_ns - response.end_slack_ns), response.end_ns)
