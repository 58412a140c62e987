"""What exporters are given: the sessions of a scope, read from the store as they are written out, and the answers to questions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from tracekit.analysis.scope import Scope, sessions_of_project
from tracekit.errors import TracekitError
from tracekit.model import Finding, semconv
from tracekit.store import SpanStore
from tracekit_exporters import EXPORTERS, GROUP, BoundaryRow, Exporter, SessionTrace, Trace

Question = Callable[[SpanStore, Scope, int], Sequence[Finding]]

_SESSIONS: Final = """
SELECT
    session_id,
    MIN(start_ns) AS first_ns,
    MAX(GREATEST(
        COALESCE(end_ns, start_ns + start_slack_ns),
        COALESCE(CAST(attributes['tracekit.turn.last_seen_ns'] AS BIGINT), 0),
        COALESCE(CAST(attributes['tracekit.response.last_event_ns'] AS BIGINT), 0)
    )) AS last_ns
FROM boundaries
WHERE ($session_id IS NULL OR session_id = $session_id)
GROUP BY session_id
HAVING ($since_ns IS NULL OR MIN(start_ns) >= $since_ns) AND ($until_ns IS NULL OR MIN(start_ns) < $until_ns)
ORDER BY first_ns, session_id
"""
_BOUNDARIES: Final = f"""
SELECT {", ".join(BoundaryRow._fields)}
FROM boundaries
WHERE session_id = $session_id
ORDER BY start_ns, end_ns DESC NULLS FIRST, boundary, key
"""  # noqa: S608  (our own names)


@dataclass(frozen=True, slots=True)
class _Boundaries:
    """The boundaries of a session, read anew each time that somebody goes through them."""

    store: SpanStore
    session_id: str
    content: bool

    def __iter__(self) -> Iterator[BoundaryRow]:
        for row in self.store.stream(_BOUNDARIES, session_id=self.session_id):
            if not self.content:
                row["attributes"].pop(semconv.CONTENT, None)
            yield BoundaryRow(**row)


def trace_of(store: SpanStore, scopes: Sequence[Scope], *, as_of_ns: int, content: bool = False) -> Trace:
    """Put together what an exporter is given.

    Args:
        store: An open store; it must stay open until the export is done.
        scopes: What is wanted: one scope, or one for each session that was named.
        as_of_ns: The moment that the export is about.
        content: Let prompts, outputs and arguments out too, where the store has them.

    Raises:
        TracekitError: `nothing-to-export` where no session is in the scopes.
    """
    sessions = sessions_of(store, scopes, content=content)

    def ask(question: str, session_id: str | None) -> Sequence[Finding]:
        if question not in QUESTIONS:
            known = ", ".join(QUESTIONS)
            raise TracekitError(f"an exporter asks {question!r}, which is no question; there are {known}", slug="exporter-broken")
        wanted = scopes if session_id is None else [Scope(session_id)]
        return [finding for scope in wanted for finding in QUESTIONS[question](store, scope, as_of_ns)]

    return Trace(sessions, as_of_ns, ask)


def sessions_of(store: SpanStore, scopes: Sequence[Scope], *, content: bool = False) -> list[SessionTrace]:
    """Give the sessions in some scopes, each once.

    Raises:
        TracekitError: `nothing-to-export` where there is none.
    """
    found = {session.session_id: session for scope in scopes for session in _sessions(store, scope, content=content)}
    if not found:
        message = "no session in the store is meant by that; `tracekit sessions` lists them, and `tracekit import` brings yours in"
        raise TracekitError(message, slug="nothing-to-export")
    return sorted(found.values(), key=lambda session: (session.first_ns, session.session_id))


def _sessions(store: SpanStore, scope: Scope, *, content: bool) -> list[SessionTrace]:
    bounds = {"session_id": scope.session_id, "since_ns": scope.since_ns, "until_ns": scope.until_ns}
    rows = store.rows(_SESSIONS, **bounds)
    if scope.project is not None:
        wanted = sessions_of_project(store, scope.project)
        rows = [row for row in rows if row["session_id"] in wanted]
    return [_session(store, row, content=content) for row in rows]


def _session(store: SpanStore, row: Mapping[str, Any], *, content: bool) -> SessionTrace:
    session_id = str(row["session_id"])
    return SessionTrace(session_id, row["first_ns"], row["last_ns"], _Boundaries(store, session_id, content))


# ------------------------------------------------------------------------------------------------------------ questions


def _account(store: SpanStore, scope: Scope, _: int) -> Sequence[Finding]:
    from tracekit.analysis.account import account

    return account(store, scope)


def _failures(store: SpanStore, scope: Scope, _: int) -> Sequence[Finding]:
    from tracekit.analysis.failed import failures

    return failures(store, scope)


def _metrics(store: SpanStore, scope: Scope, as_of_ns: int) -> Sequence[Finding]:
    from tracekit.analysis.metrics import metrics

    return metrics(store, scope, as_of_ns=as_of_ns)


def _overlap(store: SpanStore, scope: Scope, _: int) -> Sequence[Finding]:
    from tracekit.analysis.overlap import overlap

    return overlap(store, scope)


def _stuck(store: SpanStore, scope: Scope, as_of_ns: int) -> Sequence[Finding]:
    from tracekit.analysis.stuck import stuck

    return stuck(store, scope, as_of_ns=as_of_ns, ended=True)


def _tokens(store: SpanStore, scope: Scope, _: int) -> Sequence[Finding]:
    from tracekit.analysis.tokens import tokens

    return tokens(store, scope)


QUESTIONS: Final[dict[str, Question]] = {
    "account": _account,
    "failures": _failures,
    "metrics": _metrics,
    "overlap": _overlap,
    "stuck": _stuck,
    "tokens": _tokens,
}
"""What an exporter may ask, by name."""


# ------------------------------------------------------------------------------------------------------------ exporters


def find_exporter(name: str) -> Exporter:
    """Give the exporter of a format: one of ours, else one that an installed package offers under that name.

    Raises:
        TracekitError: `format-unknown`, or `exporter-broken` where the package's cannot be loaded, or several offer one.
    """
    if name in EXPORTERS:
        return EXPORTERS[name]
    offered = entry_points(group=GROUP)
    found = [point for point in offered if point.name == name]
    if not found:
        known = ", ".join(sorted({*EXPORTERS, *offered.names, "parquet"}))
        raise TracekitError(f"no exporter writes {name!r}; there are {known}", slug="format-unknown")
    if len({point.value for point in found}) > 1:
        raise TracekitError(f"several packages offer {name!r}: {', '.join(map(_origin, found))}; remove one", slug="exporter-broken")
    return _guarded(found[0])


def _guarded(point: EntryPoint) -> Exporter:
    """Somebody else's exporter: its errors name it."""
    try:
        exporter: Exporter = point.load()
    except Exception as error:
        raise _broken(point, error) from error

    def export(trace: Trace) -> Iterator[str]:
        try:
            yield from exporter(trace)
        except (TracekitError, OSError):
            raise
        except Exception as error:
            raise _broken(point, error) from error

    return export


def _broken(point: EntryPoint, error: Exception) -> TracekitError:
    message = f"the exporter {point.name!r} of {_origin(point)} failed: {type(error).__name__}: {error}"
    return TracekitError(message, slug="exporter-broken")


def _origin(point: EntryPoint) -> str:
    return f"{point.dist.name} ({point.value})" if point.dist else point.value
