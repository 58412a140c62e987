"""The words of a verdict, and the form that every rule has."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import Layer
from tracekit.analysis.failures.reading import name_word
from tracekit.analysis.failures.words import Wording


class Family(StrEnum):
    """Whose fault it is."""

    NETWORK = "network"
    PROMPT_TOO_LONG = "prompt_too_long"
    TOOL = "tool"
    MCP = "mcp"
    REQUEST = "request"
    ACCOUNT = "account"
    HOOK = "hook"
    MODEL = "model"
    USER = "user"
    CLIENT = "client"
    UNKNOWN = "unknown"


class Kind(StrEnum):
    """What went wrong. A kind belongs to a family; a few words (`timeout`, `error`) are kinds of several."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    PROXY = "proxy"
    TIMEOUT = "timeout"
    RESET = "reset"
    STREAM_CUT = "stream_cut"
    STREAM_ERROR = "stream_error"
    STREAM_STALL = "stream_stall"
    OVERLOADED = "overloaded"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"

    PROMPT_TOO_LONG = "prompt_too_long"
    CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded"
    COMPACTION_TOO_LONG = "compaction_too_long"

    INPUT = "input"
    PERMISSION = "permission"
    EXECUTION = "execution"
    SANDBOX = "sandbox"
    SIBLING_CANCELLED = "sibling_cancelled"
    SIDE_EFFECT_UNCERTAIN = "side_effect_uncertain"

    SPAWN = "spawn"
    AUTH = "auth"
    INITIALIZE = "initialize"
    DISCOVERY = "discovery"
    CALL = "call"
    SESSION_LOST = "session_lost"

    INVALID = "invalid"
    TOO_LARGE = "too_large"
    IMAGE = "image"
    DOCUMENT = "document"
    UNSUPPORTED_FIELD = "unsupported_field"

    AUTHENTICATION = "authentication"
    BILLING = "billing"
    USAGE_LIMIT = "usage_limit"
    ORGANIZATION = "organization"

    BLOCKED = "blocked"
    ERROR = "error"
    INVALID_OUTPUT = "invalid_output"
    UNKNOWN_CALLBACK = "unknown_callback"

    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    MAX_OUTPUT_TOKENS = "max_output_tokens"
    MALFORMED_TOOL_INPUT = "malformed_tool_input"

    INTERRUPT = "interrupt"
    REJECTION = "rejection"

    CRASH = "crash"
    MAX_TURNS = "max_turns"
    INCOMPLETE_RUN = "incomplete_run"
    CONTROL_TIMEOUT = "control_timeout"

    UNKNOWN = "unknown"


class Retry(StrEnum):
    """What doing the same again would bring."""

    HELPS = "helps"
    HELPS_AFTER_CHANGE = "helps_after_change"
    DOES_NOT_HELP = "does_not_help"
    MAY_REPEAT_SIDE_EFFECT = "may_repeat_side_effect"


class Verdict(NamedTuple):
    """What a failure is."""

    family: Family
    kind: Kind
    retry: Retry
    evidence_text: str
    """The line of evidence that the verdict rests on, without secrets."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to know a kind of failure.

    Attributes:
        family: Whose fault it is.
        kind: What went wrong.
        retry: What doing the same again would bring.
        layers: Where the rule is asked at all.
        test: Gives the evidence line, or None.
        page: What `tracekit explain` prints: the docstring of the rule's module.
    """

    family: Family
    kind: Kind
    retry: Retry
    layers: frozenset[Layer]
    test: Callable[[Evidence], str | None]
    page: str | None

    def match(self, evidence: Evidence) -> str | None:
        """Give the line of evidence that makes it this kind, or None."""
        return self.test(evidence) if evidence.shown_in in self.layers else None


def wording(*alternatives: str) -> Wording:
    """Compile the ways in which an error says one thing, case aside."""
    return Wording(*alternatives)


def names(*spellings: str) -> frozenset[str]:
    """The types, codes and classes of one meaning, whoever spells them."""
    return frozenset(map(name_word, spellings))
