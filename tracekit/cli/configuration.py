"""What a project has written down for tracekit: `tracekit.toml`, or the table `[tool.tracekit]` of `pyproject.toml`."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from tracekit.errors import TracekitError

OWN_FILE: Final = "tracekit.toml"
PROJECT_FILE: Final = "pyproject.toml"

_PLACE: Final = re.compile(r"\s*\(at line (\d+), column \d+\)$")


@dataclass(frozen=True, slots=True)
class Configuration:
    """What was found, and where.

    Attributes:
        path: The file; None where no file says anything.
        values: Its table for tracekit.
        text: The file's text, to tell the line of a setting.
    """

    path: Path | None = None
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    text: str = field(default="", repr=False)

    def section(self, name: str) -> Mapping[str, Any]:
        """Give the table `[name]` (in pyproject.toml `[tool.tracekit.name]`), empty where there is none.

        Raises:
            TracekitError: `configuration-invalid` where the name has another value than a table.
        """
        found = self.values.get(name, {})
        if not isinstance(found, dict):
            raise self.complaint(f"{name!r} is to be a table, as [{self.heading(name)}]", name)
        return cast("dict[str, Any]", found)

    def heading(self, name: str) -> str:
        """Spell the heading of a table of ours as this file has to spell it."""
        return f"tool.tracekit.{name}" if self.path is not None and self.path.name == PROJECT_FILE else name

    def complaint(self, what: str, word: str = "") -> TracekitError:
        """Make the error that says what is wrong, with the file and the first line that has the word."""
        return _invalid(self.path or Path(OWN_FILE), self._line_of(word), what)

    def _line_of(self, word: str) -> int | None:
        lines = enumerate(self.text.splitlines(), start=1)
        pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
        return next((number for number, line in lines if word and pattern.search(line.partition("#")[0])), None)


def find_configuration(folder: Path | None = None) -> Configuration:
    """Read the configuration that holds in a folder: of that folder, else of the nearest one above it that has any.

    In one folder `tracekit.toml` goes before `pyproject.toml`; a `pyproject.toml` without `[tool.tracekit]` says nothing.

    Args:
        folder: Where to begin; the working directory if not given.

    Raises:
        TracekitError: `configuration-invalid`, with file and line, where a file is no TOML or cannot be read.
    """
    start = (folder or Path.cwd()).resolve()
    for place in (start, *start.parents):
        own, project = place / OWN_FILE, place / PROJECT_FILE
        if own.is_file():
            text = _text(own)
            return Configuration(own, _parsed(own, text), text)
        if project.is_file() and (found := _of_project(project)) is not None:
            return found
    return Configuration()


def _of_project(path: Path) -> Configuration | None:
    text = _text(path)
    if "tracekit" not in text:
        return None  # not ours to complain about, however broken it is
    table = _parsed(path, text).get("tool", {}).get("tracekit")
    if table is None:
        return None
    if not isinstance(table, dict):
        raise _invalid(path, None, "tool.tracekit is to be a table, as [tool.tracekit]")
    return Configuration(path, cast("dict[str, Any]", table), text)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise _invalid(path, None, f"it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise _invalid(path, line, "TOML is UTF-8, and this is not") from error


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = _PLACE.search(message)
        line = int(place[1]) if place else text.count("\n") + 1
        raise _invalid(path, line, f"no valid TOML: {_PLACE.sub('', message)}") from error


def _invalid(path: Path, line: int | None, what: str) -> TracekitError:
    place = str(path) if line is None else f"{path}, line {line}"
    return TracekitError(f"{place}: {what}", slug="configuration-invalid")
