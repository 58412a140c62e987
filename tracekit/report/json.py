"""Findings for programs: one JSON object."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from tracekit.model import FORMAT, Finding
from tracekit.report.units import iso


def document(findings: Sequence[Finding | Mapping[str, Any]], *, as_of_ns: int, **extra: Any) -> str:
    """Write findings as one object with `format`, `as_of` (ISO 8601 in UTC, to the nanosecond) and `rows`.

    Times are integers whose names end in `_ns`, a range is three fields `x_lower_ns`, `x_best_ns`, `x_upper_ns`, and what is
    unknown is null. `extra` gives further keys beside `rows`, such as `problems`.
    """
    rows = [finding.as_row() if isinstance(finding, Finding) else finding for finding in findings]
    whole = {"format": FORMAT, "as_of": iso(as_of_ns), **extra, "rows": rows}
    return json.dumps(_plain(whole), ensure_ascii=False, indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    """Reduce a value to what JSON has; a float that is no number is an unknown."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(part) for part in cast("Iterable[object]", value)]
    return str(value)
