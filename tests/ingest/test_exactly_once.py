"""Exactly once: again, grown, cut off, killed, side by side, in one process or in several."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ingest.conftest import Held, place
from tracekit.ingest import import_paths, road

Holds = Callable[[Path], dict[str, Held]]

IMPORT = """
import sys
from tracekit.ingest import road
road.BATCH_BYTES = 1
if __name__ == "__main__":
    road.import_paths([sys.argv[1]], sys.argv[2])
"""


def small(transcripts: dict[str, bytes]) -> dict[str, bytes]:
    """The smaller files: enough shapes, quickly read."""
    return {name: data for name, data in transcripts.items() if len(data) < 1_500_000}


def test_importing_twice_adds_nothing(tmp_path: Path, transcripts: dict[str, bytes], held: Holds) -> None:
    folder, store = place(tmp_path / "sessions", small(transcripts)), tmp_path / "store.duckdb"
    first = import_paths([folder], str(store))
    before = held(store)
    second = import_paths([folder], str(store))
    assert first.spans > 0
    assert (second.files_read, second.spans, second.files_unchanged) == (0, 0, first.files_read)
    assert held(store) == before


def test_a_touched_file_is_read_again_and_adds_nothing(tmp_path: Path, transcripts: dict[str, bytes], held: Holds) -> None:
    folder, store = place(tmp_path / "sessions", small(transcripts)), tmp_path / "store.duckdb"
    import_paths([folder], str(store))
    before = held(store)
    for path in folder.rglob("*.jsonl"):
        os.utime(path, ns=(1, 1))
    assert import_paths([folder], str(store)).files_read == len(small(transcripts))
    assert held(store) == before


@pytest.mark.parametrize("seed", range(3))
def test_a_file_that_grows_by_any_pieces_is_like_one_read_whole(
    tmp_path: Path, transcripts: dict[str, bytes], held: Holds, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311  (repeatable, not secret)
    whole, grown = tmp_path / "whole.duckdb", tmp_path / "grown.duckdb"
    files = dict(sorted(small(transcripts).items(), key=lambda item: len(item[1]))[:4])
    folder = tmp_path / "sessions"
    cuts = {name: sorted(chance.sample(range(1, len(data)), 6)) for name, data in files.items()}
    for step in range(6):
        place(folder, {name: data[: cuts[name][step]] for name, data in files.items()})
        import_paths([folder], str(grown))
    place(folder, files)
    import_paths([folder], str(grown))
    import_paths([folder], str(whole))
    assert held(grown) == held(whole)


def test_only_the_tail_of_a_grown_file_is_read(tmp_path: Path, transcripts: dict[str, bytes]) -> None:
    name, data = max(small(transcripts).items(), key=lambda item: len(item[1]))
    folder, store = place(tmp_path / "sessions", {name: data}), tmp_path / "store.duckdb"
    whole = import_paths([folder], str(store))
    with (folder / name).open("ab") as handle:
        handle.write(data.splitlines(keepends=True)[-1])
    again = import_paths([folder], str(store))
    assert again.files_read == 1
    assert again.bytes_read < whole.bytes_read / 2
    assert again.entries < whole.entries / 2


def test_a_file_under_an_old_name_that_is_another_one_replaces_it(tmp_path: Path, transcripts: dict[str, bytes], held: Holds) -> None:
    first, second = sorted(small(transcripts).items(), key=lambda item: len(item[1]))[:2]
    store, fresh = tmp_path / "store.duckdb", tmp_path / "fresh.duckdb"
    folder = place(tmp_path / "sessions", {"a.jsonl": second[1]})
    import_paths([folder], str(store))
    place(folder, {"a.jsonl": first[1]})
    import_paths([folder], str(store))
    import_paths([folder], str(fresh))
    assert held(store) == held(fresh)


def test_several_processes_make_the_same_store_as_one(
    tmp_path: Path, transcripts: dict[str, bytes], held: Holds, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = place(tmp_path / "sessions", small(transcripts))
    import_paths([folder], str(tmp_path / "one.duckdb"))
    monkeypatch.setattr(road, "PARALLEL_BYTES", 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    import_paths([folder], str(tmp_path / "two.duckdb"))
    assert held(tmp_path / "two.duckdb") == held(tmp_path / "one.duckdb")


def start(folder: Path, store: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", IMPORT, str(folder), str(store)], stderr=subprocess.PIPE)


def test_killed_at_any_moment_nothing_is_lost_and_nothing_is_double(tmp_path: Path, transcripts: dict[str, bytes], held: Holds) -> None:
    """Twenty-two imports of files that grow meanwhile, each killed at a random moment of its life."""
    chance = random.Random(5)  # noqa: S311  (repeatable, not secret)
    files = dict(sorted(small(transcripts).items(), key=lambda item: len(item[1]))[:6])
    folder, store, fresh = tmp_path / "sessions", tmp_path / "store.duckdb", tmp_path / "fresh.duckdb"
    place(folder, files)
    began = time.monotonic()
    import_paths([folder], str(fresh))
    with start(folder, tmp_path / "rehearsal.duckdb") as rehearsal:
        rehearsal.communicate(timeout=60)
    life = time.monotonic() - began
    killed = 0
    for step in range(1, 23):
        place(folder, {name: data[: len(data) * step // 23] for name, data in files.items()})
        with start(folder, store) as importing:
            time.sleep(chance.uniform(0.05, life))
            killed += importing.poll() is None
            importing.send_signal(signal.SIGKILL)
            importing.communicate(timeout=60)
    place(folder, files)
    import_paths([folder], str(store))
    assert killed >= 5, "the kills came too late to interrupt anything"
    assert held(store) == held(fresh)


def test_two_imports_at_once_store_everything_once(tmp_path: Path, transcripts: dict[str, bytes], held: Holds) -> None:
    folder, store = place(tmp_path / "sessions", small(transcripts)), tmp_path / "store.duckdb"
    both = [start(folder, store), start(folder, store)]
    for one in both:
        _, errors = one.communicate(timeout=120)
        assert one.returncode == 0, errors.decode()
    import_paths([folder], str(tmp_path / "alone.duckdb"))
    assert held(store) == held(tmp_path / "alone.duckdb")


def import_with_room(folder: Path, store: Path, *, room: int) -> subprocess.CompletedProcess[str]:
    """Import where no file may grow beyond a size: the limit stands in for the end of the disk."""
    program = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))\n"
        "from tracekit.cli.main import run\n"
        "from tracekit.ingest import road\n"
        "road.BATCH_BYTES = 1\n"
        f"sys.exit(run(['import', {str(folder)!r}, '--store', {str(store)!r}]))\n"
    )
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)


def test_no_room_for_temporary_files_is_told_and_loses_nothing(tmp_path: Path, transcripts: dict[str, bytes], held: Holds) -> None:
    folder, store = place(tmp_path / "sessions", small(transcripts)), tmp_path / "store.duckdb"
    done = import_with_room(folder, store, room=20_000)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "tracekit explain store-full" in done.stderr
    import_paths([folder], str(store))
    import_paths([folder], str(tmp_path / "fresh.duckdb"))
    assert held(store) == held(tmp_path / "fresh.duckdb")


def test_no_room_for_the_store_is_told_and_loses_nothing(tmp_path: Path, transcripts: dict[str, bytes], held: Holds) -> None:
    folder, store = place(tmp_path / "sessions", transcripts), tmp_path / "store.duckdb"
    import_paths([min(folder.rglob("*.jsonl"), key=lambda path: path.stat().st_size)], str(store))
    begun = store.stat().st_size
    # The largest segment of the import fits; the store itself does not get that far.
    done = import_with_room(folder, store, room=max(begun + 4096, 1_200_000))
    assert done.returncode == 2, done.stdout + done.stderr
    assert "no room to write the store" in done.stderr
    assert "tracekit explain store-full" in done.stderr
    import_paths([folder], str(store))
    import_paths([folder], str(tmp_path / "fresh.duckdb"))
    assert held(store) == held(tmp_path / "fresh.duckdb")
