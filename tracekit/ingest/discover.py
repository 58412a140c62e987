"""Which files a person means by a path, a folder or a glob."""

import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tracekit.errors import TracekitError
from tracekit.sources.transcript import is_companion

SUFFIXES: Final = frozenset({".jsonl", ".json", ".pb", ".ndjson"})
"""Names that are looked at in a folder. A file that is named outright is looked at whatever its name."""


def default_roots(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Where Claude Code keeps its sessions: `$CLAUDE_CONFIG_DIR/projects`, else `~/.claude/projects`."""
    home = Path(environment.get("CLAUDE_CONFIG_DIR") or Path(environment.get("HOME") or Path.home()) / ".claude")
    return [home / "projects"]


def find_files(paths: Iterable[str | Path]) -> list[Path]:
    """The files under paths, folders and globs, each once, in order of name.

    Raises:
        TracekitError: `path-missing` where a path or glob names nothing; `path-unreadable` where a folder cannot be listed.
    """
    found: dict[Path, None] = {}
    for path in paths:
        for match in _expand(str(path)):
            found |= dict.fromkeys(_walk(match) if match.is_dir() else [match.resolve()])
    return sorted(found)


def _expand(text: str) -> list[Path]:
    path = Path(text).expanduser()
    if path.exists():
        return [path]
    matches = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207  (Path.glob takes no absolute patterns)
    if not matches:
        raise TracekitError(f"there is no file or folder {text}; check the path", slug="path-missing")
    return [Path(match) for match in matches]


def _walk(folder: Path) -> Iterator[Path]:
    def failed(error: OSError) -> None:
        message = f"cannot list the folder {error.filename}: {error.strerror}; check its permissions"
        raise TracekitError(message, slug="path-unreadable") from error

    for parent, folders, names in os.walk(folder, onerror=failed, followlinks=False):
        folders.sort()
        for name in names:
            path = Path(parent) / name
            if path.suffix in SUFFIXES and not name.startswith(".") and not is_companion(path):
                yield path.resolve()
