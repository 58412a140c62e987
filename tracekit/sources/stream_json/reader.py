"""From the lines of a stream to spans: each line goes to the session that it names."""

from collections.abc import Iterable, Iterator

from tracekit.model import Problem, Span
from tracekit.sources.fields import text
from tracekit.sources.stream_json import messages, system
from tracekit.sources.stream_json.clock import Timed, place
from tracekit.sources.stream_json.entries import RawLine, entries
from tracekit.sources.stream_json.session import Session


def read(lines: Iterable[RawLine], *, content: bool = False, written_ns: int | None = None) -> Iterator[Span | Problem]:
    """Read a stream, lazily: what is over is given as soon as it is, what stays open at the end.

    Args:
        lines: Number from 1, byte position, bytes without the newline, and when the line arrived (Unix ns) or None.
            Lines in the recorded form bring their arrival themselves.
        content: Keep prompts, outputs and arguments, stripped of secrets.
        written_ns: When the file was last written: its last lines happened no later.

    Yields:
        Spans in no particular order, and a Problem for each line that cannot be read. A stream must be read from its
        beginning: a part of it would be told as a session that was joined in the middle.
    """
    sessions: dict[str, Session] = {}
    last: Session | None = None
    for item in place(entries(lines), written_ns=written_ns):
        if isinstance(item, Problem):
            yield item
            continue
        session_id = text(item.value, "session_id")
        if session_id is not None:
            if session_id not in sessions:
                sessions[session_id] = Session(session_id, item.position, item.moment, content=content)
            last = sessions[session_id]
        if last is not None:
            yield from _feed(last, item)
        elif not _says_nothing(item):
            yield Problem(item.number, item.position, "no session id", f"a line of type {item.value.get('type')}")
    for session in sessions.values():
        yield from session.finish()


def _feed(session: Session, line: Timed) -> Iterator[Span]:
    session.last = max(session.last, line.moment)
    kind = line.value.get("type")
    handler = system.HANDLERS.get(str(line.value.get("subtype"))) if kind == "system" else messages.HANDLERS.get(str(kind))
    if handler is not None:
        yield from handler(session, line)


def _says_nothing(item: Timed) -> bool:
    """Lines of the control protocol belong to the pipe, not to a session."""
    return str(item.value.get("type")).startswith(("control_", "keep_alive"))
