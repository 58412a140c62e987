"""Waits for eyes: what is waited for, why that is said, who said it, and what to do."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from tracekit.report.paint import clean, styled
from tracekit.report.units import clock, duration, moment

if TYPE_CHECKING:
    from tracekit.analysis.stuck import Stuck

_COLOURS: Final = {"stuck": "1;31", "waiting": "36", "idle": "2"}
_INDENT: Final = 10


def who(one: "Stuck") -> str:
    """Which tool, server, hook or model, and of which sub-agent."""
    return f"{one.name} of {one.agent_id}" if one.agent_id else one.name


def how_sure(one: "Stuck") -> str:
    """`certain`, `likely`, or the names that an unknown wait can have."""
    names = one.could_be.split(", ")
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else str(one.certainty)


def blocks(found: Sequence["Stuck"], *, width: int, colour: bool) -> str:
    """Write each wait as a line that says it, and lines below that say why, how sure, and what to do."""
    return "\n\n".join("\n".join(_block(one, width=width, colour=colour)) for one in found)


def _block(one: "Stuck", *, width: int, colour: bool) -> Iterator[str]:
    state = styled(f"{one.state:<{_INDENT - 2}}", _COLOURS.get(one.state, ""), colour=colour)
    yield f"{state}  {styled(one.verdict, '1', colour=colour)}, {clean(who(one)) or one.boundary}, for {duration(one.age_ns)}"
    yield from _lines("session", f"{one.session_id}, since {moment(one.since_ns)}{_until(one)}{_ended(one)}", width)
    yield from _lines("because", f"{how_sure(one)}: {clean(one.because)}{_quiet(one)}", width)
    yield from _lines("seen by", one.decided_by.replace(",", ", "), width)
    yield from _lines("would be certain with", one.would_tell, width)
    yield from _lines("do", clean(one.todo), width)


def _lines(title: str, text: str, width: int) -> Iterator[str]:
    if text:
        head = f"{'':<{_INDENT}}{title}: "
        yield from wrap(text, width=max(40, width), initial_indent=head, subsequent_indent=" " * (_INDENT + 2), break_on_hyphens=False)


def _until(one: "Stuck") -> str:
    return "" if one.until_ns is None else f", until {clock(one.until_ns)}"


def _ended(one: "Stuck") -> str:
    return "" if one.ended_ns is None else f"; the session was over at {moment(one.ended_ns)}"


def _quiet(one: "Stuck") -> str:
    return "" if one.quiet_ns is None else f"; quiet for {duration(one.quiet_ns)}"
