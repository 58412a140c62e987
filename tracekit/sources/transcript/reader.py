"""From the lines of a transcript to spans: each entry goes to the chain of its agent."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tracekit.model import Boundary, Problem, Source, Span, semconv
from tracekit.sources.fields import mapping, milliseconds, number, parts_of, seconds, text
from tracekit.sources.lines import Line, objects
from tracekit.sources.timestamps import MILLISECOND, SECOND, timestamp_ns
from tracekit.sources.transcript.call import Call
from tracekit.sources.transcript.chain import Chain
from tracekit.sources.transcript.compaction import FULL, MICRO
from tracekit.sources.transcript.companion import Companion
from tracekit.sources.transcript.entries import Entry, interrupt_of, is_cut_note, is_echo, prompt_kind, session_of
from tracekit.sources.transcript.hook import OUTCOMES

_STAMPED: Final = frozenset({"user", "assistant", "system", "progress", "attachment", "api-request"})
"""Kinds of entry that mean something at their time, so that one without a time is broken."""

_KINDS: Final = _STAMPED | {"summary", "file-history-snapshot", "queue-operation", "last-prompt", "ai-title", "custom-title"}


def looks_like_transcript(entry: Mapping[str, Any]) -> bool:
    """Whether a JSON object is an entry of a transcript."""
    kind = entry.get("type")
    if not isinstance(kind, str) or ("session_id" in entry and "sessionId" not in entry):
        return False
    return kind in _KINDS and ("sessionId" in entry or "uuid" in entry or "leafUuid" in entry or "messageId" in entry)


def read(lines: Iterable[Line | Problem], *, companion: Companion | None = None, content: bool = False) -> Iterator[Span | Problem]:
    """Read a whole transcript.

    Args:
        lines: The file's lines, as `tracekit.sources.lines.read_lines` gives them.
        companion: What stands beside the file of a sub-agent.
        content: Keep prompts, outputs and arguments.

    Yields:
        Spans in no particular order, and a Problem for each line that cannot be read.
    """
    reader = TranscriptReader(content=content, companion=companion)
    for line in lines:
        yield from reader.feed(line)
    yield from reader.finish()


@dataclass(slots=True)
class TranscriptReader:
    """Reads a transcript line by line, and knows from where it must be read again when it has grown."""

    content: bool = False
    companion: Companion | None = None
    """What stands beside the file of a sub-agent; told once, when the file is read from its beginning."""
    main: Chain = field(init=False)
    agents: dict[str, Chain] = field(default_factory=dict[str, Chain])
    mirrored: dict[str, Chain] = field(default_factory=dict[str, Chain])
    """Sub-agents as their parent's progress lines show them."""
    sidechain_of: dict[str, str] = field(default_factory=dict[str, str])
    seen: set[str] = field(default_factory=set[str])
    entries: int = 0
    """JSON objects read."""
    line_number: int = 1
    marks: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """Line number, and entries before it, of each position that a turn may begin at."""

    def __post_init__(self) -> None:
        self.main = Chain(Source.TRANSCRIPT, None, content=self.content)
        if self.entries:
            self.companion = None

    def resume_point(self, end: int, end_line: int) -> tuple[int, int, int]:
        """Byte position, line number and entries before it, from which a grown file must be read again: nothing before can change."""
        chains = [self.main, *self.agents.values(), *self.mirrored.values()]
        oldest = [position for chain in chains if (position := chain.oldest_position()) is not None]
        if not oldest or min(oldest) >= end:
            return end, end_line, self.entries
        resume = min(oldest)
        # One agent's turn may begin inside a turn of another that is over: reading from there would make it a torn one.
        while (earlier := min(chain.uncut(resume) for chain in chains)) < resume:
            resume = earlier
        return resume, *self.marks[resume]

    def feed(self, line: Line | Problem) -> Iterator[Span | Problem]:
        """Read one line."""
        found = line if isinstance(line, Problem) else objects(line)
        if isinstance(found, Problem):
            yield found
            return
        assert isinstance(line, Line)  # noqa: S101  (a Problem was returned above)
        self.line_number = line.number
        for position, entry in found:
            self.entries += 1
            for item in self._entry(entry, position):
                yield item._replace(line=line.number) if isinstance(item, Problem) else item

    def finish(self) -> Iterator[Span]:
        """The file ends: give everything that is still being gathered."""
        for chain in (self.main, *self.agents.values(), *self.mirrored.values()):
            yield from chain.finish()

    def _entry(self, entry: Entry, position: int) -> Iterator[Span | Problem]:
        kind = text(entry, "type")
        if kind == "cost-state":
            yield from _cost(entry, position)
            return
        if kind is None or kind not in _STAMPED:
            return
        stamp_ns = timestamp_ns(entry.get("timestamp"))
        if stamp_ns is None:
            yield Problem(0, position, "no timestamp", f"an entry of type {kind}")
            return
        uuid = entry.get("uuid")
        if isinstance(uuid, str):
            if uuid in self.seen:
                return
            self.seen.add(uuid)
        chain = self._chain(entry, position)
        if self.companion is not None and chain.agent_id is not None:
            yield self.companion.span(chain.source, chain.agent_id, entry, stamp_ns)
            self.companion = None
        self.marks[position] = (self.line_number, self.entries - 1)
        yield from self._dispatch(chain, kind, entry, stamp_ns, position)
        chain.read_to(position)
        if isinstance(uuid, str):
            chain.stamps[uuid] = stamp_ns

    def _chain(self, entry: Entry, position: int) -> Chain:
        named = text(entry, "agentId")
        if named is None and entry.get("isSidechain") is not True:
            return self.main
        agent_id = named or self._sidechain(entry)
        if agent_id not in self.agents:
            anchor = None if named else position
            self.agents[agent_id] = Chain(Source.TRANSCRIPT, agent_id, content=self.content, anchor=anchor)
        return self.agents[agent_id]

    def _sidechain(self, entry: Entry) -> str:
        """Clients of 1.0 kept sub-agents in the main file without a name: the uuid of the first entry is one."""
        uuid = str(entry.get("uuid"))
        agent_id = self.sidechain_of.get(str(entry.get("parentUuid")), f"sidechain-{uuid}")
        self.sidechain_of[uuid] = agent_id
        return agent_id

    def _dispatch(self, chain: Chain, kind: str, entry: Entry, stamp_ns: int, position: int) -> Iterator[Span | Problem]:
        if kind == "assistant":
            if isinstance(entry.get("message"), dict):
                yield from chain.assistant(entry, stamp_ns, position)
        elif kind == "user":
            yield from self._user(chain, entry, stamp_ns, position)
        elif kind == "progress":
            yield from self._progress(chain, entry, stamp_ns, position)
        elif kind == "system":
            yield from _system(chain, entry, stamp_ns, position)
        elif kind == "attachment":
            attachment = mapping(entry, "attachment")
            if text(attachment, "type") in OUTCOMES:
                yield from chain.hook_ended(entry, attachment, stamp_ns, position)
        else:
            chain.api_request(entry, stamp_ns, position)

    def _user(self, chain: Chain, entry: Entry, stamp_ns: int, position: int) -> Iterator[Span]:
        parts = parts_of(entry)
        results = [part for part in parts if part.get("type") == "tool_result"]
        for block in results:
            chain.result(entry, block, stamp_ns, position)
            yield from self._agents_done(entry, block, stamp_ns)
        texts = [text(part, "text") or "" for part in parts if part.get("type") == "text"]
        for what in filter(None, map(interrupt_of, texts)):
            chain.interrupt(entry, stamp_ns, position, what)
        others = [words for words in texts if interrupt_of(words) is None]
        images = any(part.get("type") in {"image", "document"} for part in parts)
        if not results and (others or images):
            yield from _words(chain, entry, others[0] if others else "", stamp_ns, position)

    def _agents_done(self, entry: Entry, block: Entry, stamp_ns: int) -> Iterator[Span]:
        """The agent that a call started is done when the call has its result, unless it goes on in the background."""
        if mapping(entry, "toolUseResult").get("isAsync") is True:
            return
        for mirror in self.mirrored.values():
            if mirror.parent_tool is not None and mirror.parent_tool == block.get("tool_use_id"):
                yield from mirror.close(stamp_ns)

    def _progress(self, chain: Chain, entry: Entry, stamp_ns: int, position: int) -> Iterator[Span | Problem]:
        data = mapping(entry, "data")
        kind, tool = data.get("type"), entry.get("parentToolUseID")
        if kind == "hook_progress":
            yield from chain.hook_began(entry, data, stamp_ns, position)
        elif kind == "bash_progress":
            elapsed_ns = seconds(data, "elapsedTimeSeconds") or 0
            chain.tool_progress(tool, lambda call: call.saw_progress(stamp_ns, elapsed_ns // SECOND), stamp_ns, position)
        elif kind == "mcp_progress":
            chain.tool_progress(tool, lambda call: _mcp_progress(call, data, stamp_ns), stamp_ns, position)
        elif kind == "agent_progress":
            chain.tool_progress(tool, lambda call: _running(call, stamp_ns), stamp_ns, position)
            yield from self._mirror(entry, data, stamp_ns, position)
        else:
            chain.tool_progress(tool, lambda _: None, stamp_ns, position)

    def _mirror(self, entry: Entry, data: Entry, stamp_ns: int, position: int) -> Iterator[Span | Problem]:
        """A line of a sub-agent, seen through its parent's progress."""
        inner, kind = mapping(data, "message"), text(mapping(data, "message"), "type")
        if kind not in {"user", "assistant"}:
            return
        agent_id = str(data.get("agentId") or entry.get("parentToolUseID"))
        if agent_id not in self.mirrored:
            self.mirrored[agent_id] = Chain(Source.PROGRESS, agent_id, content=self.content)
        chain = self.mirrored[agent_id]
        chain.parent_tool = text(entry, "parentToolUseID")
        envelope = {name: entry[name] for name in ("sessionId", "version", "cwd") if name in entry}
        copy = envelope | inner
        stamp = timestamp_ns(inner.get("timestamp")) or stamp_ns
        yield from self._dispatch(chain, str(kind), copy, stamp, position)
        chain.read_to(position)
        if (uuid := text(inner, "uuid")) is not None:
            chain.stamps[uuid] = stamp


def _words(chain: Chain, entry: Entry, words: str, stamp_ns: int, position: int) -> Iterator[Span]:
    """A user's entry that is no result: a prompt, the output of a command, or a note of the client's to the model."""
    kind = prompt_kind(entry, words)
    if kind is not None:
        yield from chain.prompt(entry, stamp_ns, position, "agent" if chain.agent_id and kind == "prompt" else kind)
    elif is_echo(words):
        chain.echo(stamp_ns)
    elif is_cut_note(entry, words):
        chain.cut(entry, stamp_ns, position)


def _system(chain: Chain, entry: Entry, stamp_ns: int, position: int) -> Iterator[Span]:
    subtype = text(entry, "subtype")
    if subtype == "api_error":
        chain.api_error(entry, stamp_ns, position)
    elif subtype in {FULL, MICRO}:
        yield from chain.compaction(entry, stamp_ns, position)
    elif subtype == "stop_hook_summary":
        chain.stop_hooks(entry, stamp_ns)
    elif subtype == "turn_duration":
        chain.turn_duration(entry, stamp_ns)


def _mcp_progress(call: Call, data: Entry, stamp_ns: int) -> None:
    if data.get("status") == "started":
        call.mcp_started_ns = stamp_ns
    if (elapsed_ns := milliseconds(data, "elapsedTimeMs")) is not None:
        call.mcp_elapsed_ns = elapsed_ns


def _running(call: Call, stamp_ns: int) -> None:
    call.not_after_ns = stamp_ns if call.not_after_ns is None else min(call.not_after_ns, stamp_ns)


def _cost(entry: Entry, position: int) -> Iterator[Span]:
    """The client's own running total of the session."""
    start, duration, cost = number(entry, "startTime"), milliseconds(entry, "totalDuration"), number(entry, "totalCostUSD")
    if start is None or duration is None or cost is None:
        return
    start_ns = int(start * MILLISECOND)
    yield Span(
        Source.TRANSCRIPT,
        session_of(entry),
        Boundary.SESSION,
        session_of(entry),
        start_ns,
        start_ns + duration,
        name="cost-state",
        attributes={semconv.COST_USD: float(cost)},
        position=position,
    )
