"""Moments inside a span: every event of a stream with its time and size, as long as they are not too many to be of use."""

from collections.abc import Mapping
from typing import Final

from tracekit.model import NO_ATTRIBUTES, Event, Value, semconv

_EACH: Final = 4_000
"""Moments of one span that are kept one by one."""
_TOGETHER_NS: Final = 100_000_000
"""Beyond these, events that follow one another within this time are told as one: a pause longer than this still shows."""


class Moments:
    """Collects the moments of one span."""

    def __init__(self) -> None:
        self._kept: list[Event] = []

    def add(self, time_ns: int, name: str, attributes: Mapping[str, Value] = NO_ATTRIBUTES) -> None:
        """Keep a moment."""
        self._kept.append(Event(time_ns, name, attributes))

    def add_sized(self, time_ns: int, name: str, size: int) -> None:
        """Keep the arrival of an event of so many bytes."""
        if len(self._kept) >= _EACH:
            last = self._kept[-1]
            if last.name == name and time_ns - last.time_ns < _TOGETHER_NS:
                self._kept[-1] = Event(last.time_ns, name, _merged(last.attributes, size))
                return
        self._kept.append(Event(time_ns, name, {semconv.EVENT_BYTES: size}))

    def in_order(self) -> tuple[Event, ...]:
        """All of them, by time."""
        return tuple(sorted(self._kept, key=lambda moment: moment.time_ns))


def _merged(before: Mapping[str, Value], size: int) -> dict[str, Value]:
    count, total = before.get(semconv.EVENT_COUNT, 1), before.get(semconv.EVENT_BYTES, 0)
    return {semconv.EVENT_BYTES: int(total) + size, semconv.EVENT_COUNT: int(count) + 1}
