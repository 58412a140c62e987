"""Precision and recall on real sessions: what is told as a failure stands in the transcript as one, and what stands there is told.

What a transcript shows is read straight from its lines, by a reader that knows no span, no rule and no store.
"""

import json
import lzma
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tracekit.analysis.disagreements import disagreements
from tracekit.analysis.failed import Failure, failures
from tracekit.ingest import import_paths
from tracekit.store import open_store

TRANSCRIPTS = Path(__file__).parent / "data" / "transcripts"
CALLS = {"tool_schedule", "tool_execution", "mcp_call"}


class Shown:
    """What the lines of transcripts show as failed."""

    def __init__(self, paths: list[Path]) -> None:
        self.results: set[str] = set()
        """Ids of calls whose result is an error."""
        self.errors: set[str] = set()
        """Sessions in which a request failed."""
        self.interrupts: set[str] = set()
        """Sessions that a person interrupted."""
        self.hooks: set[str] = set()
        """Sessions in which a hook failed."""
        for path in paths:
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                self.read(line)

    def read(self, line: str) -> None:
        try:
            entry: dict[str, Any] = json.loads(line)
        except ValueError:
            return
        session = str(entry.get("sessionId"))
        for part in parts(entry):
            if part.get("type") == "tool_result" and part.get("is_error") is True:
                self.results.add(part["tool_use_id"])
            if str(part.get("text", "")).startswith("[Request interrupted by user"):
                self.interrupts.add(session)
        if entry.get("subtype") == "api_error" or entry.get("isApiErrorMessage") is True:
            self.errors.add(session)
        if "hook" in line and ("non-blocking" in line or "hookErrors" in line or '"exitCode"' in line):
            self.hooks.add(session)


def parts(value: Any) -> Iterator[dict[str, Any]]:
    """Every object inside an entry: a sub-agent's messages stand in its parent's progress lines."""
    if isinstance(value, dict):
        yield cast("dict[str, Any]", value)
        for item in cast("dict[str, Any]", value).values():
            yield from parts(item)
    elif isinstance(value, list):
        for item in cast("Any", value):
            yield from parts(item)


def check(paths: list[Path], folder: Path) -> list[Failure]:
    """Hold what is told against what is shown, both ways."""
    database = str(folder / "store.duckdb")
    import_paths(paths, database)
    with open_store(database) as store:
        found = failures(store)
        contradictions = disagreements(store)
    shown = Shown(paths)
    told = {failure.key for failure in found if failure.boundary in CALLS}
    assert told == shown.results
    assert [one for one in found if one.family == "unknown"] == []
    assert {one.session_id for one in found if one.boundary in {"model_request", "request_attempt"}} == shown.errors
    assert {one.session_id for one in found if one.boundary == "turn"} <= shown.interrupts
    assert {one.session_id for one in found if one.boundary == "hook_reply"} <= shown.hooks
    assert {one.boundary for one in found} <= CALLS | {"model_request", "request_attempt", "turn", "hook_reply"}
    assert contradictions == []
    return list(found)


def test_the_sessions_here_show_what_is_told_of_them(tmp_path: Path) -> None:
    paths: list[Path] = []
    for packed in sorted(TRANSCRIPTS.rglob("*.jsonl.xz")):
        path = tmp_path / packed.relative_to(TRANSCRIPTS).with_suffix("")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.decompress(packed.read_bytes()))
        paths.append(path)
    found = check(paths, tmp_path)
    assert len(found) > 20


def test_the_corpus_shows_what_is_told_of_it(corpus: Path, tmp_path: Path) -> None:
    archive = corpus / "data" / "transcripts.tar.xz"
    if not archive.exists():
        pytest.skip(f"no {archive}")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "sessions", filter="data")
    found = check(sorted((tmp_path / "sessions").rglob("*.jsonl")), tmp_path)
    assert len(found) > 300
