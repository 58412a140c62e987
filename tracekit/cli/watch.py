"""`tracekit watch`: what sessions wait for, while they wait."""

import json
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final, Protocol

import typer

from tracekit.cli import output
from tracekit.cli.lasting import until_ended
from tracekit.cli.options import AsJson, OneSession, Since, Store
from tracekit.cli.options import since_ns as moment_of
from tracekit.cli.waits import how_sure, who
from tracekit.model import Boundary
from tracekit.report.paint import clean, styled
from tracekit.report.units import clock, duration

if TYPE_CHECKING:
    from tracekit.analysis.stuck import Stuck
    from tracekit.cli.local import LocalProcess

_EVERY_SECONDS: Final = 1.0
_LONGEST_BAR: Final = 30
_NOTHING: Final = "Nothing is open: every turn was answered to its end."

_OF_PROCESSES: Final = frozenset({Boundary.TOOL_SCHEDULE, Boundary.TOOL_EXECUTION, Boundary.MCP_CALL, Boundary.HOOK_REPLY})
"""What a process of the session may be at work for."""

Key = tuple[str, str, str, str]


def command(
    session: OneSession = None,
    *,
    once: Annotated[bool, typer.Option("--once", help="Print what is open now, and end: with 1 if something is.")] = False,
    since: Since = "1d",
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Show what sessions wait for, each second: the open boundaries, who owes the next byte, for how long.

    It loads what recorders and sessions write meanwhile, so it needs no server beside it. On a terminal the lanes are refreshed in
    place until Ctrl-C; elsewhere each change is a line. With `--json`, each change is one object on one line.
    """
    from tracekit.cli.thresholds import thresholds
    from tracekit.cli.watching import Watch

    watch = Watch(store, session, moment_of(since, now_ns=time.time_ns()) or 0, limits=thresholds())
    if once:
        found = watch.look()
        _note(watch.trouble)
        here = _here(found)
        if as_json:
            output.emit(found, as_json=True, processes=[one.as_row() for one in here])
        else:
            output.emit(found, as_json=False, empty=_NOTHING)
            for one in here:
                output.write(f"{one.session_id[:8]} {_running(one, time.time_ns())}")
        if found:
            raise typer.Exit(1)
        return
    with until_ended() as ended, _shown(as_json=as_json) as show:
        while not ended.is_set():
            show(watch.look(), watch.trouble)
            ended.wait(_EVERY_SECONDS)


class _Show(Protocol):
    def __call__(self, found: "Sequence[Stuck]", trouble: str, /) -> None: ...


@contextmanager
def _shown(*, as_json: bool) -> Generator[_Show]:
    """Give what shows a look in the way that stdout asks for."""
    if as_json or not sys.stdout.isatty():
        yield _Changes(as_json=as_json)
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(), auto_refresh=False) as live:

        def show(found: "Sequence[Stuck]", trouble: str) -> None:
            place = output.screen()
            drawn = lanes(found, trouble, _here(found), now_ns=time.time_ns(), width=place.width, colour=place.colour)
            live.update(Text.from_ansi(drawn), refresh=True)

        yield show


# Lanes


def lanes(found: "Sequence[Stuck]", trouble: str, here: "Sequence[LocalProcess]" = (), *, now_ns: int, width: int, colour: bool) -> str:
    """Draw what is open: a lane each, its bar as long as its age is beside the oldest; below a tool what runs of its session here."""
    head = f"{clock(now_ns)[:-4]}  {_count(found)}"
    oldest_ns = max((one.age_ns for one in found), default=0)
    lines = [styled(head, "1", colour=colour)]
    for one in found:
        lines += _lane(one, oldest_ns, width=width, colour=colour)
        if one.boundary in _OF_PROCESSES:
            running = (_running(process, now_ns) for process in here if process.session_id == one.session_id)
            lines += [styled(f"{'':<10}{line}"[:width], "2", colour=colour) for line in running]
    return "\n".join([*lines, trouble] if trouble else lines)


def _count(found: "Sequence[Stuck]") -> str:
    sessions = len({one.session_id for one in found})
    return f"{len(found)} open in {sessions} session{'s' * (sessions != 1)}" if found else _NOTHING


def _lane(one: "Stuck", oldest_ns: int, *, width: int, colour: bool) -> list[str]:
    quiet = "" if one.quiet_ns is None else f", quiet for {duration(one.quiet_ns)}"
    text = f"{one.session_id[:8]}  {one.verdict:<12} {clean(who(one)):<24.24} {duration(one.age_ns):>9}"
    room = min(_LONGEST_BAR, width - len(text) - 2)
    bar = "█" * max(1, round(room * one.age_ns / oldest_ns)) if oldest_ns and room > 0 else ""
    why = f"{'':<10}{how_sure(one)}: {one.because}{quiet}"[:width]
    return [f"{text}  {styled(bar, '31' if one.state == 'stuck' else '36', colour=colour)}", styled(why, "2", colour=colour)]


def _here(found: "Sequence[Stuck]") -> "Sequence[LocalProcess]":
    from tracekit.cli.local import processes

    return processes({one.session_id for one in found if one.boundary in _OF_PROCESSES})


def _running(process: "LocalProcess", now_ns: int) -> str:
    return f"runs here: {clean(process.name)} (process {process.pid}) for {duration(max(0, now_ns - process.start_ns))}"


# Lines


class _Changes:
    """Prints what has begun to be open, and what no longer is."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._known: dict[Key, Stuck] | None = None
        self._trouble = ""

    def __call__(self, found: "Sequence[Stuck]", trouble: str) -> None:
        """Print what has changed since the last call."""
        if trouble != self._trouble:
            _note(trouble)
            self._trouble = trouble
        now = {_key(one): one for one in found}
        before, self._known = self._known, now
        if before is not None and now.keys() == before.keys():
            return
        if self._as_json:
            _print_object(found)
            return
        for key, one in (before or {}).items():
            if key not in now:
                output.write(f"{_began(one)}: no longer")
        for key, one in now.items():
            if key not in (before or {}):
                output.write(f"{_began(one)}: for {duration(one.age_ns)} ({how_sure(one)}: {one.because})")
        if not now:
            output.write(f"{clock(time.time_ns())}  {_NOTHING}")


def _began(one: "Stuck") -> str:
    return f"{clock(time.time_ns())}  {one.session_id[:8]}  {one.verdict}, {clean(who(one)) or one.boundary}"


def _key(one: "Stuck") -> Key:
    return one.session_id, one.boundary, one.key, one.verdict


def _print_object(found: "Sequence[Stuck]") -> None:
    from tracekit.report.json import document

    output.write(json.dumps(json.loads(document(found, as_of_ns=time.time_ns())), ensure_ascii=False))


def _note(trouble: str) -> None:
    if trouble:
        output.note(f"not everything could be read, and the next look tries again: {trouble}")
