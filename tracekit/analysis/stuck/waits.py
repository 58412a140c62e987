"""Everything that one agent waits for, each thing once."""

from collections.abc import Iterator

from tracekit.analysis.stuck import of_call, of_nothing, of_request
from tracekit.analysis.stuck.limits import Limits
from tracekit.analysis.stuck.loops import find_loop
from tracekit.analysis.stuck.scene import Call, Scene, Thing
from tracekit.analysis.stuck.suspicion import Suspicion
from tracekit.analysis.stuck.verdict import Verdict
from tracekit.analysis.stuck.wait import Kind, Wait
from tracekit.model import Boundary


def waits_of(scene: Scene, limits: Limits) -> list[Wait]:
    """Give what is open, and where nothing is, the agent itself; a loop stands beside what is open at the moment."""
    found = [*_calls(scene), *_hooks(scene), *_requests(scene), *_others(scene)]
    if not found:
        found = [Wait("nothing", scene, None, of_nothing.suspect(scene))]
    return [*found, *_loops(scene, limits)]


def _calls(scene: Scene) -> Iterator[Wait]:
    for call in scene.calls:
        yield Wait("call", scene, _shown(scene, call), of_call.suspect(call, scene), call)


def _shown(scene: Scene, call: Call) -> Thing:
    """The innermost boundary of a call that is open: it tells the most."""
    parts = (call.part(boundary) for boundary in (Boundary.MCP_CALL, Boundary.PERMISSION_WAIT, Boundary.TOOL_EXECUTION))
    return next((part for part in parts if part is not None and part.is_open(scene.now_ns)), call.schedule)


def _hooks(scene: Scene) -> Iterator[Wait]:
    told = {run.key for call in scene.calls for run in of_call.hooks_of(call, scene)}
    for run in scene.hooks:
        if run.key not in told:
            yield _seen("hook", scene, run, Verdict.HOOK, f"{run.name} began and has not answered")


def _requests(scene: Scene) -> Iterator[Wait]:
    for thing, suspicion in of_request.open_requests(scene):
        yield Wait("request", scene, thing, suspicion)


def _others(scene: Scene) -> Iterator[Wait]:
    asks_again = any(thing.seen_by(*of_request.EACH) for thing, _ in of_request.open_requests(scene))
    for sleep in scene.of(Boundary.RETRY_WAIT):
        if not asks_again:
            yield _seen("retry", scene, sleep, Verdict.RETRY_WAIT, "an attempt failed, and the client sleeps before the next")
    for compaction in scene.of(Boundary.COMPACTION):
        yield _seen("compaction", scene, compaction, Verdict.COMPACTION, "the conversation is being replaced by a summary")
    called = {of_call.server_of(call) for call in scene.calls}
    for connection in scene.of(Boundary.MCP_CONNECTION):
        if connection.name not in called:
            verdict = of_call.stage_of(connection)
            yield _seen("connection", scene, connection, verdict, f"the server {connection.name} has not answered yet")


def _seen(kind: Kind, scene: Scene, thing: Thing, verdict: Verdict, why: str) -> Wait:
    suspicion = Suspicion([verdict])
    suspicion.prove(verdict, why, thing.witnesses)
    return Wait(kind, scene, thing, suspicion)


def _loops(scene: Scene, limits: Limits) -> Iterator[Wait]:
    loop = find_loop(scene.repeats, limits)
    if loop is not None:
        suspicion = Suspicion([Verdict.LOOP], since_ns=loop.since_ns)
        names = " > ".join(call.name for call in loop.calls)
        what = f"{names} was called {loop.times} times with the same arguments and the same result"
        suspicion.prove(Verdict.LOOP, what, ["arguments and results"])
        yield Wait("loop", scene, None, suspicion, period=loop.period, times=loop.times)
