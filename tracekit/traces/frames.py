"""Findings as Polars frames: a column a field, in its order and type, also where there is no row."""

from collections.abc import Sequence
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

import polars as pl

from tracekit.model import Column, Finding

_TYPES: Final[dict[type, type[pl.DataType]]] = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64}

UNITS: Final = {
    "id": "identity",
    "path": "path",
    "ns": "nanoseconds",
    "time_ns": "Unix nanoseconds",
    "tokens": "tokens",
    "usd": "US dollars",
    "count": "count",
    "bytes": "bytes",
    "ratio": "ratio",
}
"""What the units of columns are called."""

_PLAIN: Final[dict[type[pl.DataType], str]] = {pl.String: "text", pl.Boolean: "true or false"}
"""What columns without a unit hold."""


def schema(finding: type[Finding]) -> dict[str, type[pl.DataType]]:
    """Give the columns of a question's frame with their types."""
    hints = get_type_hints(finding)
    return {name: _type(hints[name]) for name in finding.columns()}


def frame(finding: type[Finding], rows: Sequence[Finding]) -> pl.DataFrame:
    """Make a frame of findings of one type."""
    names = list(finding.columns())
    columns = {name: [_plain(getattr(row, name)) for row in rows] for name in names}
    return pl.DataFrame(columns, schema=schema(finding))


def described(finding: type[Finding]) -> str:
    """Write what the columns of a question's frame are, a line each, for a docstring."""
    types = schema(finding)
    lines = (f"    {name}: {column.title} ({_kind(column, types[name])})." for name, column in finding.columns().items())
    return "\n".join(["Columns:", *lines])


def _kind(column: Column, dtype: type[pl.DataType]) -> str:
    return UNITS.get(column.unit) or _PLAIN.get(dtype, "number")


def _type(hint: Any) -> type[pl.DataType]:
    parts = [part for part in get_args(hint) if part is not NoneType] if get_origin(hint) is UnionType else [hint]
    return _TYPES.get(parts[0], pl.String)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value
