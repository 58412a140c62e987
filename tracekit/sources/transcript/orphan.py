"""A result whose call stands in no line of its file: the file begins after it."""

from tracekit.model import Boundary, Span, Status, semconv
from tracekit.model.redact import error_text
from tracekit.sources.transcript.call import result_of
from tracekit.sources.transcript.entries import Entry, session_of


def orphan_span(source: str, agent_id: str | None, entry: Entry, block: Entry, begins_ns: int, stamp_ns: int, position: int) -> Span:
    """The execution that such a result ended, begun at any time since `begins_ns`."""
    result = result_of(entry, block, stamp_ns)
    key, start_ns = str(block.get("tool_use_id")), min(begins_ns, stamp_ns)
    return Span(
        source,
        session_of(entry),
        Boundary.TOOL_EXECUTION,
        key,
        start_ns,
        stamp_ns,
        name="unknown",
        agent_id=agent_id,
        parent_key=key,
        start_slack_ns=stamp_ns - start_ns,
        status=Status.ERROR if result.is_error else Status.OK,
        attributes={semconv.ERROR_TEXT: error_text(result.text)} if result.is_error else {},
        position=position,
    )
