"""Many cases in one store: loading and asking cost more than the rows."""

from collections.abc import Iterable, Mapping

from tracekit.model import Span


def in_one_store(cases: Mapping[str, Iterable[Span]]) -> list[Span]:
    """Give each case a session of its own, named like it, and keys of its own: equal ones would be copies."""
    return [_moved(one, name) for name, spans in cases.items() for one in spans]


def _moved(one: Span, session: str) -> Span:
    parent = None if one.parent_key is None else f"{one.parent_key} in {session}"
    return one._replace(session_id=session, key=f"{one.key} in {session}", parent_key=parent)
