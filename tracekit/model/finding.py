"""Finding: an answer row whose fields say what they are, so that one renderer prints every answer.

A question returns a list of one frozen dataclass derived from `Finding`; each field is annotated with a `Column`:

    @dataclass(frozen=True, slots=True)
    class Overlap(Finding):
        '''Tool latency of one response.'''
        hidden_lower_ns: Annotated[int, Column("Hidden, at least", "ns")]
"""

from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Self, get_args, get_origin, get_type_hints

FORMAT = 1
"""Version of the JSON form of findings."""


@dataclass(frozen=True, slots=True)
class Column:
    """What a field of a finding is.

    Attributes:
        title: Heading for eyes.
        unit: `ns` (a duration), `time_ns` (a Unix time), `tokens`, `usd`, `count`, `bytes`, `ratio`, or empty for text.
        show: Whether a terminal table shows it; JSON always has it.
    """

    title: str
    unit: str = ""
    show: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """Base of every answer row. Times are integers of nanoseconds; an unknown is None."""

    question: ClassVar[str] = ""

    @classmethod
    def columns(cls) -> dict[str, Column]:
        """The fields of this finding by name, in order."""
        found: dict[str, Column] = {}
        for name, hint in get_type_hints(cls, include_extras=True).items():
            if get_origin(hint) is Annotated:
                found.update((name, extra) for extra in get_args(hint)[1:] if isinstance(extra, Column))
        return {field.name: found.get(field.name, Column(field.name)) for field in fields(cls)}

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Self:
        """Build from a row that has a value for each field, by name; other names in the row are left out."""
        return cls(**{field.name: row[field.name] for field in fields(cls)})

    def as_row(self) -> dict[str, Any]:
        """The values by field name, fit for JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
