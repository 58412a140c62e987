"""The state of one response: what its events say so far. By event name and block index, never by data strung together."""

from typing import Final

import orjson

from tracekit.capture.gateway.answer import error_of
from tracekit.capture.gateway.deltas import Delta, glance
from tracekit.capture.gateway.fields import Object, as_object, inner, parsed, text
from tracekit.capture.gateway.moments import Moments
from tracekit.capture.gateway.sse import Frame
from tracekit.model import Value, semconv
from tracekit.model.deltas import CONTENT_OF_DELTA
from tracekit.model.redact import mask_secrets
from tracekit.model.usage import CACHE_TIERS, TOKENS

_GROWS_BY: Final = ("text", "thinking", "partial_json", "data")
"""Fields of a block's start or of a delta that are its content."""
_ALIVE: Final = frozenset({"ping", ":"})


class Block:
    """One content block of a response.

    Attributes:
        index: Its number in the message.
        kind: `text`, `tool_use`, `thinking`, …
        start_ns, end_ns: When its first and its last event arrived; it is open while the latter is None.
        size: Bytes of its content so far.
        call: Id and name of the tool that it calls; empty where it calls none.
        moments: Its events.
        pieces: Its content, where that is wanted.
    """

    def __init__(self, index: int, start: Object, at_ns: int, *, content: bool) -> None:
        self.index = index
        self.kind = text(start, "type") or "unknown"
        self.start_ns = at_ns
        self.end_ns: int | None = None
        self.size = 0
        self.call = (text(start, "id"), text(start, "name")) if self.kind.endswith("tool_use") else ("", "")
        self.moments = Moments()
        self.pieces: list[str] | None = [] if content else None
        self.grow(start)
        if (whole := start.get("content")) is not None:
            self.size += len(orjson.dumps(whole))

    def take(self, delta: Delta) -> None:
        """Add a delta that needs no parsing."""
        self.size += delta.end - delta.begin
        if self.pieces is not None:
            self.pieces.append(delta.content)

    def attributes(self) -> dict[str, Value]:
        """What is known of it."""
        found: dict[str, Value] = {semconv.BLOCK_TYPE: self.kind, semconv.BLOCK_INDEX: self.index, semconv.BLOCK_SIZE: self.size}
        call_id, tool = self.call
        if call_id:
            found |= {semconv.TOOL_CALL_ID: call_id, semconv.TOOL_NAME: tool}
        if self.pieces is not None:
            found[semconv.CONTENT] = mask_secrets("".join(self.pieces))
        return found

    def grow(self, part: Object) -> None:
        """Add what its start or a delta brings."""
        for name in _GROWS_BY:
            if piece := text(part, name):
                self.add(piece)

    def add(self, piece: str) -> None:
        """Add to its content."""
        self.size += len(piece) if piece.isascii() else len(piece.encode("utf-8", "surrogatepass"))
        if self.pieces is not None:
            self.pieces.append(piece)


class Response:
    """What a response has said so far.

    Attributes:
        id: The message id, once message_start has come.
        facts: What its events and fields say: model, stop reason, token counts.
        blocks: The blocks of a stream, by index.
        moments: Events that belong to no block.
        first_content_ns, last_block_ns, last_event_ns, last_ping_ns, stopped_ns: When these arrived; None until then.
        error: What an error event says; empty without one.
        error_ns: When it arrived.
    """

    def __init__(self, *, content: bool = False) -> None:
        self.id = ""
        self.facts: dict[str, Value] = {}
        self.blocks: dict[int, Block] = {}
        self.moments = Moments()
        self.first_content_ns: int | None = None
        self.last_block_ns: int | None = None
        self.last_event_ns: int | None = None
        self.last_ping_ns: int | None = None
        self.stopped_ns: int | None = None
        self.error: dict[str, Value] = {}
        self.error_ns: int | None = None
        self._content = content

    @property
    def open_block(self) -> Block | None:
        """The block that is being sent."""
        return next((block for block in reversed(self.blocks.values()) if block.end_ns is None), None)

    def take(self, frame: Frame, at_ns: int) -> Block | None:
        """Follow an event that arrived; gives the block that it completed."""
        if frame.name == "content_block_delta" and self._take_delta(frame, at_ns):
            return None
        said = as_object(parsed(frame.data))
        name = frame.name or text(said, "type")
        if name in _ALIVE:
            self.last_ping_ns = at_ns
        else:
            self.last_event_ns = at_ns
        block = self._follow(name, said, at_ns)
        moments = self.moments if block is None else block.moments
        moments.add_sized(at_ns, name, frame.size)
        return block if block is not None and block.end_ns == at_ns and name == "content_block_stop" else None

    def _take_delta(self, frame: Frame, at_ns: int) -> bool:
        """Follow a delta, which is what nearly all events are, the short way; gives whether it was one that goes this way."""
        if (delta := glance(frame)) is not None:
            block = self.blocks.get(delta.block)
            if block is not None:
                block.take(delta)
        else:
            try:
                said = orjson.loads(frame.data)
                block = self.blocks[said["index"]]
                content = said["delta"]
                block.add(content[CONTENT_OF_DELTA[content["type"]]])
            except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
                return False
        if block is None:
            return False
        self.last_event_ns = at_ns
        block.moments.add_sized(at_ns, "content_block_delta", frame.size)
        return True

    def take_whole(self, said: object) -> bool:
        """Read a response that came in one piece; gives whether it is one."""
        message = as_object(said)
        if message.get("type") == "error":
            self.error = error_of(message)
        elif message.get("type") == "message":
            self._start(message)
            self._stop_reason(message)
        return bool(self.id or self.error)

    def _follow(self, name: str, said: Object, at_ns: int) -> Block | None:
        """Take in what an event says; gives the block that it belongs to."""
        match name:
            case "content_block_start" | "content_block_delta" | "content_block_stop":
                return self._follow_block(name, said, at_ns)
            case "message_start":
                self._start(inner(said, "message"))
            case "message_delta":
                self._stop_reason(inner(said, "delta"))
                self._count(inner(said, "usage"))
            case "message_stop":
                self.stopped_ns = at_ns
            case "error":
                self.error, self.error_ns = error_of(said), at_ns
            case _:
                # Unknown events pass: their name, size and time are kept.
                pass
        return None

    def _follow_block(self, name: str, said: Object, at_ns: int) -> Block | None:
        index = said.get("index")
        if not isinstance(index, int):
            return None
        if name == "content_block_start":
            self.first_content_ns = self.first_content_ns or at_ns
            self.blocks[index] = Block(index, inner(said, "content_block"), at_ns, content=self._content)
            return self.blocks[index]
        block = self.blocks.get(index)
        if block is None:
            return None
        if name == "content_block_delta":
            block.grow(inner(said, "delta"))
        elif block.end_ns is None:
            block.end_ns = self.last_block_ns = at_ns
        return block

    def _start(self, message: Object) -> None:
        self.id = text(message, "id") or self.id
        if model := text(message, "model"):
            self.facts[semconv.RESPONSE_MODEL] = model
        self._count(inner(message, "usage"))

    def _stop_reason(self, said: Object) -> None:
        if reason := text(said, "stop_reason"):
            self.facts[semconv.STOP_REASON] = reason

    def _count(self, usage: Object) -> None:
        """Usage is cumulative, and some servers count less in a later event: the largest of each number holds."""
        self._keep(usage, TOKENS)
        tiers = inner(usage, "cache_creation")
        self._keep({name: tokens for name, tokens in tiers.items() if tokens}, CACHE_TIERS)

    def _keep(self, counts: Object, names: tuple[tuple[str, str], ...]) -> None:
        for name, attribute in names:
            number = counts.get(name)
            if isinstance(number, int):
                self.facts[attribute] = max(number, int(self.facts.get(attribute, 0)))
