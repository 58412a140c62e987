"""Evidence: what is known of one failure, from a fused boundary or from a pasted text, in the form that rules ask."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self

from tracekit.analysis.failures.layer import CALL, MCP, TOOL, Layer, is_of_mcp_call, layer_named, layer_of_method, layer_of_text
from tracekit.analysis.failures.reading import Reading, name_word, read_error, read_result
from tracekit.analysis.failures.words import Speech
from tracekit.model import Boundary, semconv

_NANOSECONDS: Final = 1_000_000_000
_QUOTED: Final = 160
"""Characters of a text that an evidence line quotes at most."""
_NOTHING: Final = Reading(words="")
_FALSE: Final = frozenset({"", "false", "0"})


@dataclass(frozen=True)
class Evidence:
    """What is known of one failure. Everything is optional; a pasted text alone is evidence too.

    Attributes:
        error_text: The error's own text, as its witness kept it.
        layer: Where it showed, by name (`model-request`, `mcp-connect`, … or a boundary); told from the other facts where it is missing.
        boundary: The boundary that failed.
        status: How it ended: `ok`, `error`, `cancelled`, `unset`.
        error_type: Type or class in its reporter's words.
        error_code: Code of a connection error.
        http_status: HTTP status of the answer; None where no answer came.
        rpc_code: JSON-RPC error code.
        tool_name: Name of the tool.
        exit_code: Exit code of a command or a hook.
        denial_kind: The client's reason for not running a tool.
        permission_decision: `accept` or `reject`.
        permission_source: Who decided: `config`, `hook`, `user_reject`, ….
        is_background: The tool returned at once and its work went on.
        stop_reason: Why the model stopped.
        stream_cut: Why a response ended without message_stop, or `true`.
        interrupted: What was running when the user interrupted.
        hook_event: Event that the hook answered to.
        hook_outcome: `success`, `blocking`, `error`, `cancelled`, `timeout`.
        mcp_server: Name of the MCP server.
        mcp_stage: JSON-RPC method that was pending: `initialize`, `tools/list`, `tools/call`.
        mcp_status: `connected`, `failed`, `disconnected`.
        trigger: What started a compaction.
        result_subtype: How a run ended, by its result message.
        terminal_reason: Why a run ended, by its result message.
        retry_delay_s: Seconds until the next attempt.
    """

    error_text: str = ""
    layer: str | None = None
    boundary: str | None = None
    status: str | None = None
    error_type: str | None = None
    error_code: str | None = None
    http_status: int | None = None
    rpc_code: str | None = None
    tool_name: str | None = None
    exit_code: int | None = None
    denial_kind: str | None = None
    permission_decision: str | None = None
    permission_source: str | None = None
    is_background: bool = False
    stop_reason: str | None = None
    stream_cut: str | None = None
    interrupted: str | None = None
    hook_event: str | None = None
    hook_outcome: str | None = None
    mcp_server: str | None = None
    mcp_stage: str | None = None
    mcp_status: str | None = None
    trigger: str | None = None
    result_subtype: str | None = None
    terminal_reason: str | None = None
    retry_delay_s: float | None = None

    @classmethod
    def from_attributes(cls, boundary: str, status: str, name: str, attributes: Mapping[str, Any]) -> Self:
        """Build from a row of `boundaries`.

        Args:
            boundary: Kind of the boundary.
            status: How it ended.
            name: Its name: for a tool and an MCP server the name that stands in where the attribute is missing.
            attributes: By the names of `semconv`; the store keeps them as text.
        """
        text = {key: str(value) for key, value in attributes.items() if str(value).lower() not in _FALSE}
        delay = _number(text.get(semconv.RETRY_DELAY_NS))
        return cls(
            boundary=boundary,
            status=status,
            error_text=text.get(semconv.ERROR_TEXT, ""),
            error_type=text.get(semconv.ERROR_TYPE),
            error_code=text.get(semconv.ERROR_CODE),
            http_status=_number(text.get(semconv.HTTP_STATUS)),
            rpc_code=text.get(semconv.RPC_STATUS),
            tool_name=text.get(semconv.TOOL_NAME) or (name or None if boundary in _NAMED_BY_TOOL else None),
            exit_code=_number(str(attributes.get(semconv.EXIT_CODE, ""))),
            denial_kind=text.get(semconv.DENIAL_KIND),
            permission_decision=text.get(semconv.PERMISSION_DECISION),
            permission_source=text.get(semconv.PERMISSION_SOURCE),
            is_background=semconv.TOOL_BACKGROUND in text,
            stop_reason=text.get(semconv.STOP_REASON),
            stream_cut=text.get(semconv.STREAM_CUT),
            interrupted=text.get(semconv.INTERRUPTED),
            hook_event=text.get(semconv.HOOK_EVENT),
            hook_outcome=text.get(semconv.HOOK_OUTCOME),
            mcp_server=text.get(semconv.MCP_SERVER) or (name or None if boundary == Boundary.MCP_CONNECTION else None),
            mcp_stage=text.get(semconv.MCP_METHOD),
            mcp_status=text.get(semconv.MCP_STATUS),
            trigger=text.get(semconv.COMPACTION_TRIGGER),
            result_subtype=text.get(semconv.RESULT_SUBTYPE),
            terminal_reason=text.get(semconv.TERMINAL_REASON),
            retry_delay_s=None if delay is None else delay / _NANOSECONDS,
        )

    @cached_property
    def shown_in(self) -> Layer:
        """The layer where the failure showed: said outright, or told from the most particular fact there is."""
        named = layer_named(self.layer or self.boundary or "")
        staged = layer_of_method(self.mcp_stage) if self.mcp_stage else None
        if named in TOOL and (self.tool_name.startswith("mcp__") if self.tool_name else is_of_mcp_call(self.error_text)):
            return Layer.MCP_CALL
        if named is not None:
            return (staged or named) if named in MCP else named
        if staged is not None:
            return staged
        if self.hook_event or self.hook_outcome:
            return Layer.HOOK
        if self.tool_name or self.denial_kind:
            return Layer.MCP_CALL if (self.tool_name or "").startswith("mcp__") else Layer.TOOL_EXECUTION
        return layer_of_text(self.error_text)

    @cached_property
    def reading(self) -> Reading:
        """What the text says of itself; of a tool's result only what its head says."""
        if not self.error_text:
            return _NOTHING
        return read_result(self.error_text) if self.shown_in in TOOL else read_error(self.error_text)

    @cached_property
    def http(self) -> int | None:
        """HTTP status of the answer that went wrong; None where no answer came."""
        return self.reading.relayed_status or self.http_status or self.reading.status

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Types, codes and classes of the error as `name_word` spells them, each with its original."""
        given = (self.error_type, self.error_code, self.rpc_code, self.result_subtype)
        return dict(self.reading.names) | {name_word(name): name for name in given if name and name != "success"}

    @cached_property
    def stopped(self) -> str | None:
        """Why the model stopped, by its witness or by the text."""
        return self.stop_reason or self.reading.stop_reason

    @cached_property
    def delay_s(self) -> float:
        """Seconds until the next attempt, 0 where none is announced."""
        return max(self.retry_delay_s or 0, self.reading.retry_delay_s or 0)

    def named(self, *sets: frozenset[str]) -> str | None:
        """Give the line for the first name of the error that is in one of the sets."""
        original = next((original for word, original in self.names.items() if any(word in group for group in sets)), None)
        return self._with_message(f"error type {original}") if original else None

    def answered(self, *statuses: int) -> str | None:
        """Give the line for the HTTP status, if it is one of these."""
        return self._with_message(f"HTTP {self.http}") if self.http in statuses else None

    def says(self, pattern: Speech) -> str | None:
        """Quote what the error says, if it says this. In a tool's result only the head speaks: the rest is the tool's output."""
        return self.opens(pattern) if self.shown_in in CALL else self.mentions(pattern)

    def opens(self, pattern: Speech) -> str | None:
        """Quote how the text begins, if it begins so. Behind an exit code stands no word of the client: the command ran."""
        head = self._head
        return _quote(head.words, 0) if head.exit_code is None and pattern.match(head.words) else None

    def output_opens(self, pattern: Speech) -> str | None:
        """Quote how the text begins, also behind an exit code, where the client notes how the command ended and the sandbox complains."""
        return _quote(self._head.words, 0) if pattern.match(self._head.words) else None

    def mentions(self, pattern: Speech) -> str | None:
        """Quote what stands anywhere in the text. Only for layers whose text is a protocol's, never for a tool's output."""
        # One sentence makes a better line than the body that it stands in.
        for text in (self.reading.message, self.reading.words):
            if found := pattern.search(text):
                return _quote(text, found.start())
        return None

    def quoted(self, *, without: re.Pattern[str] | None = None) -> str:
        """How the text begins, with a mark in place of what must not be shown."""
        words = self.reading.words
        return _quote(without.sub("[…]", words) if without else words, 0)

    def _with_message(self, fact: str) -> str:
        """A fact that decides, and what the error says beside it."""
        message = "a page and no JSON, so not the API itself" if self.reading.page else _quote(self.reading.message, 0)
        return f"{fact}: {message}" if message else fact

    @cached_property
    def _head(self) -> Reading:
        return read_result(self.error_text) if self.shown_in in CALL else self.reading


_NAMED_BY_TOOL: Final = frozenset({Boundary.TOOL_EXECUTION, Boundary.TOOL_SCHEDULE, Boundary.PERMISSION_WAIT, Boundary.MCP_CALL})


def _quote(words: str, start: int) -> str:
    # A little before the finding, so that the line can be found again in the text.
    begin = max(0, start - 40)
    cut = words[begin : begin + _QUOTED]
    return f"{'…' if begin else ''}{cut}{'…' if begin + _QUOTED < len(words) else ''}"


def _number(text: str | None) -> int | None:
    try:
        return int(float(text)) if text else None
    except ValueError:
        return None
