"""What every command that asks a question does: open the store, and turn the options into a scope."""

import time
from collections.abc import Generator
from contextlib import contextmanager

from tracekit.analysis.scope import Scope
from tracekit.cli.options import find_session, window
from tracekit.store import SpanStore, open_store


def scope_of(
    store: SpanStore,
    *,
    session: str | None = None,
    since: str | None = None,
    until: str | None = None,
    project: str | None = None,
) -> Scope:
    """Turn the values of options into the bounds of a question."""
    since_ns, until_ns = window(since, until, now_ns=time.time_ns())
    session_id = find_session(store, session) if session is not None else None
    return Scope(session_id, since_ns, until_ns, project)


@contextmanager
def question(
    store: str | None,
    *,
    session: str | None = None,
    since: str | None = None,
    until: str | None = None,
    project: str | None = None,
) -> Generator[tuple[SpanStore, Scope]]:
    """Lease the store for one answer, with the scope that the options mean."""
    with open_store(store) as opened:
        yield opened, scope_of(opened, session=session, since=since, until=until, project=project)
