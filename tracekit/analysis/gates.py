"""Gates: conditions that a session must not meet, judged without taking a range for a point."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from operator import eq, ge, gt, le, lt, ne
from typing import Annotated, ClassVar, Final, NamedTuple

from tracekit.analysis.measures import MEASURES, Bounds, Measured, Number
from tracekit.errors import TracekitError
from tracekit.model import Column, Finding

_GATE: Final = re.compile(r"\s*([\w/]+)\s*(?:(>=|<=|==|!=|>|<)\s*(\S+))?\s*")
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_UNITS: Final = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000}
_HUNDRED: Final = 100
_NEIGHBOURS: Final = 8

COMPARISONS: Final[Mapping[str, Callable[[Number, Number], bool]]] = {">": gt, ">=": ge, "<": lt, "<=": le, "==": eq, "!=": ne}


class Verdict(StrEnum):
    """What came of a gate."""

    CROSSED = "crossed"
    """Every value that the witnesses allow crosses it."""
    POSSIBLY = "possibly crossed"
    """Some of them do."""
    UNKNOWN = "unknown"
    """No witness can say."""
    HELD = "held"


class Gate(NamedTuple):
    """A condition: it is crossed where the measure compares so with the threshold."""

    text: str
    """As it was written, without needless spaces."""
    measure: str
    comparison: str
    threshold: Number
    """In the measure's unit; durations in nanoseconds."""


@dataclass(frozen=True, slots=True)
class Judged(Finding):
    """A gate, judged for one session."""

    question: ClassVar[str] = "gates"

    session_id: Annotated[str, Column("Session", "id")]
    gate: Annotated[str, Column("Gate")]
    verdict: Annotated[str, Column("Verdict")]
    measure: Annotated[str, Column("Measure", show=False)]
    unit: Annotated[str, Column("Unit", show=False)]
    """Of the four numbers: `ns`, `count`, `tokens`, `usd` or `ratio`."""
    threshold: Annotated[float, Column("Threshold", show=False)]
    lower: Annotated[float | None, Column("At least", show=False)]
    upper: Annotated[float | None, Column("At most", show=False)]
    over: Annotated[float | None, Column("By", show=False)]
    """How far beyond the threshold, as far as that is certain (crossed) or possible (possibly crossed); None where it is not crossed."""


def parse(text: str) -> Gate:
    """Understand a gate: `network > 0`, `hidden_share<20%`, `wall > 90s`; a measure alone means more than zero.

    Raises:
        TracekitError: `gate-malformed`, or `measure-unknown`, which names the known ones.
    """
    match = _GATE.fullmatch(text)
    if match is None:
        raise TracekitError(f"{text!r} is no gate; write a measure, a comparison and a value: network > 0", slug="gate-malformed")
    name, comparison, value = match[1], match[2] or ">", match[3] or "0"
    known_measure(name)
    return Gate(" ".join(text.split()), name, comparison, _threshold(value, MEASURES[name].unit, text))


def known_measure(name: str) -> str:
    """Give the name of a measure back.

    Raises:
        TracekitError: `measure-unknown`, which names the nearest that there are.
    """
    if name in MEASURES:
        return name
    near = get_close_matches(name, MEASURES, n=_NEIGHBOURS, cutoff=0.5)
    known = ", ".join(near) if near else ", ".join(name for name in MEASURES if "/" not in name)
    message = f"{name!r} is no measure; {'the nearest are' if near else 'there are'} {known} (tracekit check --measures lists all)"
    raise TracekitError(message, slug="measure-unknown")


def _threshold(value: str, unit: str, text: str) -> Number:
    if unit == "ns":
        parts = _DURATION.findall(value)
        if parts and "".join(map("".join, parts)) == value:
            return round(sum(float(number) * _UNITS[scale] for number, scale in parts))
        if value == "0":
            return 0
        raise _malformed(text, "a duration, such as 500ms, 90s, 1m30s or 2h")
    percent = unit == "ratio" and value.endswith("%")
    try:
        number = float(value.removeprefix("$") if unit == "usd" else value.removesuffix("%") if percent else value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise _malformed(text, "a share, such as 0.2 or 20%" if unit == "ratio" else "a number")
    number = number / _HUNDRED if percent else number
    return int(number) if number.is_integer() else number


def _malformed(text: str, wanted: str) -> TracekitError:
    return TracekitError(f"{text!r} compares with something else than {wanted}", slug="gate-malformed")


# --------------------------------------------------------------------------------------------------------------- judging


def judge(gates: Sequence[Gate], measured: Mapping[str, Measured]) -> list[Judged]:
    """Judge every gate for every session, session by session, the gates in their order."""
    return [_judged(session_id, gate, found[gate.measure]) for session_id, found in measured.items() for gate in gates]


def _judged(session_id: str, gate: Gate, bounds: Bounds) -> Judged:
    verdict = _verdict(gate, bounds)
    return Judged(
        session_id=session_id,
        gate=gate.text,
        verdict=verdict,
        measure=gate.measure,
        unit=MEASURES[gate.measure].unit,
        threshold=gate.threshold,
        lower=bounds.lower,
        upper=bounds.upper,
        over=_over(gate, bounds, verdict),
    )


def _verdict(gate: Gate, bounds: Bounds) -> Verdict:
    if bounds.lower is None or bounds.upper is None:
        return Verdict.UNKNOWN
    crossed = COMPARISONS[gate.comparison]
    ends = [crossed(bounds.lower, gate.threshold), crossed(bounds.upper, gate.threshold)]
    inside = bounds.lower < gate.threshold < bounds.upper
    match gate.comparison:
        case "==":  # a range that is no point can be anything in it
            every, some = all(ends), any(ends) or inside
        case "!=":
            every, some = all(ends) and not inside, any(ends)
        case _:
            every, some = all(ends), any(ends)
    return Verdict.CROSSED if every else Verdict.POSSIBLY if some else Verdict.HELD


def _over(gate: Gate, bounds: Bounds, verdict: Verdict) -> Number | None:
    """The distance of the bound that crosses least; where the crossing is only possible, of the one that crosses."""
    if bounds.lower is None or bounds.upper is None or verdict not in {Verdict.CROSSED, Verdict.POSSIBLY}:
        return None
    crossed = COMPARISONS[gate.comparison]
    beyond = [abs(bound - gate.threshold) for bound in (bounds.lower, bounds.upper) if crossed(bound, gate.threshold)]
    return min(beyond, default=0)
