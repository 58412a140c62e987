"""What `import` takes where nothing is named."""

from pathlib import Path

import pytest

from tracekit.cli.main import run
from tracekit.model import Boundary
from tracekit.spool import Spool
from tracekit.store import open_store
from tracekit.testing import span


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of which nothing was recorded yet."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("TRACEKIT_SPOOL", str(tmp_path / "spool"))
    monkeypatch.setenv("TRACEKIT_STORE", str(tmp_path / "store.duckdb"))
    return tmp_path


def test_what_recorders_wrote_is_taken_without_being_named(home: Path) -> None:
    with Spool(home / "spool", "hooks") as spool:
        spool.write(span(Boundary.TOOL_EXECUTION, "toolu_1", 5, 9))
    assert run(["import"]) == 0
    with open_store(str(home / "store.duckdb")) as store:
        assert [row["key"] for row in store.rows("SELECT key FROM spans")] == ["toolu_1"]


def test_nothing_anywhere_is_said_with_the_place_that_was_looked_at(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import"]) == 2
    assert f"there are no sessions at {home / 'claude' / 'projects'}" in capsys.readouterr().err
