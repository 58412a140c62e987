"""Where a witness contradicts another, or itself. Such a contradiction is a finding of its own and never averaged away."""

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
    """Two statements about one boundary that cannot both be right; mostly of two witnesses, sometimes of one."""

    question: ClassVar[str] = "disagreements"

    session_id: Annotated[str, Column("Session", "id")]
    agent_id: Annotated[str | None, Column("Agent", show=False)]
    start_ns: Annotated[int, Column("When", "time_ns")]
    about: Annotated[str, Column("About")]
    """`outcome`: well or failed; `stream`: a success without message_stop; `result`: success and error in one message; `exit`: a success
    that ends on a tool's result; `still running`: over for one, going on for another; `edge`: when."""
    boundary: Annotated[str, Column("Boundary")]
    name: Annotated[str, Column("Name")]
    key: Annotated[str, Column("Key", "id")]
    well_source: Annotated[str, Column("Says it went well")]
    failed_source: Annotated[str, Column("Says otherwise")]
    failed_text: Annotated[str, Column("Its words")]
    gap_ns: Annotated[int | None, Column("Apart", "ns")]
    """Distance in time; None where the outcome is what they disagree about, or something has not ended."""


def disagreements(store: SpanStore, scope: Scope = EVERYTHING) -> Sequence[Disagreement]:
    """Find the contradictions in a scope, in order of time."""
    return [Disagreement.from_row(row) for row in ask(store, "disagreements", scope, tolerance_ns=TOLERANCE_NS)]
