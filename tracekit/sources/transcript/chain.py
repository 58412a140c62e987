"""The entries of one agent in the order of its file, folded into turns."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tracekit.model import Boundary, Problem, Span, Status, Value, semconv
from tracekit.model.redact import error_text
from tracekit.sources.timestamps import MILLISECOND
from tracekit.sources.transcript.call import AGENT_TOOLS, Call, digest, json_bytes, result_of
from tracekit.sources.transcript.hook import OUTCOMES, TOOL_EVENTS, HookRun
from tracekit.sources.transcript.response import Attempt, Block, Failure, Response, failure_attributes
from tracekit.sources.transcript.timing import version_of
from tracekit.sources.transcript.turn import Turn

Entry = dict[str, Any]

_INTERRUPTS: Final = {"[Request interrupted by user]": "streaming", "[Request interrupted by user for tool use]": "tool"}
_ECHOES: Final = ("<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>", "<bash-stdout>", "<bash-stderr>")
_COMMANDS: Final = ("<command-name>", "<command-message>", "<bash-input>")


@dataclass(slots=True)
class Chain:
    """One agent's conversation in one file."""

    source: str
    agent_id: str | None
    content: bool = False
    parent_tool: str | None = None
    turn: Turn | None = None
    unsettled: list[Turn] = field(default_factory=list)
    """Earlier turns with a tool call whose result may still come."""
    first_ns: int | None = None
    stamps: dict[str, int] = field(default_factory=dict)
    """When each entry was written, by uuid: what a request waited for is found through its parent."""

    # What was read ---------------------------------------------------------------------------------------------------

    def oldest_position(self) -> int | None:
        """Position of the first line that may still change the spans of a turn."""
        turns = [*self.unsettled, *([self.turn] if self.turn else [])]
        return min((turn.position for turn in turns), default=None)

    def prompt(self, entry: Entry, stamp_ns: int, position: int, kind: str) -> Iterator[Span]:
        """A prompt begins a turn, unless it carries the prompt id of the turn that is running."""
        prompt_id = entry.get("promptId")
        if self.turn is not None and prompt_id is not None and self.turn.prompt_id == prompt_id:
            self.turn.begin(stamp_ns)
            return
        if self.turn is not None and self.turn.compacting and kind == "command":
            # A manual compaction is written before the command that asked for it.
            self.turn.begin(stamp_ns)
            self.turn.compacting = False
            return
        yield from self._end_turn(stamp_ns)
        self.turn = self._new_turn(entry, stamp_ns, position, kind)

    def interrupt(self, entry: Entry, stamp_ns: int, position: int, what: str) -> None:
        """The user stopped the agent."""
        turn = self._turn(entry, stamp_ns, position)
        turn.interrupts += 1
        turn.interrupted = what
        turn.waits_for_model = False
        turn.touch(stamp_ns)

    def assistant(self, entry: Entry, stamp_ns: int, position: int) -> Iterator[Problem]:
        """One line of a response: usually one content block."""
        message = entry["message"]
        turn = self._turn(entry, stamp_ns, position)
        if message.get("model") == "<synthetic>":
            if entry.get("isApiErrorMessage") is True:
                self._api_error_message(turn, entry, stamp_ns, position)
            return
        message_id = message.get("id")
        if not isinstance(message_id, str):
            yield Problem(0, position, "message without an id")
            return
        response = self._response(turn, entry, message, message_id, stamp_ns, position)
        blocks = message.get("content")
        for block in blocks if isinstance(blocks, list) else []:
            if isinstance(block, dict):
                self._block(turn, response, entry, block, stamp_ns, position)
        turn.waits_for_model = not response.blocks or response.blocks[-1].kind == "thinking"
        turn.closed = False
        turn.touch(stamp_ns)

    def result(self, entry: Entry, block: Entry, stamp_ns: int, position: int) -> None:
        """A tool gave its result back."""
        call = self._call(block.get("tool_use_id"))
        turn = self._turn(entry, stamp_ns, position)
        if call is None:
            turn.others.append(self._orphan(entry, block, stamp_ns, position))
        elif call.result is None:
            call.result = result_of(entry, block, stamp_ns)
            call.background = call.background or "backgroundTaskId" in call.result.details
            self._agent_of(turn, call)
        turn.waits_for_model = True
        turn.touch(stamp_ns)

    def tool_progress(self, tool_use_id: object, update: Callable[[Call], None], stamp_ns: int) -> None:
        """Something told that a tool is still running."""
        call = self._call(tool_use_id)
        if call is not None:
            update(call)
        if self.turn is not None and call is not None:
            self.turn.touch(stamp_ns)

    def api_request(self, entry: Entry, stamp_ns: int, position: int) -> None:
        """The client says that it is about to send a request."""
        turn = self._turn(entry, stamp_ns, position)
        params = entry.get("params")
        model = params.get("model") if isinstance(params, dict) else None
        turn.attempts.append(Attempt(str(entry.get("id")), stamp_ns, position, str(model or ""), str(entry.get("querySource") or "")))
        turn.waits_for_model = True
        turn.touch(stamp_ns)

    def api_error(self, entry: Entry, stamp_ns: int, position: int) -> None:
        """An attempt failed; the client will wait and try again."""
        turn = self._turn(entry, stamp_ns, position)
        attempt = next((attempt for attempt in reversed(turn.attempts) if not attempt.closed), None)
        raw = entry.get("error")
        error: Entry = raw if isinstance(raw, dict) else {}
        delay = entry.get("retryInMs")
        request_id = error.get("requestId") or error.get("requestID")
        key = request_id if isinstance(request_id, str) and request_id.startswith("req_") else str(entry.get("uuid"))
        retry_ns = int(delay * MILLISECOND) if isinstance(delay, int | float) else 0
        failure = Failure(key, stamp_ns, position, retry_ns, failure_attributes(entry))
        if attempt is not None:
            attempt.closed = True
            failure.began_ns = attempt.stamp_ns
        turn.failures.append(failure)
        turn.waits_for_model = True
        turn.touch(stamp_ns)

    def compaction(self, entry: Entry, stamp_ns: int, position: int, *, micro: bool) -> Iterator[Span]:
        """The conversation was replaced by a summary, or old tool results were cleared."""
        raw = entry.get("microcompactMetadata" if micro else "compactMetadata")
        data: Entry = raw if isinstance(raw, dict) else {}
        duration = data.get("durationMs")
        parent = self.stamps.get(str(entry.get("logicalParentUuid")), self.turn.last_ns if self.turn else stamp_ns)
        start = stamp_ns if micro else min(parent, stamp_ns)
        slack = stamp_ns - start
        if data.get("trigger") == "manual":
            yield from self._end_turn(self.turn.last_ns if self.turn else stamp_ns)
            self.turn = self._new_turn(entry, stamp_ns, position, "command")
            self.turn.compacting, self.turn.waits_for_model = True, False
        turn = self._turn(entry, stamp_ns, position)
        if isinstance(duration, int | float):
            start, slack = stamp_ns - int(duration * MILLISECOND), 0
        names = (("trigger", semconv.COMPACTION_TRIGGER), ("preTokens", semconv.PRE_TOKENS), ("postTokens", semconv.POST_TOKENS))
        attributes: dict[str, Value] = {semconv.COMPACTION_KIND: "micro" if micro else "full"}
        attributes |= {attribute: data[name] for name, attribute in (*names, ("tokensSaved", semconv.TOKENS_SAVED)) if name in data}
        turn.others.append(
            Span(
                self.source,
                turn.session_id,
                Boundary.COMPACTION,
                str(entry.get("uuid") or f"compaction@{stamp_ns}"),
                start,
                stamp_ns,
                name="microcompact" if micro else "compact",
                agent_id=self.agent_id,
                parent_key=turn.key,
                start_slack_ns=slack,
                status=Status.OK,
                attributes=attributes,
                position=position,
            ),
        )
        turn.touch(stamp_ns)

    def hook_began(self, entry: Entry, data: Entry, stamp_ns: int, position: int) -> Iterator[Span]:
        """A hook of old clients begins. Its end is not written."""
        run = self._hook_run(entry, data, stamp_ns, position)
        run.began(stamp_ns)
        call = self._call(run.tool_use_id) if run.event == "PreToolUse" else None
        if call is not None:
            call.not_before_ns = max(call.not_before_ns, stamp_ns)
        yield from self._keep_hook(run, stamp_ns)

    def hook_ended(self, entry: Entry, attachment: Entry, stamp_ns: int, position: int) -> Iterator[Span]:
        """A hook of new clients has ended."""
        run = self._hook_run(entry, attachment, stamp_ns, position)
        run.ended(stamp_ns, attachment.get("durationMs"), OUTCOMES[attachment["type"]], attachment)
        call = self._call(run.tool_use_id) if run.event.startswith("PostToolUse") else None
        if call is not None:
            call.hooks_after = True
        yield from self._keep_hook(run, stamp_ns)

    def stop_hooks(self, entry: Entry, stamp_ns: int) -> None:
        """The hooks at the end of a turn are done."""
        if self.turn is None:
            return
        run = self.turn.hooks.get(f"{entry.get('toolUseID')}:Stop")
        if run is not None and run.end_ns is None:
            run.end_ns = max(stamp_ns, run.start_ns)
        errors = entry.get("hookErrors")
        if run is not None and run.outcome is None:
            run.outcome = "error" if errors else "success"
            run.text = str(errors[0]) if isinstance(errors, list) and errors else ""
        self.turn.touch(stamp_ns)
        self.turn.closed = entry.get("preventedContinuation") is not True

    def turn_duration(self, entry: Entry, stamp_ns: int) -> None:
        """The client's own measure of the turn."""
        duration = entry.get("durationMs")
        if self.turn is not None and isinstance(duration, int | float):
            self.turn.attributes[semconv.TURN_DURATION_NS] = int(duration * MILLISECOND)
            self.turn.touch(stamp_ns)
            self.turn.closed = True

    def echo(self, stamp_ns: int) -> None:
        """A command of the user's printed its output."""
        if self.turn is not None and self.turn.kind == "command":
            self.turn.touch(stamp_ns)
            self.turn.waits_for_model = False

    def cut(self, entry: Entry, stamp_ns: int, position: int) -> None:
        """The client tells the model that its last response was cut off."""
        turn = self._turn(entry, stamp_ns, position)
        last = max(turn.responses.values(), key=lambda response: response.last_ns, default=None)
        if last is not None and last.blocks and last.cut is None:
            last.cut, last.ended_ns = "true", stamp_ns
        turn.waits_for_model = True
        turn.touch(stamp_ns)

    def finish(self) -> Iterator[Span]:
        """The file ends here: give what is known of every turn that has not been given."""
        for turn in self.unsettled:
            yield from turn.spans(self.source, self.agent_id, bound_ns=turn.last_ns)
        if self.turn is not None:
            yield from self.turn.spans(self.source, self.agent_id, bound_ns=None)

    # How it is put together ------------------------------------------------------------------------------------------

    def _end_turn(self, bound_ns: int) -> Iterator[Span]:
        turn, self.turn = self.turn, None
        if turn is not None:
            self.unsettled.append(turn)
        waiting = [turn for turn in self.unsettled if turn.pending]
        for settled in self.unsettled:
            if not settled.pending:
                yield from settled.spans(self.source, self.agent_id, bound_ns=max(bound_ns, settled.last_ns))
        self.unsettled = waiting

    def _new_turn(self, entry: Entry, stamp_ns: int, position: int, kind: str) -> Turn:
        prompt_id = entry.get("promptId")
        named = isinstance(prompt_id, str) and self.agent_id is None
        key = prompt_id if named else entry.get("uuid") or f"turn@{stamp_ns}"
        pairs = ((semconv.PROJECT, "cwd"), (semconv.CLIENT_VERSION, "version"), (semconv.ENTRYPOINT, "entrypoint"))
        attributes: dict[str, Value] = {attribute: entry[name] for attribute, name in pairs if isinstance(entry.get(name), str)}
        if self.content and kind != "implicit" and (text := _prompt_text(entry)):
            attributes[semconv.CONTENT] = text
        turn = Turn(str(key), kind, session_of(entry), stamp_ns, position, attributes)
        turn.prompt_id = prompt_id if isinstance(prompt_id, str) else None
        return turn

    def _turn(self, entry: Entry, stamp_ns: int, position: int) -> Turn:
        """The turn that is running; one without a prompt where the file begins inside it."""
        if self.first_ns is None:
            self.first_ns = stamp_ns
        if self.turn is None:
            self.turn = self._new_turn(entry, stamp_ns, position, "implicit")
        return self.turn

    def _call(self, tool_use_id: object) -> Call | None:
        if not isinstance(tool_use_id, str):
            return None
        for turn in ([self.turn] if self.turn else []) + self.unsettled[::-1]:
            if tool_use_id in turn.calls:
                return turn.calls[tool_use_id]
        return None

    def _response(self, turn: Turn, entry: Entry, message: Entry, message_id: str, stamp_ns: int, position: int) -> Response:
        response = turn.responses.get(message_id)
        if response is None:
            waits = [call.result.stamp_ns for call in turn.calls.values() if call.result and call.result.stamp_ns <= stamp_ns]
            parent = self.stamps.get(str(entry.get("parentUuid")), turn.start_ns)
            response = Response(
                message_id,
                session_of(entry),
                position,
                version_of(entry.get("version")),
                waits_for_ns=min(max([*waits[-8:], parent]), stamp_ns),
                failures=turn.failures,
            )
            turn.failures = []
            turn.responses[message_id] = response
            response.attempt = self._attempt(turn, entry.get("requestRef"))
            response.query_source = response.attempt.query_source if response.attempt else ""
        response.model = message.get("model") or response.model
        response.stop_reason = message.get("stop_reason") or response.stop_reason
        if response.request_id is None and isinstance(entry.get("requestId"), str):
            taken = any(other.request_id == entry["requestId"] for other in turn.responses.values())
            response.request_id = None if taken else entry["requestId"]
        if isinstance(usage := message.get("usage"), dict):
            response.count_usage(usage)
        return response

    @staticmethod
    def _attempt(turn: Turn, reference: object) -> Attempt | None:
        """The `api-request` line that this answer belongs to; without a reference, the last one that is open."""
        for attempt in reversed(turn.attempts):
            if attempt.closed or (reference is not None and attempt.id != reference):
                continue
            attempt.closed = True
            return attempt
        return None

    def _block(self, turn: Turn, response: Response, entry: Entry, block: Entry, stamp_ns: int, position: int) -> None:
        kind = str(block.get("type"))
        index = entry.get("apiBlockIndex")
        number = index if isinstance(index, int) else len(response.blocks)
        data = _block_bytes(block, kind)
        response.blocks.append(Block(number, kind, stamp_ns, len(data), position, data.decode(errors="replace") if self.content else None))
        call_id = block.get("id")
        if kind == "tool_use" and isinstance(call_id, str) and self._call(call_id) is None:
            turn.calls[call_id] = self._new_call(response, entry, block, call_id, data, stamp_ns, position)

    def _new_call(self, response: Response, entry: Entry, block: Entry, call_id: str, data: bytes, stamp_ns: int, position: int) -> Call:
        raw = block.get("input")
        arguments: Entry = raw if isinstance(raw, dict) else {}
        call = Call(call_id, str(block.get("name")), stamp_ns, position, response, len(data), digest(data))
        if isinstance(timeout := arguments.get("timeout"), int | float) and call.name == "Bash":
            call.timeout_ns = int(timeout * MILLISECOND)
        if isinstance(agent := arguments.get("subagent_type"), str) and call.name in AGENT_TOOLS:
            call.agent_type = agent
        if isinstance(streamed := entry.get("toolInputStreamMs"), int | float):
            call.input_stream_ns = int(streamed * MILLISECOND)
        call.background = arguments.get("run_in_background") is True
        call.content = data.decode(errors="replace") if self.content else None
        return call

    def _api_error_message(self, turn: Turn, entry: Entry, stamp_ns: int, position: int) -> None:
        """The client gave up on a request and says so in an assistant's place, or says that a response was cut."""
        text = _prompt_text(entry)
        error = _error_message_attributes(entry, text)
        cut = next((response for response in turn.responses.values() if self._is_cut(turn, response, entry)), None)
        turn.waits_for_model = False
        turn.touch(stamp_ns)
        if cut is not None:
            cut.cut = str(entry.get("streamCutCause") or "true")
            cut.error, cut.ended_ns = error, stamp_ns
            return
        waits_for_ns = min(self.stamps.get(str(entry.get("parentUuid")), turn.start_ns), stamp_ns)
        response = Response(str(entry.get("uuid")), session_of(entry), position, version_of(entry.get("version")), waits_for_ns)
        response.failures, turn.failures = turn.failures, []
        response.request_id = entry["requestId"] if isinstance(entry.get("requestId"), str) else None
        response.attempt = self._attempt(turn, entry.get("requestRef"))
        response.query_source = response.attempt.query_source if response.attempt else ""
        response.model = response.attempt.model if response.attempt else ""
        response.error, response.error_stamp_ns = error, stamp_ns
        turn.responses[response.id] = response

    def _is_cut(self, turn: Turn, response: Response, entry: Entry) -> bool:
        """An error right after a block of a response is that response being cut; results may stand between where the client names a cut."""
        last = max(turn.responses.values(), key=lambda other: other.last_ns)
        if response is not last or not response.blocks or turn.failures:
            return False
        if self.stamps.get(str(entry.get("parentUuid"))) == response.last_ns:
            return True
        return "streamCutCause" in entry and all(attempt.closed for attempt in turn.attempts)

    def _agent_of(self, turn: Turn, call: Call) -> None:
        """A result of the Agent tool names the agent that ran: the only link from a call to a sub-agent's file."""
        agent_id = call.result.details.get("agentId") if call.result else None
        if not isinstance(agent_id, str) or call.result is None:
            return
        asynchronous = call.result.details.get("isAsync") is True
        attributes: dict[str, Value] = {semconv.PARENT_TOOL: call.id}
        if call.agent_type:
            attributes[semconv.AGENT_TYPE] = call.agent_type
        turn.others.append(
            Span(
                self.source,
                turn.session_id,
                Boundary.SUBAGENT,
                agent_id,
                call.stamp_ns,
                None if asynchronous else call.result.stamp_ns,
                name=call.agent_type or "agent",
                agent_id=agent_id,
                parent_key=call.id,
                start_slack_ns=0 if asynchronous else call.result.stamp_ns - call.stamp_ns,
                status=Status.ERROR if call.result.is_error else Status.UNSET,
                attributes=attributes,
                position=call.position,
            ),
        )

    def _orphan(self, entry: Entry, block: Entry, stamp_ns: int, position: int) -> Span:
        """A result whose call stands in no line of this file: the file begins after it."""
        result = result_of(entry, block, stamp_ns)
        start = min(self.first_ns if self.first_ns is not None else stamp_ns, stamp_ns)
        return Span(
            self.source,
            session_of(entry),
            Boundary.TOOL_EXECUTION,
            str(block.get("tool_use_id")),
            start,
            stamp_ns,
            name="unknown",
            agent_id=self.agent_id,
            parent_key=str(block.get("tool_use_id")),
            start_slack_ns=stamp_ns - start,
            status=Status.ERROR if result.is_error else Status.OK,
            attributes={semconv.ERROR_TEXT: error_text(result.text)} if result.is_error else {},
            position=position,
        )

    def _hook_run(self, entry: Entry, data: Entry, stamp_ns: int, position: int) -> HookRun:
        event, name = str(data.get("hookEvent")), str(data.get("hookName") or data.get("hookEvent"))
        tool = data.get("toolUseID") or entry.get("parentToolUseID") or entry.get("toolUseID")
        key = f"{tool}:{name}"
        hooks = self.turn.hooks if self.turn else {}
        if key in hooks:
            return hooks[key]
        tool_use_id = str(tool) if event in TOOL_EVENTS and isinstance(tool, str) else None
        return HookRun(key, session_of(entry), event, name, tool_use_id, position, stamp_ns, stamp_ns)

    def _keep_hook(self, run: HookRun, stamp_ns: int) -> Iterator[Span]:
        """Hooks of a turn are given with it; those outside any (a start or a resume) by themselves."""
        outside = self.turn is None or run.event in {"SessionStart", "SessionEnd", "Setup"}
        if self.turn is not None and not outside:
            self.turn.hooks[run.key] = run
            self.turn.touch(stamp_ns)
            return
        run.close_by(stamp_ns)
        yield from run.span(self.source, self.agent_id, run.session_id)


def session_of(entry: Entry) -> str:
    """The session that an entry belongs to."""
    return str(entry.get("sessionId") or entry.get("session_id") or "unknown")


def prompt_kind(entry: Entry, text: str) -> str | None:
    """`prompt`, `command`, `notification` or `agent`; None where a user entry is no prompt."""
    hidden = entry.get("isMeta") is True or entry.get("isCompactSummary") is True or entry.get("isVisibleInTranscriptOnly") is True
    if hidden or text.startswith(_ECHOES):
        return None
    if text.startswith(_COMMANDS):
        return "command"
    return "notification" if text.startswith("<task-notification>") else "prompt"


def is_echo(text: str) -> bool:
    """Whether a user entry only shows what a command of the user's printed."""
    return text.startswith(_ECHOES)


def is_cut_note(entry: Entry, text: str) -> bool:
    """Whether a user entry is the client's own note to the model that its response was cut off."""
    return entry.get("isMeta") is True and text.startswith("Your response above was cut off mid-stream")


def interrupt_of(text: str) -> str | None:
    """What was interrupted, where the whole text is the client's marker. Quoted in a longer text it means nothing."""
    return _INTERRUPTS.get(text.strip())


def _prompt_text(entry: Entry) -> str:
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _block_bytes(block: Entry, kind: str) -> bytes:
    if kind in {"text", "thinking"}:
        text = block.get(kind)
        return text.encode(errors="surrogatepass") if isinstance(text, str) else b""
    return json_bytes(block.get("input") if kind == "tool_use" else block)


def _error_message_attributes(entry: Entry, text: str) -> dict[str, Value]:
    found: dict[str, Value] = {semconv.GAVE_UP: True}
    details = entry.get("errorDetails")
    found[semconv.ERROR_TEXT] = error_text(f"{text}\n{details}" if isinstance(details, str) else text)
    kind = entry.get("apiErrorType") or entry.get("apiError") or entry.get("error")
    if isinstance(kind, str):
        found[semconv.ERROR_TYPE] = kind
    if isinstance(status := entry.get("apiErrorStatus"), int):
        found[semconv.HTTP_STATUS] = status
    return found
