"""JSON Schema from what the columns of findings say of themselves."""

from dataclasses import dataclass
from typing import Annotated

from tracekit.model import Boundary, Column, Finding
from tracekit.report.schema import rows_of, schema_of


@dataclass(frozen=True, slots=True)
class Gap(Finding):
    """A gap. And more of it."""

    session_id: Annotated[str, Column("Session", "id")]
    boundary: Annotated[Boundary, Column("Boundary")]
    best_ns: Annotated[int | None, Column("Best", "ns")]
    share: Annotated[float, Column("Share", "ratio")]
    is_open: Annotated[bool, Column("Open")]
    tools: Annotated[tuple[str, ...], Column("Tools")] = ()


def test_a_finding_is_described_field_by_field() -> None:
    assert schema_of(Gap) == {
        "type": "object",
        "title": "A gap. And more of it.",
        "properties": {
            "session_id": {"type": "string", "description": "Session (an identity)"},
            "boundary": {"type": "string", "description": "Boundary"},
            "best_ns": {"type": ["integer", "null"], "description": "Best (nanoseconds)"},
            "share": {"type": "number", "description": "Share (a ratio; 1 is all)"},
            "is_open": {"type": "boolean", "description": "Open"},
            "tools": {"type": "array", "description": "Tools"},
        },
        "required": ["session_id", "boundary", "best_ns", "share", "is_open", "tools"],
    }


def test_rows_are_an_array_of_them() -> None:
    assert rows_of(Gap) == {"type": "array", "items": schema_of(Gap)}
