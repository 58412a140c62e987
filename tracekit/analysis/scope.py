"""Which part of a store a question is about."""

from importlib.resources import files
from typing import Any, NamedTuple

from tracekit.errors import TracekitError
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


def find_session(store: SpanStore, text: str) -> str:
    """The session that a person means: a unique beginning of its id, or `latest`.

    Raises:
        TracekitError: `session-unknown`, or `session-ambiguous` with the candidates.
    """
    if text == "latest":
        sql = "SELECT session_id FROM spans WHERE boundary <> 'session' GROUP BY session_id ORDER BY MAX(start_ns) DESC, session_id LIMIT 1"
        found = store.rows(sql)
        if not found:
            raise TracekitError("the store holds no session yet; `tracekit import` fills it", slug="session-unknown")
        return str(found[0]["session_id"])
    sql = "SELECT DISTINCT session_id FROM spans WHERE STARTS_WITH(session_id, $text) ORDER BY session_id LIMIT 6"
    ids = [str(row["session_id"]) for row in store.rows(sql, text=text)]
    if text in ids:
        return text
    if not ids:
        raise TracekitError(f"no session begins with {text!r}; `tracekit sessions` lists them", slug="session-unknown")
    if len(ids) > 1:
        raise TracekitError(f"{text!r} begins several sessions: {', '.join(ids)}; give more of the id", slug="session-ambiguous")
    return ids[0]
