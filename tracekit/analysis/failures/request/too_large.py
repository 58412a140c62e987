"""request / too_large: the request has too many bytes.

What it means
    A limit of bytes, not of tokens: 32 MB at the API, often 1 to 10 MB at a reverse proxy in front of it. Images and documents in the
    history weigh most, and compaction may leave them in.

Evidence
    HTTP 413 or 431, `request_too_large`, `Request exceeds the maximum size`. A page of HTML without a request id comes from a reverse
    proxy (nginx `client_max_body_size`), and then the API's limit is not the one that counts.

What to do
    Go back before the large entry (esc esc) or `/clear`. If a proxy answered, raise its limit.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_TOO_LARGE, _HEADERS_TOO_LARGE = 413, 431
_NAMES: Final = names(
    "request_too_large", "RequestTooLargeError", "ContentTooLargeError", "payload_too_large", "PayloadTooLargeError", "entity.too.large"
)
_SAYS: Final = wording(
    r"(?:request|payload|entity|content|body|header)s?(?: \w+){0,3} (?:is |are )?too large",
    r"request (?:body )?exceeds? the (?:maximum )?(?:size|limit)",
    r"(?:message|request|body|payload) size \d+ exceeds",
)


def _match(evidence: Evidence) -> str | None:
    return evidence.answered(_TOO_LARGE, _HEADERS_TOO_LARGE) or evidence.named(_NAMES) or evidence.says(_SAYS)


RULE: Final = Rule(Family.REQUEST, Kind.TOO_LARGE, Retry.HELPS_AFTER_CHANGE, MODEL, _match, __doc__)
