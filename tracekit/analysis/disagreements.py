"""Where witnesses contradict each other. Such a contradiction is a finding of its own and never averaged away."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from tracekit.analysis.scope import EVERYTHING, Scope, ask
from tracekit.model import Column, Finding
from tracekit.store import SpanStore

TOLERANCE_NS: Final = 300_000_000
"""Bounds closer than this agree: a busy client was seen to write its lines up to this much later than its spans."""


@dataclass(frozen=True, slots=True)
class Disagreement(Finding):
    """Two witnesses of one boundary that cannot both be right."""

    question: ClassVar[str] = "disagreements"

    session_id: Annotated[str, Column("Session", "id")]
    agent_id: Annotated[str | None, Column("Agent", show=False)]
    start_ns: Annotated[int, Column("When", "time_ns")]
    boundary: Annotated[str, Column("Boundary")]
    name: Annotated[str, Column("Name")]
    key: Annotated[str, Column("Key", "id")]
    well_source: Annotated[str, Column("Says it went well")]
    failed_source: Annotated[str, Column("Says otherwise")]
    failed_text: Annotated[str, Column("Its words")]
    gap_ns: Annotated[int | None, Column("Apart", "ns")]
    """Distance of the bounds of an edge; None where the outcome is what they disagree about."""


def disagreements(store: SpanStore, scope: Scope = EVERYTHING) -> Sequence[Disagreement]:
    """Find the contradictions in a scope, in order of time."""
    return [Disagreement.from_row(row) for row in ask(store, "disagreements", scope, tolerance_ns=TOLERANCE_NS)]
