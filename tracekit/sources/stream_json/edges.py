"""Moments as the edges of a span."""

from typing import NamedTuple

from tracekit.sources.stream_json.clock import Moment


class Edges(NamedTuple):
    """The time fields of a span, by their names there."""

    start_ns: int
    start_slack_ns: int
    end_ns: int | None
    end_slack_ns: int


def edges(start: Moment, end: Moment | None) -> Edges:
    """Lay a span between two moments. What cannot be is left out: it ends no earlier than it starts."""
    if end is None:
        return Edges(start.earliest, start.latest - start.earliest, None, 0)
    end_ns = max(end.latest, start.earliest)
    earliest_end = min(max(end.earliest, start.earliest), end_ns)
    return Edges(start.earliest, min(start.latest, end_ns) - start.earliest, end_ns, end_ns - earliest_end)


def between(first: Moment, last: Moment) -> Moment:
    """Some time after the first and before the last."""
    return Moment(min(first.earliest, last.latest), last.latest)


def following(before: Moment | None, moment: Moment) -> Moment:
    """The moment of something that came after another thing of the same stream."""
    return moment if before is None else Moment(min(max(moment.earliest, before.earliest), moment.latest), moment.latest)


def shifted(moment: Moment, by_ns: int) -> Moment:
    """The moment so much later."""
    return Moment(moment.earliest + by_ns, moment.latest + by_ns)
