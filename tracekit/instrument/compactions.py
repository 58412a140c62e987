"""A compaction: a summary takes the place of the conversation, or old tool results are cleared."""

from collections.abc import Mapping

from tracekit.instrument.guard import guarded
from tracekit.instrument.handle import Handle, Told
from tracekit.instrument.runtime import RUNTIME
from tracekit.model import NO_ATTRIBUTES, Boundary, semconv


class Compaction(Handle):
    """A compaction. See `compaction`."""

    boundary = Boundary.COMPACTION

    def __init__(
        self, trigger: str, *, kind: str = "full", parent: Handle | None = None, attributes: Mapping[str, Told] = NO_ATTRIBUTES
    ) -> None:
        said: dict[str, Told] = {semconv.COMPACTION_TRIGGER: trigger, semconv.COMPACTION_KIND: kind, **attributes}
        super().__init__("tracekit.compaction", parent=parent, attributes=said)

    @guarded
    def stage(self, name: str) -> None:
        """The next stage begins: `summarize`, `replace`, …. Kept at once: one that hangs, hangs in a stage."""
        self.say({semconv.COMPACTION_STAGE: name})
        if self._live:
            self._span.add_event(name, timestamp=RUNTIME.clock())
            self._tell()

    @guarded
    def tokens(self, *, before: int | None = None, after: int | None = None) -> None:
        """How large the conversation was and is, in tokens."""
        if before is not None:
            self.say({semconv.PRE_TOKENS: before})
        if after is not None:
            self.say({semconv.POST_TOKENS: after})


def compaction(
    trigger: str, *, kind: str = "full", parent: Handle | None = None, attributes: Mapping[str, Told] = NO_ATTRIBUTES
) -> Compaction:
    """The conversation is made shorter, and the agent waits.

    Args:
        trigger: What started it: `auto` or `manual`.
        kind: `full`: a summary replaces the conversation; `micro`: old tool results are cleared.
        parent: What it is part of; None: what the code stands in.
        attributes: More to be known of it, by the names of `semconv`.
    """
    return Compaction(trigger, kind=kind, parent=parent, attributes=attributes)
