"""Attribute values of one type again: senders write 42, "42" and {"intValue": "42"} for the same thing."""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from tracekit.model import Value
from tracekit.sources.timestamps import MILLISECOND

Attributes = Mapping[str, Value]

_FLAGS: Final = {"true": True, "1": True, "false": False, "0": False}


def text(attributes: Attributes, *names: str) -> str | None:
    """The first of these attributes that is there and not empty, as text."""
    for name in names:
        value = attributes.get(name)
        if value is not None and value != "":
            return value if isinstance(value, str) else spelled(value)
    return None


def texts(attributes: Attributes, names: Iterable[tuple[str, str]]) -> dict[str, Value]:
    """These attributes, as far as they are there and not empty, as text and under other names: (ours, theirs)."""
    found: dict[str, Value] = {}
    for ours, theirs in names:
        value = attributes.get(theirs)
        if value is not None and value != "":
            found[ours] = value if isinstance(value, str) else spelled(value)
    return found


def number(attributes: Mapping[str, Any], *names: str) -> float | None:
    """The first of these attributes that is a finite number, or text that spells one."""
    for name in names:
        value = attributes.get(name)
        if value is None or isinstance(value, bool):
            continue
        try:
            found = float(value)
        except (TypeError, ValueError, OverflowError):
            continue
        if math.isfinite(found):
            return found
    return None


def integer(attributes: Mapping[str, Any], *names: str) -> int | None:
    """The first of these attributes that is a whole number; fractions are cut."""
    for name in names:
        value = attributes.get(name)
        if value is None:
            continue
        if isinstance(value, str):
            try:
                return int(value)
            except ValueError:
                pass
        elif isinstance(value, int) and not isinstance(value, bool):
            return value
        found = number(attributes, name)
        if found is not None:
            return int(found)
    return None


def milliseconds(attributes: Attributes, *names: str) -> int | None:
    """The first of these durations, in nanoseconds; they are written in milliseconds. Negative ones are none."""
    found = number(attributes, *names)
    return None if found is None or found < 0 else int(found * MILLISECOND)


def flag(attributes: Attributes, *names: str) -> bool | None:
    """The first of these attributes that says yes or no."""
    for name in names:
        value = attributes.get(name)
        if isinstance(value, bool):
            return value
        if value is not None and (found := _FLAGS.get(str(value).lower())) is not None:
            return found
    return None


def present(pairs: Iterable[tuple[str, Value | None]]) -> dict[str, Value]:
    """Keep the pairs that have a value."""
    return {name: value for name, value in pairs if value is not None and value != ""}


def spelled(value: Value) -> str:
    """Write a value as JSON would, text as it is."""
    if isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def joined(values: Iterable[Value | None]) -> str:
    """An array as one text, `a,b`: the store knows scalars only."""
    return ",".join(spelled(value) for value in values if value is not None)


def nested(values: Mapping[str, Value | None]) -> str:
    """A map inside a value, as JSON text."""
    return json.dumps(values, ensure_ascii=False, sort_keys=True)


def decoded(value: str) -> dict[str, Any]:
    """An attribute that is itself a JSON object; empty where it is none (gated, cut off, or something else)."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
