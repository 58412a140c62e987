"""`tracekit prune`: only what is in the store, and is written to no more, goes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracekit.cli.main import run
from tracekit.model import Boundary
from tracekit.spool import SUFFIX, SharedSpool, span_row
from tracekit.store import open_store
from tracekit.testing import span

LONG_AGO = 1_000_000_000


@pytest.fixture
def spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEKIT_SPOOL", str(tmp_path / "spool"))
    monkeypatch.setenv("TRACEKIT_STORE", str(tmp_path / "store.duckdb"))
    return tmp_path / "spool"


def ended() -> int:
    """The id of a process that is no more."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def written(spool: Path, name: str, key: str, *, torn: str = "") -> Path:
    spool.mkdir(exist_ok=True)
    path = spool / f"{name}{SUFFIX}"
    path.write_text(json.dumps(span_row(span(Boundary.TOOL_EXECUTION, key, 5, 9))) + "\n" + torn)
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def test_what_is_in_the_store_goes_and_the_sessions_stay(spool: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = written(spool, f"hooks-{ended()}-1-1", "toolu_1")
    torn = written(spool, f"otlp-{ended()}-1-1", "toolu_2", torn='{"half')
    run(["import"])
    capsys.readouterr()
    assert run(["prune"]) == 0
    assert capsys.readouterr().out.startswith("2 of 2 files deleted, ")
    assert not old.exists()
    assert not torn.exists()
    with open_store(os.environ["TRACEKIT_STORE"]) as store:
        assert {row["key"] for row in store.rows("SELECT key FROM spans")} == {"toolu_1", "toolu_2"}


def test_what_is_not_in_the_store_or_may_grow_stays(spool: Path) -> None:
    growing = written(spool, f"gateway-{os.getpid()}-1-1", "toolu_1")
    changed = written(spool, f"hooks-{ended()}-1-1", "toolu_2")
    fresh = written(spool, f"hooks-{ended()}-2-1", "toolu_3")
    SharedSpool(spool, "hooks").write([span(Boundary.TOOL_EXECUTION, "toolu_4", 5, 9)])
    os.utime(fresh)
    run(["import"])
    with changed.open("a") as file:
        file.write("more")
    unread = written(spool, f"hooks-{ended()}-3-1", "toolu_5")
    assert run(["prune"]) == 0
    assert set(spool.iterdir()) >= {growing, changed, fresh, unread}
    assert len(set(spool.iterdir())) == 5


def test_a_dry_run_lists_and_leaves(spool: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = written(spool, f"hooks-{ended()}-1-1", "toolu_1")
    run(["import"])
    capsys.readouterr()
    assert run(["prune", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["path"] for row in told["rows"]] == [str(old)]
    assert told["deleted"] is False
    assert old.exists()


def test_a_file_that_cannot_be_deleted_is_told(spool: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    old = written(spool, f"hooks-{ended()}-1-1", "toolu_1")
    run(["import"])

    def refused(_: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "unlink", refused)
    assert run(["prune"]) == 1
    assert "1 of 1 files could not be deleted" in capsys.readouterr().err
    assert old.exists()
