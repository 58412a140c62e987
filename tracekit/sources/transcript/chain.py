"""The entries of one agent in the order of its file, folded into turns."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from tracekit.model import Problem, Span, Value, semconv
from tracekit.sources.fields import list_in, mapping, milliseconds, parts_of, text
from tracekit.sources.transcript.answer import add_block, cut_off, give_up, response_of, waited_for
from tracekit.sources.transcript.attempt import attempt_of, failure_of
from tracekit.sources.transcript.call import Call, result_of
from tracekit.sources.transcript.compaction import compaction_span, is_manual
from tracekit.sources.transcript.entries import Entry, session_of, to_keep, words_in
from tracekit.sources.transcript.hook import TOOL_EVENTS, HookRun
from tracekit.sources.transcript.orphan import orphan_span
from tracekit.sources.transcript.subagent import subagent_span
from tracekit.sources.transcript.turn import Turn

_OUTSIDE_TURNS: Final = frozenset({"SessionStart", "SessionEnd", "Setup"})
"""Hooks of these events belong to no turn."""

_ABOUT_THE_CLIENT: Final = {"cwd": semconv.PROJECT, "version": semconv.CLIENT_VERSION, "entrypoint": semconv.ENTRYPOINT}


@dataclass(slots=True)
class Chain:
    """One agent's conversation in one file."""

    source: str
    agent_id: str | None
    content: bool = False
    parent_tool: str | None = None
    """The call that started the agent, where it is known from its parent's progress."""
    anchor: int | None = None
    """Where reading must begin to know this agent by the same name again."""
    turn: Turn | None = None
    unsettled: list[Turn] = field(default_factory=list[Turn])
    """Earlier turns with a tool call whose result may still come."""
    settled: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Where each turn that was given must be read from, and its last line."""
    stamps: dict[str, int] = field(default_factory=dict[str, int])
    """When each entry was written, by uuid: what a request waited for is found through its parent."""

    # What was read ---------------------------------------------------------------------------------------------------

    def oldest_position(self) -> int | None:
        """Where reading must begin to see again all that may still change."""
        open_turns = [turn.reads_from for turn in self._open_turns()]
        return min(open_turns if self.anchor is None else [*open_turns, self.anchor], default=None)

    def uncut(self, position: int) -> int:
        """The same position, or an earlier one if reading from there would begin inside a turn."""
        return min((begin for begin, last in self.settled if begin < position <= last), default=position)

    def read_to(self, position: int) -> None:
        """All that there is of the running turn up to this line has been read."""
        if self.turn is not None:
            self.turn.last_position = position

    def prompt(self, entry: Entry, stamp_ns: int, position: int, kind: str) -> Iterator[Span]:
        """A prompt begins a turn, unless it carries the prompt id of the turn that is running."""
        turn, prompt_id = self.turn, text(entry, "promptId")
        same = turn is not None and prompt_id is not None and turn.prompt_id == prompt_id
        # A manual compaction is written before the command that asked for it, which bears the time when it was given.
        asked = turn is not None and turn.compacting and kind == "command" and stamp_ns <= turn.start_ns
        if turn is not None and (same or asked):
            turn.begin(stamp_ns)
            turn.compacting = False
            if prompt_id is not None and self.agent_id is None:
                turn.rename(prompt_id)
            return
        yield from self._end_turn(stamp_ns)
        self.turn = self._new_turn(entry, stamp_ns, position, kind)

    def interrupt(self, entry: Entry, stamp_ns: int, position: int, what: str) -> None:
        """The user stopped the agent."""
        turn = self._turn(entry, stamp_ns, position)
        turn.interrupts += 1
        turn.interrupted = what
        turn.saw(stamp_ns, waits_for_model=False)

    def assistant(self, entry: Entry, stamp_ns: int, position: int) -> Iterator[Problem]:
        """One line of a response: usually one content block."""
        message, parent_ns = mapping(entry, "message"), self.stamps.get(str(entry.get("parentUuid")))
        turn = self._turn(entry, stamp_ns, position)
        if message.get("model") == "<synthetic>":
            if entry.get("isApiErrorMessage") is True:
                give_up(turn, entry, parent_ns, stamp_ns, position)
            return
        message_id = text(message, "id")
        if message_id is None:
            yield Problem(0, position, "message without an id")
            return
        response = response_of(turn, entry, message_id, parent_ns, stamp_ns, position)
        response.hear(message, stamp_ns)
        for block in parts_of(entry):
            call = add_block(response, entry, block, stamp_ns, position, content=self.content)
            if call is not None and self._call(call.id, position) is None:
                turn.calls[call.id] = call
        turn.saw(stamp_ns, waits_for_model=not response.blocks or response.blocks[-1].kind == "thinking")
        turn.closed = False

    def result(self, entry: Entry, block: Entry, stamp_ns: int, position: int) -> None:
        """A tool gave its result back."""
        call = self._call(block.get("tool_use_id"), position)
        turn = self._turn(entry, stamp_ns, position)
        if call is None:
            turn.others.append(orphan_span(self.source, self.agent_id, entry, block, turn.start_ns, stamp_ns, position))
        elif call.result is None:
            call.result = result_of(entry, block, stamp_ns)
            call.background = call.background or "backgroundTaskId" in call.result.details
            turn.others.extend(subagent_span(self.source, call))
        turn.saw(stamp_ns, waits_for_model=True)

    def tool_progress(self, tool_use_id: object, update: Callable[[Call], None], stamp_ns: int, position: int) -> None:
        """Something told that a tool is still running. What runs on behind its result, or its turn, is no part of the turn."""
        call = self._call(tool_use_id, position)
        if call is None:
            return
        update(call)
        if self.turn is not None and call.result is None and call.id in self.turn.calls:
            self.turn.touch(stamp_ns)

    def api_request(self, entry: Entry, stamp_ns: int, position: int) -> None:
        """The client says that it is about to send a request."""
        turn = self._turn(entry, stamp_ns, position)
        turn.attempts.append(attempt_of(entry, stamp_ns, position))
        turn.saw(stamp_ns, waits_for_model=True)

    def api_error(self, entry: Entry, stamp_ns: int, position: int) -> None:
        """An attempt failed; the client will wait and try again."""
        turn, parent_ns = self._turn(entry, stamp_ns, position), self.stamps.get(str(entry.get("parentUuid")))
        failure, attempt = failure_of(entry, waited_for(turn, parent_ns, stamp_ns), stamp_ns, position), turn.attempt_answered()
        failure.began_ns = attempt.stamp_ns if attempt else None
        turn.failures.append(failure)
        turn.saw(stamp_ns, waits_for_model=True)

    def compaction(self, entry: Entry, stamp_ns: int, position: int) -> Iterator[Span]:
        """The conversation was replaced by a summary, or old tool results were cleared."""
        before_ns = self.turn.last_ns if self.turn else stamp_ns
        begins_ns = self.stamps.get(str(entry.get("logicalParentUuid")), before_ns)
        if is_manual(entry):
            leans_on = self.turn.reads_from if self.turn else position
            yield from self._end_turn(before_ns)
            self.turn = self._new_turn(entry, stamp_ns, position, "command")
            self.turn.reads_from = leans_on
            self.turn.compacting, self.turn.waits_for_model = True, False
        turn = self._turn(entry, stamp_ns, position)
        turn.others.append(compaction_span(self.source, self.agent_id, turn, entry, begins_ns, stamp_ns, position))
        turn.touch(stamp_ns)

    def hook_began(self, entry: Entry, data: Entry, stamp_ns: int, position: int) -> Iterator[Span]:
        """A hook of old clients begins. Its end is not written."""
        run = self._hook_run(entry, data, stamp_ns, position)
        run.began(stamp_ns)
        call = self._call(run.tool_use_id, position) if run.event == "PreToolUse" else None
        if call is not None:
            call.not_before_ns = max(call.not_before_ns, stamp_ns)
        yield from self._keep_hook(run, stamp_ns)

    def hook_ended(self, entry: Entry, attachment: Entry, stamp_ns: int, position: int) -> Iterator[Span]:
        """A hook of new clients has ended."""
        run = self._hook_run(entry, attachment, stamp_ns, position)
        call = self._call(run.tool_use_id, position)
        # The result of a call is written when its hooks are done, and stamped with that time.
        run.ended(stamp_ns, attachment, not_before_ns=stamp_ns if call is None else call.stamp_ns)
        if call is not None and run.event.startswith("PostToolUse"):
            call.hooks_after = True
        yield from self._keep_hook(run, stamp_ns)

    def stop_hooks(self, entry: Entry, stamp_ns: int) -> None:
        """The hooks at the end of a turn are done."""
        if self.turn is None:
            return
        run = self.turn.hooks.get(f"{entry.get('toolUseID')}:Stop")
        if run is not None:
            run.summed_up(stamp_ns, list_in(entry, "hookErrors"))
        self.turn.touch(stamp_ns)
        self.turn.closed = entry.get("preventedContinuation") is not True

    def turn_duration(self, entry: Entry, stamp_ns: int) -> None:
        """The client's own measure of the turn."""
        duration = milliseconds(entry, "durationMs")
        if self.turn is not None and duration is not None:
            self.turn.attributes[semconv.TURN_DURATION_NS] = duration
            self.turn.touch(stamp_ns)
            self.turn.closed = True

    def echo(self, stamp_ns: int) -> None:
        """A command of the user's printed its output."""
        if self.turn is not None and self.turn.kind == "command":
            self.turn.saw(stamp_ns, waits_for_model=False)

    def cut(self, entry: Entry, stamp_ns: int, position: int) -> None:
        """The client tells the model that its last response was cut off."""
        cut_off(self._turn(entry, stamp_ns, position), stamp_ns)

    def close(self, bound_ns: int) -> Iterator[Span]:
        """The agent is done: what has no result by now gets none."""
        turns = self._open_turns()
        self.turn, self.unsettled = None, []
        for turn in turns:
            yield from self._give(turn, bound_ns)

    def finish(self) -> Iterator[Span]:
        """The file ends here: give what is known of every turn that has not been given."""
        for turn in self.unsettled:
            yield from turn.spans(self.source, self.agent_id, bound_ns=turn.last_ns)
        if self.turn is not None:
            yield from self.turn.spans(self.source, self.agent_id, bound_ns=None)

    # How it is put together ------------------------------------------------------------------------------------------

    def _open_turns(self) -> list[Turn]:
        return [*self.unsettled, *([self.turn] if self.turn else [])]

    def _end_turn(self, bound_ns: int) -> Iterator[Span]:
        turns = self._open_turns()
        self.turn, self.unsettled = None, [turn for turn in turns if turn.pending]
        for turn in turns:
            if not turn.pending:
                yield from self._give(turn, bound_ns)

    def _give(self, turn: Turn, bound_ns: int) -> Iterator[Span]:
        self.settled.append((turn.reads_from, turn.last_position))
        yield from turn.spans(self.source, self.agent_id, bound_ns=max(bound_ns, turn.last_ns))

    def _new_turn(self, entry: Entry, stamp_ns: int, position: int, kind: str) -> Turn:
        prompt_id, uuid = text(entry, "promptId"), text(entry, "uuid") or f"turn@{stamp_ns}"
        key = prompt_id if prompt_id is not None and self.agent_id is None else uuid
        told = ((attribute, text(entry, name)) for name, attribute in _ABOUT_THE_CLIENT.items())
        attributes: dict[str, Value] = {attribute: value for attribute, value in told if value is not None}
        if self.content and kind != "implicit" and (words := words_in(entry)):
            attributes[semconv.CONTENT] = to_keep(words)
        return Turn(key, kind, session_of(entry), stamp_ns, position, attributes, prompt_id=prompt_id)

    def _turn(self, entry: Entry, stamp_ns: int, position: int) -> Turn:
        """The turn that is running; one without a prompt where the file begins inside it."""
        if self.turn is None:
            self.turn = self._new_turn(entry, stamp_ns, position, "implicit")
        return self.turn

    def _call(self, tool_use_id: object, position: int) -> Call | None:
        """The call that a line speaks of. The line is one of those that the call's turn is made of."""
        if not isinstance(tool_use_id, str):
            return None
        for turn in reversed(self._open_turns()):
            if tool_use_id in turn.calls:
                turn.last_position = position
                return turn.calls[tool_use_id]
        return None

    def _hook_run(self, entry: Entry, data: Entry, stamp_ns: int, position: int) -> HookRun:
        """The run that a line of a hook belongs to; hooks of one event on one tool run together."""
        event = str(data.get("hookEvent"))
        name, tool = text(data, "hookName") or event, text(data, "toolUseID") or text(entry, "parentToolUseID", "toolUseID")
        key = f"{tool}:{name}"
        if self.turn is not None and key in self.turn.hooks:
            return self.turn.hooks[key]
        return HookRun(key, session_of(entry), event, name, tool if event in TOOL_EVENTS else None, position, stamp_ns, stamp_ns)

    def _keep_hook(self, run: HookRun, stamp_ns: int) -> Iterator[Span]:
        """Hooks of a turn are given with it; those outside any (a start or a resume) by themselves."""
        if self.turn is not None and run.event not in _OUTSIDE_TURNS:
            self.turn.hooks[run.key] = run
            self.turn.touch(stamp_ns)
            return
        run.close_by(stamp_ns)
        yield from run.span(self.source, self.agent_id, run.session_id)
