"""The parts of a session's page, top to bottom: each asks its own questions, so that the first can be read while the last is computed."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, NamedTuple

from tracekit.analysis.account import CATEGORIES, AccountLine
from tracekit.analysis.context import Context
from tracekit.analysis.outcome import Outcome
from tracekit.analysis.overlap import CAUSES, Overlap
from tracekit.analysis.scope import Scope
from tracekit.analysis.sessions import Session
from tracekit.analysis.timeline import Moment
from tracekit.page.listing import Listing
from tracekit.page.questions import Questions

_MOST_RESPONSES: Final = 12
_MOST_TURNS: Final = 200
_MOST_FAILURES: Final = 100
_MOST_POINTS: Final = 400
_HALVED: Final = 3
"""Tools on the critical path of which it is told what half their time would have saved."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a part knows of what it is to show."""

    ask: Questions
    listing: Listing
    session: Session
    as_of_ns: int

    @property
    def scope(self) -> Scope:
        """The session, and nothing else."""
        return Scope(self.session.session_id)


class Slice(NamedTuple):
    """One category in the bar of an account, in thousandths of a percent of its width."""

    category: str
    title: str
    left: float
    width: float
    possible: float
    """The end of it that is not certain."""
    line: AccountLine


def facts(asked: Asked) -> dict[str, Any]:
    """What the session is, in numbers."""
    return {"line": asked.listing.one(asked.session, as_of_ns=asked.as_of_ns)}


_LAYERS: Final = {
    "transport": "Did bytes arrive whole?",
    "protocol": "Did control and tool replies conform?",
    "tool": "Did the tools succeed?",
    "response": "Did a result or a complete answer close it?",
    "business": "Was the work verified from outside?",
}
"""What each layer of an outcome asks."""
_FAILED: Final = ("broken", "failed", "error", "missing", "fail")
"""Words of a layer that are bad news."""


def outcome(asked: Asked) -> dict[str, Any]:
    """How it came out, layer by layer."""
    return {"outcomes": asked.ask.outcomes(asked.scope, asked.as_of_ns), "layers": _LAYERS, "columns": Outcome.columns(), "failed": _FAILED}


def waiting(asked: Asked) -> dict[str, Any]:
    """What it waits for, with the evidence."""
    return {"waits": asked.ask.stuck(asked.scope, asked.as_of_ns)}


def account(asked: Asked) -> dict[str, Any]:
    """Where the time went, as one bar."""
    lines = asked.ask.account(asked.scope, "session")
    return {"lines": lines, "slices": slices(lines), "wall_ns": lines[0].wall_ns if lines else 0}


def slices(lines: Sequence[AccountLine]) -> list[Slice]:
    """Lay the categories of one account side by side. Time between turns is outside the wall and so outside the bar."""
    found: list[Slice] = []
    left = 0.0
    for line in lines:
        if line.category == "user_idle" or not line.wall_ns:
            continue
        width = 100 * line.duration_ns / line.wall_ns
        certain = line.time_lower_ns / line.duration_ns if line.duration_ns else 1.0
        found.append(Slice(line.category, line.title, round(left, 3), round(width, 3), round(width * (1 - certain), 3), line))
        left += width
    return found


def overlap(asked: Asked) -> dict[str, Any]:
    """What hid, by session, by tool, and the responses that missed most."""
    responses = asked.ask.overlap(asked.scope, "request")
    worst = sorted(responses, key=lambda line: (-(line.missed_ns or 0), -line.exposed_upper_ns))[:_MOST_RESPONSES]
    return {
        "whole": asked.ask.overlap(asked.scope, "session"),
        "tools": asked.ask.overlap(asked.scope, "tool"),
        "worst": worst,
        "responses": len(responses),
        "cause_of": _cause_of,
    }


def _cause_of(line: Overlap) -> str:
    """Name what stood most in the way of hiding."""
    shares = {cause: getattr(line, f"missed_{cause}_ns") or 0 for cause in CAUSES}
    largest = max(shares, key=lambda cause: shares[cause])
    return largest if shares[largest] else ""


def failures(asked: Asked) -> dict[str, Any]:
    """What failed."""
    found = asked.ask.failures(asked.scope)
    unrecovered = [failure for failure in found if not failure.recovered]
    # Those that were not got over come first: they must not be lost where there are too many.
    shown = sorted(sorted(found, key=lambda failure: failure.recovered)[:_MOST_FAILURES], key=lambda failure: failure.end_ns)
    return {
        "failures": shown,
        "count": len(found),
        "unrecovered": len(unrecovered),
        "families": Counter(failure.family for failure in found).most_common(),
    }


def critical(asked: Asked) -> dict[str, Any]:
    """What the ends of its turns waited for, and how long it would have lasted otherwise."""
    path = asked.ask.critical_path(asked.scope)
    tools = list(dict.fromkeys(row.name for row in path if row.category == "tool" and row.name))[:_HALVED]
    otherwise = [*asked.ask.what_if(asked.scope, "", 1.0)] if path else []
    for name in tools:
        otherwise += asked.ask.what_if(asked.scope, name, 0.5)
    return {"path": path, "otherwise": otherwise}


class Held(NamedTuple):
    """One request in the picture of the window."""

    x: float
    y: float
    row: Context


def context(asked: Asked) -> dict[str, Any]:
    """How full the model's window was."""
    requests = [row for row in asked.ask.context(asked.scope) if row.agent_id is None and not row.aside]
    compacted = asked.ask.compactions(asked.scope)
    top = max([row.window_tokens or row.context_tokens for row in requests], default=0)
    return {
        "held": held(requests, top),
        "requests": len(requests),
        "fullest": max(requests, key=lambda row: row.context_tokens, default=None),
        "top": top,
        "last": requests[-1] if requests else None,
        "compactions": compacted,
        "marks": _marks(requests, [row.end_ns for row in compacted if row.agent_id is None]),
        "repeated": asked.ask.repeated_failures(asked.scope),
    }


def held(requests: Sequence[Context], top: int) -> list[Held]:
    """Lay out what requests held, in a picture of 1000 by 100; of too many, the fullest of each stretch."""
    if not requests or not top:
        return []
    step = max(1, len(requests) / _MOST_POINTS)
    count = math.ceil(len(requests) / step)
    stretches = (requests[round(index * step) : max(round((index + 1) * step), round(index * step) + 1)] for index in range(count))
    fullest = [max(rows, key=lambda row: row.context_tokens) for rows in stretches if rows]
    wide = 1000 / len(fullest)
    return [Held(round(number * wide, 2), round(100 - 100 * row.context_tokens / top, 2), row) for number, row in enumerate(fullest)]


def _marks(requests: Sequence[Context], moments: Sequence[int]) -> list[float]:
    """Where compactions stand in that picture: before the first request that began after them."""
    starts = [row.start_ns for row in requests]
    return [round(1000 * bisect_left(starts, moment_ns) / len(starts), 2) for moment_ns in moments] if starts else []


class Witness(NamedTuple):
    """What one witness contributed to a session."""

    name: str
    boundaries: int
    alone: int
    starts: int
    ends: int


def witnesses(asked: Asked) -> dict[str, Any]:
    """Who saw the session, and where they contradict each other."""
    moments = asked.ask.timeline(asked.scope)
    return {"witnesses": seen_by(moments), "disagreements": asked.ask.disagreements(asked.scope), "boundaries": len(moments)}


def seen_by(moments: Sequence[Moment]) -> list[Witness]:
    """Count what each witness saw, the one that saw most first."""
    saw = Counter(name for moment in moments for name in moment.witnesses.split(","))
    alone = Counter(moment.witnesses for moment in moments)
    starts = Counter(moment.start_source for moment in moments)
    ends = Counter(moment.end_source for moment in moments)
    return [Witness(name, count, alone[name], starts[name], ends[name]) for name, count in saw.most_common()]


class Turn(NamedTuple):
    """One turn of the main agent."""

    number: int
    key: str
    start_ns: int
    wall_ns: int
    slices: Sequence[Slice]
    largest: str
    """Title of the category that took most of it."""


def turns(asked: Asked) -> dict[str, Any]:
    """The turns, each with its account."""
    lines = [line for line in asked.ask.account(asked.scope, "turn") if line.agent_id is None]
    groups = [list(group) for _, group in groupby(lines, key=lambda line: line.turn_key)]
    groups.sort(key=lambda group: group[0].turn_start_ns)
    found = [_turn(number, group) for number, group in enumerate(groups, start=1)]
    return {"turns": found[-_MOST_TURNS:], "count": len(found)}


def _turn(number: int, lines: Sequence[AccountLine]) -> Turn:
    head = lines[0]
    largest = max(lines, key=lambda line: line.duration_ns)
    return Turn(number, head.turn_key or "", head.turn_start_ns, head.wall_ns, slices(lines), CATEGORIES[largest.category])


def tokens(asked: Asked) -> dict[str, Any]:
    """Tokens by agent and model."""
    return {"tokens": asked.ask.tokens(asked.scope, "agent")}


class Part(NamedTuple):
    """A part: its template is `parts/NAME.html`."""

    title: str
    context: Callable[[Asked], dict[str, Any]]


PARTS: Final[Mapping[str, Part]] = {
    "facts": Part("At a glance", facts),
    "outcome": Part("How it came out", outcome),
    "waiting": Part("What it waits for", waiting),
    "account": Part("Where the time went", account),
    "overlap": Part("What hid behind streaming", overlap),
    "critical": Part("What the end waited for", critical),
    "failures": Part("What failed", failures),
    "context": Part("What the window held", context),
    "turns": Part("Turn by turn", turns),
    "tokens": Part("Tokens", tokens),
    "witnesses": Part("Who saw it", witnesses),
}
"""The parts of a session's page in order."""
TIMELINE_AFTER: Final = "waiting"
"""The part behind which the timeline stands."""
