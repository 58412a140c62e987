"""One hook that ran: what it was told, when, and what was open then."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from tracekit.capture.hooks.known import Edge, Known, Open
from tracekit.capture.hooks.payload import Arguments, Payload
from tracekit.model import NO_ATTRIBUTES, Boundary, Source, Span, Status, Value, semconv

SECOND: Final = 1_000_000_000
MILLISECOND: Final = 1_000_000

COMMAND_LATE_NS: Final = 600 * MILLISECOND
"""A command hook stamps itself when its own process is up: seen up to 0.6 s after the event."""
HTTP_LATE_NS: Final = 50 * MILLISECOND
"""A request arrives 5 to 10 ms after the event on an idle machine."""
UNSEEN_NS: Final = 3_600 * SECOND
"""What ends here and was not seen to begin is said to have lasted at most so long; its other witnesses know."""


class Heard(NamedTuple):
    """One event.

    Attributes:
        said: The hook's input.
        event: Its name.
        session_id: The session.
        at: When the event was; the hook ran at `at.latest`.
        known: What was open before it.
        content: Whether prompts and arguments may be kept.
    """

    said: Payload
    event: str
    session_id: str
    at: Edge
    known: Known
    content: bool

    @property
    def agent_id(self) -> str | None:
        """The sub-agent that it happened in; None is the main agent."""
        return self.said.text("agent_id")

    @property
    def prompt_id(self) -> str | None:
        """The prompt, and so the turn, that it happened for."""
        return self.said.text("prompt_id")

    @property
    def unseen(self) -> Edge:
        """The beginning of something that ends now, where nothing tells when it began."""
        return self.at.since(self.at.earliest - UNSEEN_NS)

    def find(self, boundary: Boundary, key: str | None) -> Open | None:
        """What is open under this key."""
        return self.known.find(self.session_id, boundary, key)

    def open(self, boundary: Boundary) -> list[Open]:
        """Everything of a kind that this agent has open, the latest first."""
        return [thing for thing in self.known.open(self.session_id, boundary) if thing.agent_id == self.agent_id]

    def hooked(self, opened: Open) -> int:
        """The earliest moment of the event whose hook recorded this beginning."""
        return opened.start.latest - (self.at.latest - self.at.earliest)

    def span(
        self,
        boundary: Boundary,
        key: str,
        start: Edge,
        end: Edge | None = None,
        *,
        status: Status = Status.UNSET,
        attributes: Mapping[str, Value | None] = NO_ATTRIBUTES,
    ) -> Span:
        """What this hook saw of a boundary; attributes without a value are left out. Name and parent are for the caller to put."""
        latest = start.latest if end is None else min(start.latest, end.latest)
        earliest = min(start.earliest, latest)
        return Span(
            Source.HOOKS,
            self.session_id,
            boundary,
            key,
            earliest,
            None if end is None else end.latest,
            agent_id=self.agent_id,
            start_slack_ns=latest - earliest,
            end_slack_ns=0 if end is None else end.latest - max(earliest, min(end.earliest, end.latest)),
            status=status,
            attributes={name: value for name, value in attributes.items() if value is not None},
        )

    def kept(self, text: str | None) -> str | None:
        """A prompt or arguments, as far as they may be kept."""
        if not self.content or text is None:
            return None
        from tracekit.model.redact import mask_secrets  # noqa: PLC0415  (most hooks need none of its patterns)

        return mask_secrets(text)

    def error(self, text: str | None) -> str | None:
        """An error's own text, as far as it may be kept."""
        if text is None:
            return None
        from tracekit.model.redact import error_text  # noqa: PLC0415  (most hooks need none of its patterns)

        return error_text(text)

    def arguments(self, call: Payload) -> dict[str, Value | None]:
        """What is kept of the arguments of a tool call."""
        arguments = Arguments(call)
        return {
            semconv.TOOL_INPUT_SIZE: arguments.size,
            semconv.TOOL_INPUT_DIGEST: arguments.digest,
            semconv.CONTENT: self.kept(arguments.data.decode(errors="replace")),
        }
