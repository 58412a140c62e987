"""request: the API understood the request and refused it as it is.

What it means
    Something in the request is wrong for this endpoint: its form, a field, an image, a document, its size in bytes. Since the client
    sends the whole history each time, one bad entry makes every following request fail.

Evidence
    HTTP 400, 404, 413 or 422, `invalid_request_error` and its kin, that no more particular family explains. Many faults of other
    families wear the same status: prompts too long, accounts, filters.

What to do
    Change the request: go back before the bad entry (esc esc), start anew, or mend the gateway. The same request never passes.
"""

from tracekit.analysis.failures.request import document, image, invalid, too_large, unsupported_field

__all__ = ["document", "image", "invalid", "too_large", "unsupported_field"]
