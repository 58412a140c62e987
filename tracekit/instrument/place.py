"""Where in a session the running code is: what a boundary takes its session, its agent and its parent from."""

import os
from itertools import count
from typing import Final, NamedTuple
from uuid import uuid4

from opentelemetry.trace import Span

_NUMBERS: Final = count(1)


class _Process:
    """What is this process's alone. A fork goes on counting where its parent stood, and must not give the same names."""

    name = str(uuid4())

    @classmethod
    def renew(cls) -> None:
        """Be another process."""
        cls.name = str(uuid4())


os.register_at_fork(after_in_child=_Process.renew)


class Place(NamedTuple):
    """The keys of what stands around.

    Attributes:
        session_id: The session.
        is_named: Whether whoever built the agent gave the session its id.
        agent_id: The sub-agent; None in the main agent.
        around: Key of the turn, else of the sub-agent or the session: what requests, hooks and compactions are parts of.
        request: Key of the model request, inside one.
        tool: Tool use id, inside a call.
    """

    session_id: str
    is_named: bool = False
    agent_id: str | None = None
    around: str = ""
    request: str | None = None
    tool: str | None = None


NOWHERE: Final = Place("")
"""Before it is known."""


def fresh(kind: str) -> str:
    """A name that is given once, for what the world has not named yet: `exchange:UUID.7`."""
    return f"{kind}:{_Process.name}.{next(_NUMBERS)}"


def foreign_key(span: Span) -> str:
    """The name of a span that somebody else started, until more is known of it."""
    return span_key(span.get_span_context().span_id)


def span_key(span_id: int) -> str:
    """The name of a thing of which only its span is known."""
    return f"span:{span_id:016x}"
