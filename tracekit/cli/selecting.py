"""Sets of sessions, as the command line names them: by what they have in common, by their ids, or by where they lie."""

import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from tracekit.analysis.measures import Measured, measures
from tracekit.analysis.scope import Scope
from tracekit.analysis.sessions import sessions
from tracekit.analysis.stuck import Limits
from tracekit.analysis.tokens import tokens
from tracekit.cli.options import find_session
from tracekit.errors import TracekitError
from tracekit.store import SpanStore, open_store

_MAGIC: Final = b"DUCK"
_MAGIC_AT: Final = 8
"""Where a DuckDB file says what it is."""


class Sets:
    """Measures the sessions that selectors mean.

    Args:
        store: Where ids and what sessions have in common are looked for.
        as_of_ns: The moment to which waits are counted.
        limits: From when on a wait is called stuck.
        names: The measures that are wanted; None for all.
    """

    def __init__(self, store: str | None, *, as_of_ns: int, limits: Limits, names: Collection[str] | None = None) -> None:
        self._store = store
        self._names = names
        self._as_of_ns = as_of_ns
        self._limits = limits
        self._whole: dict[str, Measured] | None = None

    def select(self, selector: str) -> dict[str, Measured]:
        """Give the measures of each session that a selector means, by session id.

        Args:
            selector: `version=2.1.*`, `model=claude-…`, `project=TEXT`; the path of a store, or of transcripts; ids with commas.

        Raises:
            TracekitError: `nothing-to-check` where no session is meant; `session-unknown`, `session-ambiguous`; what importing raises.
        """
        kind, equals, pattern = selector.partition("=")
        if equals and kind in _KINDS:
            with open_store(self._store) as opened:
                found = self._chosen(opened, _KINDS[kind](opened, pattern))
        elif (path := Path(selector).expanduser()).exists():
            found = self._of_path(path)
        else:
            with open_store(self._store) as opened:
                found = self._chosen(opened, {find_session(opened, text) for text in selector.split(",") if text.strip()})
        if not found:
            raise TracekitError(f"no session is meant by {selector!r}; `tracekit sessions` lists them", slug="nothing-to-check")
        return found

    def _chosen(self, store: SpanStore, wanted: AbstractSet[str]) -> dict[str, Measured]:
        if self._whole is None:
            self._whole = self._measured(store)
        return {session_id: measured for session_id, measured in self._whole.items() if session_id in wanted}

    def _measured(self, store: SpanStore) -> dict[str, Measured]:
        return measures(store, as_of_ns=self._as_of_ns, limits=self._limits, names=self._names)

    def _of_path(self, path: Path) -> dict[str, Measured]:
        """The sessions of a store, or of transcripts, which are read into one that is thrown away."""
        from tracekit.ingest import import_paths

        if _is_store(path):
            with open_store(str(path)) as opened:
                return self._measured(opened)
        with tempfile.TemporaryDirectory(prefix="tracekit-compare-") as folder:
            url = str(Path(folder) / "set.duckdb")
            import_paths([path], url)
            with open_store(url) as opened:
                return self._measured(opened)


def _is_store(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(_MAGIC_AT + len(_MAGIC))[_MAGIC_AT:] == _MAGIC


def _of_version(store: SpanStore, pattern: str) -> set[str]:
    return {one.session_id for one in sessions(store) if one.client_version is not None and fnmatchcase(one.client_version, pattern)}


def _of_model(store: SpanStore, pattern: str) -> set[str]:
    """Sessions by the model that answered them most: one that used two belongs to one set only."""
    counted: dict[str, Counter[str]] = {}
    for row in tokens(store):
        counted.setdefault(str(row.session_id), Counter())[row.model or ""] += row.messages
    return {session_id for session_id, models in counted.items() if fnmatchcase(models.most_common(1)[0][0], pattern)}


def _of_project(store: SpanStore, text: str) -> set[str]:
    return {one.session_id for one in sessions(store, Scope(project=text))}


_KINDS: Final[Mapping[str, Callable[[SpanStore, str], set[str]]]] = {
    "version": _of_version,
    "model": _of_model,
    "project": _of_project,
}


def apart(base: Mapping[str, Measured], head: Mapping[str, Measured]) -> tuple[Sequence[Measured], Sequence[Measured]]:
    """The measures of two sets that share no session.

    Raises:
        TracekitError: `sets-overlap`.
    """
    both = sorted(base.keys() & head.keys())
    if both:
        message = f"{len(both)} sessions are in both sets, {both[0]} is the first; a session compared with itself says nothing"
        raise TracekitError(message, slug="sets-overlap")
    return list(base.values()), list(head.values())
