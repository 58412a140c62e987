"""Steps 7 and 8: nobody owns the next step but the client, which has not taken it."""

from tracekit.analysis.stuck.judged import Judged
from tracekit.analysis.stuck.limits import SECOND, Limits
from tracekit.analysis.stuck.verdict import State, Verdict
from tracekit.analysis.stuck.wait import Wait


def call(wait: Wait, limits: Limits) -> Judged:
    """A call that no person, hook, tool or server holds: it was never dispatched, or its end was never taken."""
    return _next_step(wait, limits, wait.call.tool if wait.call is not None else "client")


def turn(wait: Wait, limits: Limits) -> Judged:
    """The last thing was a prompt, a result or a wake-up, and nothing came of it."""
    return _next_step(wait, limits, "client")


def _next_step(wait: Wait, limits: Limits, name: str) -> Judged:
    is_lost = wait.age_ns > limits.client * SECOND
    here = wait.scene.here
    more = (f"its client (process {here.client}) has {here.connections()}",) if here.client is not None and here.sockets is not None else ()
    interrupt = f"interrupt the session (Esc; kill -INT {here.client})" if here.client is not None else "interrupt the session (Esc)"
    return Judged(
        Verdict.LOST_WAKE_UP if is_lost else Verdict.CLIENT,
        State.STUCK if is_lost else State.WAITING,
        name,
        more,
        would_tell="" if wait.suspicion.is_proven else "the process table of its machine: whether its client still runs",
        todo=f"{interrupt} and say `continue`; nothing else will move it" if is_lost else "",
        decided_by=("process",) if more else (),
    )
