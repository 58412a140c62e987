"""model / malformed_tool_input: the model wrote a tool call that nobody can read.

What it means
    The arguments are no JSON, or the call came as plain text or XML. The client tells the model once and asks again; if that fails as well,
    the turn ends. Arguments that parse and do not fit the schema are `tool / input`; arguments cut off by the network are
    `network / stream_cut`.

Evidence
    `The model's tool call could not be parsed`, the terminal reason `malformed_tool_use_exhausted`, stop reasons such as
    `malformed_function_call`, or a stream's input that fails validation with nothing broken off.

What to do
    Ask again, in smaller pieces: very long arguments break most often. Behind a gateway, check that it translates tool calls in streams.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_NAMES: Final = names("malformed_function_call", "malformed_tool_use", "malformed_tool_use_exhausted", "tool_use_failed")
_VALIDATION: Final = names("InputValidationError")
_SAYS: Final = wording(
    r"tool (?:call|use|input)s? .{0,20}(?:malformed|could not be parsed|not be parsed)",
    r"(?:malformed|unparsable|unparseable) (?:tool|function)",
    r"(?:failed to|could not|unable to|error) pars(?:e|ing) .{0,30}(?:tool|function) (?:call|input|use|arguments)",
    r"(?:tool|function)(?: call| use)? (?:input|arguments).{0,40}(?:not valid|invalid) json",
)


def _match(evidence: Evidence) -> str | None:
    stopped = f"{evidence.stopped or ''} {evidence.terminal_reason or ''}".lower()
    if "malformed" in stopped:
        return f"stop reason {stopped.strip()}"
    found = evidence.named(_NAMES) or evidence.says(_SAYS)
    return found or (evidence.named(_VALIDATION) if evidence.shown_in is Layer.STREAM else None)


RULE: Final = Rule(Family.MODEL, Kind.MALFORMED_TOOL_INPUT, Retry.HELPS, MODEL, _match, __doc__)
