"""What a wait can be: every name that the witnesses leave, why the others are out, and who says so."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tracekit.analysis.stuck.verdict import Verdict


@dataclass(slots=True)
class Suspicion:
    """Begins with every name that is possible, and loses those that a witness excludes.

    Attributes:
        left: The names that are left.
        is_proven: Whether somebody saw the thing that is left, instead of excluding the others.
        why: What was seen, as parts of a sentence.
        decided_by: The witnesses of that.
        since_ns: When the wait began, where that is another moment than the beginning of what is open.
    """

    left: list[Verdict]
    is_proven: bool = False
    why: list[str] = field(default_factory=list[str])
    decided_by: set[str] = field(default_factory=set[str])
    since_ns: int | None = None

    @property
    def only(self) -> Verdict | None:
        """The one name that is left."""
        return self.left[0] if len(self.left) == 1 else None

    def prove(self, verdict: Verdict, why: str, witnesses: Iterable[str]) -> None:
        """Somebody saw it."""
        self.left, self.is_proven = [verdict], True
        self.why.append(why)
        self.decided_by.update(witnesses)

    def exclude(self, verdict: Verdict, why: str, *witnesses: str) -> None:
        """Somebody would have seen it, and did not."""
        if verdict in self.left:
            self.left.remove(verdict)
            self.why.append(why)
            self.decided_by.update(witnesses)

    def narrow(self, verdicts: Iterable[Verdict], why: str, witnesses: Iterable[str]) -> None:
        """What was seen leaves these alone."""
        allowed = list(verdicts)
        self.left = [one for one in self.left if one in allowed]
        self.why.append(why)
        self.decided_by.update(witnesses)
