"""Whether a line can have waited: the SDK stops reading its client while a slow host has a hundred messages before it."""

from typing import Final

_AWAY_NS: Final = 20_000_000
"""Whoever comes back to the pipe later than this was busy elsewhere."""
_AT_ONCE_NS: Final = 2_000_000
"""A line that is there within this had come before; one that is waited for has just come."""


class Attention:
    """When the pipe was looked at."""

    def __init__(self) -> None:
        self._left_ns = 0
        self._asked_ns = 0
        self._since_ns: int | None = None
        """From when on what is in the pipe may have lain there."""

    def left(self, at_ns: int) -> None:
        """A line is handed on; nobody looks at the pipe until whoever has it comes back."""
        self._left_ns = at_ns

    def back(self, at_ns: int) -> None:
        """The next line is asked for."""
        self._asked_ns = at_ns
        if at_ns - self._left_ns > _AWAY_NS and self._since_ns is None:
            self._since_ns = self._left_ns

    def waited_ns(self, at_ns: int) -> int:
        """For how long the line that is read now may have lain unread."""
        if self._since_ns is None:
            return 0
        if at_ns - self._asked_ns > _AT_ONCE_NS:
            self._since_ns = None
            return 0
        return at_ns - self._since_ns
