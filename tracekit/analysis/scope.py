"""Which part of a store a question is about."""

from importlib.resources import files
from typing import Any, NamedTuple

from tracekit.store import SpanStore


class Scope(NamedTuple):
    """The bounds of a question. None is no bound."""

    session_id: str | None = None
    since_ns: int | None = None
    """Unix time from which on things count by their start."""
    until_ns: int | None = None
    """Unix time before which things count by their start."""
    project: str | None = None
    """Part of the session's working directory."""


EVERYTHING = Scope()


def ask(store: SpanStore, question: str, scope: Scope, **parameters: Any) -> list[dict[str, Any]]:
    """Run `question.sql` of this room within a scope, and give its rows."""
    sql = (files("tracekit.analysis") / f"{question}.sql").read_text(encoding="utf-8")
    bounds = {"session_id": scope.session_id, "since_ns": scope.since_ns, "until_ns": scope.until_ns}
    found = store.rows(sql, **bounds, **parameters)
    if scope.project is None:
        return found
    wanted = sessions_of_project(store, scope.project)
    return [row for row in found if row["session_id"] in wanted]


def sessions_of_project(store: SpanStore, project: str) -> set[str]:
    """Ids of the sessions whose working directory contains `project`."""
    sql = (
        "SELECT DISTINCT session_id FROM boundaries WHERE boundary IN ('turn', 'session')"
        " AND POSITION(LOWER($project) IN LOWER(attributes['tracekit.project'])) > 0"
    )
    return {row["session_id"] for row in store.rows(sql, project=project)}
