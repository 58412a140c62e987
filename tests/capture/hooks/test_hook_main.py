"""The command hook: quick, silent, and successful whatever happens."""

import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.capture.hooks.payloads import BASH, SECRET, payload
from tracekit.capture import hook_main
from tracekit.ingest import import_paths
from tracekit.spool import SUFFIX
from tracekit.store import open_store

COMMAND = [sys.executable, "-c", "from tracekit.capture.hook_main import main; main()"]


def run(folder: Path, body: bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    settings = {**os.environ, "TRACEKIT_SPOOL": str(folder), **environment}
    return subprocess.run(COMMAND, input=body, env=settings, capture_output=True, check=False, timeout=60)


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(folder.glob(f"*{SUFFIX}")) for line in path.read_text().splitlines()]


def later(body: bytes, _: float) -> None:
    """Let another hook leave its records meanwhile."""
    hook_main.record(body, 8_000_000_000)


def test_hooks_leave_records_in_one_file_and_find_each_others_beginnings(tmp_path: Path) -> None:
    before = time.time_ns()
    for body in (
        payload("UserPromptSubmit", prompt=SECRET),
        payload("PreToolUse", tool_use_id="toolu_1", **BASH),
        payload("PermissionRequest", **BASH),
        payload("PostToolUse", tool_use_id="toolu_1", duration_ms=1, **BASH),
        payload("Stop"),
    ):
        done = run(tmp_path, body)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(list(tmp_path.iterdir())) == 1
    found = rows(tmp_path)
    assert [(row["boundary"], row["key"], row["end_ns"] is None) for row in found] == [
        ("turn", "p1", True),
        ("tool_schedule", "toolu_1", True),
        ("permission_wait", "toolu_1", True),
        ("tool_execution", "toolu_1", False),
        ("permission_wait", "toolu_1", False),
        ("tool_schedule", "toolu_1", False),
        ("turn", "p1", False),
    ]
    turn, ended = found[0], found[-1]
    assert (ended["start_ns"], ended["start_slack_ns"]) == (turn["start_ns"], turn["start_slack_ns"]) == (turn["start_ns"], 600_000_000)
    assert before - 600_000_000 <= turn["start_ns"]
    assert SECRET not in str(found)


def test_what_hooks_leave_is_loaded_as_it_stands(tmp_path: Path) -> None:
    for body in (
        payload("UserPromptSubmit"),
        payload("PreToolUse", tool_use_id="toolu_1", **BASH),
        payload("PermissionRequest", **BASH),
        payload("PostToolUseFailure", tool_use_id="toolu_1", duration_ms=1, error="Exit code 1", **BASH),
    ):
        run(tmp_path / "spool", body)
    done = import_paths([tmp_path / "spool"], str(tmp_path / "store"))
    assert (done.spans, dict(done.problems)) == (6, {})
    with open_store(str(tmp_path / "store")) as store:
        found = store.rows("SELECT boundary, key, end_ns IS NULL AS is_open, status, witnesses FROM boundaries ORDER BY boundary")
    assert [tuple(row.values()) for row in found] == [
        ("permission_wait", "toolu_1", False, "unset", "hooks"),
        ("tool_execution", "toolu_1", False, "error", "hooks"),
        ("tool_schedule", "toolu_1", False, "error", "hooks"),
        ("turn", "p1", True, "unset", "hooks"),
    ]


@pytest.mark.parametrize("body", [b"", b"nonsense", b"{}", payload("EventOfTheFuture"), b"\x00\xff"], ids=repr)
def test_what_is_not_understood_leaves_nothing(tmp_path: Path, body: bytes) -> None:
    done = run(tmp_path, body)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert rows(tmp_path) == []


def test_a_recorder_that_cannot_write_is_silent_unless_somebody_looks_for_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(tmp_path / "file", payload("Stop"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    asked = run(tmp_path / "file", payload("Stop"), TRACEKIT_DEBUG="1")
    assert (asked.returncode, asked.stdout) == (0, b"")
    assert b"FileExistsError" in asked.stderr


def test_a_package_that_is_half_gone_is_silent_too(tmp_path: Path) -> None:
    broken = tmp_path / "tracekit" / "capture"
    broken.mkdir(parents=True)
    (tmp_path / "tracekit" / "__init__.py").write_text("")
    (broken / "__init__.py").write_text("")
    (broken / "hook_main.py").write_text(Path(hook_main.__file__).read_text())
    done = run(tmp_path / "spool", payload("Stop"), PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_contents_are_kept_only_when_asked_for(tmp_path: Path) -> None:
    run(tmp_path / "without", payload("UserPromptSubmit", prompt=SECRET), TRACEKIT_CONTENT="0")
    run(tmp_path / "with", payload("UserPromptSubmit", prompt=SECRET), TRACEKIT_CONTENT="1")
    assert SECRET not in str(rows(tmp_path / "without"))
    assert SECRET in str(rows(tmp_path / "with"))


@pytest.mark.parametrize(
    ("overtaken_by", "told"),
    [
        (payload("PreToolUse", tool_use_id="toolu_1", **BASH), ("permission_wait", "toolu_1")),
        (payload("Stop"), ("permission_wait", "permission@9000000000")),
    ],
)
def test_a_question_waits_a_moment_for_the_hook_of_its_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overtaken_by: bytes, told: tuple[str, str]
) -> None:
    """The hooks of a call and of its question run side by side."""
    monkeypatch.setenv("TRACEKIT_SPOOL", str(tmp_path))
    monkeypatch.setattr(time, "sleep", partial(later, overtaken_by))
    hook_main.record(payload("PermissionRequest", **BASH), 9_000_000_000)
    assert told in {(row["boundary"], row["key"]) for row in rows(tmp_path)}


def test_a_batch_waits_a_moment_for_the_hooks_of_its_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEKIT_SPOOL", str(tmp_path))
    late = payload("PostToolUse", tool_use_id="toolu_1", duration_ms=1, **BASH)
    hook_main.record(payload("PreToolUse", tool_use_id="toolu_1", **BASH), 7_000_000_000)
    hook_main.record(payload("PreToolUse", tool_use_id="toolu_2", **BASH), 7_500_000_000)
    monkeypatch.setattr(time, "sleep", partial(later, late))
    calls = [{"tool_use_id": name, "tool_response": "x", **BASH} for name in ("toolu_1", "toolu_2")]
    hook_main.record(payload("PostToolBatch", tool_calls=calls), 9_000_000_000)
    ended = {(row["key"], row["end_ns"], row["status"]) for row in rows(tmp_path) if row["end_ns"] and row["boundary"] == "tool_schedule"}
    assert ended == {("toolu_1", 8_000_000_000, "ok"), ("toolu_2", 9_000_000_000, "unset")}


def test_a_hook_loads_the_standard_library_and_little_of_that() -> None:
    script = "import sys; from tracekit.capture import hook_main; hook_main.record(b'{}', 1); from tracekit.capture.hooks import observing"
    script += "; print(*sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    script += "; print(*sorted({'dataclasses', 'inspect', 'asyncio', 'logging', 'argparse', 'ssl', 'socket'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {script}"], capture_output=True, text=True, check=True
    )
    foreign, heavy = done.stdout.splitlines()
    assert set(foreign.split()) - {"tracekit", "_distutils_hack", "__main__", "sitecustomize"} == set()
    assert heavy == ""
