"""request / image: an image in the history is not acceptable.

What it means
    Too many bytes (5 MB in base64, so less on disk), too many pixels, an unknown form, or a model that sees no images. With more than 20
    images the limit falls from 8,000 to 2,000 pixels, so an old image becomes illegal later: the turn that fails is not the one that
    brought it.

Evidence
    An HTTP 400 that names an image and its size, dimensions or form; the client's phrase about images in the conversation; the terminal
    reason `image_error`, unless the status is 413.

What to do
    Go back before the image (esc esc), or start anew with fewer and smaller ones. The last tool call is mostly innocent.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, wording

_SAYS: Final = wording(
    r"\bimages?\b(?: \w+){0,4} (?:exceeds?|dimensions?|too large|too big|invalid|unsupported|empty|not supported|not valid|could not be)",
    r"(?:could not|unable to|failed to) (?:process|decode|read|load|resize) (?:the )?image",
    r"(?:invalid|unsupported|corrupt(?:ed)?) (?:base64 )?image|image (?:format|media type|type)",
    r"image\.source|image_url|many-image",
    r"(?:does not|doesn't|not) support (?:image|vision)|no endpoints found that support image",
)


def _match(evidence: Evidence) -> str | None:
    return evidence.says(_SAYS) or ("terminal reason image_error" if evidence.terminal_reason == "image_error" else None)


RULE: Final = Rule(Family.REQUEST, Kind.IMAGE, Retry.HELPS_AFTER_CHANGE, MODEL, _match, __doc__)
