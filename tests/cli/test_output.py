"""What is printed where, how wide, in which letters."""

import io
import json
import sys
from dataclasses import dataclass
from typing import Annotated

import pytest

from tracekit.cli import output
from tracekit.model import Column, Finding


@dataclass(frozen=True, slots=True)
class Wait(Finding):
    wait_lower_ns: Annotated[int, Column("Wait, at least", "ns")]
    wait_upper_ns: Annotated[int, Column("Wait, at most", "ns")]


WAIT = Wait(1_000_000, 3_000_000)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _no_wishes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def test_findings_are_a_table_or_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit([WAIT], as_json=False)
    assert "1.0–3.0 ms" in capsys.readouterr().out
    output.emit([WAIT], as_json=True, as_of_ns=0, problems=["x"])
    assert json.loads(capsys.readouterr().out) == {
        "format": 1,
        "as_of": "1970-01-01T00:00:00.000000000Z",
        "problems": ["x"],
        "rows": [{"wait_lower_ns": 1_000_000, "wait_upper_ns": 3_000_000}],
    }


def test_no_findings_are_a_sentence_for_eyes_only(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit([], as_json=False, empty="Nothing is stuck.")
    output.emit([], as_json=True, empty="Nothing is stuck.")
    sentence, _, document = capsys.readouterr().out.partition("\n")
    assert sentence == "Nothing is stuck."
    assert json.loads(document)["rows"] == []


def test_notes_and_errors_do_not_spoil_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    output.write("answer")
    output.note("3 lines could not be read")
    output.complain("no")
    assert capsys.readouterr() == ("answer\n", "3 lines could not be read\nerror: no\n")


def test_a_stream_without_utf8_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    output.write("░░▓ 1.2–3.4 s")
    assert raw.getvalue() == b"..= 1.2-3.4 s\n"


def test_a_path_that_is_no_text_does_not_stop_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    output.write("caf\udce9/é")
    assert capsys.readouterr().out == "caf?/é\n"


def test_colour_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    assert output.has_colour(Terminal())
    assert not output.has_colour(io.StringIO())
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert output.has_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not output.has_colour(Terminal())


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("NO_COLOR", "yes")])
def test_a_terminal_can_decline_colour(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert not output.has_colour(Terminal())


@pytest.mark.parametrize(("columns", "width"), [("132", 132), ("7", 40), ("0", 80), ("wide", 80)])
def test_the_width_is_what_columns_says_within_reason(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    for name in ("__stdin__", "__stdout__", "__stderr__"):
        monkeypatch.setattr(sys, name, None)
    monkeypatch.setenv("COLUMNS", columns)
    assert output.width() == width


def test_an_error_is_red_where_there_is_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    output.complain("no store")
    assert stream.getvalue() == "\x1b[1;31merror:\x1b[0m no store\n"
