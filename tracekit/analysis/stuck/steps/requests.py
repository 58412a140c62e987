"""Steps 9 to 11: the model owes the next byte, or the client sleeps before it asks again."""

from typing import Final

from tracekit.analysis.stuck.judged import Judged, state_of
from tracekit.analysis.stuck.limits import SECOND, Limits
from tracekit.analysis.stuck.of_request import EACH
from tracekit.analysis.stuck.verdict import State, Verdict
from tracekit.analysis.stuck.wait import Wait
from tracekit.model import semconv

PING_NS: Final = 40 * SECOND
"""A server that is alive was seen to send a ping at least this often, with room."""
_SOCKET_DEAD_NS: Final = 5 * SECOND


def retry(wait: Wait, limits: Limits) -> Judged:
    """The client sleeps; the next attempt has a time where a witness was told it."""
    until_ns = wait.thing.end_ns if wait.thing is not None else None
    left_ns = None if until_ns is None else until_ns - wait.scene.now_ns
    attempt = wait.thing.attributes.get(semconv.ATTEMPT) if wait.thing is not None else None
    more = (f"attempt {attempt} failed",) if attempt is not None else ()
    too_long = left_ns is not None and left_ns > limits.retry_wait * SECOND
    return Judged(
        Verdict.RETRY_WAIT,
        State.STUCK if too_long else state_of(wait.age_ns, limits.of(Verdict.RETRY_WAIT)) if left_ns is None else State.WAITING,
        "next attempt",
        more,
        would_tell="" if wait.suspicion.is_proven else "the session's transcript or stream-json: they have the time of the next attempt",
        todo="`tracekit failures` says why the attempt failed, and whether another can help",
        until_ns=until_ns,
    )


def first_byte(wait: Wait, limits: Limits) -> Judged:
    """The request is out, and nothing of the response has come."""
    here = wait.scene.here
    is_dead = here.is_connected is False and wait.age_ns > _SOCKET_DEAD_NS
    more = (f"the client has {here.connections()}",) if here.sockets is not None else ()
    state = State.STUCK if is_dead else state_of(wait.age_ns, limits.of(Verdict.FIRST_BYTE))
    todo = "no answer can come any more: interrupt (Esc) and send it again" if is_dead else _ask_again(wait)
    return Judged(
        Verdict.FIRST_BYTE,
        state,
        _model(wait),
        more,
        would_tell="" if wait.suspicion.is_proven else "a gateway, or stream-json with partial messages",
        todo=todo if state == State.STUCK else "",
        decided_by=("process",) if more else (),
    )


def mid_stream(wait: Wait, limits: Limits) -> Judged:
    """The response has begun. Pings without events are a server that thinks; neither is a stall."""
    quiet_ns = _quiet(wait)
    is_alive = _is_pinged(wait)
    verdict = Verdict.THINKING if is_alive and quiet_ns is not None and quiet_ns > PING_NS // 2 else Verdict.MID_STREAM
    silent_ns = wait.scene.now_ns - wait.scene.seen_ns if quiet_ns is None else quiet_ns
    # Where nobody sees pings, a server that thinks is as silent as one that is gone.
    hears = wait.thing is not None and wait.thing.seen_by(*EACH)
    state = state_of(max(0, silent_ns), limits.of(Verdict.MID_STREAM if hears and not is_alive else Verdict.THINKING))
    return Judged(
        verdict,
        state,
        _model(wait),
        ("pings still come: the server is at work",) if is_alive else (),
        would_tell="" if wait.suspicion.is_proven else "a gateway, or stream-json with partial messages",
        todo=_ask_again(wait) if state == State.STUCK else "",
        quiet_ns=quiet_ns,
    )


def _model(wait: Wait) -> str:
    return wait.thing.name if wait.thing is not None else "model"


def _ask_again(wait: Wait) -> str:
    ids = (semconv.REQUEST_ID, semconv.CLIENT_REQUEST_ID)
    known = next((wait.thing.attributes[name] for name in ids if name in wait.thing.attributes), "") if wait.thing is not None else ""
    asked = f"; the vendor finds it as {known}" if known else ""
    return f"interrupt (Esc) and ask again: the same request is answered by another server{asked}"


def _quiet(wait: Wait) -> int | None:
    """From the last event of the stream, where a witness has its time."""
    last_ns = wait.thing.number(semconv.LAST_EVENT_NS) if wait.thing is not None else None
    return None if last_ns is None else max(0, wait.scene.now_ns - last_ns)


def _is_pinged(wait: Wait) -> bool:
    """Whether a server that says nothing still shows that it lives."""
    if wait.thing is None:
        return False
    last_ping_ns, last_event_ns = (wait.thing.number(name) or 0 for name in (semconv.LAST_PING_NS, semconv.LAST_EVENT_NS))
    return last_ping_ns > last_event_ns and wait.scene.now_ns - last_ping_ns < PING_NS
