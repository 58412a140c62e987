"""`tracekit classify`: errors in, verdicts out."""

import io
import itertools
import json
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, cast

import pytest

from tracekit.analysis.failures import Layer, talk
from tracekit.cli import classify
from tracekit.cli.main import run

Rows = list[dict[str, Any]]
Feed = Callable[[bytes], tuple[int, Rows]]
OVERLOADED = b'{"error_text": "API Error: 529 Overloaded"}\n'


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Feed:
    def through(stdin: bytes) -> tuple[int, Rows]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = run(["classify"])
        return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return through


def _one(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["classify", *arguments]) == 0
    row: dict[str, Any] = json.loads(capsys.readouterr().out)
    return row


def test_a_line_in_is_a_line_out(feed: Feed) -> None:
    code, rows = feed(OVERLOADED + b'\n{"error_text": "Exit code 1", "layer": "tool-exec", "http_status": null, "error_type": ""}')
    assert code == 0
    assert [list(row) for row in rows] == [["family", "kind", "retry", "evidence"]] * 2
    assert [(row["family"], row["kind"], row["retry"]) for row in rows] == [
        ("network", "overloaded", "helps"),
        ("tool", "execution", "may_repeat_side_effect"),
    ]
    assert rows[0]["evidence"] == "HTTP 529: Overloaded"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"API Error: 529", "not JSON"),
        (b'["a"]', "no JSON object"),
        (b'{"layer": "cli"}', "says nothing of an error"),
        (b'{"error_text": 7}', "error_text is no text"),
        (b'{"error_text": "x", "layer": ["cli"]}', "layer is no text"),
        (b'{"error_text": "x", "http_status": "soon"}', "http_status is no number"),
        (b'{"error_text": "x", "http_status": true}', "http_status is no number"),
        (b'{"error_text": "\xff"}', "not JSON"),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_judged(feed: Feed, line: bytes, said: str) -> None:
    code, rows = feed(OVERLOADED + line + b"\n" + OVERLOADED)
    assert code == 2
    assert [row.get("line") for row in rows] == [None, 2, None]
    assert said in rows[1]["error"]
    assert rows[0] == rows[2]


def test_numbers_may_be_written_as_recorders_write_them(feed: Feed) -> None:
    _, rows = feed(
        b'{"http_status": "529"}\n{"error_text": "Connection error.", "http_status": 0}\n{"error_type": -32601, "layer": "mcp-call"}\n'
    )
    assert [row["kind"] for row in rows] == ["overloaded", "connect", "call"]


def test_nothing_in_is_nothing_out(feed: Feed) -> None:
    assert feed(b"\n\n") == (0, [])


def test_a_line_that_cannot_be_held_is_passed_over(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classify, "LONGEST", 100)
    long = b'{"error_text": "%s"}\n' % (b"x" * 500)
    code, rows = feed(long + OVERLOADED + long.strip())
    assert (code, [row.get("line") for row in rows]) == (2, [1, None, 3])


def test_each_row_is_printed_before_the_next_line_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []

    class Stream(io.RawIOBase):
        def readline(self, size: int | None = -1, /) -> bytes:
            log.append(f"read at most {size}")
            return OVERLOADED

    def write(text: str) -> None:
        log.append(text)

    monkeypatch.setattr("tracekit.cli.output.write", write)
    given = classify.reports(cast("BinaryIO", Stream()))
    assert classify.print_lines(classify.judged(itertools.islice(given, 2))) == 0
    assert [entry[0] for entry in log] == ["r", "{", "r", "{"]


def test_one_object_may_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    answer = _one(capsys, "API Error: 529 Overloaded", "--json")
    assert (answer["format"], [row["kind"] for row in answer["rows"]]) == (1, ["overloaded"])


def test_a_text_may_be_an_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert _one(capsys, "prompt is too long: 210000 tokens > 200000 maximum")["kind"] == "prompt_too_long"
    assert _one(capsys, "Request timed out", "--layer", "mcp-call")["family"] == "mcp"
    assert _one(capsys, "no reason given", "--http-status", "403")["kind"] == "organization"
    assert _one(capsys, "--error-type", "overloaded_error", "--http-status", "529")["kind"] == "overloaded"


def test_the_help_names_every_layer(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["classify", "--help"]) == 0
    printed = capsys.readouterr().out
    assert [layer for layer in Layer if layer not in printed] == []


def test_without_a_text_and_at_a_terminal_it_asks_for_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert run(["classify"]) == 2
    assert "lines of JSON on stdin" in " ".join(capsys.readouterr().err.split())


def test_a_long_text_is_judged_by_its_head_and_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    trace = "Traceback (most recent call last):\n" + "  File x, line 1, in f\n" * 2000 + "anthropic.RateLimitError: Error code: 429"
    assert _one(capsys, trace)["kind"] == "rate_limited"


def test_the_evidence_holds_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    assert "abcdefghijkl" not in _one(capsys, "401 invalid x-api-key: api_key=abcdefghijklmnop")["evidence"]


def test_what_only_talks_of_errors_is_no_failure_unless_a_witness_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    talked = 'src/retry.py:12: raise RateLimited("429 Too Many Requests")'
    row = _one(capsys, talked)
    assert (row["family"], row["kind"], row["retry"]) == ("none", None, None)
    assert row["evidence"].startswith("a result of a search")
    assert _one(capsys, talked, "--layer", "tool-exec")["family"] == "tool"


@pytest.mark.parametrize(
    "text",
    [
        'Traceback (most recent call last):\n  File "a.py", line 3\n    raise x\nValueError: 529',
        "/app/node_modules/x.js:12\n    throw e\nError: 429\n    at f (/app/x.js:1:1)",
        "When `thinking` is enabled, a final `assistant` message must start with a thinking block",
        "If the problem persists: API Error: 500",
        "You've hit your limit · resets 3pm",
        "The page could not be loaded: net::ERR_NAME_NOT_RESOLVED",
        "RateLimitError('Error code: 429')",
        "Please try again later: rate limited",
        '{"type":"error","error":{"type":"overloaded_error"}}',
        '{"type":"assistant","isApiErrorMessage":true,"error":"rate_limit"}',
        "",
    ],
)
def test_an_errors_own_text_is_no_talk(text: str) -> None:
    assert talk.talks_of_errors(text) is None
