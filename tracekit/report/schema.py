"""JSON Schema of findings: what a program may rely on, written from what the columns say of themselves."""

from collections.abc import Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

from tracekit.model import Finding

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_UNITS: Final[Mapping[str, str]] = {
    "ns": "nanoseconds",
    "time_ns": "Unix time in nanoseconds",
    "tokens": "tokens",
    "usd": "US dollars",
    "count": "a number of things",
    "bytes": "bytes",
    "ratio": "a ratio; 1 is all",
    "id": "an identity",
    "path": "a path",
}
_TYPES: Final[Mapping[type, str]] = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def schema_of(finding: type[Finding]) -> dict[str, Any]:
    """Describe one finding: every field is there, and an unknown is null."""
    hints = get_type_hints(finding, include_extras=True)
    properties = {
        name: _described(hints[name]) | {"description": _meaning(column.title, column.unit)} for name, column in finding.columns().items()
    }
    title = (finding.__doc__ or finding.__name__).strip().splitlines()[0]
    return {"type": "object", "title": title, "properties": properties, "required": list(properties)}


def rows_of(finding: type[Finding]) -> dict[str, Any]:
    """Describe a list of findings."""
    return {"type": "array", "items": schema_of(finding)}


def _meaning(title: str, unit: str) -> str:
    return f"{title} ({_UNITS[unit]})" if unit in _UNITS else title


def _described(hint: Any) -> dict[str, Any]:
    names = sorted(_names(hint))
    if names == ["array"]:
        return {"type": "array"}
    return {"type": names[0] if len(names) == 1 else names}


def _names(hint: Any) -> set[str]:
    origin = get_origin(hint)
    if origin is Annotated:
        return _names(get_args(hint)[0])
    if origin in {Union, UnionType}:
        return {name for part in get_args(hint) for name in _names(part)}
    if origin in {tuple, list}:
        return {"array"}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"string"}
    return {_TYPES[hint]}
