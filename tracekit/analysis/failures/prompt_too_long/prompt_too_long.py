"""prompt_too_long / prompt_too_long: the prompt alone is longer than the context window.

What it means
    History, system prompt, tool definitions and attachments together exceed the model's limit at this endpoint. The client compacts by
    its own count and its own idea of the limit; where a gateway allows less, compaction comes too late.

Evidence
    The error class `prompt_too_long`; an HTTP 400 that says `prompt is too long: N tokens > M maximum`, or says it in another vendor's
    words. Texts that limit the answer (`max_tokens: N > M`) are `request / invalid`.

What to do
    `/compact`; if that is too long as well, go back some messages (esc esc) or `/clear`. Drop MCP servers that bring many tools. Behind a
    gateway, tell the client the real limit (CLAUDE_CODE_AUTO_COMPACT_WINDOW), or raise the gateway's.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_NAMES: Final = names(
    "prompt_too_long",
    "model_max_prompt_tokens_exceeded",
    "max_prompt_tokens_exceeded",
    "input_too_long",
    "capability_rejected: prompt_too_long",
)
_SAYS: Final = wording(
    r"(?:prompt|input|conversation|context|request) (?:is |was )?too long",
    r"(?:prompt|input|total|request(?:ed)?)(?: \w+)? tokens?(?: \w+)?(?: of)?(?: \(?[\d,]+\)?)? exceeds?\b",
    r"(?:prompt|input|messages|conversation|context)\b.{0,40}\bexceed(?:s|ed)? (?:the |your |our |its )?"
    r"(?:(?:model'?s?|max(?:imum)?|allowed|input|tokens?|context|configured) ){0,2}(?:limit|max\w*|length|window)"
    r"(?!.{0,40}\b(?:bytes|[KMG]i?B)\b)",
    r"(?:input|prompt).{0,30}\b[\d,]+ tokens.{0,30}(?:longer|larger|greater|more) than",
    r"(?:longer|larger|greater) than the (?:model'?s? )?(?:maximum )?context",
    r"exceed\w*.{0,40}\bcontext(?: (?:size|limit|length|window)|_length)",
    r"max(?:imum)? (?:input|prompt|context)(?: \w+){0,5} (?:is|of) [\d,]{4,} tokens",
    r"maximum context length is|too many (?:input |prompt )?tokens in (?:the |your )?(?:prompt|input|request|messages)",
    r"(?:exceeded|over) (?:the )?(?:model )?token limit",
    r"reduce the length of (?:the |your )?(?:messages|prompt|input)",
    r"(?:prompt|input) exceeds? (?:the )?max(?:imum)?\b",
    r"(?<!output )(?<!max_)\btokens?\b(?!.{0,80}\b(?:per|rate)\b).{0,40}\b(?:(?:more|greater|larger|longer) than|exceed\w*)\b.{0,30}"
    r"\b(?:limit|maximum|window|length|capacity|[\d,]{4,})",
    r"requested [\d,]+ tokens\b.{0,40}\b(?:only|room|allows?|supports?|limit)\b|(?:prompt|input)[_ ]tokens?[_ ]limit\b",
    r"range of input length|inputs?`? tokens\b.{0,40}must be",
    r"exceed\w* (?:max|maximum) (?:message|prompt|input) tokens",
    r"ran out of room in the model'?s? context",
    r"\b(?:max(?:imum)? )?context (?:window|length|limit|size)\b.{0,20} [\d,]{4,}",
    r"context (?:window|length|limit|size)\b.{0,20}\b(?:error|overflow|exceeded|reached)",
)


def _match(evidence: Evidence) -> str | None:
    reason = "terminal reason prompt_too_long" if evidence.terminal_reason == "prompt_too_long" else None
    return reason or evidence.named(_NAMES) or evidence.says(_SAYS)


RULE: Final = Rule(Family.PROMPT_TOO_LONG, Kind.PROMPT_TOO_LONG, Retry.HELPS_AFTER_CHANGE, MODEL, _match, __doc__)
