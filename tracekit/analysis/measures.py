"""What a session can be judged by: numbers with a name, a unit and a direction, each a range where the witnesses allow no point."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from tracekit.analysis.account import CATEGORIES, account
from tracekit.analysis.failed import Failure, failures
from tracekit.analysis.failures import RULES, Family
from tracekit.analysis.overlap import Overlap, overlap
from tracekit.analysis.scope import EVERYTHING, Scope, ask
from tracekit.analysis.sessions import Session, sessions
from tracekit.analysis.stuck import DEFAULTS, Limits, State, Stuck, stuck
from tracekit.analysis.tokens import tokens
from tracekit.store import SpanStore

Number = int | float
T = TypeVar("T")


class Measure(NamedTuple):
    """A measure of a session.

    Attributes:
        unit: As in `Column`: `ns`, `count`, `tokens`, `usd` or `ratio`.
        better: 1: more is better; -1: less is; 0: neither.
        meaning: One phrase.
    """

    unit: str
    better: int
    meaning: str


class Bounds(NamedTuple):
    """What is known of a measure: the truth lies between the two; equal bounds are a point, None means that no witness can say."""

    lower: Number | None
    upper: Number | None


UNKNOWN: Final = Bounds(None, None)
Measured = Mapping[str, Bounds]
"""The measures of one session, by name."""
ByName = Mapping[str, Mapping[str, Bounds]]
"""Some measures by name, by session."""

_TIMES: Final = tuple(category for category in CATEGORIES if category not in {"streaming_hidden", "user_idle"})
_FAMILIES: Final = tuple(Family)
_KINDS: Final = tuple(dict.fromkeys(f"{rule.family}/{rule.kind}" for rule in RULES))

MEASURES: Final[Mapping[str, Measure]] = {
    "wall": Measure("ns", -1, "the turns of the main agent, without the time between them"),
    "ttft": Measure("ns", -1, "request to first byte, the median response"),
    "ttft_p95": Measure("ns", -1, "request to first byte, the 95th of 100 responses"),
    "hidden": Measure("ns", 0, "tool time that hid behind streaming"),
    "exposed": Measure("ns", -1, "tool time that did not"),
    "hidden_share": Measure("ratio", 1, "hidden, of all tool time that could be one or the other"),
    "missed": Measure("ns", -1, "tool time that could have hidden and did not"),
    **{f"{name}_time": Measure("ns", -1, f"where the time of turns went: {CATEGORIES[name]}") for name in _TIMES},
    "turns": Measure("count", 0, "prompts of the main agent"),
    "messages": Measure("count", -1, "responses of the model"),
    "tool_calls": Measure("count", 0, "calls of tools"),
    "tool_errors": Measure("count", -1, "calls that ended in an error"),
    "retries": Measure("count", -1, "attempts of requests that failed"),
    "compactions": Measure("count", -1, "compactions of the conversation"),
    "interrupts": Measure("count", -1, "interrupts by the user"),
    "input_tokens": Measure("tokens", -1, "uncached input"),
    "output_tokens": Measure("tokens", -1, "output"),
    "cache_read_tokens": Measure("tokens", -1, "input read from the cache"),
    "cache_write_tokens": Measure("tokens", -1, "input written to the cache"),
    "cost": Measure("usd", -1, "dollars, as the client reported them"),
    "stuck": Measure("count", -1, "waits that last longer than their limit, or cannot end"),
    "failures": Measure("count", -1, "failures of all families"),
    "unrecovered": Measure("count", -1, "failures that the session did not get over"),
    **{str(family): Measure("count", -1, f"failures of the family {family}") for family in _FAMILIES},
    **{kind: Measure("count", -1, f"failures of the kind {kind}") for kind in _KINDS},
}
"""Every measure by its name, in the order in which they are listed."""

_OVERLAPS: Final = frozenset({"hidden", "exposed", "hidden_share", "missed"})
_SPENT: Final = frozenset(f"{name}_time" for name in _TIMES)
_FIRST_BYTES: Final = frozenset({"ttft", "ttft_p95"})
_FAILED: Final = frozenset({"failures", "unrecovered", *map(str, _FAMILIES), *_KINDS})


def measures(
    store: SpanStore,
    scope: Scope = EVERYTHING,
    *,
    as_of_ns: int,
    limits: Limits = DEFAULTS,
    names: Collection[str] | None = None,
) -> dict[str, Measured]:
    """Measure every session of a scope.

    Args:
        store: An open store.
        scope: Bounds; a session counts by its start, and then all of it.
        as_of_ns: The moment to which waits are counted.
        limits: From when on a wait is called stuck.
        names: What is wanted; None for all. Questions that nobody asks are not answered.

    Returns:
        By session id, the earliest session first: the measures by name, in the order of `MEASURES`.
    """
    listed = sorted(sessions(store, scope), key=lambda session: (session.start_ns, session.session_id))
    wanted = [name for name in MEASURES if names is None or name in names]
    by_session = {session.session_id: _counts(session) for session in listed}
    whole = Scope(scope.session_id)
    parts: Mapping[frozenset[str], Callable[[], ByName]] = {
        _OVERLAPS: lambda: _overlaps(overlap(store, whole, by="session")),
        _SPENT: lambda: _times(store, whole),
        _FIRST_BYTES: lambda: _first_bytes(store, whole),
        _FAILED: lambda: _failures(failures(store, whole), by_session),
        frozenset({"cost"}): lambda: _costs(store, whole),
        frozenset({"stuck"}): lambda: _stuck(stuck(store, whole, as_of_ns=as_of_ns, limits=limits, ended=True), by_session),
    }
    for provided, ask_them in parts.items():
        for session_id, measured in ask_them().items() if provided.intersection(wanted) else ():
            if session_id in by_session:
                by_session[session_id] |= measured
    return {session_id: {name: measured.get(name, UNKNOWN) for name in wanted} for session_id, measured in by_session.items()}


def exactly(number: Number | None) -> Bounds:
    """A measure that is known, or not at all."""
    return Bounds(number, number)


def _counts(session: Session) -> dict[str, Bounds]:
    names = ("turns", "messages", "tool_calls", "tool_errors", "compactions", "interrupts")
    named = {name: getattr(session, name) for name in (*names, "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")}
    nothing = dict.fromkeys(("hidden", "exposed", "missed", *(f"{name}_time" for name in _TIMES)), 0)
    counted = {**nothing, **named, "wall": session.active_ns, "retries": session.api_errors}
    return {name: exactly(value) for name, value in counted.items()}


def _overlaps(rows: Iterable[Overlap]) -> dict[str, dict[str, Bounds]]:
    return {str(row.session_id): _overlap(row) for row in rows}


def _overlap(row: Overlap) -> dict[str, Bounds]:
    hidden = Bounds(row.hidden_lower_ns, row.hidden_upper_ns)
    exposed = Bounds(row.exposed_lower_ns, row.exposed_upper_ns)
    missed = exactly(row.missed_ns) if row.missed_ns is not None else Bounds(0, row.could_hide_upper_ns)
    return {"hidden": hidden, "exposed": exposed, "hidden_share": _share(hidden, exposed), "missed": missed}


def _share(part: Bounds, rest: Bounds) -> Bounds:
    """What a part is of the two together: that grows with the part and falls with the rest, so its bounds lie crosswise.

    Where one of the two can only be nothing, the share is all or nothing, however little there was.
    """
    lower, upper = _ratio(part.lower, rest.upper), _ratio(part.upper, rest.lower)
    return Bounds(upper if lower is None else lower, lower if upper is None else upper)


def _ratio(part: Number | None, rest: Number | None) -> float | None:
    whole = (part or 0) + (rest or 0)
    return (part or 0) / whole if whole else None


def _times(store: SpanStore, scope: Scope) -> dict[str, dict[str, Bounds]]:
    found: dict[str, dict[str, Bounds]] = defaultdict(dict)
    for line in account(store, scope, by="session"):
        if line.category in _TIMES:
            found[line.session_id][f"{line.category}_time"] = Bounds(line.time_lower_ns, line.time_upper_ns)
    return found


def _first_bytes(store: SpanStore, scope: Scope) -> dict[str, dict[str, Bounds]]:
    rows = _grouped((row["session_id"], (row["lower_ns"], row["upper_ns"])) for row in ask(store, "ttft", scope))
    return {
        session_id: {name: _quantile(bounds, rank) for name, rank in (("ttft", 50), ("ttft_p95", 95))}
        for session_id, bounds in rows.items()
    }


def _quantile(bounds: Sequence[tuple[int, int]], percent: int) -> Bounds:
    """Nearest rank: a quantile of the lower bounds is a lower bound of the quantile, and so above."""
    index = max(0, -(-len(bounds) * percent // 100) - 1)
    return Bounds(sorted(lower for lower, _ in bounds)[index], sorted(upper for _, upper in bounds)[index])


def _failures(found: Iterable[Failure], known: Iterable[str]) -> dict[str, dict[str, Bounds]]:
    by_session = _grouped((one.session_id, one) for one in found)
    return {session_id: _failed(by_session.get(session_id, [])) for session_id in known}


def _failed(found: Sequence[Failure]) -> dict[str, Bounds]:
    counted = Counter[str]({"failures": len(found), "unrecovered": sum(not one.recovered for one in found)})
    counted.update(str(one.family) for one in found)
    counted.update(f"{one.family}/{one.kind}" for one in found)
    return {name: exactly(counted[name]) for name in ("failures", "unrecovered", *map(str, _FAMILIES), *_KINDS)}


def _costs(store: SpanStore, scope: Scope) -> dict[str, dict[str, Bounds]]:
    return {str(row.session_id): {"cost": exactly(row.cost_usd)} for row in tokens(store, scope, by="session") if not row.partial}


def _stuck(waits: Iterable[Stuck], known: Iterable[str]) -> dict[str, dict[str, Bounds]]:
    counted = Counter(one.session_id for one in waits if one.state == State.STUCK)
    return {session_id: {"stuck": exactly(counted[session_id])} for session_id in known}


def _grouped(pairs: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return found
