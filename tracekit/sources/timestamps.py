"""ISO timestamps to nanoseconds. The hottest conversion of an import, so the minute is remembered."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

MILLISECOND: Final = 1_000_000
SECOND: Final = 1_000_000_000
_END_NS: Final = 7_258_118_400 * SECOND
"""The year 2200. Whatever is added to an earlier time still fits into 64 bits."""
_MINUTE_LENGTH: Final = len("2026-11-30T15:27")
_ZULU_LENGTH: Final = len("2026-11-30T15:27:18.417Z")


def timestamp_ns(text: object) -> int | None:
    """Turn `2026-11-30T15:27:18.417Z`, or any other ISO form, into Unix nanoseconds.

    None where it is no time, or none at which an agent can have run: zero times (`0001-01-01T00:00:00Z`) are placeholders.
    """
    if not isinstance(text, str):
        return None
    try:
        if len(text) == _ZULU_LENGTH and text[-1] == "Z":
            found = _minute_ns(text[:_MINUTE_LENGTH]) + int(text[17:19]) * SECOND + int(text[20:23]) * MILLISECOND
        else:
            found = _any_ns(text)
    except (ValueError, OverflowError):
        return None
    return found if 0 < found < _END_NS else None


@lru_cache(maxsize=4096)
def _minute_ns(minute: str) -> int:
    return int(datetime.fromisoformat(minute).replace(tzinfo=UTC).timestamp()) * SECOND


def _any_ns(text: str) -> int:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.replace(microsecond=0).timestamp()) * SECOND + moment.microsecond * 1000
