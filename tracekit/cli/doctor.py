"""`tracekit doctor`: whether the installation, the store and the sessions are in order, and what to do where they are not."""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated, Final

import typer

from tracekit import __version__
from tracekit.cli import output
from tracekit.cli.options import AsJson, Store
from tracekit.errors import TracekitError
from tracekit.ingest import default_roots
from tracekit.model import Column, Finding
from tracekit.report.paint import clean
from tracekit.report.units import count, moment, size
from tracekit.store import SpanStore, default_store, open_store, store_path

_DISTRIBUTION: Final = "agent-tracekit"
_REQUIREMENT: Final = re.compile(r"([A-Za-z0-9_-]+)\s*>=\s*([0-9.]+)$")
_PYTHON: Final = (3, 11)
_PACKAGES: Final = ("duckdb", "polars", "plotly", "rich", "typer")
"""What is looked at where the requirements are not known, because tracekit runs from a checkout."""
_LITTLE_ROOM: Final = 1_000_000_000
"""Bytes free on the store's disk below which an import may not end well."""


class Verdict(StrEnum):
    """How a check went."""

    OK = "OK"
    WARN = "WARN"
    FAIL = "FAIL"


_COLOURS: Final = {Verdict.OK: "32", Verdict.WARN: "33", Verdict.FAIL: "1;31"}


@dataclass(frozen=True, slots=True)
class Check(Finding):
    """One thing that was looked at."""

    verdict: Annotated[Verdict, Column("Verdict")]
    check: Annotated[str, Column("Check")]
    found: Annotated[str, Column("Found")]
    fix: Annotated[str | None, Column("What to do")] = None


def command(*, as_json: AsJson = False, store: Store = None) -> None:
    """Check the installation, the store and where sessions are looked for. Ends with 1 if something does not work."""
    checks = [*installation(), *terminal(), *transcripts(default_roots()), *the_store(store or default_store())]
    if as_json:
        output.emit(checks, as_json=True)
    else:
        output.write(lines(checks, colour=output.screen().colour))
    if any(check.verdict is Verdict.FAIL for check in checks):
        raise typer.Exit(1)


def lines(checks: Sequence[Check], *, colour: bool) -> str:
    """Print checks, the way out of each below it."""
    widest = max(len(check.check) for check in checks)
    printed: list[str] = []
    for check in checks:
        word = f"{check.verdict:<4}"
        verdict = f"\x1b[{_COLOURS[check.verdict]}m{word}\x1b[0m" if colour else word
        printed.append(f"{verdict}  {check.check:<{widest}}  {clean(check.found)}")
        if check.fix:
            printed.append(f"{'':<{widest + 8}}fix: {check.fix}")
    return "\n".join(printed)


# The installation


def installation() -> Iterator[Check]:
    """Check Python and the packages that tracekit needs."""
    running = sys.version.split()[0]
    if sys.version_info >= _PYTHON:
        yield Check(Verdict.OK, "Python", running)
    else:
        yield Check(Verdict.FAIL, "Python", running, "install Python 3.11 or newer")
    try:
        needed = requires(_DISTRIBUTION) or []
    except PackageNotFoundError:
        yield Check(Verdict.WARN, "tracekit", f"{__version__}, not installed", "pip install -e . in the checkout")
        needed = [f"{name}>=0" for name in _PACKAGES]
    else:
        yield Check(Verdict.OK, "tracekit", __version__)
    for requirement in needed:
        if match := _REQUIREMENT.match(requirement):
            yield package(match[1], match[2])
    with suppress(PackageNotFoundError):
        yield Check(Verdict.WARN, "pandas", f"{version('pandas')}: DuckDB loads it, 2 s a command", "install tracekit where pandas is not")


def package(name: str, least: str) -> Check:
    """Check that a package is there and new enough."""
    try:
        found = version(name)
    except PackageNotFoundError:
        return Check(Verdict.FAIL, name, "not installed", f"pip install '{name}>={least}'")
    if _release(found) < _release(least):
        return Check(Verdict.FAIL, name, f"{found}, older than {least}", f"pip install '{name}>={least}'")
    return Check(Verdict.OK, name, found)


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.partition("+")[0])[:3])


def terminal() -> Iterator[Check]:
    """Check whether the terminal can show pictures as they are meant."""
    encoding = sys.stdout.encoding or "unknown"
    if encoding.lower().replace("-", "") == "utf8":
        yield Check(Verdict.OK, "terminal", f"{encoding}, {output.width()} columns")
    else:
        yield Check(Verdict.WARN, "terminal", f"{encoding}: pictures are drawn in ASCII", "export LC_ALL=C.UTF-8, or PYTHONUTF8=1")


# The sessions and the store


def transcripts(roots: Sequence[Path]) -> Iterator[Check]:
    """Check where Claude Code keeps its sessions."""
    for root in roots:
        try:
            number = sum(1 for _ in root.rglob("*.jsonl")) if root.is_dir() else None
        except OSError as error:
            yield Check(Verdict.WARN, "transcripts", f"{root}: {error.strerror}", "run as the user who owns them")
            continue
        if number:
            yield Check(Verdict.OK, "transcripts", f"{count(number)} files in {root}")
        else:
            found = f"no folder {root}" if number is None else f"none in {root}"
            yield Check(Verdict.WARN, "transcripts", found, "tracekit import PATH, or set CLAUDE_CONFIG_DIR")


def the_store(url: str) -> Iterator[Check]:
    """Check that the store is there, can be written and read, and say what it holds."""
    try:
        path = store_path(url)
    except TracekitError as error:
        yield Check(Verdict.FAIL, "store", str(error), f"tracekit explain {error.slug}")
        return
    yield from _room(path)
    if not path.exists():
        yield Check(Verdict.WARN, "store", f"none yet at {path}", "tracekit import")
        return
    try:
        with open_store(url) as opened:
            yield Check(Verdict.OK, "store", f"{path}, {size(path.stat().st_size)}")
            yield from contents(opened)
    except TracekitError as error:
        yield Check(Verdict.FAIL, "store", str(error), f"tracekit explain {error.slug}")


def _room(path: Path) -> Iterator[Check]:
    folder = next(parent for parent in (path.parent, *path.parents) if parent.exists())
    target = path if path.exists() else folder
    if not os.access(folder, os.W_OK) or not os.access(target, os.W_OK):
        yield Check(Verdict.FAIL, "store folder", f"{target} cannot be written", "change its owner, or give another file with --store")
        return
    free = shutil.disk_usage(folder).free
    verdict, fix = (Verdict.OK, None) if free >= _LITTLE_ROOM else (Verdict.WARN, "free some space, or give a file elsewhere with --store")
    yield Check(verdict, "store folder", f"{folder}, {size(free)} free", fix)


def contents(store: SpanStore) -> Iterator[Check]:
    """Say what a store holds, and what could not be read."""
    schema = store.rows("SELECT value FROM meta WHERE name = 'schema_version'")
    yield Check(Verdict.OK, "schema", f"version {schema[0]['value']}")
    (held,) = store.rows("SELECT COUNT(DISTINCT session_id) AS sessions, COUNT(*) AS spans FROM spans")
    (read,) = store.rows("SELECT COUNT(*) AS files, MAX(imported_ns) AS last_ns FROM files")
    if held["sessions"]:
        spans, sessions, read_files = count(held["spans"]), count(held["sessions"]), count(read["files"])
        yield Check(Verdict.OK, "sessions", f"{sessions} with {spans} spans from {read_files} files")
        yield Check(Verdict.OK, "last import", moment(read["last_ns"]))
    else:
        yield Check(Verdict.WARN, "sessions", "none", "tracekit import")
    problems = store.rows("SELECT reason, COUNT(*) AS n FROM problems GROUP BY reason ORDER BY n DESC, reason")
    for problem in problems:
        yield Check(Verdict.WARN, "problems", f"{count(problem['n'])} × {problem['reason']}", _look_at(str(problem["reason"])))
    if not problems:
        yield Check(Verdict.OK, "problems", "every line could be read")


def _look_at(reason: str) -> str:
    quoted = reason.replace("'", "''")
    query = f"SELECT path, line, detail FROM problems JOIN files USING (file_id) WHERE reason = '{quoted}'"  # noqa: S608 - advice, not run
    return f'tracekit sql "{query}"'
