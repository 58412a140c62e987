"""What tools run in: sessions, turns, sub-agents, compactions, and the questions that MCP servers ask."""

import re
from collections.abc import Iterator
from typing import Final

from tracekit.capture.hooks.heard import SECOND, Heard
from tracekit.capture.hooks.known import Edge
from tracekit.model import Boundary, Span, Status, Value, semconv

STARTUP_NS: Final = 2 * SECOND
"""A client has been running 0.2 to 1.4 s when a session of its own begins."""

_AGENT_TOOLS: Final = frozenset({"Agent", "Task"})
_BEGINNINGS: Final = frozenset({"startup", "clear", "fork"})
"""A resume continues a session, and so does the start that follows a compaction."""
_REFUSED: Final = re.compile(r"(?P<status>\d{3})\s.*\"request_id\":\s*\"(?P<request>req_\w+)\"", re.DOTALL)
"""How the details of a failure quote the answer to the request."""


def session_started(heard: Heard) -> Iterator[Span]:
    """SessionStart."""
    if heard.said.text("source") not in _BEGINNINGS | {None}:
        return
    startup_ns = STARTUP_NS if heard.said.text("source") != "clear" else 0
    yield heard.span(
        Boundary.SESSION,
        heard.session_id,
        heard.at.since(heard.at.earliest - startup_ns),
        attributes={
            semconv.PROJECT: heard.said.text("cwd"),
            semconv.SESSION_SOURCE: heard.said.text("source"),
            semconv.REQUEST_MODEL: heard.said.text("model"),
        },
    )


def session_ended(heard: Heard) -> Iterator[Span]:
    """SessionEnd: a turn that was not stopped is over all the same. Where nothing tells when the session began, nothing is said of it."""
    for turn in heard.open(Boundary.TURN):
        yield _turn(heard, turn.key, turn.start, heard.at.since(turn.start.latest), turn.name, {semconv.PROMPT_ID: None})
    begun = heard.find(Boundary.SESSION, heard.session_id)
    if begun is not None:
        reason = heard.said.text("reason")
        attributes: dict[str, Value | None] = {semconv.PROJECT: heard.said.text("cwd"), semconv.SESSION_END_REASON: reason}
        yield heard.span(Boundary.SESSION, heard.session_id, begun.start, heard.at, attributes=attributes)


def prompted(heard: Heard) -> Iterator[Span]:
    """UserPromptSubmit: a turn begins."""
    key = heard.prompt_id or f"turn:{heard.session_id}@{heard.at.latest}"
    content = heard.kept(heard.said.text("prompt"))
    yield _turn(heard, key, heard.at, None, "prompt", {semconv.CONTENT: content})


def stopped(heard: Heard) -> Iterator[Span]:
    """Stop: the turn is over."""
    key, start, kind = _turn_of(heard)
    if key is not None:
        yield _turn(heard, key, start, heard.at, kind, {})._replace(status=Status.OK)


def failed(heard: Heard) -> Iterator[Span]:
    """StopFailure: the turn is over, because a request failed for good. The details name the request, where the server did."""
    key, start, kind = _turn_of(heard)
    details = heard.said.text("error_details", "last_assistant_message")
    told: dict[str, Value | None] = {
        semconv.ERROR_TYPE: heard.said.text("error"),
        semconv.ERROR_TEXT: heard.error(details),
    }
    if key is not None:
        yield _turn(heard, key, start, heard.at, kind, {**told, semconv.RESULT_IS_ERROR: True})._replace(status=Status.ERROR)
    if refused := _REFUSED.match(details or ""):
        attributes: dict[str, Value | None] = {
            **told,
            semconv.REQUEST_ID: refused["request"],
            semconv.HTTP_STATUS: int(refused["status"]),
            semconv.GAVE_UP: True,
        }
        began = heard.at.since(start.earliest)
        request = heard.span(Boundary.MODEL_REQUEST, refused["request"], began, heard.at, status=Status.ERROR, attributes=attributes)
        yield request._replace(parent_key=key)


def notified(heard: Heard) -> Iterator[Span]:
    """Notification that the client waits for its user: a turn that is still open was interrupted, for which there is no hook."""
    turn = next(iter(heard.open(Boundary.TURN)), None)
    if turn is not None and heard.prompt_id in {None, turn.key}:
        yield _turn(heard, turn.key, turn.start, heard.at.since(turn.start.latest), turn.name, {})


def agent_started(heard: Heard) -> Iterator[Span]:
    """SubagentStart."""
    if heard.agent_id is not None:
        calls = [call for call in heard.known.open(heard.session_id, Boundary.TOOL_SCHEDULE) if call.name in _AGENT_TOOLS]
        yield _agent(heard, heard.agent_id, heard.at, None, calls[0].key if len(calls) == 1 else None)


def agent_stopped(heard: Heard) -> Iterator[Span]:
    """SubagentStop. An agent without a type is one of the client's own, such as the one that writes a summary."""
    if heard.agent_id is not None and not heard.said.is_blank("agent_type"):
        begun = heard.find(Boundary.SUBAGENT, heard.agent_id)
        yield _agent(heard, heard.agent_id, begun.start if begun else heard.unseen, heard.at, begun.parent if begun else None)


def compacting(heard: Heard) -> Iterator[Span]:
    """PreCompact. One that the user asked for is a turn of its own, without a prompt."""
    yield _compaction(heard, _compaction_key(heard), heard.at, None)
    if heard.said.text("trigger") == "manual" and heard.prompt_id is not None:
        yield _turn(heard, heard.prompt_id, heard.at, None, "command", {})


def compacted(heard: Heard) -> Iterator[Span]:
    """PostCompact."""
    begun = next(iter(heard.open(Boundary.COMPACTION)), None)
    start = begun.start if begun else heard.unseen
    yield _compaction(heard, begun.key if begun else _compaction_key(heard), start, heard.at)._replace(status=Status.OK)
    if heard.said.text("trigger") == "manual" and heard.prompt_id is not None:
        turn = heard.find(Boundary.TURN, heard.prompt_id)
        yield _turn(heard, heard.prompt_id, turn.start if turn else start, heard.at, "command", {})


def elicited(heard: Heard) -> Iterator[Span]:
    """Elicitation: an MCP server asks the user, and the call that made it ask waits."""
    yield _elicitation(heard, _elicitation_key(heard), heard.at, None, None)


def elicitation_answered(heard: Heard) -> Iterator[Span]:
    """ElicitationResult."""
    server, key = heard.said.text("mcp_server_name"), _elicitation_key(heard)
    waits = [wait for wait in heard.open(Boundary.PERMISSION_WAIT) if wait.name == _ELICITATION]
    wait = heard.find(Boundary.PERMISSION_WAIT, key) or next((wait for wait in waits if wait.server == server), None)
    decision = "accept" if heard.said.text("action") == "accept" else "reject"
    yield _elicitation(heard, wait.key if wait else key, wait.start if wait else heard.unseen, heard.at, decision)


_ELICITATION: Final = "elicitation"


def _turn(heard: Heard, key: str, start: Edge, end: Edge | None, kind: str, attributes: dict[str, Value | None]) -> Span:
    told: dict[str, Value | None] = {
        semconv.TURN_KIND: kind,
        semconv.PROMPT_ID: heard.prompt_id,
        semconv.PROJECT: heard.said.text("cwd"),
        **attributes,
    }
    return heard.span(Boundary.TURN, key, start, end, attributes=told)._replace(name=kind, parent_key=heard.session_id)


def _turn_of(heard: Heard) -> tuple[str | None, Edge, str]:
    """The turn that is over now, when it began, and what set it off. Clients that give no prompt id: the last one."""
    turn = heard.find(Boundary.TURN, heard.prompt_id) if heard.prompt_id else next(iter(heard.open(Boundary.TURN)), None)
    if turn is None:
        return heard.prompt_id, heard.unseen, "prompt"
    return turn.key, turn.start, turn.name


def _agent(heard: Heard, agent_id: str, start: Edge, end: Edge | None, tool: str | None) -> Span:
    kind = heard.said.text("agent_type")
    attributes: dict[str, Value | None] = {semconv.AGENT_TYPE: kind, semconv.PARENT_TOOL: tool}
    return heard.span(Boundary.SUBAGENT, agent_id, start, end, attributes=attributes)._replace(name=kind or "", parent_key=tool)


def _compaction_key(heard: Heard) -> str:
    """The moment it began. A process that cannot remember that names it by its prompt, which the end is told too."""
    return f"compaction:{heard.prompt_id}" if heard.prompt_id and not heard.known.is_whole else f"compaction@{heard.at.latest}"


def _compaction(heard: Heard, key: str, start: Edge, end: Edge | None) -> Span:
    trigger = heard.said.text("trigger")
    attributes: dict[str, Value | None] = {semconv.COMPACTION_TRIGGER: trigger, semconv.COMPACTION_KIND: "full"}
    found = heard.span(Boundary.COMPACTION, key, start, end, attributes=attributes)
    return found._replace(name=trigger or "", parent_key=heard.prompt_id or heard.session_id)


def _elicitation_key(heard: Heard) -> str:
    asked = heard.said.text("elicitation_id")
    return f"{_ELICITATION}:{asked}" if asked else f"{_ELICITATION}@{heard.at.latest}"


def _elicitation(heard: Heard, key: str, start: Edge, end: Edge | None, decision: str | None) -> Span:
    server = heard.said.text("mcp_server_name")
    attributes: dict[str, Value | None] = {semconv.MCP_SERVER: server, semconv.PERMISSION_DECISION: decision}
    return heard.span(Boundary.PERMISSION_WAIT, key, start, end, attributes=attributes)._replace(name=_ELICITATION)
