"""What Claude Code 2.1.332 tells its hooks, in a line each."""

import json
from typing import Any

from tracekit.capture.hooks.heard import HTTP_LATE_NS
from tracekit.capture.hooks.known import Edge, Known
from tracekit.capture.hooks.observing import Said
from tracekit.model import Span

MS = 1_000_000
S = 1_000 * MS
T0 = 1_796_000_000 * S
BASH = {"tool_name": "Bash", "tool_input": {"command": "make test", "timeout": 5_000}}
SECRET = "the user's own words"


def payload(event: str, **fields: Any) -> bytes:
    base = {"session_id": "s1", "transcript_path": "/home/demo/t.jsonl", "cwd": "/home/demo", "prompt_id": "p1", "hook_event_name": event}
    return json.dumps({name: value for name, value in {**base, **fields}.items() if value is not None}).encode()


class Play:
    """Hooks that come in one after another, to one process that stays, or to one process each."""

    def __init__(self, *, stays: bool = True, content: bool = False) -> None:
        self.known = Known()
        self.spans: list[Span] = []
        self._stays = stays
        self._content = content

    def hook(self, at_ms: float, event: str, **fields: Any) -> list[Span]:
        """One hook runs so long after the beginning of the play."""
        said = Said.read(payload(event, **fields))
        known = self.known if self._stays else Known(is_whole=False)
        at_ns = T0 + int(at_ms * MS)
        spans = said.spans(Edge(at_ns - HTTP_LATE_NS, at_ns), known, content=self._content) if said else []
        for span in spans:
            known.note(span)
        self.spans += spans
        return spans

    def one(self, at_ms: float, event: str, **fields: Any) -> Span:
        """The same, of a hook that tells one thing."""
        (span,) = self.hook(at_ms, event, **fields)
        return span


def start(span: Span) -> tuple[float, float]:
    """Earliest and latest start, in milliseconds of the play."""
    return (span.start_ns - T0) / MS, (span.start_ns + span.start_slack_ns - T0) / MS


def end(span: Span) -> tuple[float, float] | None:
    """Earliest and latest end, in milliseconds of the play; None while it is open."""
    return None if span.end_ns is None else ((span.end_ns - span.end_slack_ns - T0) / MS, (span.end_ns - T0) / MS)
