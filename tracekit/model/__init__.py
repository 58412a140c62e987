"""What walks through the house: boundaries, spans and findings, and the names of their attributes."""

from tracekit.model.boundary import CONTRACTS, Boundary, Contract
from tracekit.model.finding import FORMAT, Column, Finding
from tracekit.model.span import NO_ATTRIBUTES, Event, Problem, Source, Span, Status, Value

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
