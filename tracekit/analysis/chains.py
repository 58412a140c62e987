"""Attempts of one request, judged as one: what dominated, what the waits cost, and which retries could not have helped."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from tracekit.analysis.failures import Evidence, Family, Kind, Retry, Verdict, classify
from tracekit.model import semconv

Row = dict[str, Any]

_COMES_BACK: Final = frozenset({(Family.NETWORK, Kind.CONNECT), (Family.NETWORK, Kind.PROXY)})
"""What a change cures that may come by itself: a gateway that is started again."""


@dataclass(frozen=True, slots=True)
class Chain:
    """What the failed attempts of one request come to.

    Attributes:
        verdict: The kind that dominated.
        kinds: How often each kind occurred, the commonest first.
        attempts: HTTP attempts that failed.
        waited_ns: Time that the client slept between attempts.
        lost_ns: From the first attempt to the end of the last failure or of the wait after it.
        futile: Attempts that repeated a failure which no retry cures, and failed in the same way.
    """

    verdict: Verdict
    kinds: tuple[tuple[str, int], ...]
    attempts: int
    waited_ns: int
    lost_ns: int
    futile: int

    @property
    def causes(self) -> str:
        """Kinds with their numbers: `overloaded x2, reset x1`."""
        return ", ".join(f"{kind} x{count}" for kind, count in self.kinds)


def evidence_of(row: Row) -> Evidence:
    """What a row of `failed.sql` says of a failure."""
    return Evidence.from_attributes(row["boundary"], row["status"], row["name"], row["attributes"])


def judged(attempts: Sequence[Row], last: Row | None = None) -> Chain:
    """Judge failed attempts in the order of time.

    Args:
        attempts: Rows of `failed.sql`, at least one; `wait_ns` is the wait that followed, None where no witness saw it.
        last: The request itself, where it failed too: the attempt after which the client gave up.
    """
    rows = [*attempts, *([last] if last else [])]
    verdicts = [classify(evidence_of(row)) for row in rows]
    waits = [_wait_ns(row) for row in attempts]
    kinds = Counter(str(verdict.kind) for verdict in verdicts)
    end_ns = last["end_ns"] if last else attempts[-1]["end_ns"] + waits[-1]
    return Chain(
        verdict=_dominant(verdicts, [row["end_ns"] - row["start_ns"] + wait for row, wait in zip(rows, [*waits, 0], strict=False)]),
        kinds=tuple(kinds.most_common()),
        attempts=len(rows),
        waited_ns=sum(waits),
        lost_ns=max(0, end_ns - min(row["start_ns"] for row in attempts)),
        futile=sum(hopeless(first) and first[:2] == second[:2] for first, second in pairwise(verdicts)),
    )


def repeated(requests: Sequence[Row]) -> set[tuple[str, str]]:
    """Find the requests that did again what no retry cures: session id and key of each.

    Such a request failed as the one before it did, with no answer in between: somebody asked once more with a prompt too long, or with
    a certificate that nobody trusts.

    Args:
        requests: Rows of `failed.sql` for failed requests, in the order of time.
    """
    last: dict[tuple[str, str | None], tuple[Verdict, int]] = {}
    found: set[tuple[str, str]] = set()
    for row in requests:
        verdict, agent = classify(evidence_of(row)), (row["session_id"], row["agent_id"])
        before, before_ns = last.get(agent, (None, 0))
        unanswered = row["answered_ns"] is None or row["answered_ns"] <= before_ns
        if before is not None and unanswered and hopeless(verdict) and before[:2] == verdict[:2]:
            found.add((row["session_id"], row["key"]))
        last[agent] = (verdict, row["end_ns"])
    return found


def hopeless(verdict: Verdict) -> bool:
    """Whether the same request would fail again: only a change helps, and it does not come by itself."""
    return verdict.retry is not Retry.HELPS and verdict[:2] not in _COMES_BACK


def _wait_ns(row: Row) -> int:
    """The wait as it was seen, else as the client announced it."""
    if row["wait_ns"] is not None:
        return int(row["wait_ns"])
    return int(row["attributes"].get(semconv.RETRY_DELAY_NS, 0))


def _dominant(verdicts: Sequence[Verdict], spent_ns: Sequence[int]) -> Verdict:
    """The commonest kind names a mixed chain; among equals the one that took longest, and then the first."""
    counts = Counter(verdict[:2] for verdict in verdicts)
    time = Counter[tuple[Family, Kind]]()
    for verdict, ns in zip(verdicts, spent_ns, strict=True):
        time[verdict[:2]] += ns
    name = max(counts, key=lambda one: (counts[one], time[one]))
    return next(verdict for verdict in verdicts if verdict[:2] == name)
