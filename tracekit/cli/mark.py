"""`tracekit mark`: say whether a session's work was verified. No session says that of itself."""

import time
from typing import Annotated

import typer

from tracekit.cli import output
from tracekit.cli.options import AsJson, Store, find_session
from tracekit.errors import TracekitError
from tracekit.model import Boundary, Source, Span, Value, semconv

_VERDICTS = ("pass", "fail")
_UNKNOWN = "unknown"
_SPOOL = "marks"


def command(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Its id, the beginning of it, or `latest`.", show_default=False)],
    *,
    verified: Annotated[
        str | None, typer.Option("--verified", metavar="pass|fail", help="What the check found.", show_default=False)
    ] = None,
    evidence: Annotated[
        str | None, typer.Option("--evidence", metavar="TEXT", help="The check: a CI run, a test command, who looked.", show_default=False)
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Take back what was said: it is unknown again.")] = False,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Record that a session's work was verified from outside, or that the check failed, and by what.

    A response that is complete is one fact and work that is verified another: the second is unknown until it is recorded here.
    `tracekit sessions` shows the last word. Earlier words stay in the store.
    """
    from tracekit.analysis.scope import Scope
    from tracekit.analysis.sessions import sessions
    from tracekit.store import open_store

    said = _said(verified, evidence, clear=clear)
    with open_store(store) as opened:
        session_id = find_session(opened, session)
    _record(_mark(session_id, said, time.time_ns()), store)
    with open_store(store) as opened:
        found = sessions(opened, Scope(session_id))
    if as_json:
        output.emit_json(found)
        return
    output.write(f"{session_id}: verified {said[semconv.VERIFIED]}")


def _said(verified: str | None, evidence: str | None, *, clear: bool) -> dict[str, Value]:
    """The attributes of a mark; refuses a verdict without a check to point to."""
    from tracekit.model.redact import error_text

    if clear:
        if verified is not None or evidence is not None:
            raise typer.BadParameter("it takes back what was said; give it alone", param_hint="--clear")
        return {semconv.VERIFIED: _UNKNOWN}
    if verified is None:
        raise typer.BadParameter("say pass or fail, or --clear", param_hint="--verified")
    output.one_of("--verified", verified, _VERDICTS)
    if evidence is None or not evidence.strip():
        raise typer.BadParameter("name the check that found it: a CI run, a test command, who looked", param_hint="--evidence")
    return {semconv.VERIFIED: verified, semconv.VERIFIED_EVIDENCE: error_text(evidence.strip())}


def _mark(session_id: str, said: dict[str, Value], now_ns: int) -> Span:
    return Span(Source.MARKS, session_id, Boundary.SESSION, session_id, now_ns, now_ns, name="verified", attributes=said)


def _record(mark: Span, store: str | None) -> None:
    """Keep a mark in the spool, as every record, and load it at once."""
    from tracekit.ingest import import_paths
    from tracekit.spool import SUFFIX, SharedSpool, spool_folder

    folder = spool_folder()
    try:
        SharedSpool(folder, _SPOOL).write([mark])
    except OSError as error:
        message = f"the mark cannot be written to {folder}: {error.strerror or error}; free some space or set TRACEKIT_SPOOL"
        raise TracekitError(message, slug="mark-not-written") from error
    import_paths([f"{folder}/{_SPOOL}-*{SUFFIX}"], store)
