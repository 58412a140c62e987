"""Options that several commands share, each declared once, and what their values mean."""

import re
from datetime import date, datetime, time, timedelta
from typing import Annotated, Final

import typer

from tracekit.analysis import session_names
from tracekit.errors import TracekitError

Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        envvar="TRACEKIT_STORE",
        help="The store: a file, or `duckdb:///file`. Without it, a file in your state folder.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object for programs.")]
Since = Annotated[
    str | None,
    typer.Option("--since", metavar="WHEN", help="From then on: `2026-11-30`, `2026-11-30T17:29`, `2h` or `3d` ago, `today`."),
]
Until = Annotated[
    str | None,
    typer.Option("--until", metavar="WHEN", help="Up to then, in the same forms; a day is meant with its end."),
]
Session = Annotated[
    str | None,
    typer.Argument(metavar="SESSION", help="Its id, the beginning of it, or `latest`, which is the default.", show_default=False),
]
OneSession = Annotated[
    str | None,
    typer.Argument(metavar="[SESSION]", help="Only this session: its id, the beginning of it, or `latest`.", show_default=False),
]
SessionOption = Annotated[
    str | None,
    typer.Option("--session", metavar="ID", help="Only this session: its id, the beginning of it, or `latest`."),
]
Project = Annotated[
    str | None,
    typer.Option("--project", metavar="TEXT", help="Only sessions whose working directory contains this."),
]

_SECOND: Final = 1_000_000_000
_AGO: Final = re.compile(r"(\d+(?:\.\d+)?) ?([smhdw])(?: ago)?")
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}

# When


def since_ns(text: str | None, *, now_ns: int) -> int | None:
    """Give the Unix time that `--since` means; None for None.

    Raises:
        TracekitError: `bad-time` where the text is no time.
    """
    return None if text is None else _moment_ns(text, now_ns, days=0)


def until_ns(text: str | None, *, now_ns: int) -> int | None:
    """Give the Unix time that `--until` means: for a day, the midnight that ends it.

    Raises:
        TracekitError: `bad-time` where the text is no time.
    """
    return None if text is None else _moment_ns(text, now_ns, days=1)


def window(since: str | None, until: str | None, *, now_ns: int) -> tuple[int | None, int | None]:
    """Give both bounds, None where there is none.

    Raises:
        TracekitError: `bad-time` where a text is no time, or where nothing lies between the two.
    """
    start_ns, end_ns = since_ns(since, now_ns=now_ns), until_ns(until, now_ns=now_ns)
    if start_ns is not None and end_ns is not None and start_ns >= end_ns:
        raise TracekitError(f"--since {since} is not before --until {until}; exchange them or leave one out", slug="bad-time")
    return start_ns, end_ns


def _moment_ns(text: str, now_ns: int, days: int) -> int:
    text = text.strip()
    if text.lower() == "now":
        return now_ns
    if match := _AGO.fullmatch(text.lower()):
        return now_ns - round(float(match[1]) * _UNITS[match[2]] * _SECOND)
    if (day := _day(text, now_ns)) is not None:
        return _unix_ns(datetime.combine(day + timedelta(days=days), time()).astimezone())
    try:
        return _unix_ns(datetime.fromisoformat(text).astimezone())
    except (ValueError, OverflowError):
        message = f"{text!r} is no time; write a date (2026-11-30), a date and time (2026-11-30T17:29), how long ago (2h, 3d) or today"
        raise TracekitError(message, slug="bad-time") from None


def _day(text: str, now_ns: int) -> date | None:
    today = datetime.fromtimestamp(now_ns // _SECOND).astimezone().date()
    if text.lower() in ("today", "yesterday"):
        return today - timedelta(days=text.lower() == "yesterday")
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _unix_ns(moment: datetime) -> int:
    return int(moment.replace(microsecond=0).timestamp()) * _SECOND + moment.microsecond * 1_000


# Which session

find_session: Final = session_names.find_session
