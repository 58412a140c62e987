"""A store is kept up with what is still being written, and nobody who writes waits for it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path

import pytest

from tests.ingest.conftest import place
from tracekit.errors import TracekitError
from tracekit.ingest import Follower, Loader, find_files, import_stamped, road, transcripts_of
from tracekit.model import Boundary, Source, Span
from tracekit.spool import Spool
from tracekit.store import open_store
from tracekit.store.lease import lease

PROMPT = (
    '{"type":"user","uuid":"u1","sessionId":"SESSION","timestamp":"2026-11-30T10:00:00.000Z","message":{"role":"user","content":"go"}}\n'
)
LIMIT = 20.0
NOW = 1_796_000_000_000_000_000


def span(key: str, session: str = "s1") -> Span:
    return Span(Source.GATEWAY, session, Boundary.MODEL_REQUEST, key, 1_000, 9_000)


def transcript(session: str) -> bytes:
    return PROMPT.replace("SESSION", session).encode()


def keys(store: Path) -> set[str]:
    if not store.exists():
        return set()
    with open_store(str(store)) as opened:
        return {row["key"] for row in opened.rows("SELECT key FROM spans")}


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_only_what_was_written_since_is_read(tmp_path: Path) -> None:
    follower = Follower(str(tmp_path / "store"), spool=tmp_path / "spool")
    assert follower.catch_up() is None
    with Spool(tmp_path / "spool" / "run-1", "gateway") as spool:
        spool.write(span("req_1"))
        first = follower.catch_up()
        assert first is not None
        assert (first.spans, follower.sessions) == (1, {"s1"})
        assert follower.catch_up() is None
        spool.write(span("req_2"))
        second = follower.catch_up()
    assert second is not None
    assert second.spans == 1
    assert keys(tmp_path / "store") == {"req_1", "req_2"}


def test_the_transcripts_of_sessions_that_the_spool_tells_of_are_followed_and_no_others(tmp_path: Path) -> None:
    root = place(tmp_path / "projects", {"-a/s1.jsonl": transcript("s1"), "-a/s1/subagents/agent-x.jsonl": transcript("s1")})
    place(root, {"-b/other.jsonl": transcript("other")})
    follower = Follower(str(tmp_path / "store"), spool=tmp_path / "spool", roots=[root])
    with Spool(tmp_path / "spool", "gateway") as spool:
        spool.write(span("req_1"))
    follower.catch_up()
    told = follower.catch_up()
    assert told is not None
    assert told.files_read == 2
    assert follower.sessions == {"s1"}


def test_a_session_of_a_clients_own_making_leads_to_no_other_folder(tmp_path: Path) -> None:
    root = place(tmp_path / "projects", {"-a/s1.jsonl": transcript("s1")})
    place(tmp_path, {"private.jsonl": transcript("private")})
    assert list(transcripts_of(["../../private", "..", "", "s1"], [root])) == [root / "-a" / "s1.jsonl"]


def test_without_a_recorder_transcripts_that_are_no_history_are_followed(tmp_path: Path) -> None:
    root = place(tmp_path / "projects", {"-a/new.jsonl": transcript("new"), "-a/old.jsonl": transcript("old")})
    os.utime(root / "-a" / "old.jsonl", ns=(5, 5))
    follower = Follower(str(tmp_path / "store"), spool=tmp_path / "spool", roots=[root], since_ns=10)
    follower.catch_up()
    assert follower.sessions == {"new"}


def test_looking_for_transcripts_takes_a_small_part_of_the_time(tmp_path: Path) -> None:
    root = place(tmp_path / "projects", {"-a/one.jsonl": transcript("one")})
    clock = count(100, 10)  # a look takes ten seconds here
    follower = Follower(str(tmp_path / "store"), spool=tmp_path / "spool", roots=[root], since_ns=0, clock=lambda: float(next(clock)))
    follower.catch_up()
    assert follower.sessions == {"one"}
    place(root, {"-a/two.jsonl": transcript("two")})
    looks = 0
    while "two" not in follower.sessions:
        looks += 1
        follower.catch_up()
    assert 10 < looks < 30


def test_what_a_busy_store_did_not_take_is_read_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEKIT_WAIT", "0")
    store = tmp_path / "store"
    follower = Follower(str(store), spool=tmp_path / "spool")
    with Spool(tmp_path / "spool", "gateway") as spool:
        spool.write(span("req_1"))
    with lease(store, exclusive=True, wait=0), pytest.raises(TracekitError, match="busy"):
        follower.catch_up()
    follower.catch_up()
    assert keys(store) == {"req_1"}


def test_a_file_that_vanishes_under_the_look_spoils_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, stays = Spool(tmp_path / "spool", "gone"), Spool(tmp_path / "spool", "stays")
    gone.write(span("req_1"))
    stays.write(span("req_2"))
    follower = Follower(str(tmp_path / "store"), spool=tmp_path / "spool")

    def find_late(paths: Iterable[str | Path]) -> list[Path]:
        next((tmp_path / "spool").glob("gone*")).unlink()
        return find_files(paths)

    monkeypatch.setattr(road, "find_files", find_late)
    assert follower.catch_up() is None
    monkeypatch.undo()
    follower.catch_up()
    assert keys(tmp_path / "store") == {"req_2"}


def test_a_loader_loads_while_others_write_and_once_more_at_its_end(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with Spool(tmp_path / "spool", "gateway") as spool:
        with Loader(str(store), spool=tmp_path / "spool") as loader:
            spool.write(span("req_1"))
            eventually(lambda: keys(store) == {"req_1"})
            spool.write(span("req_2"))
        assert keys(store) == {"req_1", "req_2"}
        assert loader.complaint() is None


def test_a_loader_says_once_what_keeps_it_from_loading(tmp_path: Path) -> None:
    (tmp_path / "store").write_bytes(b"no database" * 1000)
    told: list[str] = []

    def hear() -> bool:
        complaint = loader.complaint()
        told.extend([complaint] if complaint else [])
        return bool(told)

    with Spool(tmp_path / "spool", "gateway") as spool, Loader(str(tmp_path / "store"), spool=tmp_path / "spool") as loader:
        spool.write(span("req_1"))
        eventually(hear)
        time.sleep(1.5)
        hear()
    assert len(told) == 1
    assert "store" in told[0]


def test_a_terminals_keys_are_not_for_a_loader(tmp_path: Path) -> None:
    store = tmp_path / "store"
    script = (
        "import signal, sys; from pathlib import Path; from tracekit.ingest import Loader\n"
        "signal.signal(signal.SIGINT, lambda *_: None)\n"
        f"with Loader({str(store)!r}, spool=Path({str(tmp_path / 'spool')!r})): print('ready', flush=True); sys.stdin.read()"
    )
    with (
        Spool(tmp_path / "spool", "gateway") as spool,
        subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, signal.SIGINT)
        spool.write(span("req_1"))
        eventually(lambda: keys(store) == {"req_1"})
        _, said = process.communicate(timeout=LIMIT)
    assert (process.returncode, said) == (0, b"")


def test_lines_that_somebody_else_stamped_keep_their_stamps(tmp_path: Path) -> None:
    lines = [
        (NOW + 1_000, b'{"type":"system","subtype":"init","session_id":"s1","model":"m","cwd":"/p","tools":[]}\n'),
        (
            NOW + 5_000,
            b'{"type":"assistant","session_id":"s1","message":{"id":"msg_1","model":"m","content":[{"type":"text","text":"x"}]}}\n',
        ),
        (NOW + 9_000, b'{"type":"result","subtype":"success","session_id":"s1","is_error":false}\n'),
    ]
    done = import_stamped(iter(lines), str(tmp_path / "store"), clock=lambda: 77)
    assert done.sessions == {"s1"}
    with open_store(str(tmp_path / "store")) as opened:
        (row,) = opened.rows("SELECT end_ns FROM spans WHERE boundary = 'turn'")
    assert row["end_ns"] == NOW + 9_000
