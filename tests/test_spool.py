"""The spool: one line a record, open then closed, many writers, torn tails."""

import json
import os
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path

import pytest

from tracekit.ingest import import_paths
from tracekit.model import Boundary, Source, Span, Status, semconv
from tracekit.spool import SUFFIX, SharedSpool, Spool, Sync, spool_folder
from tracekit.store import open_store


def span(key: str, end_ns: int | None = None, **more: object) -> Span:
    return Span(Source.GATEWAY, "s1", Boundary.MODEL_REQUEST, key, 1_000, end_ns, **more)  # type: ignore[arg-type]


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{SUFFIX}"))


def fused(store: Path) -> list[dict[str, object]]:
    with open_store(str(store)) as opened:
        return opened.rows("SELECT key, end_ns, status, attributes FROM boundaries ORDER BY key")


def test_a_record_is_a_line_and_a_process_has_one_file(tmp_path: Path) -> None:
    with Spool(tmp_path, "gateway") as spool:
        spool.write(span("req_1"))
        spool.write(span("req_1", 9_000, status=Status.OK, attributes={semconv.HTTP_STATUS: 200, semconv.STREAM_CUT: True}))
    (path,) = files(tmp_path)
    opened, closed = map(json.loads, path.read_text().splitlines())
    assert (opened["end_ns"], closed["end_ns"]) == (None, 9_000)
    assert closed["attributes"] == {semconv.HTTP_STATUS: "200", semconv.STREAM_CUT: "true"}
    assert path.stat().st_mode & 0o077 == 0


def test_the_store_tells_the_closed_observation_instead_of_the_open_one(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", "gateway")
    spool.write(span("req_1"))
    spool.write(span("req_2"))
    import_paths([tmp_path / "spool"], str(tmp_path / "store"))
    assert [row["end_ns"] for row in fused(tmp_path / "store")] == [None, None]
    spool.write(span("req_1", 9_000, status=Status.OK))
    again = import_paths([tmp_path / "spool"], str(tmp_path / "store"))
    assert again.spans == 1
    assert [(row["key"], row["end_ns"]) for row in fused(tmp_path / "store")] == [("req_1", 9_000), ("req_2", None)]


def test_a_name_that_comes_late_meets_what_was_opened_under_another(tmp_path: Path) -> None:
    with Spool(tmp_path / "spool", "gateway") as spool:
        spool.write(span("exchange:7"))
        spool.write(span("req_9", 9_000, attributes={semconv.OPENED_AS: "exchange:7"}))
    import_paths([tmp_path / "spool"], str(tmp_path / "store"))
    assert [(row["key"], row["end_ns"]) for row in fused(tmp_path / "store")] == [("req_9", 9_000)]


def test_a_full_file_is_continued_in_another(tmp_path: Path) -> None:
    with Spool(tmp_path, "gateway", rotate_bytes=600, clock=count(1).__next__) as spool:
        for number in range(6):
            spool.write(span(f"req_{number}", 9_000))
    assert len(files(tmp_path)) > 1
    assert sum(len(path.read_text().splitlines()) for path in files(tmp_path)) == 6


def test_threads_never_tear_each_others_lines(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "gateway", rotate_bytes=20_000)

    def write(who: int) -> None:
        for number in range(50):
            spool.write(span(f"req_{who}_{number}", 9_000, attributes={semconv.ERROR_TEXT: "x" * 300}))

    threads = [threading.Thread(target=write, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keys = {json.loads(line)["key"] for path in files(tmp_path) for line in path.read_text().splitlines()}
    assert len(keys) == 400


def test_a_child_after_a_fork_writes_a_file_of_its_own(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "gateway")
    spool.write(span("req_parent"))
    child = os.fork()
    if child == 0:
        spool.write(span("req_child"))
        os._exit(0)
    os.waitpid(child, 0)
    assert len(files(tmp_path)) == 2


def test_a_torn_tail_waits_and_is_told(tmp_path: Path) -> None:
    folder, store = tmp_path / "spool", tmp_path / "store"
    with Spool(folder, "gateway") as spool:
        spool.write(span("req_1", 9_000))
        spool.write(span("req_2", 9_000))
    (path,) = files(folder)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    done = import_paths([folder], str(store))
    assert (done.spans, dict(done.problems)) == (1, {"unfinished last line": 1})
    path.write_bytes(whole)
    done = import_paths([folder], str(store))
    assert (done.spans, dict(done.problems)) == (1, {})
    with open_store(str(store)) as opened:
        assert opened.rows("SELECT * FROM problems") == []


def test_a_disk_that_takes_a_part_of_a_record_is_an_error_and_the_next_record_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def write_little(handle: int, data: bytes) -> int:
        return write(handle, data[:20])

    monkeypatch.setattr(os, "write", write_little)
    spool = Spool(tmp_path, "gateway", clock=count(1).__next__)
    with pytest.raises(OSError, match="part of a record"):
        spool.write(span("req_1", 9_000))
    monkeypatch.undo()
    spool.write(span("req_2", 9_000))
    assert json.loads(files(tmp_path)[-1].read_text())["key"] == "req_2"


def test_sync_is_by_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    with Spool(tmp_path, "a") as spool:
        spool.write(span("req_1"))
        assert synced == []
        spool.sync()
        assert len(synced) == 1
    with Spool(tmp_path, "b", sync=Sync.ALWAYS) as spool:
        spool.write(span("req_1"))
    assert len(synced) == 2


def test_a_sync_reaches_files_that_are_full_already_and_the_folder_of_new_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: set[int] = set()

    def note(handle: int) -> None:
        reached.add(os.fstat(handle).st_ino)

    monkeypatch.setattr(os, "fdatasync", note)
    monkeypatch.setattr(os, "fsync", note)
    with Spool(tmp_path, "otlp", rotate_bytes=600, clock=count(1).__next__) as spool:
        for number in range(6):
            spool.write(span(f"req_{number}", 9_000))
        spool.sync()
        assert len(files(tmp_path)) > 1
        assert reached == {path.stat().st_ino for path in (tmp_path, *files(tmp_path))}
        reached.clear()
        spool.sync()
        assert reached == {files(tmp_path)[-1].stat().st_ino}


def test_a_sync_passes_over_files_that_were_loaded_and_removed(tmp_path: Path) -> None:
    with Spool(tmp_path, "otlp", rotate_bytes=600, clock=count(1).__next__) as spool:
        for number in range(6):
            spool.write(span(f"req_{number}", 9_000))
        files(tmp_path)[0].unlink()
        spool.sync()


def test_where_the_spool_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TRACEKIT_SPOOL", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert spool_folder() == tmp_path / "tracekit" / "spool"
    monkeypatch.setenv("TRACEKIT_SPOOL", str(tmp_path / "here"))
    assert spool_folder() == tmp_path / "here"


def test_otlp_bodies_that_were_kept_are_understood_together(tmp_path: Path) -> None:
    bodies = Path(__file__).parent / "data" / "captures" / "overlap" / "otlp"
    with Spool(tmp_path / "spool", "otlp") as spool:
        for path in sorted(bodies.glob("*.pb")):
            spool.write_body(path.name.split(".")[-2], path.read_bytes(), content_type="application/x-protobuf", received_ns=1)
    import_paths([tmp_path / "spool"], str(tmp_path / "spooled"))
    import_paths([bodies], str(tmp_path / "files"))
    sql = "SELECT boundary, key, start_ns, end_ns FROM boundaries ORDER BY ALL"
    with open_store(str(tmp_path / "spooled")) as first, open_store(str(tmp_path / "files")) as second:
        assert first.rows(sql) == second.rows(sql) != []


DAY = 86_400_000_000_000
TENTH_DAY = 10 * DAY


def test_processes_that_live_for_a_moment_share_a_file_a_day(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from tracekit.model import Boundary, Source, Span; from tracekit.spool import SharedSpool\n"
        "for n in range(50): SharedSpool(Path(sys.argv[1]), 'hooks').write("
        "[Span(Source.HOOKS, 's1', Boundary.TURN, f'{sys.argv[2]}-{n}-{part}', 1, None, name='x' * 5_000) for part in range(2)])"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(who)]) for who in range(4)]
    assert [process.wait(60) for process in running] == [0, 0, 0, 0]
    assert len(files(tmp_path)) in {1, 2}  # midnight may pass
    keys = [json.loads(line)["key"] for path in files(tmp_path) for line in path.read_text().splitlines()]
    assert len(keys) == len(set(keys)) == 400
    # What one process said at once stands together.
    assert [key.removesuffix("0") for key in keys[::2]] == [key.removesuffix("1") for key in keys[1::2]]


def test_the_recent_past_of_a_shared_file_reaches_over_midnight(tmp_path: Path) -> None:
    SharedSpool(tmp_path, "hooks", clock=lambda: TENTH_DAY - 1).write([span("yesterday")])
    today = SharedSpool(tmp_path, "hooks", clock=lambda: TENTH_DAY)
    today.write([span("today")])
    assert [path.name for path in files(tmp_path)] == [f"hooks-19700110{SUFFIX}", f"hooks-19700111{SUFFIX}"]
    assert [json.loads(line)["key"] for line in today.recent(10_000).splitlines()] == ["yesterday", "today"]
    assert today.recent(20) == files(tmp_path)[1].read_bytes()[-20:]
    assert SharedSpool(tmp_path / "none", "hooks").recent(20) == b""


def test_what_the_disk_took_in_part_is_closed_off_in_a_shared_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def write_little(handle: int, data: bytes) -> int:
        return write(handle, data[:20])

    monkeypatch.setattr(os, "write", write_little)
    shared = SharedSpool(tmp_path, "hooks", clock=lambda: DAY)
    with pytest.raises(OSError, match="part of a record"):
        shared.write([span("req_1", 9_000)])
    monkeypatch.undo()
    shared.write([span("req_2", 9_000)])
    torn, whole = files(tmp_path)[0].read_bytes().splitlines()
    assert len(torn) == 20
    assert json.loads(whole)["key"] == "req_2"
