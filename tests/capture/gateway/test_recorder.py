"""The way to the spool: nothing of it is felt, and what is lost is counted."""

import logging
import threading
from pathlib import Path

import pytest

from tracekit.capture.gateway.recorder import Recorder
from tracekit.model import Boundary, Source, Span
from tracekit.spool import SUFFIX, Spool


def span(key: str) -> Span:
    return Span(Source.GATEWAY, "s1", Boundary.MODEL_REQUEST, key, 1, 2)


class Slow(Spool):
    """A disk that takes one record when it is told to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "slow")
        self.goes_on = threading.Event()
        self.asked = threading.Event()

    def write(self, span: Span) -> None:
        self.asked.set()
        self.goes_on.wait(20)
        super().write(span)


def lines(folder: Path) -> int:
    return sum(len(path.read_text().splitlines()) for path in folder.glob(f"*{SUFFIX}"))


def test_all_is_written_before_it_is_closed(tmp_path: Path) -> None:
    recorder = Recorder(Spool(tmp_path, "gateway"))
    for number in range(500):
        recorder.write(span(f"req_{number}"))
    recorder.close()
    assert (lines(tmp_path), recorder.gaps) == (500, 0)


def test_what_a_slow_disk_has_no_room_for_is_lost_and_counted(tmp_path: Path) -> None:
    spool = Slow(tmp_path)
    recorder = Recorder(spool, waiting_at_most=3)
    recorder.write(span("req_0"))
    assert spool.asked.wait(5)
    for number in range(1, 6):
        recorder.write(span(f"req_{number}"))
    assert recorder.gaps == 2
    spool.goes_on.set()
    recorder.close()
    assert (lines(tmp_path), recorder.gaps) == (4, 2)


def test_a_disk_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    spool = Slow(tmp_path)
    recorder = Recorder(spool)
    for number in range(3):
        recorder.write(span(f"req_{number}"))
    assert spool.asked.wait(5)
    recorder.close(seconds=0.05)
    assert recorder.gaps >= 2
    spool.goes_on.set()


def test_what_cannot_be_written_is_counted_and_said_once_and_at_the_end(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    recorder = Recorder(Spool(tmp_path / "file", "gateway"))
    with caplog.at_level(logging.WARNING):
        for number in range(3):
            recorder.write(span(f"req_{number}"))
        recorder.close()
    assert recorder.gaps == 3
    first, last = (record.getMessage() for record in caplog.records)
    assert "cannot write its record" in first
    assert last.startswith("3 observations of the gateway are missing")


def test_an_error_in_its_context_is_a_gap_and_an_end_of_the_program_is_none(tmp_path: Path) -> None:
    recorder = Recorder(Spool(tmp_path, "gateway"))
    with recorder:
        raise ZeroDivisionError
    assert recorder.gaps == 1
    with pytest.raises(KeyboardInterrupt), recorder:
        raise KeyboardInterrupt
    assert recorder.gaps == 1
