"""What a session waits for: its open obligations, each with a cause, an age, a certainty, and the witness that is missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, NamedTuple

from tracekit.analysis.scope import EVERYTHING, Scope, ask
from tracekit.model import Boundary, Column, Finding, Source, semconv
from tracekit.store import SpanStore

Row = dict[str, Any]

_STREAMS: Final = "a gateway or stream-json of the session would tell"
_HOOKS: Final = "hooks (PermissionRequest, PreToolUse) of the session would tell"


@dataclass(frozen=True, slots=True)
class Stuck(Finding):
    """One thing that an agent still waits for."""

    question: ClassVar[str] = "stuck"

    session_id: Annotated[str, Column("Session", "id")]
    agent_id: Annotated[str | None, Column("Agent", show=False)]
    turn_key: Annotated[str, Column("Turn", "id", show=False)]
    verdict: Annotated[str, Column("Waits for")]
    name: Annotated[str, Column("Which")]
    boundary: Annotated[str, Column("Open boundary")]
    key: Annotated[str, Column("Key", "id")]
    since_ns: Annotated[int, Column("Since", "time_ns")]
    age_ns: Annotated[int, Column("Age", "ns")]
    """From the beginning of the wait to the moment asked about."""
    quiet_ns: Annotated[int | None, Column("Quiet", "ns")]
    """From the last event of a stream to that moment; None where it is no stream, or nobody can say."""
    last_seen_ns: Annotated[int, Column("Last seen", "time_ns", show=False)]
    certainty: Annotated[str, Column("Certainty")]
    """`certain`, `likely` or `unknown`."""
    because: Annotated[str, Column("Because")]
    witnesses: Annotated[str, Column("Witnesses", show=False)]


class _Judged(NamedTuple):
    verdict: str
    certainty: str
    because: str


def stuck(store: SpanStore, scope: Scope = EVERYTHING, *, as_of_ns: int) -> Sequence[Stuck]:
    """Name what every agent's last turn still waits for.

    Args:
        store: An open store.
        scope: Bounds; a wait counts by its beginning.
        as_of_ns: The moment to which ages are counted.
    """
    found: list[Stuck] = []
    for row in ask(store, "stuck", scope):
        judged = _judge(row, as_of_ns)
        times = {"age_ns": max(0, as_of_ns - row["since_ns"]), "quiet_ns": _quiet(row, as_of_ns)}
        found.append(Stuck.from_row(row | judged._asdict() | times))
    return _without_weaker(found)


def _without_weaker(found: Sequence[Stuck]) -> list[Stuck]:
    """Tell each request once.

    Where a gateway sees an agent's requests, it sees each of them. Elsewhere an agent has one open at a time: of sightings without
    a common key, the one that saw more is told.
    """
    best: dict[tuple[str, str | None], Stuck] = {}
    for one in found:
        if one.boundary in _REQUESTS:
            known = best.get((one.session_id, one.agent_id))
            if known is None or _strength(one) > _strength(known):
                best[one.session_id, one.agent_id] = one

    def is_told(one: Stuck) -> bool:
        return one.boundary not in _REQUESTS or _by_gateway(one) or best[one.session_id, one.agent_id] is one

    return [one for one in found if is_told(one)]


_REQUESTS: Final = (Boundary.MODEL_REQUEST, Boundary.REQUEST_ATTEMPT)
_STRENGTH: Final = ("client", "model", "first byte", "mid-stream")


def _strength(one: Stuck) -> tuple[bool, int]:
    return _by_gateway(one), _STRENGTH.index(one.verdict)


def _by_gateway(one: Stuck) -> bool:
    return "gateway" in one.witnesses


def _quiet(row: Row, as_of_ns: int) -> int | None:
    last_ns = row["attributes"].get(semconv.LAST_EVENT_NS)
    return None if last_ns is None else max(0, as_of_ns - int(last_ns))


def _judge(row: Row, as_of_ns: int) -> _Judged:
    boundary = row["boundary"]
    if boundary in _REQUESTS:
        return _CLIENT if row["watched"] and "gateway" not in row["witnesses"] else _request(row, as_of_ns)
    if boundary in {Boundary.TOOL_EXECUTION, Boundary.TOOL_SCHEDULE}:
        return _tool(row, as_of_ns)
    if boundary == Boundary.TURN and row["watched"]:
        return _CLIENT
    return _PLAIN.get(boundary, _TURN)


_PLAIN: Final = {
    Boundary.PERMISSION_WAIT: _Judged("permission", "certain", "the call was shown to a person or a rule and not answered"),
    Boundary.MCP_CALL: _Judged("mcp call", "likely", f"the call has no result; if it waits for permission, {_HOOKS}"),
    Boundary.MCP_CONNECTION: _Judged("mcp connection", "certain", "the server has not answered yet"),
    Boundary.HOOK_REPLY: _Judged("hook", "certain", "the hook began and nothing after it was seen"),
    Boundary.RETRY_WAIT: _Judged("retry wait", "certain", "the client sleeps before its next attempt"),
    Boundary.COMPACTION: _Judged("compaction", "certain", "the conversation is being compacted"),
}

_TURN: Final = _Judged(
    "model or nobody",
    "unknown",
    f"the last thing was a prompt or a tool result, and no request is visible; {_STREAMS}",
)
"""A turn that owes something, with nothing open in sight: the model's answer is on its way, or nobody remembers."""


_CLIENT: Final = _Judged(
    "client",
    "likely",
    "the model owes nothing, no request passes the gateway: the client has the next step, or has lost it, or is no more",
)


_SEE_FIRST_BYTES: Final = (Source.GATEWAY, Source.INSTRUMENT, Source.STREAM_JSON)


def _request(row: Row, as_of_ns: int) -> _Judged:
    alive = _is_pinged(row, as_of_ns)
    if row["blocks"]:
        return _Judged("mid-stream", "certain", f"{row['blocks']} block(s) of the response came, message_stop did not{alive}")
    if row["first_byte_ns"] is not None:
        return _Judged("mid-stream", "certain", f"the first byte came, message_stop did not{alive}")
    if any(witness in row["witnesses"] for witness in _SEE_FIRST_BYTES):
        return _Judged("first byte", "certain", "the request was sent and nothing came back")
    return _Judged("model", "likely", f"the request was sent and has no answer; whether a first byte came, {_STREAMS}")


def _is_pinged(row: Row, as_of_ns: int) -> str:
    """Whether a server that says nothing still shows that it lives."""
    last_ping_ns, last_event_ns = (int(row["attributes"].get(name, 0)) for name in (semconv.LAST_PING_NS, semconv.LAST_EVENT_NS))
    is_alive = last_ping_ns > last_event_ns and as_of_ns - last_ping_ns < _PING_NS
    return "; pings still come: the server is at work" if is_alive else ""


_PING_NS: Final = 40_000_000_000
"""A server that is alive was seen to send a ping at least this often, with room."""


def _tool(row: Row, as_of_ns: int) -> _Judged:
    timeout = row["attributes"].get(semconv.TOOL_TIMEOUT_NS)
    if timeout is not None and as_of_ns - row["since_ns"] > int(timeout):
        return _Judged("tool past its timeout", "certain", "the call has no result and its own timeout has passed")
    if row["witnesses"] == "transcript":
        return _Judged("tool", "likely", f"the call has no result; if it waits for permission, {_HOOKS}")
    return _Judged("tool", "certain", "the tool began and has no result")
