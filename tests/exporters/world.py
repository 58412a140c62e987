"""Sessions that exporters are tried on: one in which everything happens, and a store of real recordings."""

from collections.abc import Iterable, Sequence
from typing import Any

from tracekit.analysis.scope import Scope
from tracekit.cli.exporting import trace_of
from tracekit.model import Boundary, Span, Status, semconv
from tracekit.store import SpanStore
from tracekit.testing import request, span, tool, turn
from tracekit_exporters import BoundaryRow, SessionTrace, Trace

SECOND = 1_000_000_000
START = 1_796_000_000 * SECOND
AS_OF = START + 100 * SECOND


def at(seconds: float) -> int:
    return START + round(seconds * SECOND)


def session(name: str = "7f3a", tool_name: str = "Bash", **texts: Any) -> list[Span]:
    """A turn with a response whose two tools overlap, a hook, an MCP call, a sub-agent, a failure, a compaction, and one open tool."""
    asked = {
        semconv.INPUT_TOKENS: 100,
        semconv.OUTPUT_TOKENS: 50,
        semconv.CACHE_READ_TOKENS: 1_000,
        semconv.CACHE_WRITE_TOKENS: 10,
        semconv.FIRST_BYTE_NS: at(1.5),
        semconv.STOP_REASON: "tool_use",
        semconv.COST_USD: 0.0125,
    }
    failed = {semconv.ERROR_TYPE: "ShellError", semconv.ERROR_TEXT: texts.get("error", "exit 1")}
    spans = [
        span(Boundary.SESSION, name, at(0), at(60), status=Status.OK, attributes={semconv.CLIENT_VERSION: "2.1.300"}),
        turn(at(0), at(50), key="turn", parent_key=name, attributes={semconv.TURN_KIND: "prompt"}),
        request(at(1), at(10), name=texts.get("model", "claude-sonnet-4-5"), attributes=asked, status=Status.OK, end_slack_ns=SECOND // 10),
        span(
            Boundary.STREAM_EVENT,
            "msg_1#0",
            at(2),
            at(4),
            parent_key="req_1",
            start_slack_ns=SECOND // 5,
            attributes={semconv.BLOCK_TYPE: "tool_use", semconv.BLOCK_INDEX: 0},
        ),
        *tool(at(4), at(4.5), at(8), key="toolu_1", name=tool_name, status=Status.OK),
        *tool(at(5), at(6), at(12), key="toolu_2", name="mcp__files__read", status=Status.ERROR, attributes=failed),
        span(Boundary.MCP_CALL, "toolu_2", at(6.1), at(11.9), parent_key="toolu_2", name="read", attributes={semconv.MCP_SERVER: "files"}),
        span(Boundary.PERMISSION_WAIT, "toolu_1", at(4.1), at(4.4), parent_key="toolu_1", name=tool_name),
        span(
            Boundary.HOOK_REPLY,
            "hook-1",
            at(4.01),
            at(4.05),
            parent_key="toolu_1",
            name="check",
            attributes={semconv.HOOK_EVENT: "PreToolUse"},
        ),
        request(at(13), at(20), key="req_2", name=texts.get("model", "claude-sonnet-4-5"), attributes={semconv.OUTPUT_TOKENS: 7}),
        *tool(at(19), at(19.5), at(40), key="toolu_3", issued_by="req_2", name="Task"),
        span(Boundary.SUBAGENT, "a1", at(19.6), at(39), parent_key="toolu_3", name="explore", agent_id="a1"),
        turn(at(19.6), at(39), key="a1-turn", parent_key="a1", agent_id="a1", attributes={semconv.TURN_KIND: "agent"}),
        span(Boundary.COMPACTION, "c1", at(41), at(43), parent_key="turn", name="compact"),
        request(at(44), at(46), key="req_3", name=texts.get("model", "claude-sonnet-4-5")),
        *tool(at(46), at(46), None, key="toolu_4", issued_by="req_3", name=tool_name),
    ]
    return [one._replace(session_id=name) for one in spans]


def rows(spans: Iterable[Span]) -> list[BoundaryRow]:
    """Spans as the store would give them back, each the only witness of its boundary."""
    found = [
        BoundaryRow(
            one.session_id,
            one.boundary,
            one.key,
            one.start_ns,
            one.end_ns,
            one.name,
            one.agent_id,
            one.parent_key,
            one.start_slack_ns,
            one.end_slack_ns,
            one.status,
            {name: str(value) for name, value in one.attributes.items()},
            one.source,
        )
        for one in spans
    ]
    return sorted(found, key=lambda row: (row.start_ns, -(row.end_ns or AS_OF)))


def trace(*sessions: Sequence[Span]) -> Trace:
    """A trace without a store, which can be asked nothing."""
    return Trace([_session(rows(spans)) for spans in sessions], AS_OF, lambda _question, _session: [])


def stored(store: SpanStore, as_of_ns: int = AS_OF) -> Trace:
    """Everything in a store."""
    return trace_of(store, [Scope()], as_of_ns=as_of_ns)


def _session(found: Sequence[BoundaryRow]) -> SessionTrace:
    last = max(row.end_ns or row.start_ns for row in found)
    return SessionTrace(found[0].session_id, min(row.start_ns for row in found), last, found)


HOSTILE = (
    "<script>alert(1)</script>",
    "]]><!-- & \"' `",
    "\x1b[2J\x1b]0;owned\x07\x9b31m",
    "\u202egnp.exe\u2066\u200f\u2028",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1+1)",
    "\tTAB\rCR\nLF",
    'a"} 1\nevil_metric{x="',
    "back\\slash\\n",
    "👩‍💻🏳️‍🌈 e\u0301",
    "\x00\x01\x08\x0b\x0c\x0e\x1f\x7f\ufffe\uffff",
    "N" * 1_000_000,
    "",
)
"""What names, texts and ids may hold."""
