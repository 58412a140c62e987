"""Leases: readers together, a writer alone, and a bounded wait."""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tracekit.errors import TracekitError
from tracekit.store.lease import lease, wait_seconds

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess


def hold(path: str, mode: str, held: Event, done: Event) -> None:
    with lease(Path(path), exclusive=mode == "exclusive", wait=5):
        held.set()
        done.wait(20)


Holder = Callable[[str], Path]


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Holder]:
    """Start a process that holds a lease on `store`; end it afterwards."""
    context = multiprocessing.get_context("spawn")
    started: list[tuple[SpawnProcess, Event]] = []

    def start(mode: str) -> Path:
        path = tmp_path / "store"
        held, done = context.Event(), context.Event()
        process = context.Process(target=hold, args=(str(path), mode, held, done))
        process.start()
        started.append((process, done))
        assert held.wait(20)
        return path

    yield start
    for process, done in started:
        done.set()
        process.join(20)


def test_readers_share(other: Holder) -> None:
    path = other("shared")
    with lease(path, exclusive=False, wait=0):
        pass


def test_a_writer_waits_for_readers_no_longer_than_the_bound(other: Holder) -> None:
    path = other("shared")
    began = time.monotonic()
    with pytest.raises(TracekitError) as caught, lease(path, exclusive=True, wait=0.2):
        pytest.fail("two held an exclusive lease")
    assert caught.value.slug == "store-busy"
    assert str(path) in str(caught.value)
    assert time.monotonic() - began >= 0.2


def test_a_reader_waits_for_a_writer(other: Holder) -> None:
    path = other("exclusive")
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        time.sleep(seconds)

    with pytest.raises(TracekitError), lease(path, exclusive=False, wait=0.05, sleep=nap):
        pytest.fail("read beside a writer")
    assert naps


def test_a_lease_ends_with_its_block(tmp_path: Path) -> None:
    for _ in range(2):
        with lease(tmp_path / "store", exclusive=True, wait=0):
            pass


def test_the_bound_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEKIT_WAIT", "0.5")
    assert wait_seconds() == 0.5
    monkeypatch.setenv("TRACEKIT_WAIT", "soon")
    assert wait_seconds() == 10.0
