"""Which sessions there are, and what is in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from tracekit.analysis.scope import EVERYTHING, Scope, ask
from tracekit.model import Column, Finding
from tracekit.store import SpanStore

_WITNESSES = ("gateway", "mcp_tap", "instrument", "otel", "hooks", "stream_json", "transcript")


@dataclass(frozen=True, slots=True)
class Session(Finding):
    """One session. Sub-agents that only their parent's progress lines show are in none of the counts."""

    question: ClassVar[str] = "sessions"

    session_id: Annotated[str, Column("Session", "id")]
    start_ns: Annotated[int, Column("Began", "time_ns")]
    last_ns: Annotated[int, Column("Last seen", "time_ns", show=False)]
    project: Annotated[str | None, Column("Project", "path")]
    client_version: Annotated[str | None, Column("Client", show=False)]
    turns: Annotated[int, Column("Turns", "count")]
    agents: Annotated[int, Column("Agents", "count", show=False)]
    active_ns: Annotated[int, Column("Active", "ns")]
    """Sum of the turns' walls: without the time between them."""
    messages: Annotated[int, Column("Messages", "count")]
    tool_calls: Annotated[int, Column("Tools", "count")]
    tool_unanswered: Annotated[int, Column("Unanswered", "count", show=False)]
    tool_errors: Annotated[int, Column("Errors", "count")]
    use_to_result_ns: Annotated[int, Column("Use to result", "ns", show=False)]
    """Not tool time: permission, queueing and, in old clients, the rest of the stream are in it."""
    results_before_last_block: Annotated[int, Column("Early results", "count", show=False)]
    """Results stamped before the last block of their own message: proof of streaming tool execution."""
    input_tokens: Annotated[int, Column("Input", "tokens", show=False)]
    output_tokens: Annotated[int, Column("Output", "tokens")]
    cache_read_tokens: Annotated[int, Column("Cache read", "tokens", show=False)]
    cache_write_tokens: Annotated[int, Column("Cache write", "tokens", show=False)]
    compactions: Annotated[int, Column("Compactions", "count", show=False)]
    microcompactions: Annotated[int, Column("Microcompactions", "count", show=False)]
    api_errors: Annotated[int, Column("Failed attempts", "count", show=False)]
    api_error_messages: Annotated[int, Column("Requests given up", "count", show=False)]
    interrupts: Annotated[int, Column("Interrupts", "count", show=False)]
    witnesses: Annotated[str, Column("Witnesses", show=False)]
    verified: Annotated[str | None, Column("Verified")]
    """`pass` or `fail`: what somebody recorded who checked the work from outside. None: unknown, however the session ended."""
    verified_evidence: Annotated[str | None, Column("Evidence", show=False)]
    verified_ns: Annotated[int | None, Column("Verified at", "time_ns", show=False)]


def sessions(store: SpanStore, scope: Scope = EVERYTHING) -> Sequence[Session]:
    """The sessions of a store, the latest first."""
    found = ask(store, "sessions", scope)
    return [Session.from_row(row | {"witnesses": ",".join(name for name in _WITNESSES if row[f"by_{name}"])}) for row in found]
