"""Numbers for eyes: durations, ranges, counts, money and times, each written one way everywhere."""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

Number = int | float

UNKNOWN: Final = "–"
"""What stands where a value is unknown."""

_US: Final = 1_000
_MS: Final = 1_000 * _US
_SECOND: Final = 1_000 * _MS
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# A unit begins where the next smaller one would be rounded up to it: 999.6 ms is written 1.00 s, 59.96 s is 1 m 00 s.
_SCALES: Final = ((0.9995 * _SECOND, _SECOND, "s"), (0.9995 * _MS, _MS, "ms"), (0.9995 * _US, _US, "µs"))
_CLOCKWISE: Final = 59.95 * _SECOND
_TEN_CENTS: Final = 0.1


# Durations


def duration(ns: Number | None) -> str:
    """Write a duration: `340 ms`, `1.87 s`, `12.3 s`; from a minute on its two largest units: `2 m 05 s`, `4 h 12 m`, `3 d 04 h`."""
    if ns is None:
        return UNKNOWN
    if ns < 0:
        return f"-{duration(-ns)}"
    if ns == 0:
        return "0 s"
    if ns >= _CLOCKWISE:
        return _two_units(ns)
    scale, unit = _scale(ns)
    decimals = {"s": 2, "ns": 0}.get(unit, 1)
    ten = ns / scale >= 10 - 0.5 * 10**-decimals
    return f"{ns / scale:.{max(0, decimals - ten)}f} {unit}"


def duration_range(lower: Number | None, best: Number | None, upper: Number | None) -> str:
    """Write what a duration is known to lie between: `1.2–3.4 s (best 1.9 s)`; equal bounds are one number.

    The lower bound is rounded down and the upper one up, so that what is shown still contains what was found.
    A bound that is unknown leaves `≥` or `≤` the other.
    """
    if lower is None or upper is None or lower == upper or upper >= _CLOCKWISE:
        return _range(lower, best, upper, duration)
    scale, unit = _scale(upper)
    decimals = 1 if unit == "s" or upper < 10 * scale else 0
    step = 10**decimals
    low, high = math.floor(lower * step / scale) / step, math.ceil(upper * step / scale) / step
    number = f".{decimals}f"
    shown = f"{low:{number if low else '.0f'}}–{high:{number}} {unit}"
    return shown if best is None else f"{shown} (best {best / scale:{number}} {unit})"


def _scale(ns: Number) -> tuple[int, str]:
    """Choose the unit of a duration below a minute."""
    return next(((scale, unit) for least, scale, unit in _SCALES if ns >= least), (1, "ns"))


def _two_units(ns: Number) -> str:
    """Write a duration of a minute or more, rounded to the smaller of the two units shown."""
    seconds = round(ns / _SECOND)
    minutes = round(ns / _SECOND / 60)
    hours = round(ns / _SECOND / 3600)
    if seconds < 60 * 60:
        return f"{seconds // 60} m {seconds % 60:02d} s"
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} m"
    return f"{hours // 24} d {hours % 24:02d} h"


def _range(lower: Number | None, best: Number | None, upper: Number | None, write: Callable[[Number], str]) -> str:
    """Write a range whose bounds are each written on their own."""
    if lower is not None and lower == upper:
        return write(lower)
    suffix = "" if best is None else f" (best {write(best)})"
    if lower is not None and upper is not None:
        return f"{write(lower)} – {write(upper)}{suffix}"
    if lower is not None:
        return f"≥ {write(lower)}{suffix}"
    if upper is not None:
        return f"≤ {write(upper)}{suffix}"
    return UNKNOWN if best is None else write(best)


# Everything else


def count(number: Number | None) -> str:
    """Write a number of things, tokens too: `12,345,678`."""
    return UNKNOWN if number is None else f"{number:,.0f}"


def dollars(amount: Number | None) -> str:
    """Write an amount of money: `$1,234.50`; below ten cents with four decimals, where a single request lies: `$0.0042`."""
    if amount is None:
        return UNKNOWN
    return f"${amount:.4f}" if 0 < abs(amount) < _TEN_CENTS else f"${amount:,.2f}"


def percentage(ratio: Number | None) -> str:
    """Write a ratio as `42.3 %`; what is more than nothing is never shown as nothing, nor less than all as all."""
    if ratio is None:
        return UNKNOWN
    percent = ratio * 100
    if 0 < percent < 0.05:  # noqa: PLR2004 - would be written 0.0
        return "<0.1 %"
    if 99.95 <= percent < 100:  # noqa: PLR2004 - would be written 100.0
        return ">99.9 %"
    return f"{percent:.0f} %" if percent in (0, 100) else f"{percent:.1f} %"


def size(octets: Number | None) -> str:
    """Write a number of bytes in decimal units: `812 B`, `4.2 kB`, `164 MB`."""
    if octets is None:
        return UNKNOWN
    value, unit = float(octets), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if abs(value) < 999.5:  # noqa: PLR2004 - would be written 1000
            break
        value, unit = value / 1000, larger
    return f"{value:.1f} {unit}" if unit != "B" and abs(value) < 9.95 else f"{value:.0f} {unit}"  # noqa: PLR2004


def moment(ns: int | None, zone: tzinfo | None = None) -> str:
    """Write a Unix time to the second: `2026-11-30 17:29:33` in the machine's zone, or in `zone`; UTC is marked by a `Z`."""
    if ns is None:
        return UNKNOWN
    return f"{_local(ns, zone):%Y-%m-%d %H:%M:%S}{'Z' if zone is UTC else ''}"


def clock(ns: int | None, zone: tzinfo | None = None) -> str:
    """Write the time of day of a Unix time to the millisecond: `17:29:33.187`."""
    if ns is None:
        return UNKNOWN
    return f"{_local(ns, zone):%H:%M:%S}.{ns // _MS % 1000:03d}"


def iso(ns: int) -> str:
    """Write a Unix time for programs: ISO 8601 in UTC, to the nanosecond."""
    return f"{_local(ns, UTC):%Y-%m-%dT%H:%M:%S}.{ns % _SECOND:09d}Z"


def _local(ns: int, zone: tzinfo | None) -> datetime:
    return (_EPOCH + timedelta(seconds=ns // _SECOND)).astimezone(zone)


_WRITERS: Final[dict[str, Callable[[Number], str]]] = {
    "ns": duration,
    "time_ns": lambda ns: moment(int(ns)),
    "tokens": count,
    "count": count,
    "usd": dollars,
    "bytes": size,
    "ratio": percentage,
}


def is_number(unit: str) -> bool:
    """Tell whether a column's unit is one of numbers, not of text."""
    return unit in _WRITERS


def quantity(value: Number | None, unit: str, zone: tzinfo | None = None) -> str:
    """Write a number in the unit of its `Column`."""
    if value is None:
        return UNKNOWN
    return moment(int(value), zone) if unit == "time_ns" else _WRITERS[unit](value)


def quantity_range(lower: Number | None, best: Number | None, upper: Number | None, unit: str) -> str:
    """Write a range in the unit of its `Column`."""
    return duration_range(lower, best, upper) if unit == "ns" else _range(lower, best, upper, _WRITERS[unit])
