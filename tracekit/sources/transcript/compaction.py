"""One compaction: its boundary entry is stamped when it was finished."""

from typing import Final

from tracekit.model import Boundary, Span, Status, Value, semconv
from tracekit.sources.fields import Object, mapping, milliseconds
from tracekit.sources.transcript.entries import Entry
from tracekit.sources.transcript.turn import Turn

MICRO: Final = "microcompact_boundary"
FULL: Final = "compact_boundary"

_ATTRIBUTES: Final = {
    "trigger": semconv.COMPACTION_TRIGGER,
    "preTokens": semconv.PRE_TOKENS,
    "postTokens": semconv.POST_TOKENS,
    "tokensSaved": semconv.TOKENS_SAVED,
}


def is_manual(entry: Entry) -> bool:
    """Whether the user asked for the compaction."""
    return _metadata(entry).get("trigger") == "manual"


def compaction_span(source: str, agent_id: str | None, turn: Turn, entry: Entry, begins_ns: int, stamp_ns: int, position: int) -> Span:
    """The compaction that a boundary entry tells of.

    Args:
        source: Who saw it.
        agent_id: Whose conversation it was.
        turn: The turn that it is part of.
        entry: The boundary entry.
        begins_ns: When the last entry before it was written: the earliest start, where the client does not say how long it took.
        stamp_ns: When it was finished.
        position: Of the entry.
    """
    micro, data = entry.get("subtype") == MICRO, _metadata(entry)
    start_ns = stamp_ns if micro else min(begins_ns, stamp_ns)
    slack_ns = stamp_ns - start_ns
    if (duration := milliseconds(data, "durationMs")) is not None:
        start_ns, slack_ns = stamp_ns - duration, 0
    attributes: dict[str, Value] = {semconv.COMPACTION_KIND: "micro" if micro else "full"}
    attributes |= {attribute: data[name] for name, attribute in _ATTRIBUTES.items() if isinstance(data.get(name), str | int)}
    return Span(
        source,
        turn.session_id,
        Boundary.COMPACTION,
        str(entry.get("uuid") or f"compaction@{stamp_ns}"),
        start_ns,
        stamp_ns,
        name="microcompact" if micro else "compact",
        agent_id=agent_id,
        parent_key=turn.key,
        start_slack_ns=slack_ns,
        status=Status.OK,
        attributes=attributes,
        position=position,
    )


def _metadata(entry: Entry) -> Object:
    return mapping(entry, "microcompactMetadata" if entry.get("subtype") == MICRO else "compactMetadata")
