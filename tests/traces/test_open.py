"""What can be opened, what becomes of it, and what is said of what cannot."""

import gc
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import tracekit
from tracekit import TracekitError
from tracekit.ingest import import_paths
from tracekit.spool import Spool
from tracekit.store import open_store
from tracekit.testing import request, turn

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / "tracekit" / "cli" / "recording"
PYTHONPATH = os.pathsep.join([str(ROOT), str(ROOT / "exporters")])


@pytest.fixture
def store(tmp_path: Path) -> str:
    url = str(tmp_path / "sessions.duckdb")
    import_paths([RECORDING], url)
    return url


def slug_of(*places: str | Path) -> str:
    with pytest.raises(TracekitError) as refused:
        tracekit.open(*places)
    return refused.value.slug


def test_a_store_is_opened_by_path_url_and_default(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEKIT_STORE", store)
    for places in ((store,), (Path(store),), (f"duckdb://{store}",), ()):
        with tracekit.open(*places) as traces:
            assert traces.sessions().height == 1
            assert traces.imported is None
    assert Path(store).exists()


def test_a_store_is_told_by_its_content(store: str, tmp_path: Path) -> None:
    moved = tmp_path / "kept"
    Path(store).rename(moved)
    with tracekit.open(moved) as traces:
        assert traces.sessions().height == 1


def test_no_lock_is_held_between_questions(store: str) -> None:
    with tracekit.open(store) as traces:
        traces.sessions()
        with open_store(store, write=True, wait=0):
            pass
        assert traces.sessions().height == 1


def test_files_are_imported_into_a_store_that_goes_when_it_is_closed() -> None:
    with tracekit.open(RECORDING / "transcript", RECORDING / "stream.jsonl") as traces:
        assert traces.imported is not None
        assert traces.imported.files_read == 2
        assert set(traces.sessions()["witnesses"][0].split(",")) == {"stream_json", "transcript"}
        place = Path(traces.url)
        assert place.exists()
    assert not place.parent.exists()
    with pytest.raises(TracekitError) as refused:
        traces.sessions()
    assert refused.value.slug == "traces-closed"
    traces.close()


def test_a_temporary_store_goes_with_the_last_reference() -> None:
    traces = tracekit.open(RECORDING / "transcript")
    place = Path(traces.url)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        del traces
        gc.collect()
    # What else is collected now was left by others.
    assert [warning.category for warning in told if place.parent.name in str(warning.message)] == [ResourceWarning]
    assert not place.exists()


def test_what_recorders_wrote_is_opened(tmp_path: Path) -> None:
    with Spool(tmp_path / "spool", "gateway") as spool:
        for one in (turn(1_000, 9_000), request(2_000, 8_000)):
            spool.write(one)
    with tracekit.open(tmp_path / "spool") as traces:
        assert traces.account()["wall_ns"].unique().to_list() == [8_000]


def test_a_line_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (name,) = (RECORDING / "transcript").rglob("*.jsonl")
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(name.read_bytes() + b"{not json}\n")
    with tracekit.open(broken) as traces:
        assert traces.problems()["path"].to_list() == [str(broken)]
        assert traces.sessions().height == 1


def test_content_is_kept_only_if_it_is_wanted() -> None:
    for content in (False, True):
        with tracekit.open(RECORDING / "transcript", content=content) as traces:
            found = traces.sql("SELECT COUNT(*) AS n FROM spans WHERE attributes['tracekit.content'] IS NOT NULL")["n"][0]
            assert bool(found) is content


def test_what_cannot_be_opened_is_said_at_once(tmp_path: Path) -> None:
    assert slug_of(tmp_path / "missing.duckdb") == "no-store"
    assert slug_of(tmp_path / "missing") == "path-missing"
    assert slug_of("spark://host/lake") == "store-unknown"
    assert slug_of(tmp_path) == "nothing-to-import"
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    assert slug_of(tmp_path / "notes.txt") == "nothing-to-import"
    (tmp_path / "broken.duckdb").write_bytes(bytes(8) + b"DUCK" + bytes(100))
    assert slug_of(tmp_path / "broken.duckdb") == "store-damaged"


def test_without_a_default_store_there_is_nothing_to_open() -> None:
    assert slug_of() == "no-store"


def test_a_failed_import_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "empty").mkdir()
    assert slug_of(tmp_path / "empty") == "nothing-to-import"
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_a_plain_script_may_open_much(tmp_path: Path) -> None:
    """No process is started that would run the script again."""
    (name,) = (RECORDING / "transcript").rglob("*.jsonl")
    lines = name.read_bytes()
    for number in range(2):
        padding = b'{"type":"system","padding":"%s"}\n' % (b"x" * 5_000_000)
        (tmp_path / f"{number}.jsonl").write_bytes(lines + padding)
    script = tmp_path / "script.py"
    script.write_text(f"import tracekit\nprint(tracekit.open({str(tmp_path)!r}).sessions().height)\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": PYTHONPATH}
    )
    assert done.stdout == "1\n", done.stderr


def test_nothing_heavy_is_loaded_before_something_is_opened() -> None:
    script = "import sys, tracekit; print(*sorted({'duckdb', 'polars', 'plotly'} & set(sys.modules)), callable(tracekit.open))"
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "True\n"
