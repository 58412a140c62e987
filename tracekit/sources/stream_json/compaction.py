"""A compaction: announced by a status, ended by the next, described by the boundary's line that follows."""

from dataclasses import dataclass
from typing import Final

from tracekit.model import Boundary, Source, Span, Status, Value, semconv
from tracekit.model.redact import error_text
from tracekit.sources.fields import mapping, number, text, whole
from tracekit.sources.stream_json.clock import EARLY_NS, Moment, Timed
from tracekit.sources.stream_json.edges import edges
from tracekit.sources.timestamps import MILLISECOND

_TOKENS: Final = (
    ("pre_tokens", semconv.PRE_TOKENS),
    ("post_tokens", semconv.POST_TOKENS),
    ("tokens_saved", semconv.TOKENS_SAVED),
)


@dataclass(slots=True)
class Compaction:
    """What has been read of a compaction so far."""

    key: str
    position: int
    start: Moment
    end: Moment | None = None
    error: str | None = None
    micro: bool = False
    attributes: dict[str, Value] | None = None

    def closed(self, line: Timed) -> None:
        """The client says that it is done, or that it failed."""
        self.end = line.moment
        if text(line.value, "compact_result") == "failed":
            self.error = text(line.value, "compact_error") or "compaction failed"

    def described(self, line: Timed, *, micro: bool) -> None:
        """The boundary's line: its uuid is the compaction's identity."""
        self.key = text(line.value, "uuid") or self.key
        self.end = self.end or line.moment
        self.micro = micro
        data = mapping(line.value, "microcompact_metadata" if micro else "compact_metadata")
        found: dict[str, Value] = {}
        for name, attribute in _TOKENS:
            if (tokens := whole(data, name)) is not None:
                found[attribute] = tokens
        if (trigger := text(data, "trigger")) is not None:
            found[semconv.COMPACTION_TRIGGER] = trigger
        self.attributes = found
        self._start_from(number(data, "duration_ms"))

    def _start_from(self, duration_ms: float | None) -> None:
        """It lasted as long as the client says: the status before it may have been missed, or not told."""
        if duration_ms is None or self.end is None:
            return
        began = Moment(self.end.earliest - int(duration_ms * MILLISECOND), self.end.latest - int(duration_ms * MILLISECOND) + EARLY_NS)
        if self.start == self.end:
            self.start = began

    def span(self, session_id: str, parent_key: str) -> Span:
        """The compaction as it is known now."""
        attributes: dict[str, Value] = {**(self.attributes or {}), semconv.COMPACTION_KIND: "micro" if self.micro else "full"}
        if self.error is not None:
            attributes[semconv.ERROR_TEXT] = error_text(self.error)
        status = Status.ERROR if self.error is not None else Status.OK if self.end is not None else Status.UNSET
        return Span(
            Source.STREAM_JSON,
            session_id,
            Boundary.COMPACTION,
            self.key,
            **edges(self.start, self.end)._asdict(),
            name="microcompact" if self.micro else "compact",
            parent_key=parent_key,
            status=status,
            attributes=attributes,
            position=self.position,
        )
