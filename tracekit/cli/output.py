"""What a command prints: the answer on stdout, everything else on stderr, in the width, colour and letters that each takes."""

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, NoReturn, TextIO, TypeVar

from tracekit.model import Finding
from tracekit.report import REPORTS, Sheet

Row = TypeVar("Row", bound=Finding)

_WIDTH: Final = 80
_NARROWEST: Final = 40
_BROKEN_PIPE: Final = 141
"""What a shell reports of a program whose reader has gone: 128 and the signal's number."""


@dataclass(frozen=True, slots=True)
class Screen:
    """What a picture or a page is printed on."""

    width: int
    colour: bool


def screen() -> Screen:
    """Describe the terminal behind stdout."""
    return Screen(width=width(), colour=has_colour(sys.stdout))


def emit(
    findings: Sequence[Finding],
    *,
    as_json: bool,
    as_of_ns: int | None = None,
    empty: str = "Nothing found.",
    **extra: Any,
) -> None:
    """Print findings of one type: a table, or with `--json` one object.

    Args:
        findings: The rows.
        as_json: The value of `--json`.
        as_of_ns: The moment that the answer is about; now if not given.
        empty: The sentence that stands for no findings in a terminal.
        extra: Further keys of the JSON object.
    """
    as_of_ns = time.time_ns() if as_of_ns is None else as_of_ns
    if as_json:
        emit_json(findings, as_of_ns=as_of_ns, **extra)
    else:
        place = screen()
        write(REPORTS["table"](findings, Sheet(as_of_ns=as_of_ns, width=place.width, colour=place.colour, empty=empty)))


def emit_json(rows: Sequence[Finding | Mapping[str, Any]], *, as_of_ns: int | None = None, **extra: Any) -> None:
    """Print the one object that `--json` promises."""
    from tracekit.report.json import document

    write(document(rows, as_of_ns=time.time_ns() if as_of_ns is None else as_of_ns, **extra))


def one_of(option: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a value that is none of the choices, as the parser itself would."""
    if value not in choices:
        import typer

        raise typer.BadParameter(f"{value!r} is not one of {', '.join(choices)}", param_hint=option)


def grouped(rows: Sequence[Row], *, key: Callable[[Row], object]) -> list[list[Row]]:
    """Neighbouring rows with the same key, together."""
    return [list(group) for _, group in groupby(rows, key=key)]


def write(text: str) -> None:
    """Print to stdout."""
    try:
        print(_spelt(text, sys.stdout), flush=True)  # noqa: T201
    except BrokenPipeError:
        end_quietly()


def note(text: str) -> None:
    """Print to stderr, which does not spoil the answer."""
    print(_spelt(text, sys.stderr), file=sys.stderr, flush=True)  # noqa: T201


def complain(text: str) -> None:
    """Print an error to stderr."""
    head = "\x1b[1;31merror:\x1b[0m" if has_colour(sys.stderr) else "error:"
    note(f"{head} {text}")


def width() -> int:
    """Give the columns of the terminal: `COLUMNS`, else those of whichever standard stream is one, else 80."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return max(_NARROWEST, int(columns))
    for stream in (sys.__stdout__, sys.__stderr__, sys.__stdin__):
        try:
            return max(_NARROWEST, os.get_terminal_size(stream.fileno()).columns) if stream else _WIDTH
        except (OSError, ValueError):
            continue
    return _WIDTH


def has_colour(stream: TextIO) -> bool:
    """Tell whether a stream takes ANSI colours: `NO_COLOR` and `FORCE_COLOR` say so, else a terminal that is not dumb does."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _spelt(text: str, stream: TextIO) -> str:
    """Keep to the characters that a stream can carry."""
    text = text.encode("utf-8", "replace").decode("utf-8")  # a path may hold bytes that are no text
    try:
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        from tracekit.report.paint import to_ascii

        return to_ascii(text)
    return text


def end_quietly() -> NoReturn:
    """End because the reader of stdout has gone, without a second complaint when the interpreter flushes."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(_BROKEN_PIPE)
