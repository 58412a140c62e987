"""A session: all that is done under one id."""

from tracekit.instrument.handle import Handle, Told
from tracekit.instrument.place import Place
from tracekit.instrument.runtime import RUNTIME
from tracekit.model import Boundary, semconv


class Session(Handle):
    """A session. See `session`."""

    boundary = Boundary.SESSION

    def __init__(self, session_id: str | None = None, *, project: str | None = None) -> None:
        said: dict[str, Told] = {} if project is None else {semconv.PROJECT: project}
        if session_id is not None:
            said[semconv.CONVERSATION_ID] = session_id
        super().__init__("tracekit.session", key=session_id or RUNTIME.place().session_id, attributes=said)
        self._is_named = session_id is not None

    def _standing(self) -> Place:
        return Place(self.key, is_named=self._is_named, around=self.key)

    def _part_of(self) -> str | None:
        return None


def session(session_id: str | None = None, *, project: str | None = None) -> Session:
    """All that is done under one id.

    Args:
        session_id: The id; None: one that is made once a process, which is also that of whatever stands in no session.
        project: Working directory, or whatever else the work belongs to.
    """
    return Session(session_id, project=project)
