"""request / document: a PDF or another document in the history is not acceptable.

What it means
    Too many pages over the whole history (100), too many bytes, a password, or a file that could not be read. The last one is sometimes
    the server's mood: the same document can pass a minute later.

Evidence
    An HTTP 400 that names a PDF or a document and its pages, size or form.

What to do
    Give fewer pages, or the text of the document instead of the file; go back before it (esc esc). For `Could not process PDF` try
    once more first.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, wording

_UNREADABLE: Final = wording(r"(?:could not|unable to|failed to) process (?:the )?(?:pdf|document)")
_SAYS: Final = wording(
    r"\bpdf(?: \w+){0,4} (?:pages?|too large|too long|password|encrypted|invalid|not valid|exceeds?|unsupported|not supported)",
    r"\bpdf pages?\b|pages? (?:of|in) (?:the |a )?pdf",
    r"document\.source|document(?: \w+){0,3} (?:too large|exceeds?|not supported|unsupported|could not be)",
    r"(?:invalid|unsupported|encrypted|corrupt(?:ed)?) (?:pdf|document)",
)


def _match_unreadable(evidence: Evidence) -> str | None:
    return evidence.says(_UNREADABLE)


def _match(evidence: Evidence) -> str | None:
    return evidence.says(_SAYS)


UNREADABLE: Final = Rule(Family.REQUEST, Kind.DOCUMENT, Retry.HELPS, MODEL, _match_unreadable, __doc__)
RULE: Final = Rule(Family.REQUEST, Kind.DOCUMENT, Retry.HELPS_AFTER_CHANGE, MODEL, _match, __doc__)
