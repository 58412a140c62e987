"""tool / input: the call could not be carried out as it was written; nothing ran.

What it means
    Wrong or missing arguments, no such tool, a file that was not read before it is edited, a text to replace that is not there, a file
    too large to be read at once. The client turned the call down before doing anything.

Evidence
    `<tool_use_error>` around the result, `InputValidationError`, and the client's phrases for unmet conditions, at the head of the result.
    `N tokens exceeds maximum allowed tokens` here is the reader's limit, not the model's. A parameter `raw_arguments` that nobody
    asked for means that the arguments arrived broken.

What to do
    Nothing: the model reads the error and calls again. If the same call comes again and again, look at the tool's schema, at a file
    that a formatter rewrites under the model, or at a gateway that mangles arguments.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import CALL, TOOL, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_NAMES: Final = names("InputValidationError", "ZodError", "invalid_tool_input")
_OPENS: Final = wording(
    r"inputvalidationerror",
    r"(?:error: )?no such tool available",
    r"file (?:has|does) not (?:been|exist)",
    r"file has been (?:unexpectedly )?modified",
    r"(?:\w+error: )?file (?:content|is)? ?\(.{1,20}\) exceeds|file content .{0,40}exceeds maximum",
    r"(?:error editing file: )?string to replace",
    r"found \d+ matches of the string",
    r"(?:path|directory) does not exist",
    r"unknown (?:skill|command|parameter|agent)",
    r"agent type '.*' not found",
    r"tool (?!mcp__)\S+ (?:not found|is not available)",
    r"(?:invalid|missing|malformed) (?:[\w-]+ )?(?:input|parameters?|arguments?|json)",
    r"(?:eisdir|enotdir|enoent)\b(?!.*spawn)",
    r"no changes to make",
    r"no (?:\w+ )?(?:task|shell|agent|skill|cell|match)\w* (?:found|exists?|with)",
)


def _match(evidence: Evidence) -> str | None:
    if evidence.shown_in in TOOL and (named := evidence.named(_NAMES)):
        return named
    if evidence.tool_name == "Bash" and not evidence.reading.tagged:
        return None
    found = evidence.opens(_OPENS)
    if found is None and (evidence.reading.tagged or evidence.shown_in is Layer.TOOL_INPUT):
        return evidence.quoted()
    return found


RULE: Final = Rule(Family.TOOL, Kind.INPUT, Retry.HELPS_AFTER_CHANGE, CALL, _match, __doc__)
