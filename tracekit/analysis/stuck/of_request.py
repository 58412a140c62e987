"""Which model requests are open, and whether anything of their responses has come."""

from collections.abc import Iterator
from typing import Final

from tracekit.analysis.stuck.scene import REQUEST, Scene, Thing
from tracekit.analysis.stuck.suspicion import Suspicion
from tracekit.analysis.stuck.verdict import Verdict
from tracekit.model import Boundary, semconv

EACH: Final = ("gateway", "instrument")
"""Who sees each request of an agent, and each byte of its response."""


def open_requests(scene: Scene) -> Iterator[tuple[Thing, Suspicion]]:
    """Give each open request of an agent once.

    Where a gateway sees an agent's requests, it sees each of them. Elsewhere an agent has one open at a time: of sightings without
    a common key, the one that saw more is given. One that waits for its next attempt is none.
    """
    found = [thing for thing in scene.of(*REQUEST) if not _is_part(thing, scene) and not _waits_itself(thing, scene)]
    each = [thing for thing in found if thing.seen_by(*EACH)]
    if not each and not is_watched(scene):
        others = [(suspect(thing, scene), thing) for thing in found if not _sleeps(thing, scene)]
        each = [max(others, key=lambda one: _told(one[0]))[1]] if others else []
    for thing in each:
        yield thing, suspect(thing, scene)


def is_watched(scene: Scene) -> bool:
    """Whether a gateway sees the agent's requests of this turn, so that none of them can be open unseen."""
    return int(scene.about["gateway_attempts"]) > 0


def suspect(thing: Thing, scene: Scene) -> Suspicion:
    """Judge one request by who saw what of its response."""
    found = Suspicion([Verdict.FIRST_BYTE, Verdict.MID_STREAM], why=["the request was sent"], decided_by=set(thing.witnesses))
    if thing.blocks:
        found.prove(Verdict.MID_STREAM, f"{thing.blocks} block(s) of the response came, message_stop did not", thing.witnesses)
    elif thing.number(semconv.FIRST_BYTE_NS) is not None:
        found.prove(Verdict.MID_STREAM, "the first byte came, message_stop did not", thing.witnesses)
    elif thing.seen_by(*EACH) or (thing.seen_by("stream_json") and scene.about["streamed"]):
        found.prove(Verdict.FIRST_BYTE, "nothing came back", thing.witnesses)
    return found


def _told(suspicion: Suspicion) -> tuple[bool, bool]:
    return suspicion.is_proven, suspicion.only == Verdict.MID_STREAM


def _is_part(thing: Thing, scene: Scene) -> bool:
    """An attempt whose response has begun is open as the request too, and that tells more."""
    if thing.boundary != Boundary.REQUEST_ATTEMPT or thing.parent_key is None:
        return False
    return any(thing.parent_key in (other.key, other.attributes.get(semconv.OPENED_AS)) for other in scene.of(Boundary.MODEL_REQUEST))


def _waits_itself(thing: Thing, scene: Scene) -> bool:
    """A request that waits for its next attempt is open to whoever sees it whole, and owes nothing meanwhile."""
    return any(wait.parent_key == thing.key for wait in scene.of(Boundary.RETRY_WAIT))


def _sleeps(thing: Thing, scene: Scene) -> bool:
    return any(wait.parent_key == thing.key or wait.agent_id == thing.agent_id for wait in scene.of(Boundary.RETRY_WAIT))
