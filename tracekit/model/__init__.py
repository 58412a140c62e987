"""What walks through the house: boundaries, spans and findings, and the names of their attributes.

Findings load when they are first used: recorders in the agent's process write spans only, and some of them live for a moment.
"""

from typing import TYPE_CHECKING

from tracekit.model.boundary import CONTRACTS, Boundary, Contract
from tracekit.model.span import NO_ATTRIBUTES, Event, Problem, Source, Span, Status, Value

if TYPE_CHECKING:
    from tracekit.model.finding import FORMAT, Column, Finding

__all__ = [
    "CONTRACTS",
    "FORMAT",
    "NO_ATTRIBUTES",
    "Boundary",
    "Column",
    "Contract",
    "Event",
    "Finding",
    "Problem",
    "Source",
    "Span",
    "Status",
    "Value",
]


if not TYPE_CHECKING:  # a type checker that saw this would take every misspelt name for one of these

    def __getattr__(name: str) -> object:
        """Find a name of the findings."""
        if name not in {"FORMAT", "Column", "Finding"}:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        from tracekit.model import finding  # noqa: PLC0415

        return globals().setdefault(name, getattr(finding, name))
