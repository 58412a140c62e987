"""What an exception says of how a boundary ended."""

from dataclasses import dataclass
from typing import Final

from tracekit.model import semconv
from tracekit.model.redact import error_text

_CANCELLATIONS: Final = (GeneratorExit, KeyboardInterrupt, SystemExit)
_BY_NAME: Final = frozenset({"Cancelled", "CancelledError"})
"""Those of asyncio, of futures and of trio, none of which is loaded to be told."""


@dataclass(slots=True)
class Ending:
    """How a boundary ends.

    Attributes:
        error: What broke it off.
        said: What is to be said of it.
        at_ns: When it ended.
    """

    error: BaseException | None
    said: "dict[str, str | int | float | bool | tuple[str, ...]]"
    at_ns: int


def is_cancellation(error: BaseException) -> bool:
    """Whether somebody stopped the work, so that it did not fail by itself."""
    return isinstance(error, _CANCELLATIONS) or type(error).__name__ in _BY_NAME


def said_by(error: BaseException | None) -> "dict[str, str | int | float | bool | tuple[str, ...]]":
    """Type and text of an exception, without secrets; of a cancellation only the type, which is all that it says."""
    if error is None:
        return {}
    kind = type(error).__name__
    text = "" if is_cancellation(error) else error_text(str(error))
    said: dict[str, str | int | float | bool | tuple[str, ...]] = {semconv.ERROR_TYPE: kind}
    if text:
        said[semconv.ERROR_TEXT] = text
    answered = getattr(error, "status_code", None)
    if isinstance(answered, int):
        said[semconv.HTTP_STATUS] = answered
    return said
