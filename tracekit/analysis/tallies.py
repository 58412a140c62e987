"""Failures counted: by kind, tool, MCP server, model or day, against how many calls or requests there were."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, ClassVar, Final

from tracekit.analysis.failed import Failure
from tracekit.analysis.scope import EVERYTHING, Scope, ask
from tracekit.model import Boundary, Column, Finding
from tracekit.store import SpanStore

_SECOND: Final = 1_000_000_000
Total = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Tally(Finding):
    """The failures of one group. What is nobody's failure stands in a column of its own and in no other."""

    question: ClassVar[str] = "failures by group"

    group: Annotated[str, Column("Group")]
    failures: Annotated[int, Column("Failures", "count")]
    terminal: Annotated[int, Column("Not recovered", "count")]
    total: Annotated[int | None, Column("Of", "count")]
    """Calls of the tool or to the server, or requests to the model; None where the group is neither."""
    rate: Annotated[float | None, Column("Rate", "ratio")]
    """Failures a call or request."""
    uncounted: Annotated[int, Column("Nobody's", "count")]
    """Interrupts and noes of a person, calls cancelled with a sibling, hooks that blocked."""
    lost_ns: Annotated[int, Column("Lost", "ns")]
    """Time that failed attempts and the waits between them took."""
    sessions: Annotated[int, Column("Sessions", "count", show=False)]
    kinds: Annotated[str, Column("Kinds")]
    """Of the failures, the commonest first."""


def _day(failure: Failure) -> str:
    return datetime.fromtimestamp(failure.end_ns // _SECOND).astimezone().date().isoformat()


GROUPS: Final = MappingProxyType[str, Callable[[Failure], str | None]](
    {
        "kind": lambda failure: f"{failure.family}/{failure.kind}",
        "tool": lambda failure: failure.tool,
        "server": lambda failure: failure.server,
        "model": lambda failure: failure.model,
        "day": _day,
    }
)
"""By what failures can be counted. A day is one of the clock where the question is asked."""


def tallies(store: SpanStore, found: Sequence[Failure], by: str, scope: Scope = EVERYTHING) -> Sequence[Tally]:
    """Count failures, the most first; days in their order.

    Args:
        store: Where they were found.
        found: The failures of the scope.
        by: One of `GROUPS`. Failures that have no such group (a request has no tool) are left out.
        scope: Of the calls and requests that they are measured against.
    """
    groups: dict[str, list[Failure]] = defaultdict(list)
    for failure in found:
        if (group := GROUPS[by](failure)) is not None:
            groups[group].append(failure)
    totals = _totals(store, by, scope)
    rows = [_tally(group, failures, totals) for group, failures in groups.items()]
    return sorted(rows, key=lambda row: (row.group,) if by == "day" else (-row.failures, -row.uncounted, row.group))


def _tally(group: str, found: Sequence[Failure], totals: Total) -> Tally:
    own = [failure for failure in found if failure.counted]
    total = totals.get(group)
    kinds = Counter(f"{failure.family}/{failure.kind}" for failure in own)
    return Tally(
        group=group,
        failures=len(own),
        terminal=sum(not failure.recovered for failure in own),
        total=total,
        rate=len(own) / total if total else None,
        uncounted=len(found) - len(own),
        lost_ns=sum(failure.lost_ns for failure in own),
        sessions=len({failure.session_id for failure in found}),
        kinds=", ".join(f"{kind} x{number}" for kind, number in kinds.most_common()),
    )


def _totals(store: SpanStore, by: str, scope: Scope) -> Total:
    """How many calls or requests each group had."""
    column = {"tool": "name", "server": "server", "model": "name"}.get(by)
    if column is None:
        return {}
    boundary = Boundary.MODEL_REQUEST if by == "model" else Boundary.TOOL_SCHEDULE
    counts = Counter[str]()
    for row in ask(store, "tallies", scope):
        if row["boundary"] == boundary and row[column]:
            counts[row[column]] += row["total"]
    return counts
