"""The time axis of a picture: round steps, far enough apart to be read."""

from typing import Final

_MS: Final = 1_000_000
_SECOND: Final = 1_000 * _MS
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_STEPS: Final = (
    *(digit * 10**power for power in range(10) for digit in (1, 2, 5)),
    *(seconds * _SECOND for seconds in (10, 15, 30)),
    *(minutes * _MINUTE for minutes in (1, 2, 5, 10, 15, 20, 30)),
    *(hours * _HOUR for hours in (1, 2, 4, 6, 12)),
    *(days * _DAY for days in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)),
)
_GAP: Final = 3
"""Least columns between the label of one tick and the next tick."""


def ticks(length_ns: int, columns: int) -> tuple[str, str]:
    """Give the two lines of an axis that is `length_ns` long and `columns` wide: labels, and the rule with its ticks."""
    step = next((step for step in _STEPS if _readable(step, length_ns, columns)), _STEPS[-1])
    labels = [" "] * columns
    rule = ["─"] * columns
    for number in range(length_ns // step + 1):
        column = round(number * step * columns / length_ns)
        label = tick_label(number * step, step)
        if column < columns:
            rule[column] = "┬" if number else "├"
        if column + len(label) <= columns:
            labels[column : column + len(label)] = label
    return "".join(labels), "".join(rule)


def _readable(step_ns: int, length_ns: int, columns: int) -> bool:
    room = step_ns * columns // max(1, length_ns)
    labels = (tick_label(number * step_ns, step_ns) for number in range(1, length_ns // step_ns + 1))
    return room > _GAP and all(len(label) + _GAP <= room for label in labels)


def tick_label(ns: int, step_ns: int) -> str:
    """Write a time since the start, no finer than the axis is stepped: `0`, `200 ms`, `1.5 s`, `2 m 30 s`, `1 h 30 m`."""
    if ns == 0:
        return "0"
    if ns < _MINUTE:
        return _in_one_unit(ns, step_ns)
    if ns < _HOUR:
        return _in_two_units(ns // _SECOND, 60, "m", "s")
    if ns < _DAY:
        return _in_two_units(ns // _MINUTE, 60, "h", "m")
    return _in_two_units(ns // _HOUR, 24, "d", "h")


def _in_one_unit(ns: int, step_ns: int) -> str:
    for unit_ns, unit in ((_SECOND, "s"), (_MS, "ms"), (1_000, "µs")):
        if ns >= unit_ns:
            tenth = unit_ns // 10
            decimals = 0 if step_ns % unit_ns == 0 else 1 if step_ns % tenth == 0 else 2
            return f"{ns / unit_ns:.{decimals}f} {unit}"
    return f"{ns} ns"


def _in_two_units(number: int, base: int, larger: str, smaller: str) -> str:
    rest = f" {number % base:02d} {smaller}" if number % base else ""
    return f"{number // base} {larger}{rest}"
