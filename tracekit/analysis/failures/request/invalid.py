"""request / invalid: the request does not have the form, or does not name the things, that the endpoint accepts.

What it means
    The history lost a partner (a tool_result without its tool_use, a changed thinking block), an entry is empty or broken, `max_tokens`
    is beyond what the model can answer, the model's name is unknown here, or the path is wrong.

Evidence
    HTTP 400 to 499, or types such as `invalid_request_error`, `ValidationException`, `not_found_error`, when no particular rule fits.
    `max_tokens: N > M` is about the answer's cap: the prompt's length plays no part. Numbers such as `column 23370` are places.

What to do
    The message names the place (`messages.12.content.3`). Go back before it (esc esc), or `/clear`. For an unknown model choose
    another with `/model`; for a cap set CLAUDE_CODE_MAX_OUTPUT_TOKENS; behind a gateway mend what it drops or reorders.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_STATUSES: Final = range(400, 500)
_NAMES: Final = names(
    "invalid_request",
    "invalid_request_error",
    "InvalidRequestError",
    "BadRequestError",
    "bad_request",
    "ValidationException",
    "ValidationError",
    "INVALID_ARGUMENT",
    "FAILED_PRECONDITION",
    "not_found_error",
    "NotFoundError",
    "NOT_FOUND",
    "model_not_found",
    "ResourceNotFoundException",
    "conflict_error",
    "UnprocessableEntityError",
)
_SAYS: Final = wording(
    r"invalid (?:request|model|argument|parameter|[\w`'.]+ parameter)|model identifier is invalid",
    r"\bmessages\.\d+\b|`(?:tool_use|tool_result|(?:redacted_)?thinking)`",
    r"(?:messages|roles|tools|system|thinking|tool_choice|metadata)(?:\.\w+)*: ",
    r"a maximum of \d+ .{0,60} may be provided",
    r"\b(?:must|cannot|should|may) (?:not )?(?:be|end|match|contain|have|start|begin|include|alternate)\b",
    r"issue with the selected model|model .{0,80}(?:not found|does not exist|is not available)",
    r"tool use concurrency|duplicate tool_use",
    r"malformed (?:request|input)",
)
_INVALID: Final = wording(r"invalid[_A-Z]")
"""How clouds name what is wrong with a request, each in its own word."""
_OUTPUT_CAP: Final = wording(
    r"max_tokens:? ?[\d,]+ ?> ?[\d,]+",
    r"maximum allowed number of output tokens",
    r"maximum tokens you requested exceeds?",
    r"max(?:imum)?[_ ](?:completion_|output_|new_)?tokens\W.{0,40}(?:too large|must be|at most|less than)",
    r"budget_tokens\b.{0,40}\b(?:must|greater|less|at least)\b|(?:greater|less) than \S{0,20}budget_tokens",
)
_CONTEXT: Final = wording(r"context[ _](?:length|limit|window|size)", r"inputs?\W+tokens \+")


def _match_output_cap(evidence: Evidence) -> str | None:
    return None if evidence.says(_CONTEXT) else evidence.says(_OUTPUT_CAP)


def _match(evidence: Evidence) -> str | None:
    if evidence.http is not None:
        return evidence.answered(*_STATUSES)
    return evidence.named(_NAMES) or evidence.says(_SAYS) or next(map(_line, filter(_INVALID.match, evidence.names.values())), None)


def _line(name: str) -> str:
    return f"error type {name}"


OUTPUT_CAP: Final = Rule(Family.REQUEST, Kind.INVALID, Retry.HELPS_AFTER_CHANGE, MODEL, _match_output_cap, __doc__)
RULE: Final = Rule(Family.REQUEST, Kind.INVALID, Retry.HELPS_AFTER_CHANGE, MODEL, _match, __doc__)
