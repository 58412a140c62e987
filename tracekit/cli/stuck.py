"""`tracekit stuck`: what sessions wait for, which of that lasts too long, and what to do about it."""

import json
import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tracekit.cli import output
from tracekit.cli.asking import question
from tracekit.cli.lasting import until_ended
from tracekit.cli.options import AsJson, OneSession, Project, SessionOption, Since, Store, Until
from tracekit.cli.options import since_ns as moment_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracekit.analysis.scope import Scope
    from tracekit.analysis.stuck import Limits, Stuck
    from tracekit.store import SpanStore

_EVERY_SECONDS: Final = 1.0
_NOTHING: Final = "Nothing is open in any session that may still run; `--all` also tells what was open when a session ended."

_All = Annotated[bool, typer.Option("--all", help="Also agents that wait for nothing, and what was open when its session ended.")]
_Watch = Annotated[bool, typer.Option("--watch", help="Go on looking: tell when something is stuck, once, and when it no longer is.")]
_Timers = Annotated[bool, typer.Option("--timers", help="Find waits of one length again and again: somebody's timer.")]


def command(
    session: OneSession = None,
    *,
    only: SessionOption = None,
    everything: _All = False,
    watch: _Watch = False,
    timers: _Timers = False,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Name what sessions wait for: a person, a tool, a hook, a server, the model, or nobody. Exit code 1 if something is stuck.

    Each wait says how sure it is, who saw it, since when, what would make it certain, and what to do. `unknown` comes with the names
    that are left and the witness that is missing. On the machine of a session its processes and connections are looked at too.
    How long a wait may last stands in `[tool.tracekit.stuck]` of `pyproject.toml`, or `[stuck]` of `tracekit.toml`
    (`tracekit explain thresholds`).
    """
    from tracekit.cli.thresholds import thresholds

    limits = thresholds()
    if watch:
        _follow(session or only, since, store, limits, as_json=as_json)
        return
    now_ns = time.time_ns()
    with question(store, session=session or only, since=since, until=until, project=project) as (opened, scope):
        if timers:
            _tell_timers(opened, scope, limits, as_json=as_json, as_of_ns=now_ns)
            return
        found = _found(opened, scope, limits, now_ns, everything=everything or scope.session_id is not None)
    _tell(found, as_json=as_json, as_of_ns=now_ns)
    if any(one.state == "stuck" for one in found):
        raise typer.Exit(1)


def _found(opened: "SpanStore", scope: "Scope", limits: "Limits", now_ns: int, *, everything: bool) -> "Sequence[Stuck]":
    from tracekit.analysis.stuck import State, stuck
    from tracekit.cli.local import local

    first = stuck(opened, scope, as_of_ns=now_ns, limits=limits, idle=everything, ended=everything)
    here = local({one.session_id for one in first if one.state != State.IDLE})
    return stuck(opened, scope, as_of_ns=now_ns, limits=limits, here=here, idle=everything, ended=everything) if here else first


def _tell(found: "Sequence[Stuck]", *, as_json: bool, as_of_ns: int) -> None:
    if as_json or not found:
        output.emit(found, as_json=as_json, as_of_ns=as_of_ns, empty=_NOTHING)
        return
    from tracekit.cli.waits import blocks

    place = output.screen()
    output.write(blocks(found, width=place.width, colour=place.colour))


def _tell_timers(opened: "SpanStore", scope: "Scope", limits: "Limits", *, as_json: bool, as_of_ns: int) -> None:
    from tracekit.analysis.stuck import timers as find_timers

    found = find_timers(opened, scope, limits=limits)
    empty = f"No length of {limits.timer_seconds:g} s or more came {limits.timer_count} times: no timer shows."
    output.emit(found, as_json=as_json, as_of_ns=as_of_ns, empty=empty)


def _follow(session: str | None, since: str | None, store: str | None, limits: "Limits", *, as_json: bool) -> None:
    from tracekit.cli.watching import Watch

    watch = Watch(store, session, moment_of(since or "1d", now_ns=time.time_ns()) or 0, limits=limits)
    episodes = Episodes(as_json=as_json)
    with until_ended() as ended:
        while not ended.is_set():
            found = watch.look()
            if watch.trouble != episodes.trouble:
                episodes.note(watch.trouble)
            episodes.tell(found)
            ended.wait(_EVERY_SECONDS)


class Episodes:
    """Tells each thing that is stuck once, and once that it no longer is.

    Attributes:
        trouble: What last kept a look from being complete.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.trouble = ""
        self._as_json = as_json
        self._known: dict[tuple[str, str | None, str], Stuck] = {}

    def tell(self, found: "Sequence[Stuck]") -> None:
        """Print what has begun to be stuck since the last call, and what has come to its end."""
        now = {(one.session_id, one.agent_id, one.key): one for one in found if one.state == "stuck"}
        for key in self._known.keys() - now.keys():
            self._print("over", self._known.pop(key))
        for key, one in now.items():
            if key not in self._known:
                self._print("began", one)
            self._known[key] = one

    def note(self, trouble: str) -> None:
        """Say on stderr what kept a look from being complete."""
        self.trouble = trouble
        if trouble:
            output.note(f"not everything could be read, and the next look tries again: {trouble}")

    def _print(self, episode: str, one: "Stuck") -> None:
        if self._as_json:
            from tracekit.report.json import document

            written = document([one], as_of_ns=time.time_ns(), episode=episode)
            output.write(json.dumps(json.loads(written), ensure_ascii=False))
            return
        from tracekit.cli.waits import blocks, who
        from tracekit.report.units import clock, duration

        head = f"{clock(time.time_ns())}  {one.session_id[:8]}"
        if episode == "over":
            output.write(f"{head}  no longer stuck: {one.verdict}, {who(one)}, after {duration(one.age_ns)}")
            return
        place = output.screen()
        output.write(f"{head}  {blocks([one], width=place.width, colour=place.colour)}")
