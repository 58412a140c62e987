"""Texts that talk of errors and are none: source code, search results, notes. Known by their shape, never by what they say."""

import re
from typing import Final

_TRACE: Final = re.compile(r"\n\s+at \S.*:\d+|\n(?:\w+\.)*\w+(?:Error|Exception)\b ?:|^traceback ", re.IGNORECASE)
"""A program's own trace quotes source too, and ends with the error."""

_RETURNS: Final = r"(?:return|throw|raise|get|see|hit|respond|answer|fail|receive|encounter)(?:s|ed|ing)?\b"
_SHAPES: Final = (
    ("a result of a search", r"(?:\./|/|~/|[a-z]:\\)?[\w.@~+\-]+(?:[/\\][\w.@+\- ]+)*\.[a-z]{1,5}[:\-]\d+[:\-](?!\d+ - error)"),
    ("a difference between files", r"diff --git |@@ -\d|\+\+\+ \S|--- [ab]/|[+-] {2,}\S"),
    ("a numbered line of a file", r"\d+(?:→|\t|[:\-] {2,}\S)"),
    ("a result of a search", r"(?:(?:grep|search|found): ?)?(?:found )?\d+ (?:matches|results|hits|occurrences|files)\b(?! of the string)"),
    ("a comment or a heading", r"//|/\*|\* \w|<!--|#{1,6} \w|\"{3}"),
    ("a table or a list", r"\[[^\]]*\]\(https?:|\|.*\|\s*(?:\n|$)|[*-] (?:\*\*|`|\[[ x]\])|\d{1,2}[.)] (?:\*\*|`|[A-Z]\w+ )"),
    ("a commit", r"merge (?:pull request|branch)\b|commit [0-9a-f]{7,40}\b|(?=[0-9]*[a-f])(?=[a-f]*\d)[0-9a-f]{7,40} \w"),
    ("a commit", r"(?:fix|feat|docs|chore|test|refactor|perf|build|ci|style|revert)(?:\([\w\-./ ]+\))?!?: "),
    (
        "source code",
        r"(?:el)?if (?:\(|not |\w+(?:\.\w+)* (?:==|!=|in|is|>|<)|.*[:{]\s*$)|else\b ?[:{]|for (?:\w+ (?:in|of) |\()|while (?:\(|True)",
    ),
    ("source code", r"try ?[:{]|except\b.*:|\}? ?catch ?\(|(?:async )?(?:def|function) \w*\(|class \w+ ?[(:{]|await \w+[.(]"),
    ("source code", r"(?:import|from) [\w.@/\"'{*]+.* ?(?:import|from) |return (?:\w+\(|[{(\[\"'`]|None|null|true|false|new )"),
    ("source code", r"throw new |raise \w+(?:\(|$)|(?:const|let|var) \w+|export (?:const|default|function|class|type) |case [\"'\d].*:"),
    ("source code", r"assert (?:not |isinstance|\w+.*==)|expect\(|(?:console|logger|log|self|this|mock\w*|assert\w*|pytest|re)\.\w+\("),
    ("source code", r"[A-Za-z_]\w*(?:: [\w\[\], |]+)? (?:=|:=|\+=) (?:[\"'\[{(]|[rfb]\"|new |re\.)"),
    ("source code", r"[\"'][\w.\-]+[\"']: .*[,{\[]\s*$"),
    (
        "source code",
        r"(?!\w*(?:error|exception|timeout|exhausted|disconnected|read)\b)@?[a-z_][\w.:]*!?\(.*(?:\)[;,:{]?|=>|\{)\s*(?:\n|$)",
    ),
    ("source code", r"(?:pub|enum|struct|impl|fn|func|interface|package|using|namespace) \w+|@\w+\("),
    (
        "a command",
        r"export \w+=\S|(?:\$ ?)?(?:grep|rg|sed|awk|curl|git|echo|cat|jq|pytest|npm|python3?) (?:-{1,2}\w|[\"'./\w-]+ [\"'./-])",
    ),
    ("a question", r"(?:faq|q)\b ?:|(?:how|why|what|where|which) (?:do|does|did|is|are|can|could|should|to|happens|would)\b"),
    ("a remark", rf"(?:when|if|whenever|in case|once|until) .{{0,60}}\b{_RETURNS}"),
    ("a remark", rf"(?:the )?(?:api|server|endpoint|client|sdk|call|it) (?:may|might|can|could|should|will|would|sometimes) {_RETURNS}"),
    ("a remark", rf"(?:the )?(?:api|server|endpoint|client|sdk|call|it) {_RETURNS}.{{0,40}} (?:when|if|whenever|once|unless)\b"),
    (
        "a remark",
        r"(?:in (?:this|the) (?:commit|pr|patch|change)|(?:retry|error|backoff|rate[- ]limit) (?:logic|handling|policy|strategy))\b",
    ),
    ("a remark", r"(?:documentation|overview|list|table|summary|description|explanation) (?:of|for)\b"),
    ("a remark", r"(?:the|this|that|our) [\w-]+ (?:matches|mentions|quotes|catches|handles|retries|describes)\b"),
    ("a remark", r"(?:raises|returns|yields|args|arguments|attributes|parameters|notes?): |:(?:param|raises|returns)\b"),
    ("a remark", r"(?:todo|fixme|note|nb|see(?: also)?|example|e\.g\.|for example)\b[: ,]"),
    (
        "a remark",
        (
            r"(?:this|the|our|my) (?:pr|commit|patch|change|test|function|script|log|file|readme|docs?|page|section|article|issue|code)s? "
            r"(?:handle|retr(?:y|ie)|describe|explain|list|cover|mention|add|fix(?:e)?|document|show|say|talk|contain|quote|check|test|assert)s?\b"
        ),
    ),
    ("a remark", r"the following (?:errors|codes|statuses)\b|we (?:saw|see|had|got)\b"),
    ("a remark", r"(?:we|let(?:'s| us)) (?:\w+ )?(?:handle|retry|catch|treat|map|document|test|add|log|check)\b"),
    (
        "a remark",
        r"(?:add(?:s|ed)|handl(?:es|ed|ing)|fix(?:es|ed)|retr(?:y|ies|ied) on|document(?:s|ed)|explain(?:s|ed)?|describ\w+|cover(?:s|ed)) ",
    ),
)
_KNOWN: Final = tuple((what, re.compile(shape, re.IGNORECASE)) for what, shape in _SHAPES)
_RESULT: Final = re.compile(r'"type": ?"tool_result"')
_FAILED_RESULT: Final = re.compile(r'"is_error": ?true|"type": ?"error"')
_ASSISTANT: Final = re.compile(r'^\{.{0,200}"type": ?"assistant"', re.DOTALL)
_ERROR_ENTRY: Final = re.compile(r'"isApiErrorMessage": ?true|"type": ?"error"|"error": ?"|"stop_reason": ?"refusal"')


def talks_of_errors(text: str) -> str | None:
    """Say what the text is where it only talks of errors, or None where it can be an error's own.

    Only how it begins is looked at: an error may quote source further down. A text of which nothing shows that it is mere talk is taken
    for an error: to overlook one would be worse.
    """
    head = text.strip().removeprefix("> ")[:600]
    if _TRACE.search(text):
        return None
    if head.startswith("{"):
        return _entry(text)
    what = next((what for what, shape in _KNOWN if shape.match(head)), None)
    return f"{what} that speaks of errors, none of its own" if what else None


def _entry(text: str) -> str | None:
    """A line of a transcript: what a tool gave back and what a model wrote are quotations."""
    if _RESULT.search(text) and not _FAILED_RESULT.search(text):
        return "a tool's result, which did not fail"
    if _ASSISTANT.match(text) and not _ERROR_ENTRY.search(text):
        return "a model's own words"
    return None
