"""What is judged: one open thing of one agent, or the agent itself where nothing is open."""

from typing import Literal, NamedTuple

from tracekit.analysis.stuck.scene import Call, Scene, Thing
from tracekit.analysis.stuck.suspicion import Suspicion

Kind = Literal["call", "request", "hook", "retry", "compaction", "connection", "loop", "nothing"]


class Wait(NamedTuple):
    """One wait.

    Attributes:
        kind: What is open.
        scene: The agent.
        thing: The boundary that is shown for it; None where nothing is open.
        suspicion: What it can be.
        call: The whole call, where it is one.
        period: Calls in the cycle of a loop.
        times: How often the cycle was run.
    """

    kind: Kind
    scene: Scene
    thing: Thing | None
    suspicion: Suspicion
    call: Call | None = None
    period: int = 0
    times: int = 0

    @property
    def since_ns(self) -> int:
        """When it began."""
        if self.suspicion.since_ns is not None:
            return self.suspicion.since_ns
        return self.scene.seen_ns if self.thing is None else self.thing.since_ns

    @property
    def age_ns(self) -> int:
        """How long it has lasted."""
        return max(0, self.scene.now_ns - self.since_ns)
